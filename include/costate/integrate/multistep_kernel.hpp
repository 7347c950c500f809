#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include <Eigen/Core>

#include "costate/integrate/integrand.hpp"
#include "costate/integrate/multistep_history.hpp"
#include "costate/integrate/one_instance.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/integrate/time_grid.hpp"

/// @file
/// One step of an explicit multistep method, its tangent and its adjoint.
///
/// The state of such a method is y_n and a history X_1 … X_m of vectors, slopes or states, together
/// with the sizes of the last steps. With f = f(t_n, y_n), X_0 = y_n and scalars that depend on the
/// step sizes only,
///
///     y⁺   = sum_j a_j X_j + α f
///     X_1⁺ = sum_j c_j X_j + γ f,     X_i⁺ = X_{i-1} for i >= 2,
///
/// so with the adjoints Λ_0 … Λ_m of y⁺, X_1⁺ … the adjoint of the step is, again one evaluation,
///
///     w = α Λ_0 + γ Λ_1,   p̄ += (∂f/∂p)ᵀ w
///     Λ_0 ← a_0 Λ_0 + c_0 Λ_1 + (∂f/∂y)ᵀ w
///     Λ_j ← a_j Λ_0 + c_j Λ_1 + Λ_{j+1},  Λ_{m+1} = 0.
///
/// A running integral q' = g is one more component of y, to which nothing reacts: it has a history
/// of its own, and its adjoints are scalars with the same recurrence, started from 1, 0 … 0.

namespace costate {

/// The coefficients of one step with a history of M vectors.
template <std::size_t M>
struct MultistepCoefficients {
  std::array<double, M + 1> y = {};       ///< a_j
  double y_slope = 0;                     ///< α
  std::array<double, M + 1> pushed = {};  ///< c_j
  double pushed_slope = 0;                ///< γ
};

/// The step of an explicit multistep method for one problem. Holds the history, which belongs to
/// the state of the simulation: whoever saves y must save it, too.
///
/// How far the start-up has got is told by the step sizes in the history: those that are zero have
/// not been made. So a step is a function of what is saved.
///
/// @tparam Method  has `static constexpr std::size_t history`, the M above; `static constexpr bool
///                 pushes_slope`, true if c_j = 0 and γ = 1; and
///                 `coefficients(double h, std::span<const double> before)` const, where `before`
///                 are the sizes of the M steps before this one, the latest first
template <Problem F, class Method, class Objective = NoIntegrand>
class MultistepKernel {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Scalar = typename State::Scalar;
  static constexpr bool estimates_error = false;

  /// @param f, objective  must outlive the kernel
  /// @param p             copied
  /// @param size          of y
  MultistepKernel(const F& f, const Method& method, const Objective& objective, const Parameters& p,
                  Eigen::Index size)
      : f_(f), method_(method), objective_(objective), p_(p), p_term_(p) {
    for (History* history : {&value_, &adjoint_, &tangent_}) history->clear(size);
    slope_.setZero(size);
    pushed_.setZero(size);
    if constexpr (integrates) y_term_.setZero(size);
  }

  /// Saved states, `stride` bytes apart; none if `first` is null.
  struct StateRows {
    std::byte* first = nullptr;
    std::size_t stride = 0;
    [[nodiscard]] std::byte* operator[](Step i) const {
      return first + static_cast<std::size_t>(i) * stride;
    }
  };

  /// What a forward step is to do besides taking y to y⁺.
  struct Extras {
    bool accumulate = false;  ///< add to `integral`
  };

  /// Takes `from` over `count` consecutive steps to `to`; the two may be the same object.
  /// @param s     the `count` steps, at least 1
  /// @param rows  where to save the state before each of them, if anywhere
  COSTATE_ONE_INSTANCE void advance(const Interval* s, Step count, const State& from, State& to,
                                    StateRows rows, Extras extras) {
    const State* y = &from;
    for (Step i = 0; i < count; ++i) {
      if (rows.first != nullptr) value_.save(*y, rows[i]);
      forward(s[i], *y, to, extras.accumulate);
      y = &to;
    }
  }

  /// To be called before the first `reverse`: the adjoint of the history is zero at the end.
  void begin_adjoint() {
    adjoint_.clear(slope_.size());
    gamma_ = {};
    gamma_[0] = 1;
  }

  /// Takes λ back over `count` consecutive steps, in place, and adds to `p_bar`.
  /// @param s     the `count` steps, in the order of time
  /// @param y     the state before the first of them; on return, if there are `rows`, again
  /// @param rows  the states before each of them; may be none if count is 1
  COSTATE_ONE_INSTANCE void reverse(const Interval* s, Step count, State& y, StateRows rows,
                                    State& lambda, Parameters& p_bar) {
    for (Step i = count - 1; i >= 0; --i) {
      if (rows.first != nullptr) {
        // The vectors are not read on the way.
        i == 0 ? value_.load(y, rows[i]) : value_.load_without_vectors(y, rows[i]);
      }
      backward(s[i], y, lambda, p_bar);
    }
  }

  /// To be called before the first `tangent`: the history of the tangent is empty at the start.
  void begin_tangent() {
    tangent_.clear(slope_.size());
    integral_dot_ = {};
  }

  /// dy → dy⁺ in place, the derivative of y⁺ in the direction (dy, dp); adds that of the integral.
  /// Keeps the history of dy, so the steps of a run must be taken in order.
  /// @param y  state before the step
  void tangent(const Interval& s, const State& y, State& dy, const Parameters& dp,
               double& integral_dot) requires TangentProblem<F> {
    const auto c = method_.coefficients(s.h, tangent_.h);
    f_.jvp(s.t, y, p_, dy, dp, slope_);
    if constexpr (integrates) {
      objective_gradient(s.t, y);
      const double before = integral_dot_[0];
      push(c, static_cast<double>(y_term_.dot(dy) + p_term_.dot(dp)), integral_dot_);
      integral_dot += integral_dot_[0] - before;
    }
    push(s.h, c, dy, dy, tangent_);
  }

  // ----- The history as a part of the saved state -----

  /// The vectors kept besides y; in a saved state y comes first, then they, then as many step
  /// sizes.
  static constexpr std::size_t history_vectors = Method::history;
  [[nodiscard]] std::size_t state_bytes() const { return value_.bytes(); }
  /// @param out  state_bytes() bytes
  void save(const State& y, std::byte* out) const { value_.save(y, out); }
  void load(State& y, const std::byte* in) { value_.load(y, in); }

  // ----- What a sweep accumulates besides, to go on after an interruption -----

  [[nodiscard]] std::size_t progress_bytes() const {
    return sizeof q_ + sizeof gamma_ + adjoint_.vectors_bytes();
  }
  /// @param out  progress_bytes() bytes
  void save_progress(std::byte* out) const {
    std::memcpy(out, q_.data(), sizeof q_);
    std::memcpy(out + sizeof q_, gamma_.data(), sizeof gamma_);
    adjoint_.save_vectors(out + sizeof q_ + sizeof gamma_);
  }
  void load_progress(const std::byte* in) {
    std::memcpy(q_.data(), in, sizeof q_);
    std::memcpy(gamma_.data(), in + sizeof q_, sizeof gamma_);
    adjoint_.load_vectors(in + sizeof q_ + sizeof gamma_);
  }

  /// The integral over the steps made with `accumulate`.
  double integral = 0;

  [[nodiscard]] const Parameters& parameters() const noexcept { return p_; }

 private:
  static constexpr std::size_t m = Method::history;
  static_assert(m >= 1, "a method without history is a Runge-Kutta method");
  static constexpr bool integrates = HasIntegrand<Objective, State, Parameters>;
  using Coefficients = MultistepCoefficients<m>;
  using Scalars = std::array<double, m + 1>;  // of the integral: itself and its history

  using History = MultistepHistory<State, m>;

  // e + sum_{j>=J} a_j X_j
  template <std::size_t J, class E>
  static auto plus(const E& e, const Scalars& a, const History& history) {
    const auto sum = e + static_cast<Scalar>(a[J]) * history.x[J - 1];
    if constexpr (J == m) {
      return sum;
    } else {
      return plus<J + 1>(sum, a, history);
    }
  }

  // One step of vectors, whose slope is in `slope_`.
  void push(double h, const Coefficients& c, const State& y, State& y_next, History& history) {
    if constexpr (!Method::pushes_slope) {
      pushed_ = plus<1>(
          static_cast<Scalar>(c.pushed[0]) * y + static_cast<Scalar>(c.pushed_slope) * slope_,
          c.pushed, history);
    }
    y_next = plus<1>(static_cast<Scalar>(c.y[0]) * y + static_cast<Scalar>(c.y_slope) * slope_, c.y,
                     history);
    std::swap(history.x[m - 1], Method::pushes_slope ? slope_ : pushed_);
    for (std::size_t i = m - 1; i > 0; --i) {
      std::swap(history.x[i], history.x[i - 1]);
      history.h[i] = history.h[i - 1];
    }
    history.h[0] = h;
  }

  // The same of a scalar.
  static void push(const Coefficients& c, double slope, Scalars& q) {
    double next = c.y_slope * slope;
    double pushed = c.pushed_slope * slope;
    for (std::size_t j = 0; j <= m; ++j) {
      next += c.y[j] * q[j];
      pushed += c.pushed[j] * q[j];
    }
    for (std::size_t i = m; i > 1; --i) q[i] = q[i - 1];
    q[1] = pushed;
    q[0] = next;
  }

  // Called whether it has to add or not, so that the code around it is the same in replays.
  COSTATE_ONE_INSTANCE void accumulate(bool wanted, const Coefficients& c, double t,
                                       const State& y) {
    if (!wanted) return;
    q_[0] = integral;
    push(c, static_cast<double>(objective_.integrand(t, y, p_)), q_);
    integral = q_[0];
  }

  void objective_gradient(double t, const State& y) {
    y_term_.setZero();
    p_term_.setZero();
    objective_.integrand_gradient(t, y, p_, y_term_, p_term_);
  }

  void forward(const Interval& s, const State& y, State& y_next, bool add) {
    const Coefficients c = method_.coefficients(s.h, value_.h);
    f_.rhs(s.t, y, p_, slope_);
    if constexpr (integrates) accumulate(add, c, s.t, y);
    push(s.h, c, y, y_next, value_);
  }

  void backward(const Interval& s, const State& y, State& lambda, Parameters& p_bar) {
    const Coefficients c = method_.coefficients(s.h, value_.h);
    std::array<State, m>& x = adjoint_.x;
    pushed_ = static_cast<Scalar>(c.y_slope) * lambda + static_cast<Scalar>(c.pushed_slope) * x[0];
    f_.vjp(s.t, y, p_, pushed_, slope_, p_bar);
    if constexpr (integrates) {
      const double weight = c.y_slope * gamma_[0] + c.pushed_slope * gamma_[1];
      objective_gradient(s.t, y);
      slope_ += static_cast<Scalar>(weight) * y_term_;
      p_bar += static_cast<typename Parameters::Scalar>(weight) * p_term_;
      const Scalars old = gamma_;
      for (std::size_t j = 0; j <= m; ++j) {
        gamma_[j] = c.y[j] * old[0] + c.pushed[j] * old[1] + (j > 0 && j < m ? old[j + 1] : 0.0);
      }
    }
    if constexpr (Method::pushes_slope) {
      for (std::size_t j = 1; j < m; ++j) {
        x[j - 1] = static_cast<Scalar>(c.y[j]) * lambda + x[j];
      }
      x[m - 1] = static_cast<Scalar>(c.y[m]) * lambda;
      lambda = static_cast<Scalar>(c.y[0]) * lambda + slope_;
    } else {
      pushed_ = x[0];
      for (std::size_t j = 1; j < m; ++j) {
        x[j - 1] = static_cast<Scalar>(c.y[j]) * lambda +
                   static_cast<Scalar>(c.pushed[j]) * pushed_ + x[j];
      }
      x[m - 1] = static_cast<Scalar>(c.y[m]) * lambda + static_cast<Scalar>(c.pushed[m]) * pushed_;
      lambda = static_cast<Scalar>(c.y[0]) * lambda + static_cast<Scalar>(c.pushed[0]) * pushed_ +
               slope_;
    }
  }

  const F& f_;
  Method method_;
  const Objective& objective_;
  Parameters p_;
  History value_;
  History adjoint_;  // its step sizes are not used: they are those of the value
  History tangent_;
  Scalars q_ = {};
  Scalars gamma_ = {};  // adjoints of q and its history
  Scalars integral_dot_ = {};
  State slope_;   // f; in the adjoint (∂f/∂y)ᵀ w
  State pushed_;  // the new X_1 if it is not the slope; in the adjoint w, then the old Λ_1
  State y_term_;  // gradient of the integrand
  Parameters p_term_;
};

}  // namespace costate
