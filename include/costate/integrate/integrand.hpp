#pragma once

#include <concepts>

/// @file
/// What the integrate layer has to know of an objective: the integrand of a running integral, which
/// is summed at the stages of the steps.

namespace costate {

/// Has `integrand(t, y, p) -> double` and `integrand_gradient(t, y, p, y_bar, p_bar)`, which adds
/// the gradient of the integrand to `y_bar` and `p_bar`.
template <class O, class State, class Parameters>
concept HasIntegrand = requires(const O& objective, double t, const State& y, const Parameters& p,
                                State& y_bar, Parameters& p_bar) {
  { objective.integrand(t, y, p) } -> std::convertible_to<double>;
  objective.integrand_gradient(t, y, p, y_bar, p_bar);
};

/// An objective without a running integral.
struct NoIntegrand {};

}  // namespace costate
