#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include <Eigen/Core>

#include "costate/integrate/integrand.hpp"
#include "costate/integrate/linear_combination.hpp"
#include "costate/integrate/one_instance.hpp"
#include "costate/integrate/separable.hpp"
#include "costate/integrate/time_grid.hpp"

/// @file
/// One step of an explicit symplectic method, its tangent and its adjoint: kicks and drifts in
/// turn,
///
///     m ← m + h k_i F(x),   x ← x + h d_i v(m),   i = 1 … s.
///
/// Their adjoints, in the reverse order, are
///
///     m̄ ← m̄ + h d_i (∂v/∂m)ᵀ x̄,   x̄ ← x̄ + h k_i (∂F/∂x)ᵀ m̄,
///
/// again kicks and drifts: the adjoint of a symplectic method is symplectic.

namespace costate {

/// The coefficients of S kicks and drifts. A last drift of 0 is not made.
template <std::size_t S>
struct Splitting {
  const char* name;
  std::array<double, S> kick;
  std::array<double, S> drift;
  int order;
};

/// Whether the coefficients sum to 1 (to 1e-14), and none is zero but the last drift.
template <std::size_t S>
constexpr bool consistent(const Splitting<S>& splitting) {
  double kicks = 0;
  double drifts = 0;
  for (std::size_t i = 0; i < S; ++i) {
    kicks += splitting.kick[i];
    drifts += splitting.drift[i];
    if (splitting.kick[i] == 0 || (splitting.drift[i] == 0 && i + 1 < S)) return false;
  }
  const auto one = [](double x) { return x - 1 < 1e-14 && 1 - x < 1e-14; };
  return one(kicks) && one(drifts);
}

/// Whether positions and momenta stay at times within the step.
template <std::size_t S>
constexpr bool stays_inside(const Splitting<S>& splitting) {
  double kicks = 0;
  double drifts = 0;
  for (std::size_t i = 0; i < S; ++i) {
    kicks += splitting.kick[i];
    drifts += splitting.drift[i];
    if (kicks < 0 || kicks > 1 + 1e-14 || drifts < 0 || drifts > 1 + 1e-14) return false;
  }
  return true;
}

/// The step of method M for one problem.
///
/// A running integral is summed by the trapezoidal rule over each step. That suits methods of
/// second order and no others, so methods of higher order refuse one.
template <Separable F, const auto& M, class Objective = NoIntegrand>
class SplittingKernel {
 public:
  using State = typename F::State;
  using Half = typename F::Half;
  using Parameters = typename F::Parameters;
  using Scalar = typename State::Scalar;
  static constexpr bool estimates_error = false;

  /// @param f, objective  must outlive the kernel
  /// @param p             copied
  /// @param size          of the state; even, as the user's problem has as many momenta as
  /// positions
  SplittingKernel(const F& f, const Objective& objective, const Parameters& p, Eigen::Index size)
      : f_(f.functions()), objective_(objective), p_(p), p_term_(p) {
    for (Half& x : x_) x.setZero(size / 2);
    for (Half& x : m_) x.setZero(size / 2);
    for (Half* half : {&slope_, &x_bar_, &m_bar_, &w_}) half->setZero(size / 2);
    if constexpr (integrates) {
      y_term_.setZero(size);
      end_.setZero(size);
    }
  }

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
    bool accumulate = false;  ///< add to `integral`
  };

  /// Takes `from` over `count` consecutive steps to `to`; the two may be the same object.
  /// @param s     the `count` steps, at least 1
  /// @param rows  where to copy the state before each of them, if anywhere
  COSTATE_ONE_INSTANCE void advance(const Interval* s, Step count, const State& from, State& to,
                                    StateRows rows, Extras extras) {
    if (&from != &to) to = from;
    for (Step i = 0; i < count; ++i) {
      if (rows.first != nullptr) rows.put(i, to);
      if constexpr (integrates) accumulate(extras.accumulate, s[i].h / 2, s[i].t, to);
      split(to);
      step(s[i].h, i > 0 && drifts < kicks);
      join(to);
      if constexpr (integrates) accumulate(extras.accumulate, s[i].h / 2, s[i].t_next, to);
    }
  }

  /// Takes λ back over `count` consecutive steps, in place, and adds to `p_bar`.
  /// @param s     the `count` steps, in the order of time
  /// @param y     the state before the first of them; on return, if there are `rows`, again
  /// @param rows  the states before each of them; may be none if count is 1
  COSTATE_ONE_INSTANCE void reverse(const Interval* s, Step count, State& y, StateRows rows,
                                    State& lambda, Parameters& p_bar) {
    for (Step i = count - 1; i >= 0; --i) {
      if (rows.first != nullptr) rows.get(i, y);
      backward(s[i], y, lambda, p_bar);
    }
  }

  /// dy → dy⁺ in place, the derivative of y⁺ in the direction (dy, dp); adds that of the integral.
  /// Allocates: it is made for checks.
  /// @param y  state before the step
  void tangent(const Interval& s, const State& y, State& dy, const Parameters& dp,
               double& integral_dot) requires SeparableTangents<typename F::Functions> {
    const Eigen::Index d = dy.size() / 2;
    const auto integrate = [&](double t, const State& at) {
      if constexpr (integrates) {
        objective_gradient(t, at);
        integral_dot += s.h / 2 * static_cast<double>(y_term_.dot(dy) + p_term_.dot(dp));
      }
    };
    integrate(s.t, y);
    split(y);
    Half dx = dy.head(d);
    Half dm = dy.tail(d);
    stage_algebra::each<kicks>([&](auto i) {
      f_.force_jvp(x_[0], p_, dx, dp, w_);
      dm += static_cast<Scalar>(s.h * M.kick[i]) * w_;
      kick<i>(s.h, x_[0], m_[0], m_[0]);
      if constexpr (i < drifts) {
        f_.velocity_jvp(m_[0], p_, dm, dp, w_);
        dx += static_cast<Scalar>(s.h * M.drift[i]) * w_;
        drift<i>(s.h, m_[0], x_[0], x_[0]);
      }
    });
    dy << dx, dm;
    if constexpr (integrates) {
      end_ << x_[0], m_[0];
      integrate(s.t_next, end_);
    }
  }

  /// The integral over the steps made with `accumulate`.
  double integral = 0;

  [[nodiscard]] const Parameters& parameters() const noexcept { return p_; }

 private:
  static constexpr std::size_t kicks = M.kick.size();
  static constexpr std::size_t drifts = M.drift.back() == 0 ? kicks - 1 : kicks;
  static constexpr bool integrates = HasIntegrand<Objective, State, Parameters>;
  static_assert(!integrates || (M.order <= 2 && stays_inside(M)),
                "a running integral has no quadrature of this method's order whose nodes stay "
                "between t0 and t1; make it one more position, or observe it");

  void split(const State& y) {
    x_[0] = y.head(x_[0].size());
    m_[0] = y.tail(x_[0].size());
  }
  void join(State& y) const {
    y.head(x_[0].size()) = x_[0];
    y.tail(x_[0].size()) = m_[0];
  }

  // The one place each where a step, its replay and its adjoint evaluate force and velocity.
  COSTATE_ONE_INSTANCE void force(const Half& x) { f_.force(x, p_, slope_); }
  COSTATE_ONE_INSTANCE void velocity(const Half& m) { f_.velocity(m, p_, slope_); }
  // to = from + factor slope
  COSTATE_ONE_INSTANCE void move(Scalar factor, const Half& from, Half& to) const {
    to = from + factor * slope_;
  }

  template <std::size_t I>
  void kick(double h, const Half& x, const Half& from, Half& to) {
    force(x);
    move(static_cast<Scalar>(h * M.kick[I]), from, to);
  }
  template <std::size_t I>
  void drift(double h, const Half& m, const Half& from, Half& to) {
    velocity(m);
    move(static_cast<Scalar>(h * M.drift[I]), from, to);
  }

  // From x_[0], m_[0] through the step, in place. `slope_` may hold F(x_[0]) already.
  void step(double h, bool force_known) {
    stage_algebra::each<kicks>([&](auto i) {
      if (i > 0 || !force_known) force(x_[0]);
      move(static_cast<Scalar>(h * M.kick[i]), m_[0], m_[0]);
      if constexpr (i < drifts) drift<i>(h, m_[0], x_[0], x_[0]);
    });
  }

  // The same, keeping what the adjoint linearises at: the positions x_[i] of the kicks and the
  // momenta m_[i+1] of the drifts. What follows the last of them is made if the integral wants it.
  void keep_stages(double h) {
    stage_algebra::each<kicks>([&](auto i) {
      if constexpr (i < drifts || integrates) kick<i>(h, x_[i], m_[i], m_[i + 1]);
      if constexpr (i < drifts && (i + 1 < kicks || integrates)) {
        drift<i>(h, m_[i + 1], x_[i], x_[i + 1]);
      }
    });
  }

  // Called whether it has to add or not, so that the code around it is the same in replays.
  COSTATE_ONE_INSTANCE void accumulate(bool wanted, double weight, double t, const State& y) {
    if (wanted) integral += weight * static_cast<double>(objective_.integrand(t, y, p_));
  }

  void objective_gradient(double t, const State& y) {
    y_term_.setZero();
    p_term_.setZero();
    objective_.integrand_gradient(t, y, p_, y_term_, p_term_);
  }
  // The share of one end of the step in λ and p̄.
  void add_integrand(double t, double weight, const State& y, State& lambda, Parameters& p_bar) {
    objective_gradient(t, y);
    lambda += static_cast<Scalar>(weight) * y_term_;
    p_bar += static_cast<typename Parameters::Scalar>(weight) * p_term_;
  }

  void backward(const Interval& s, const State& y, State& lambda, Parameters& p_bar) {
    const Eigen::Index d = x_[0].size();
    split(y);
    keep_stages(s.h);
    if constexpr (integrates) {
      end_ << x_[drifts], m_[kicks];
      add_integrand(s.t_next, s.h / 2, end_, lambda, p_bar);
    }
    x_bar_ = lambda.head(d);
    m_bar_ = lambda.tail(d);
    stage_algebra::each<kicks>([&](auto index) {
      constexpr std::size_t i = kicks - 1 - index;
      if constexpr (i < drifts) {
        w_ = static_cast<Scalar>(s.h * M.drift[i]) * x_bar_;
        f_.velocity_vjp(m_[i + 1], p_, w_, slope_, p_bar);
        m_bar_ += slope_;
      }
      w_ = static_cast<Scalar>(s.h * M.kick[i]) * m_bar_;
      f_.force_vjp(x_[i], p_, w_, slope_, p_bar);
      x_bar_ += slope_;
    });
    lambda.head(d) = x_bar_;
    lambda.tail(d) = m_bar_;
    if constexpr (integrates) add_integrand(s.t, s.h / 2, y, lambda, p_bar);
  }

  const typename F::Functions& f_;
  const Objective& objective_;
  Parameters p_;
  std::array<Half, kicks + 1> x_;  // positions of each kick and at the end
  std::array<Half, kicks + 1> m_;  // momenta before each kick and at the end
  Half slope_;
  Half x_bar_;
  Half m_bar_;
  Half w_;
  State y_term_;  // gradient of the integrand
  State end_;
  Parameters p_term_;
};

}  // namespace costate
