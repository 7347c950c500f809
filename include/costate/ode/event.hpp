#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <Eigen/Core>

#include "costate/core/step.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/ode/autodiff.hpp"

namespace costate {

/// Something that happens to a run: when g(t, y, p) passes through zero, or at a given time, the
/// state jumps from y to D(t, y, p), or the run ends. A parameter that is switched is a component
/// of the state with derivative 0.
template <RealVector State, RealVector Parameters>
struct Event {
  /// g(t, y, p)
  std::function<double(double, const State&, const Parameters&)> root = {};
  /// Adds ∂g/∂y and ∂g/∂p, returns ∂g/∂t.
  std::function<double(double, const State&, const Parameters&, State& y_bar, Parameters& p_bar)>
      root_gradient = {};
  /// y ← D(t, y, p); none: the state goes on as it is.
  std::function<void(double, const State&, const Parameters&, State& after)> jump = {};
  /// λ ← (∂D/∂y)ᵀ λ at the state before, adds (∂D/∂p)ᵀ λ, returns (∂D/∂t)ᵀ λ.
  std::function<double(double, const State& before, const Parameters&, State& lambda,
                       Parameters& p_bar)>
      jump_vjp = {};
  int direction = 0;                        ///< 1: g rising only, -1: falling only, 0: both
  bool terminal = false;                    ///< the run ends here
  std::optional<double> at = std::nullopt;  ///< a given time instead of `root`
};

/// What happened: event `which` at index `index`, whose time is `t`.
struct Occurrence {
  std::size_t which = 0;
  Step index = 0;
  double t = 0;
  bool located = false;   ///< t solves g = 0; else it was given, or another event came first there
  double derivative = 0;  ///< if the time was given: ∂J/∂t
};

/// What an objective takes from the times of events; see `value_and_gradient_with_events`.
struct OccurrencePart {
  std::function<double(std::span<const Occurrence>)> value = {};
  /// Adds the derivative by each `t`.
  std::function<void(std::span<const Occurrence>, std::span<double> t_bar)> gradient = {};
};

/// An event from g(t, y, p, value), and its jump, with derivatives by automatic differentiation.
/// All arguments are numbers of the same kind, t included.
template <RealVector State, RealVector Parameters, class Root>
Event<State, Parameters> autodiff_event(Root root) {
  using Scalar = typename State::Scalar;
  using Dual = autodiff_detail::Dual<Scalar, 1>;
  Event<State, Parameters> out;
  out.root = [root](double t, const State& y, const Parameters& p) {
    Scalar value(0);
    root(static_cast<Scalar>(t), y, p, value);
    return static_cast<double>(value);
  };
  out.root_gradient = [root](double t, const State& y, const Parameters& p, State& y_bar,
                             Parameters& p_bar) {
    autodiff_detail::add_gradient(y, p, y_bar, p_bar,
                                  [&](const auto& u, const auto& q, auto& result) {
                                    using Number = std::decay_t<decltype(result)>;
                                    root(Number(static_cast<Scalar>(t)), u, q, result);
                                  });
    Dual time(static_cast<Scalar>(t));
    time.derivatives()[0] = 1;
    Dual value(0);
    const autodiff_detail::Like<State, Dual> u = y.template cast<Dual>();
    const autodiff_detail::Like<Parameters, Dual> q =
        p.template cast<Scalar>().template cast<Dual>();
    root(time, u, q, value);
    return static_cast<double>(value.derivatives()[0]);
  };
  return out;
}

/// Gives an event a jump from D(t, y, p, after); `after` arrives as a copy of y.
template <class Jump, RealVector State, RealVector Parameters>
Event<State, Parameters> with_jump(Event<State, Parameters> event, Jump jump) {
  using Scalar = typename State::Scalar;
  using Dual = autodiff_detail::Dual<Scalar, 1>;
  event.jump = [jump](double t, const State& y, const Parameters& p, State& after) {
    after = y;
    jump(static_cast<Scalar>(t), y, p, after);
  };
  event.jump_vjp = [jump](double t, const State& y, const Parameters& p, State& lambda,
                          Parameters& p_bar) {
    const State w = lambda;
    autodiff_detail::sweep_directions(
        y, p,
        [&](auto& scratch) {
          using Number = typename std::decay_t<decltype(scratch.y)>::Scalar;
          scratch.out = scratch.y;
          jump(Number(static_cast<Scalar>(t)), std::as_const(scratch.y), std::as_const(scratch.p),
               scratch.out);
          auto sum = (w[0] * scratch.out[0].derivatives()).eval();
          for (Eigen::Index i = 1; i < w.size(); ++i) sum += w[i] * scratch.out[i].derivatives();
          return sum;
        },
        [&](Eigen::Index i, Scalar derivative) {
          if (i < y.size()) {
            lambda[i] = derivative;
          } else {
            p_bar[i - y.size()] += static_cast<typename Parameters::Scalar>(derivative);
          }
        });
    Dual time(static_cast<Scalar>(t));
    time.derivatives()[0] = 1;
    const autodiff_detail::Like<State, Dual> u = y.template cast<Dual>();
    const autodiff_detail::Like<Parameters, Dual> q =
        p.template cast<Scalar>().template cast<Dual>();
    autodiff_detail::Like<State, Dual> after = u;
    jump(time, u, q, after);
    double by_time = 0;
    for (Eigen::Index i = 0; i < w.size(); ++i) {
      by_time += static_cast<double>(w[i] * after[i].derivatives()[0]);
    }
    return by_time;
  };
  return event;
}

}  // namespace costate
