#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <Eigen/Core>

#include "costate/core/error.hpp"
#include "costate/integrate/integrand.hpp"
#include "costate/integrate/one_instance.hpp"
#include "costate/integrate/separable.hpp"
#include "costate/integrate/time_grid.hpp"

/// @file
/// Störmer's and Verlet's method in fixed-point numbers, which runs backwards to the last bit.
/// Positions and momenta are integers, in units of r = 2^-fraction_bits:
///
///     M ← M + [h/2 F(r X) / r],   X ← X + [h v(r M) / r],   M ← M + [h/2 F(r X) / r],
///
/// where [·] rounds to the nearest integer. Each line adds to one variable a function of the other,
/// so subtracting the same integers in the opposite order undoes it. D. Levesque, L. Verlet, J.
/// Stat. Phys. 72 (1993) 519-537.
///
/// What is differentiated is the step without the rounding, at the states that the run went
/// through: the derivative of the rounding itself is zero or none. So the gradient differs from
/// that of Störmer's and Verlet's method in real numbers by O(r).

namespace costate {

/// The step for one problem. Holds the integers, which are the state; y is their image in
/// floating point.
template <Separable F, class Method, class Objective = NoIntegrand>
class FixedPointKernel {
 public:
  using State = typename F::State;
  using Half = typename F::Half;
  using Parameters = typename F::Parameters;
  static_assert(std::is_same_v<typename State::Scalar, double>, "made for states of doubles");
  static constexpr bool estimates_error = false;

  /// @param f, objective  must outlive the kernel
  /// @param method        has `fraction_bits`
  /// @param p             copied
  /// @param size          of the state; even
  FixedPointKernel(const F& f, const Method& method, const Objective& objective,
                   const Parameters& p, Eigen::Index size)
      : f_(f.functions()),
        objective_(objective),
        unit_(std::ldexp(1.0, -method.fraction_bits)),
        p_(p),
        p_term_(p) {
    for (Integers* half : {&x_, &m_, &x_work_, &m_work_}) half->setZero(size / 2);
    for (Half* half : {&argument_, &slope_, &x0_, &m_half_, &x1_, &x_bar_, &m_bar_, &w_}) {
      half->setZero(size / 2);
    }
    if constexpr (integrates) {
      y_term_.setZero(size);
      end_.setZero(size);
    }
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

  /// Rounds the initial state to fixed-point numbers; y becomes their image.
  /// @throws InvalidArgument if a number is out of range
  void start(State& y) {
    const Eigen::Index d = x_.size();
    for (Eigen::Index i = 0; i < d; ++i) {
      if (!(std::abs(y[i]) < range()) || !(std::abs(y[d + i]) < range())) {
        throw InvalidArgument("the initial state exceeds the range of the fixed-point numbers");
      }
      x_[i] = nearest(y[i]);
      m_[i] = nearest(y[d + i]);
    }
    image(y);
  }

  /// Takes the state over `count` consecutive steps; `to` becomes its image.
  /// @param s     the `count` steps, at least 1
  /// @param rows  where to save the state before each of them, if anywhere
  /// @throws IntegrationError if a number leaves the range
  COSTATE_ONE_INSTANCE void advance(const Interval* s, Step count, const State& from, State& to,
                                    StateRows rows, Extras extras) {
    if (&from != &to) to = from;
    for (Step i = 0; i < count; ++i) {
      if (rows.first != nullptr) save(to, rows[i]);
      if constexpr (integrates) accumulate(extras.accumulate, s[i].h / 2, s[i].t, to);
      kick(s[i].h / 2, x_, m_, 1);
      drift(s[i].h, m_, x_, 1);
      kick(s[i].h / 2, x_, m_, 1);
      require_range(s[i]);
      image(to);
      if constexpr (integrates) accumulate(extras.accumulate, s[i].h / 2, s[i].t_next, to);
    }
  }

  /// Undoes `count` consecutive steps; y becomes the image of the state before the first of them.
  /// @param s  the `count` steps, in the order of time
  COSTATE_ONE_INSTANCE void step_back(const Interval* s, Step count, State& y) {
    for (Step i = count - 1; i >= 0; --i) {
      kick(s[i].h / 2, x_, m_, -1);
      drift(s[i].h, m_, x_, -1);
      kick(s[i].h / 2, x_, m_, -1);
    }
    image(y);
  }

  /// Nothing to do: the adjoint has no history.
  void begin_adjoint() {}

  /// Takes λ back over `count` consecutive steps, in place, and adds to `p_bar`.
  /// @param s     the `count` steps, in the order of time
  /// @param y     the image of the state before the first of them; on return, if there are `rows`,
  ///              again
  /// @param rows  the states before each of them; may be none if count is 1
  COSTATE_ONE_INSTANCE void reverse(const Interval* s, Step count, State& y, StateRows rows,
                                    State& lambda, Parameters& p_bar) {
    for (Step i = count - 1; i >= 0; --i) {
      if (rows.first != nullptr) load(y, rows[i]);
      backward(s[i], y, lambda, p_bar);
    }
  }

  /// dy → dy⁺ in place, the derivative of y⁺ in the direction (dy, dp); adds that of the integral.
  /// Leaves the state alone.
  /// @param y  image of the state before the step
  void tangent(const Interval& s, const State& y, State& dy, const Parameters& dp,
               double& integral_dot) requires SeparableTangents<typename F::Functions> {
    const Eigen::Index d = x_.size();
    x_bar_ = dy.head(d);
    m_bar_ = dy.tail(d);
    const auto integrate = [&](double t, const State& at) {
      if constexpr (integrates) {
        objective_gradient(t, at);
        integral_dot += s.h / 2 * (y_term_.dot(dy) + p_term_.dot(dp));
      }
    };
    integrate(s.t, y);
    make_stages(s, y);
    f_.force_jvp(x0_, p_, x_bar_, dp, w_);
    m_bar_ += s.h / 2 * w_;
    f_.velocity_jvp(m_half_, p_, m_bar_, dp, w_);
    x_bar_ += s.h * w_;
    f_.force_jvp(x1_, p_, x_bar_, dp, w_);
    m_bar_ += s.h / 2 * w_;
    dy << x_bar_, m_bar_;
    if constexpr (integrates) integrate(s.t_next, end_);
  }

  [[nodiscard]] std::size_t state_bytes() const { return 2 * half_bytes(); }
  /// Writes the integers; y, their image, is not needed.
  void save(const State&, std::byte* out) const {
    std::memcpy(out, x_.data(), half_bytes());
    std::memcpy(out + half_bytes(), m_.data(), half_bytes());
  }
  void load(State& y, const std::byte* in) {
    std::memcpy(x_.data(), in, half_bytes());
    std::memcpy(m_.data(), in + half_bytes(), half_bytes());
    image(y);
  }

  /// The integral over the steps made with `accumulate`.
  double integral = 0;

  [[nodiscard]] const Parameters& parameters() const noexcept { return p_; }

 private:
  using Integers = Eigen::Matrix<std::int64_t, Half::SizeAtCompileTime, 1>;
  static constexpr bool integrates = HasIntegrand<Objective, State, Parameters>;

  // Integers and increments stay below 2^61, so that no sum of two of them overflows.
  static constexpr double limit = 0x1p61;
  [[nodiscard]] double range() const { return limit * unit_; }
  [[nodiscard]] std::int64_t nearest(double x) const { return std::llround(x / unit_); }
  [[nodiscard]] std::size_t half_bytes() const {
    return static_cast<std::size_t>(x_.size()) * sizeof(std::int64_t);
  }

  // Division and multiplication by a power of two are exact; the conversion to double rounds
  // integers above 2^53, always in the same way.
  COSTATE_ONE_INSTANCE void to_double(const Integers& from, Half& to) const {
    for (Eigen::Index i = 0; i < from.size(); ++i) to[i] = static_cast<double>(from[i]) * unit_;
  }
  void image(State& y) {
    to_double(x_, argument_);
    y.head(x_.size()) = argument_;
    to_double(m_, argument_);
    y.tail(x_.size()) = argument_;
  }

  // The one place where increments are computed, forwards and backwards. An increment that is out
  // of range becomes the limit: `require_range` will see it.
  COSTATE_ONE_INSTANCE void add(double factor, std::int64_t sign, Integers& to) const {
    for (Eigen::Index i = 0; i < to.size(); ++i) {
      const double increment = factor * slope_[i] / unit_;
      to[i] += sign * (std::abs(increment) < limit ? std::llround(increment)
                                                   : static_cast<std::int64_t>(limit));
    }
  }
  COSTATE_ONE_INSTANCE void kick(double h, const Integers& x, Integers& m, std::int64_t sign) {
    to_double(x, argument_);
    f_.force(argument_, p_, slope_);
    add(h, sign, m);
  }
  COSTATE_ONE_INSTANCE void drift(double h, const Integers& m, Integers& x, std::int64_t sign) {
    to_double(m, argument_);
    f_.velocity(argument_, p_, slope_);
    add(h, sign, x);
  }

  void require_range(const Interval& s) const {
    for (const Integers* half : {&x_, &m_}) {
      for (const std::int64_t i : *half) {
        if (std::abs(static_cast<double>(i)) >= limit) {
          throw IntegrationError(
              "the state has left the range of the fixed-point numbers, or is "
              "not finite; use fewer fraction bits",
              unknown, s.t);
        }
      }
    }
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
    lambda += weight * y_term_;
    p_bar += weight * p_term_;
  }

  // What the step is linearised at, the very numbers of the run: positions at both ends and momenta
  // in the middle; for the integral, the image of the end, too. The state stays.
  void make_stages(const Interval& s, const State& y) {
    x_work_ = x_;
    m_work_ = m_;
    x0_ = y.head(x_.size());
    kick(s.h / 2, x_work_, m_work_, 1);
    to_double(m_work_, m_half_);
    drift(s.h, m_work_, x_work_, 1);
    to_double(x_work_, x1_);
    if constexpr (integrates) {
      kick(s.h / 2, x_work_, m_work_, 1);
      to_double(m_work_, w_);
      end_ << x1_, w_;
    }
  }

  // Kicks and drifts of the adjoint (splitting_kernel.hpp).
  void backward(const Interval& s, const State& y, State& lambda, Parameters& p_bar) {
    const Eigen::Index d = x_.size();
    make_stages(s, y);
    if constexpr (integrates) add_integrand(s.t_next, s.h / 2, end_, lambda, p_bar);
    x_bar_ = lambda.head(d);
    m_bar_ = lambda.tail(d);
    w_ = (s.h / 2) * m_bar_;
    f_.force_vjp(x1_, p_, w_, slope_, p_bar);
    x_bar_ += slope_;
    w_ = s.h * x_bar_;
    f_.velocity_vjp(m_half_, p_, w_, slope_, p_bar);
    m_bar_ += slope_;
    w_ = (s.h / 2) * m_bar_;
    f_.force_vjp(x0_, p_, w_, slope_, p_bar);
    x_bar_ += slope_;
    lambda.head(d) = x_bar_;
    lambda.tail(d) = m_bar_;
    if constexpr (integrates) add_integrand(s.t, s.h / 2, y, lambda, p_bar);
  }

  const typename F::Functions& f_;
  const Objective& objective_;
  double unit_;
  Parameters p_;
  Integers x_;  // positions and momenta in units of unit_
  Integers m_;
  Integers x_work_;
  Integers m_work_;
  Half argument_;
  Half slope_;
  Half x0_;  // where a step is linearised
  Half m_half_;
  Half x1_;
  Half x_bar_;  // in the tangent, the derivatives
  Half m_bar_;
  Half w_;
  State y_term_;  // gradient of the integrand
  State end_;
  Parameters p_term_;
};

}  // namespace costate
