#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include <Eigen/Core>

#include "costate/integrate/integrand.hpp"
#include "costate/integrate/one_instance.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/integrate/step_control.hpp"
#include "costate/integrate/time_grid.hpp"

/// @file
/// What the kernels of all one-step methods with costly steps have in common.

namespace costate {

/// The frame of a kernel: runs of steps, the integral, norms, the first step size. `Derived` has
///
///     void forward(const Interval& s, const State& y, State& y_next, bool trial)
///     void backward(const Interval& s, const State& y, State& lambda, Parameters& p_bar)
///
/// and calls `accumulate` once for each quadrature node of a forward step. `y` and `y_next` may be
/// the same object. In a trial step, `forward` sets y_next to NaN if a stage cannot be found; else
/// it throws.
///
/// The tape of a step is y and vectors that `backward` otherwise computes from it. A kernel with
/// tapes has
///
///     static constexpr std::size_t tape_states     their number, y included
///     static constexpr bool tape_has_next          the last of them is y⁺
///     void each_taped(visit)                       visits them, but y, as `forward` left them
///     void backward_taped(s, y, lambda, p_bar)     `backward` with what was visited, to the bit
template <class Derived, Problem F, class Objective>
class StepKernel {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Scalar = typename State::Scalar;

  /// Contiguous states, `stride` bytes apart; none if `first` is null.
  struct StateRows {
    std::byte* first = nullptr;
    std::size_t stride = 0;
    void put(Step i, const State& y) const {
      std::memcpy(first + static_cast<std::size_t>(i) * stride, y.data(), bytes(y));
    }
    void get(Step i, State& y) const {
      std::memcpy(y.data(), first + static_cast<std::size_t>(i) * stride, bytes(y));
    }
    static std::size_t bytes(const State& y) {
      return static_cast<std::size_t>(y.size()) * sizeof(Scalar);
    }
  };

  /// What a forward step is to do besides taking y to y⁺.
  struct Extras {
    bool accumulate = false;   ///< add to `integral`
    bool slope_known = false;  ///< of no use here
    bool keep_slopes = false;  ///< a trial step: `error` will follow
  };

  /// Takes `from` over `count` consecutive steps to `to`; the two may be the same object.
  /// @param s     the `count` steps, at least 1
  /// @param rows  where to copy the state before each of them, if anywhere
  /// @throws IntegrationError if a stage cannot be found, unless it is a trial step
  COSTATE_ONE_INSTANCE void advance(const Interval* s, Step count, const State& from, State& to,
                                    StateRows rows, Extras extras) {
    accumulates_ = extras.accumulate;
    const State* y = &from;
    for (Step i = 0; i < count; ++i) {
      if (rows.first != nullptr) rows.put(i, *y);
      self().forward(s[i], *y, to, extras.keep_slopes);
      y = &to;
    }
  }

  /// Takes λ back over `count` consecutive steps, in place, and adds to `p_bar`.
  /// @param s     the `count` steps, in the order of time
  /// @param y     the state before the first of them; on return, if there are `rows`, again
  /// @param rows  the states before each of them; may be none if count is 1
  /// @throws AdjointResidualError if a transposed system cannot be solved
  COSTATE_ONE_INSTANCE void reverse(const Interval* s, Step count, State& y, StateRows rows,
                                    State& lambda, Parameters& p_bar) {
    for (Step i = count - 1; i >= 0; --i) {
      if (rows.first != nullptr) rows.get(i, y);
      self().backward(s[i], y, lambda, p_bar);
    }
  }

  /// y → y⁺ as `advance` does it, and writes the tape of the step: `tape_states` states.
  void advance_taped(const Interval& s, State& y, std::byte* tape, bool accumulate) {
    const StateRows rows{tape, StateRows::bytes(y)};
    rows.put(0, y);
    advance(&s, 1, y, y, {}, {.accumulate = accumulate});
    Step row = 1;
    self().each_taped([&](const State& x) { rows.put(row++, x); });
  }

  /// λ → its value before the step, as `reverse` does it, from the tape alone; y is then the state
  /// before the step.
  void reverse_tape(const Interval& s, const std::byte* tape, State& y, State& lambda,
                    Parameters& p_bar) {
    const auto take = [&](State& x) {
      std::memcpy(x.data(), tape, StateRows::bytes(x));
      tape += StateRows::bytes(x);
    };
    take(y);
    self().each_taped(take);
    self().backward_taped(s, y, lambda, p_bar);
  }

  /// The size of the first trial step, as `initial_step` has it; with a mass matrix f is not the
  /// slope, and it is a millionth of the interval, which a controller soon forgets.
  /// @param span   t1 - t0, not zero
  /// @param order  of the error estimate
  double first_step(double t0, double span, const State& y, double rtol, double atol, int order) {
    const double limit = std::abs(span);
    if constexpr (requires { f_.mass(); }) {
      return 1e-6 * limit;
    } else {
      State slope = y;
      State other = y;
      f_.rhs(t0, y, p_, slope);
      const double d1 = scaled_norm(slope, y, y, rtol, atol);
      const double h0 = initial_probe(scaled_norm(y, y, y, rtol, atol), d1, limit);
      const double h = std::copysign(h0, span);
      const State moved = y + static_cast<Scalar>(h) * slope;
      f_.rhs(h0 == limit ? t0 + span : t0 + h, moved, p_, other);
      other -= slope;
      return initial_step(h0, d1, scaled_norm(other, y, y, rtol, atol) / h0, order, limit);
    }
  }

  /// No slope of one step serves the next: f(y⁺) is known from an iteration, not to the bits of an
  /// evaluation.
  static constexpr bool pass_slope_on() { return false; }

  /// The sum over the steps made with `accumulate` of h sum_i b_i g(t_i, Y_i).
  double integral = 0;

  [[nodiscard]] const Parameters& parameters() const noexcept { return p_; }

 protected:
  static constexpr bool integrates = HasIntegrand<Objective, State, Parameters>;

  StepKernel(const F& f, const Objective& objective, const Parameters& p, Eigen::Index size)
      : f_(f), objective_(objective), p_(p), p_term_(p), y_term_(size) {}

  // Adds weight · g(t, y) to the integral if this pass does. Called whether it does or not, so that
  // the code around it is the same in replays.
  COSTATE_ONE_INSTANCE void accumulate(double weight, double t, const State& y) {
    if (accumulates_) integral += weight * static_cast<double>(objective_.integrand(t, y, p_));
  }

  // The gradient of the integrand, into y_term_ and p_term_.
  void objective_gradient(double t, const State& y) {
    y_term_.setZero();
    p_term_.setZero();
    objective_.integrand_gradient(t, y, p_, y_term_, p_term_);
  }

  // Root mean square of e_i / (atol + rtol max(|y_i|, |z_i|)); 0 / 0 counts as 0.
  COSTATE_ONE_INSTANCE static double scaled_norm(const State& e, const State& y, const State& z,
                                                 double rtol, double atol) {
    const auto size = y.array().abs().max(z.array().abs());
    const auto scale = (static_cast<Scalar>(atol) + static_cast<Scalar>(rtol) * size)
                           .max(std::numeric_limits<Scalar>::min());
    const auto sum = (e.array() / scale).square().sum();
    return std::sqrt(static_cast<double>(sum) / static_cast<double>(e.size()));
  }

  // Exactly the end where c is 1: nothing is evaluated beyond t1.
  static double stage_time(const Interval& s, double c) {
    if (c == 0) return s.t;
    return c == 1 ? s.t_next : s.t + c * s.h;
  }

  const F& f_;
  const Objective& objective_;
  Parameters p_;
  Parameters p_term_;
  State y_term_;

 private:
  Derived& self() { return static_cast<Derived&>(*this); }

  bool accumulates_ = false;
};

}  // namespace costate
