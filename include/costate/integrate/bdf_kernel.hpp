#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>

#include <Eigen/Core>

#include "costate/integrate/implicit_problem.hpp"
#include "costate/integrate/integrand.hpp"
#include "costate/integrate/multistep_history.hpp"
#include "costate/integrate/newton.hpp"
#include "costate/integrate/one_instance.hpp"
#include "costate/integrate/shifted_solver.hpp"
#include "costate/integrate/time_grid.hpp"
#include "costate/integrate/transposed_solve.hpp"

/// @file
/// One step of a backward differentiation formula for M y' = f(t, y, p), its tangent and its
/// adjoint. With X_0 = y_n, X_j = y_{n-j},
///
///     base = sum_j a_j X_j,   M (y⁺ - base) = β f(t⁺, y⁺),   X_j⁺ = X_{j-1},
///
/// where a_j and β depend on the step sizes only. Newton's iteration runs until rounding stops it.
/// The adjoint, with Λ_j that of X_j⁺ and Λ_0 that of y⁺,
///
///     (M - β J)ᵀ u = Λ_0,   p̄ += β (∂f/∂p)ᵀ u,   Λ_j ← a_j Mᵀ u + Λ_{j+1},   Λ_{m+1} = 0,
///
/// is solved at y⁺ until its residual has vanished. A running integral q' = g is one more component
/// of y without influence on the others.

namespace costate {

/// y⁺ = sum_j a_j y_{n-j} + β f(t⁺, y⁺).
template <std::size_t M>
struct BdfCoefficients {
  std::array<double, M + 1> y = {};  ///< a_j
  double slope = 0;                  ///< β
};

/// The step of a backward differentiation formula for one problem. Holds the history, which
/// belongs to the state of the simulation.
///
/// @tparam Method  has `name`, `history`, the number of states besides y_n, and
///                 `coefficients(double h, std::span<const double> before)`
template <Problem F, class Method, class Objective = NoIntegrand>
class BdfKernel {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Scalar = typename State::Scalar;
  static constexpr bool estimates_error = false;

  /// @param f, objective  must outlive the kernel
  /// @param p             copied
  /// @param size          of y
  BdfKernel(const F& f, const Objective& objective, const Parameters& p, Eigen::Index size)
      : f_(f), objective_(objective), p_(p), p_term_(p), solver_(f, p, size) {
    for (History* history : {&value_, &adjoint_, &tangent_}) history->clear(size);
    for (State* v : {&base_, &next_, &r_, &d_, &u_, &y_term_}) v->setZero(size);
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
  /// @throws IntegrationError if a step cannot be solved
  COSTATE_ONE_INSTANCE void advance(const Interval* s, Step count, const State& from, State& to,
                                    StateRows rows, Extras extras) {
    if (&from != &to) to = from;
    for (Step i = 0; i < count; ++i) {
      if (rows.first != nullptr) value_.save(to, rows[i]);
      const Coefficients c = Method::coefficients(s[i].h, value_.h);
      find(s[i], c, to);
      if constexpr (integrates) accumulate(extras.accumulate, c, s[i].t_next);
      push(s[i].h, next_, to, value_);
    }
  }

  /// To be called before the first `reverse`: the adjoint of the history is zero at the end.
  void begin_adjoint() {
    adjoint_.clear(base_.size());
    gamma_ = {};
    gamma_[0] = 1;
  }

  /// Takes λ back over `count` consecutive steps, in place, and adds to `p_bar`.
  /// @param s     the `count` steps, in the order of time
  /// @param y     the state before the first of them; on return, if there are `rows`, again
  /// @param rows  the states before each of them; may be none if count is 1
  /// @throws AdjointResidualError if a transposed system cannot be solved
  COSTATE_ONE_INSTANCE void reverse(const Interval* s, Step count, State& y, StateRows rows,
                                    State& lambda, Parameters& p_bar) {
    for (Step i = count - 1; i >= 0; --i) {
      if (rows.first != nullptr) value_.load(y, rows[i]);
      backward(s[i], y, lambda, p_bar);
    }
  }

  /// To be called before the first `tangent`: the history of the tangent is empty at the start.
  void begin_tangent() {
    tangent_.clear(base_.size());
    integral_dot_ = {};
  }

  /// dy → dy⁺ in place, the derivative of y⁺ in the direction (dy, dp); adds that of the integral.
  /// Keeps the history of dy, so the steps of a run must be taken in order.
  /// @param y  state before the step
  void tangent(const Interval& s, const State& y, State& dy, const Parameters& dp,
               double& integral_dot) requires TangentProblem<F> {
    const Coefficients c = Method::coefficients(s.h, value_.h);
    find(s, c, y);
    set_base(c, dy, tangent_);
    State dy_next = dy;
    const auto beta = static_cast<Scalar>(c.slope);
    const auto residual = [&](const State& x, State& r) {
      f_.jvp(s.t_next, next_, p_, x, dp, r);
      close_residual(beta, x, r);
    };
    const auto correct = [&](State& r) { solver_.solve(r); };
    const auto refresh = [&](const State&) {
      return solver_.prepare(s.t_next, next_, p_, c.slope);
    };
    solve(s, dy_next, residual, correct, refresh);
    if constexpr (integrates) {
      objective_gradient(s.t_next);
      const double before = integral_dot_[0];
      push(c, static_cast<double>(y_term_.dot(dy_next) + p_term_.dot(dp)), integral_dot_);
      integral_dot += integral_dot_[0] - before;
    }
    push(s.h, dy_next, dy, tangent_);
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
  static_assert(m >= 1, "the formula of first order is BackwardEuler");
  static constexpr bool integrates = HasIntegrand<Objective, State, Parameters>;
  using Coefficients = BdfCoefficients<m>;
  using History = MultistepHistory<State, m>;
  using Scalars = std::array<double, m + 1>;  // of the integral: itself and its history

  // base_ = sum_j a_j X_j
  void set_base(const Coefficients& c, const State& y, const History& history) {
    base_ = static_cast<Scalar>(c.y[0]) * y;
    for (std::size_t j = 1; j <= m; ++j) {
      if (c.y[j] != 0) base_ += static_cast<Scalar>(c.y[j]) * history.x[j - 1];
    }
  }

  // r ← M (base - x) + β r
  void close_residual(Scalar beta, const State& x, State& r) {
    d_ = base_ - x;
    r *= beta;
    add_mass_product(f_, d_, r);
  }

  template <class Residual, class Correct, class Refresh>
  void solve(const Interval& s, State& x, const Residual& residual, const Correct& correct,
             const Refresh& refresh) {
    NewtonResult result{false, std::numeric_limits<double>::infinity()};
    if (refresh(x)) result = newton(x, r_, residual, correct, refresh);
    if (!result.converged) not_converged(Method::name, s, s.t_next, result.correction);
  }

  // next_ = y⁺, in one compiled copy: forward steps, replays and adjoints have the same bits.
  COSTATE_ONE_INSTANCE void find(const Interval& s, const Coefficients& c, const State& y) {
    set_base(c, y, value_);
    next_ = y;
    const auto beta = static_cast<Scalar>(c.slope);
    const auto residual = [&](const State& x, State& r) {
      f_.rhs(s.t_next, x, p_, r);
      close_residual(beta, x, r);
    };
    const auto correct = [&](State& r) { solver_.solve(r); };
    const auto refresh = [&](const State& x) { return solver_.prepare(s.t_next, x, p_, c.slope); };
    solve(s, next_, residual, correct, refresh);
  }

  // y becomes next, and the old y the first of the history.
  static void push(double h, const State& next, State& y, History& history) {
    for (std::size_t i = m - 1; i > 0; --i) {
      std::swap(history.x[i], history.x[i - 1]);
      history.h[i] = history.h[i - 1];
    }
    history.x[0] = y;
    history.h[0] = h;
    y = next;
  }
  // The same of a scalar with this slope at the end.
  static void push(const Coefficients& c, double slope, Scalars& q) {
    double next = c.slope * slope;
    for (std::size_t j = 0; j <= m; ++j) next += c.y[j] * q[j];
    for (std::size_t i = m; i > 0; --i) q[i] = q[i - 1];
    q[0] = next;
  }

  // Called whether it has to add or not, so that the code around it is the same in replays.
  COSTATE_ONE_INSTANCE void accumulate(bool wanted, const Coefficients& c, double t) {
    if (!wanted) return;
    push(c, static_cast<double>(objective_.integrand(t, next_, p_)), q_);
    integral = q_[0];
  }

  // At the end of the step.
  void objective_gradient(double t) {
    y_term_.setZero();
    p_term_.setZero();
    objective_.integrand_gradient(t, next_, p_, y_term_, p_term_);
  }

  void backward(const Interval& s, const State& y, State& lambda, Parameters& p_bar) {
    const Coefficients c = Method::coefficients(s.h, value_.h);
    find(s, c, y);
    if constexpr (integrates) {
      const double weight = c.slope * gamma_[0];
      objective_gradient(s.t_next);
      lambda += static_cast<Scalar>(weight) * y_term_;
      p_bar += static_cast<typename Parameters::Scalar>(weight) * p_term_;
      const double first = gamma_[0];
      for (std::size_t j = 0; j <= m; ++j) {
        gamma_[j] = c.y[j] * first + (j < m ? gamma_[j + 1] : 0.0);
      }
    }
    const auto beta = static_cast<Scalar>(c.slope);
    u_.setZero();
    const auto apply = [&](const State& d, State& r) {
      u_ += d;
      base_ = beta * d;
      f_.vjp(s.t_next, next_, p_, base_, y_term_, p_bar);
      r += y_term_;
      const Scalar largest = y_term_.cwiseAbs().maxCoeff();
      mass_transpose_product(f_, d, base_);
      r -= base_;
      return std::max(largest, base_.cwiseAbs().maxCoeff());
    };
    const auto correct = [&](State& d) { solver_.solve_transpose(d); };
    const auto refresh = [&] { return solver_.prepare(s.t_next, next_, p_, c.slope); };
    r_ = lambda;
    const double left = solve_transposed(r_, d_, correct, apply, refresh, prepare_cost(solver_));
    check_adjoint_residual<Scalar>(left, Method::name, s);
    mass_transpose_product(f_, u_, base_);
    std::array<State, m>& x = adjoint_.x;
    lambda = static_cast<Scalar>(c.y[0]) * base_ + x[0];
    for (std::size_t j = 1; j < m; ++j) x[j - 1] = static_cast<Scalar>(c.y[j]) * base_ + x[j];
    x[m - 1] = static_cast<Scalar>(c.y[m]) * base_;
  }

  const F& f_;
  const Objective& objective_;
  Parameters p_;
  Parameters p_term_;
  ShiftedSolver<F> solver_;
  History value_;
  History adjoint_;  // its step sizes are not used: they are those of the value
  History tangent_;
  Scalars q_ = {};
  Scalars gamma_ = {};  // adjoints of q and its history
  Scalars integral_dot_ = {};
  State base_, next_, r_, d_, u_;
  State y_term_;  // gradient of the integrand; in the adjoint's solve (∂f/∂y)ᵀ β d
};

}  // namespace costate
