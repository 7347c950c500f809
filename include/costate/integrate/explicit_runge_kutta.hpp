#pragma once

#include <utility>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/integrate/explicit_kernel.hpp"
#include "costate/integrate/step_control.hpp"
#include "costate/integrate/tableau.hpp"

/// @file
/// The explicit Runge-Kutta methods and how their steps are chosen.

namespace costate {

/// An explicit Runge-Kutta method. Exactly one way of choosing the steps must be given:
///
///     {.h = 0.01}                     steps of this size, the last one shortened to land on t1
///     {.steps = 200}                  so many equal steps
///     {.grid = {0, 0.1, 0.3}}         exactly these times, t0 and t1 included
///     {.rtol = 1e-8, .atol = 1e-10}   adaptive; needs an embedded solution
///
/// @tparam T  a constexpr `Tableau` at namespace scope
template <const auto& T>
struct ExplicitRungeKutta {
  static constexpr const auto& tableau = T;
  static_assert(consistent(T),
                "a is not strictly lower triangular with row sums c, or the weights "
                "do not sum to 1");

  /// The step and its adjoint for one problem.
  template <class F, class Objective>
  using Kernel = ExplicitKernel<F, T, Objective>;

  double h = 0;                   ///< step size, > 0 in either direction of time
  Step steps = 0;                 ///< number of equal steps
  double rtol = 0;                ///< relative tolerance per step and component
  double atol = 0;                ///< absolute tolerance per step and component
  std::vector<double> grid = {};  ///< the times, t0 first and t1 last

  // Adaptive steps only:
  double first_step = 0;        ///< size of the first trial step; 0: estimated
  double max_step = 0;          ///< largest step size; 0: the whole interval
  Step max_steps = 10'000'000;  ///< accepted steps before `IntegrationError`
  double safety = 0.9;          ///< of the predicted optimal step
  double min_factor = 0.2;      ///< least change of step size at once
  double max_factor = 10;       ///< largest change of step size at once
  double pi = 0.2;              ///< weight of the last error, in units of 1/(order + 1); 0: none
  double pid = 0;               ///< weight of the change of its change, in the same units; 0: PI

  /// The same method on exactly these times.
  [[nodiscard]] static ExplicitRungeKutta on_grid(std::vector<double> times) {
    return {.grid = std::move(times)};
  }

  [[nodiscard]] StepControl control() const {
    return {.method = T.name,
            .error_order = error_order(T),
            .h = h,
            .steps = steps,
            .rtol = rtol,
            .atol = atol,
            .grid = grid,
            .first_step = first_step,
            .max_step = max_step,
            .max_steps = max_steps,
            .safety = safety,
            .min_factor = min_factor,
            .max_factor = max_factor,
            .pi = pi,
            .pid = pid};
  }
};

using Euler = ExplicitRungeKutta<tableaux::euler>;
using Heun = ExplicitRungeKutta<tableaux::heun>;
using Midpoint = ExplicitRungeKutta<tableaux::midpoint>;
using Ssprk3 = ExplicitRungeKutta<tableaux::ssprk3>;
using BogackiShampine32 = ExplicitRungeKutta<tableaux::bogacki_shampine_32>;
using RungeKutta4 = ExplicitRungeKutta<tableaux::runge_kutta_4>;
using DormandPrince54 = ExplicitRungeKutta<tableaux::dormand_prince_54>;
using Dopri5 = DormandPrince54;
using Tsitouras54 = ExplicitRungeKutta<tableaux::tsitouras_54>;

}  // namespace costate
