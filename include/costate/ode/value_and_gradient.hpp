#pragma once

#include <cmath>
#include <limits>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/ode/objective.hpp"
#include "costate/ode/ode_stepper.hpp"
#include "costate/ode/run.hpp"
#include "costate/sweep/sweep.hpp"

/// @file
/// The solver door:
///
/// @code
///   auto result = costate::value_and_gradient(
///       problem, costate::Dopri5{.rtol = 1e-8, .atol = 1e-10}, objective,
///       {.t0 = 0, .t1 = 10, .y0 = y0, .p = p, .budget = {.memory = 64_MiB}});
///   result.value; result.dy0; result.dp; result.report;
/// @endcode

namespace costate {

/// The objective alone: one forward run, nothing stored.
/// @throws InvalidArgument, IntegrationError, NonFiniteError
template <Problem F, class Method, class O>
ValueOf<F> value(const F& problem, const Method& method, const O& objective, const RunOf<F>& run) {
  OdeStepper<F, Method, O> stepper(problem, method, objective, run.t0, run.t1, run.y0, run.p);
  constexpr Step ahead = Step{1} << 20;
  for (Step k = 0; k != stepper.steps();) {
    k = stepper.advance(k, stepper.steps() == unknown ? k + ahead : stepper.steps(), Pass::first);
  }
  stepper.turn(stepper.steps());
  if (!std::isfinite(stepper.value())) {
    throw NonFiniteError("the objective is not finite", stepper.steps());
  }
  return {stepper.value(), stepper.state(), stepper.grid(), stepper.rejected()};
}

/// Runs again, slower, and names the step at which something stops being finite.
/// @throws NonFiniteError in any case
template <Problem F, class Method, class O>
[[noreturn]] void find_not_finite(const F& problem, const Method& method, const O& objective,
                                  const RunOf<F>& run) {
  OdeStepper<F, Method, O> watched(problem, method, objective, run.t0, run.t1, run.y0, run.p);
  watched.watch();
  SweepOptions options = run.sweep_options();
  options.progress = {};
  sweep(watched, options);
  throw NonFiniteError("the objective is not finite", watched.steps());
}

/// The objective and its gradient with respect to y0 and p, within the budget.
///
/// The gradient is the exact derivative of the value that was computed, with the accepted steps
/// held fixed; its bits do not depend on budget, schedule or tier (docs/exactness.md).
///
/// @param problem    y' = f(t, y, p) with its vector-Jacobian product: `problem(...)`,
///                   `autodiff(...)`, or a type of your own (integrate/problem.hpp)
/// @param method     for example `Dopri5{.rtol = 1e-8, .atol = 1e-10}`, `RungeKutta4{.h = 0.01}`
/// @param objective  for example `terminal(...) + integral(...)` (ode/objective.hpp)
/// @throws InvalidArgument   if an option, a time or a size makes no sense
/// @throws BudgetError       if the budget does not hold the least that is needed; nothing has run
/// @throws IntegrationError  if adaptive steps cannot go on
/// @throws NonFiniteError    if value or gradient are not finite;
///                           found by a second, slower run
///                           that names the step
/// @throws ReplayError       if `rhs` is not a function of its arguments
/// @throws StorageError      if a checkpoint cannot be written or read
template <Problem F, class Method, class O>
GradientOf<F> value_and_gradient(const F& problem, const Method& method, const O& objective,
                                 const RunOf<F>& run) {
  OdeStepper<F, Method, O> stepper(problem, method, objective, run.t0, run.t1, run.y0, run.p);
  Report report = sweep(stepper, run.sweep_options());
  if (!std::isfinite(stepper.value()) || !stepper.adjoint().allFinite() ||
      !stepper.parameter_gradient().allFinite()) {
    find_not_finite(problem, method, objective, run);
  }
  return {.value = stepper.value(),
          .dy0 = stepper.adjoint(),
          .dp = stepper.parameter_gradient(),
          .grid = stepper.grid(),
          .rejected = stepper.rejected(),
          .report = std::move(report)};
}

}  // namespace costate
