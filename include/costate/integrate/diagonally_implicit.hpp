#pragma once

#include <algorithm>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/integrate/dirk_kernel.hpp"
#include "costate/integrate/step_control.hpp"
#include "costate/integrate/tableaux_implicit.hpp"

/// @file
/// The diagonally implicit Runge-Kutta methods and how their steps are chosen.

namespace costate {

/// A diagonally implicit Runge-Kutta method; steps are chosen as with `ExplicitRungeKutta`.
///
/// @tparam T  a constexpr `Tableau` at namespace scope
template <const auto& T>
struct DiagonallyImplicit {
  static constexpr const auto& tableau = T;
  static_assert(diagonally_implicit(T) && consistent_implicit(T),
                "a is not lower triangular with row sums c, or the weights do not sum to 1");

  /// The step and its adjoint for one problem.
  template <class F, class Objective>
  using Kernel = DirkKernel<F, T, Objective>;

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

  [[nodiscard]] StepControl control() const {
    return {.method = T.name,
            .error_order = T.embedded_order == 0 ? 0 : std::min(T.order, T.embedded_order) + 1,
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

/// First order, L-stable.
using BackwardEuler = DiagonallyImplicit<tableaux::backward_euler>;
/// Second order, A-stable, symplectic.
using ImplicitMidpoint = DiagonallyImplicit<tableaux::implicit_midpoint>;
/// Second order, A-stable.
using CrankNicolson = DiagonallyImplicit<tableaux::crank_nicolson>;
/// Second order, L-stable, two stages.
using Sdirk2 = DiagonallyImplicit<tableaux::sdirk2>;
/// Fourth order with error estimate, L-stable, five stages; fit for algebraic equations.
using Sdirk43 = DiagonallyImplicit<tableaux::sdirk_43>;
/// Third order with error estimate, L-stable, three implicit stages.
using Esdirk32 = DiagonallyImplicit<tableaux::esdirk_32>;
/// Fourth order with error estimate, L-stable, five implicit stages.
using Esdirk43 = DiagonallyImplicit<tableaux::esdirk_43>;

}  // namespace costate
