#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/integrate/fixed_steps.hpp"
#include "costate/integrate/fully_implicit_kernel.hpp"
#include "costate/integrate/step_control.hpp"
#include "costate/integrate/tableaux_implicit.hpp"

/// @file
/// The fully implicit Runge-Kutta methods and how their steps are chosen.

namespace costate {

/// A fully implicit Runge-Kutta method. Exactly one of `.h`, `.steps`, `.grid` must be given, as
/// with `ExplicitRungeKutta`.
///
/// @tparam T  a constexpr `Tableau` at namespace scope
template <const auto& T>
struct FullyImplicit {
  static constexpr const auto& tableau = T;
  static_assert(consistent_implicit(T), "a has not the row sums c, or the weights do not sum to 1");

  /// The step and its adjoint for one problem.
  template <class F, class Objective>
  using Kernel = FullyImplicitKernel<F, T, Objective>;

  double h = 0;                   ///< step size, > 0 in either direction of time
  Step steps = 0;                 ///< number of equal steps
  std::vector<double> grid = {};  ///< the times, t0 first and t1 last

  [[nodiscard]] StepControl control() const { return fixed_steps(T.name, h, steps, grid); }
};

/// Fourth order, A-stable, symplectic.
using Gauss4 = FullyImplicit<tableaux::gauss_4>;
/// Third order, L-stable; fit for algebraic equations.
using Radau3 = FullyImplicit<tableaux::radau_3>;
/// Fifth order, L-stable; fit for algebraic equations.
using Radau5 = FullyImplicit<tableaux::radau_5>;

}  // namespace costate
