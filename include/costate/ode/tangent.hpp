#pragma once

#include <cstddef>
#include <span>

#include "costate/integrate/make_kernel.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/ode/objective.hpp"
#include "costate/ode/observation_list.hpp"
#include "costate/ode/run.hpp"
#include "costate/ode/value_and_gradient.hpp"

namespace costate {

/// A direction in the space of initial values and parameters.
template <RealVector State, RealVector Parameters>
struct Direction {
  State dy0 = {};
  Parameters dp = {};
};

template <Problem F>
using DirectionOf = Direction<typename F::State, typename F::Parameters>;

/// A value and its derivative in one direction.
struct Tangent {
  double value = 0;
  double derivative = 0;
};

/// The derivative of the objective in one direction, by the tangent of every step: no adjoint, no
/// checkpoints, two or three times the cost of a forward run. Adaptive steps are chosen first and
/// then held fixed, as in `value_and_gradient`. Allocates in every step; made for checks.
/// @throws what `value` throws
template <TangentProblem F, class Method, class O>
Tangent tangent(const F& problem, const Method& method, const O& objective, const RunOf<F>& run,
                const DirectionOf<F>& direction) {
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  const ValueOf<F> forward = value(problem, method, objective, run);
  auto kernel = make_kernel(problem, method, objective, run.p, run.y0.size());
  State y = run.y0;
  if constexpr (requires { kernel.start(y); }) kernel.start(y);
  if constexpr (requires { kernel.place(run.t0, run.t1); }) kernel.place(run.t0, run.t1);
  if constexpr (requires { kernel.begin_tangent(); }) kernel.begin_tangent();
  State dy = direction.dy0;
  const Parameters& dp = direction.dp;
  State y_bar = y;
  Parameters p_bar = run.p;
  double derivative = 0;

  // Adds what a part's gradient gives along (dy, dp).
  const auto add = [&](const auto& gradient) {
    y_bar.setZero();
    p_bar.setZero();
    gradient();
    derivative += static_cast<double>(y_bar.dot(dy)) + static_cast<double>(p_bar.dot(dp));
  };
  [[maybe_unused]] std::size_t next = 0;
  [[maybe_unused]] const auto observe = [&](const ObservationList& list, Step k) {
    if constexpr (HasObservations<O, State, Parameters>) {
      for (; next < list.entries().size() && list.entries()[next].index == k; ++next) {
        add([&] {
          objective.observation_gradient(list.entries()[next].which, y, run.p, y_bar, p_bar);
        });
      }
    }
  };

  std::span<const double> times;
  if constexpr (HasObservations<O, State, Parameters>) times = objective.observation_times();
  ObservationList observations(times, run.t0, run.t1);
  observations.bind(forward.grid);
  observe(observations, 0);
  for (Step k = 0; k < forward.grid.steps(); ++k) {
    const Interval s = forward.grid.interval(k);
    kernel.tangent(s, y, dy, dp, derivative);
    kernel.advance(&s, 1, y, y, {}, {});
    observe(observations, k + 1);
  }
  if constexpr (HasTerminal<O, State, Parameters>) {
    add([&] { objective.terminal_gradient(y, run.p, y_bar, p_bar); });
  }
  return {forward.value, derivative};
}

}  // namespace costate
