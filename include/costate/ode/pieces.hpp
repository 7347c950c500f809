#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "costate/core/step.hpp"
#include "costate/integrate/integrand.hpp"
#include "costate/integrate/make_kernel.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/integrate/time_grid.hpp"

/// @file
/// Right-hand sides that are smooth between given times only: controls on a grid, switches. Steps
/// are placed on the times, and each step knows on which side of them it lies, so that a value that
/// jumps at a time has one side for all evaluations of a step.

namespace costate {

/// A problem with times on which steps must be placed:
///
///     breaks()      -> times, in any order; those outside of the run do not matter
template <class F>
concept HasBreaks = Problem<F> && requires(const F& f) {
  { f.breaks() } -> std::convertible_to<std::span<const double>>;
};

/// A problem that is told of each step before it is evaluated in it:
///
///     enter(s)      until the next call, t means the side of the breaks on which step s lies
///
/// Each kernel has a copy of its own, so such a problem should be cheap to copy.
template <class F>
concept Piecewise = HasBreaks<F> && std::copy_constructible<F> &&
    requires(F& f, const Interval& s) {
  f.enter(s);
};

/// The breaks between t0 and t1, and `times` besides: where steps are to be placed.
template <Problem F>
std::vector<double> stops_of(const F& f, std::span<const double> times, double t0, double t1) {
  std::vector<double> out(times.begin(), times.end());
  if constexpr (HasBreaks<F>) {
    for (const double t : std::span<const double>(f.breaks())) {
      if (t > std::min(t0, t1) && t < std::max(t0, t1)) out.push_back(t);
    }
  }
  return out;
}

/// Holds what the base of a kernel refers to; constructed before it.
template <class F>
struct OwnProblem {
  F problem;
};

/// The step of a method for a piecewise problem: that of the method, after `enter`.
template <Piecewise F, class Method, class Objective>
class PieceKernel : private OwnProblem<F>, public Method::template Kernel<F, Objective> {
  using Base = typename Method::template Kernel<F, Objective>;
  static_assert(
      !requires(Base & base) { base.begin_adjoint(); },
      "a method whose steps read their history is not for problems with breaks");
  // Its steps change their sizes with the times, which an integrand's gradient has no place for.
  static_assert(!(requires { requires F::moves_times; } &&
                  HasIntegrand<Objective, typename F::State, typename F::Parameters>),
                "an integrand does not see moving times: make the integral a component of the "
                "state");

 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using StateRows = typename Base::StateRows;
  using Extras = typename Base::Extras;

  PieceKernel(const F& f, const Method& method, const Objective& objective, const Parameters& p,
              Eigen::Index size) requires
      std::constructible_from<Base, const F&, const Method&, const Objective&, const Parameters&,
                              Eigen::Index> : OwnProblem<F>{f},
                                              Base(this->problem, method, objective, p, size) {}
  PieceKernel(const F& f, const Method& /*method*/, const Objective& objective, const Parameters& p,
              Eigen::Index size)
      : OwnProblem<F>{f}, Base(this->problem, objective, p, size) {}
  PieceKernel(const PieceKernel&) = delete;
  PieceKernel& operator=(const PieceKernel&) = delete;
  ~PieceKernel() = default;

  void advance(const Interval* s, Step count, const State& from, State& to, StateRows rows,
               Extras extras) {
    const State* y = &from;
    for (Step i = 0; i < count; ++i) {
      if (rows.first != nullptr) rows.put(i, *y);
      this->problem.enter(s[i]);
      Base::advance(s + i, 1, *y, to, {}, extras);
      y = &to;
    }
  }
  void reverse(const Interval* s, Step count, State& y, StateRows rows, State& lambda,
               Parameters& p_bar) {
    for (Step i = count - 1; i >= 0; --i) {
      if (rows.first != nullptr) rows.get(i, y);
      this->problem.enter(s[i]);
      Base::reverse(s + i, 1, y, {}, lambda, p_bar);
    }
  }
  void advance_taped(const Interval& s, State& y, std::byte* tape, bool accumulate) {
    this->problem.enter(s);
    Base::advance_taped(s, y, tape, accumulate);
  }
  void reverse_tape(const Interval& s, const std::byte* tape, State& y, State& lambda,
                    Parameters& p_bar) {
    this->problem.enter(s);
    Base::reverse_tape(s, tape, y, lambda, p_bar);
  }
  void tangent(const Interval& s, const State& y, State& dy, const Parameters& dp,
               double& integral_dot) requires TangentProblem<F> {
    this->problem.enter(s);
    Base::tangent(s, y, dy, dp, integral_dot);
  }
  double first_step(double t0, double span, const State& y, double rtol, double atol, int order) {
    const double h = 1e-9 * span;  // the side on which the run lies
    this->problem.enter({t0, h, t0 + h, 0});
    return Base::first_step(t0, span, y, rtol, atol, order);
  }
  /// The slope at the end of a step may belong to another piece than the one of the next step.
  static constexpr bool pass_slope_on() { return false; }
};

template <Piecewise F, class Method, class Objective>
struct ChooseKernel<F, Method, Objective> {
  using type = PieceKernel<F, Method, Objective>;
};

}  // namespace costate
