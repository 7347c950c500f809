#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "costate/core/error.hpp"
#include "costate/integrate/explicit_runge_kutta.hpp"
#include "costate/integrate/implicit_problem.hpp"
#include "costate/integrate/make_kernel.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/ode/objective.hpp"
#include "costate/ode/pieces.hpp"

/// @file
/// Observations between the steps, by a continuous extension of the method: steps are as large as
/// the tolerance allows, however dense the observations are.
///
/// @code
///   const auto misfit = costate::between_steps(costate::observations(times, value, gradient));
/// @endcode
///
/// What is differentiated is the observation of the interpolant, so the gradient stays exact for
/// the value that is computed. The interpolant has an error of its own, which the step control does
/// not see; `observations` alone places steps on the times and interpolates nothing.

namespace costate {

/// ŷ(t + θ h) = y + α (y⁺ - y) + β h f(t, y) + γ h f(t + h, y⁺) [+ h δ sum_j d_j K_j]: the cubic
/// through values and slopes at both ends, and a correction by the stages.
struct ExtensionWeights {
  double alpha, beta, gamma, delta;
  explicit ExtensionWeights(double x)
      : alpha(x * x * (3 - 2 * x)),
        beta(x * (1 - x) * (1 - x)),
        gamma(-x * x * (1 - x)),
        delta(x * x * (1 - x) * (1 - x)) {}
};

/// Cubic Hermite interpolation: of third order in the step, for every one-step method.
struct Hermite {};

/// The method's own continuous extension. Dormand and Prince's method has one of fourth order (J.
/// R. Dormand, P. J. Prince, Comput. Math. Appl. 12A (1986) 1007-1017, in the form of E. Hairer, S.
/// P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I (1993), II.6).
struct OwnExtension {};

/// The d_j of a method's own extension.
template <class Method>
struct ExtensionOf;
template <>
struct ExtensionOf<DormandPrince54> {
  static constexpr std::array<double, 7> d = {
      -12715105075. / 11282082432.,  0,
      87487479700. / 32700410799.,   -10690763975. / 1880347072.,
      701980252875. / 199316789632., -1453857185. / 822651844.,
      69997945. / 29380423.};
};

/// An objective whose observations are taken from the interpolant.
template <class Extension, class O>
class BetweenSteps {
 public:
  explicit BetweenSteps(O objective) : o_(std::move(objective)) {}

  [[nodiscard]] std::span<const double> interpolated_times() const {
    return o_.observation_times();
  }
  [[nodiscard]] const O& objective() const { return o_; }

  template <class S, class P>
  double terminal([[maybe_unused]] const S& y, [[maybe_unused]] const P& p) const {
    if constexpr (HasTerminal<O, S, P>) {
      return o_.terminal(y, p);
    } else {
      return 0;
    }
  }
  template <class S, class P>
  void terminal_gradient([[maybe_unused]] const S& y, [[maybe_unused]] const P& p,
                         [[maybe_unused]] S& y_bar, [[maybe_unused]] P& p_bar) const {
    if constexpr (HasTerminal<O, S, P>) o_.terminal_gradient(y, p, y_bar, p_bar);
  }
  template <class S, class P>
  double integrand(double t, const S& y, const P& p) const requires HasIntegrand<O, S, P> {
    return o_.integrand(t, y, p);
  }
  template <class S, class P>
  void integrand_gradient(double t, const S& y, const P& p, S& y_bar,
                          P& p_bar) const requires HasIntegrand<O, S, P> {
    o_.integrand_gradient(t, y, p, y_bar, p_bar);
  }

 private:
  O o_;
};

/// Observations by the method's own continuous extension.
template <Observes O>
auto between_steps(O objective) {
  return BetweenSteps<OwnExtension, O>(std::move(objective));
}
/// Observations by cubic Hermite interpolation.
template <Observes O>
auto between_steps_by_hermite(O objective) {
  return BetweenSteps<Hermite, O>(std::move(objective));
}

/// The step of a method, with the observations inside it.
template <Problem F, class Method, class Extension, class O>
class ExtendedKernel : public Method::template Kernel<F, BetweenSteps<Extension, O>> {
  using Objective = BetweenSteps<Extension, O>;
  using Base = typename Method::template Kernel<F, Objective>;
  static constexpr bool own = std::is_same_v<Extension, OwnExtension>;
  static_assert(
      !own || requires { ExtensionOf<Method>::d; },
      "this method has no continuous extension of its own: use between_steps_by_hermite, or "
      "observations alone, on which steps are placed");
  static_assert(
      !requires(Base & base) { base.begin_adjoint(); },
      "there is no continuous extension of methods whose steps read their history");
  static_assert(!HasMass<F>, "the slope of a problem with a mass matrix is not f");
  static_assert(!Piecewise<F>,
                "a problem with breaks has no slope to interpolate on both sides: use observations "
                "alone, on which steps are placed");

 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Scalar = typename State::Scalar;
  using StateRows = typename Base::StateRows;
  using Extras = typename Base::Extras;

  ExtendedKernel(const F& f, const Method& method, const Objective& objective, const Parameters& p,
                 Eigen::Index size) requires
      std::is_constructible_v<Base, const F&, const Method&, const Objective&, const Parameters&,
                              Eigen::Index>
      : Base(f, method, objective, p, size), f_(f), o_(objective.objective()) {
    prepare(size);
  }
  ExtendedKernel(const F& f, const Method& /*method*/, const Objective& objective,
                 const Parameters& p, Eigen::Index size)
      : Base(f, objective, p, size), f_(f), o_(objective.objective()) {
    prepare(size);
  }

  /// Must be called before the first step.
  /// @throws InvalidArgument if a time lies outside of the run
  void place(double t0, double t1) {
    sign_ = t1 < t0 ? -1 : 1;
    const std::span<const double> times = o_.observation_times();
    for (const double t : times) {
      if (t0 == t1 || !(sign_ * (t - t0) >= 0 && sign_ * (t1 - t) >= 0)) {
        throw InvalidArgument("the observation time " + std::to_string(t) +
                              " is not inside of the run's interval");
      }
    }
    order_.resize(times.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return sign_ * times[a] < sign_ * times[b];
    });
  }

  void advance(const Interval* s, Step count, const State& from, State& to, StateRows rows,
               Extras extras) {
    const State* y = &from;
    for (Step i = 0; i < count;) {
      // Steps without an observation in one go; they are the same steps then.
      Step end = i + 1;
      const auto seen = inside(s[i]);
      if (!extras.accumulate || seen.empty()) {
        while (end < count && (!extras.accumulate || inside(s[end]).empty())) ++end;
        Base::advance(s + i, end - i, *y, to, row(rows, i), extras);
      } else {
        before_ = *y;
        Base::advance(s + i, 1, *y, to, row(rows, i), extras);
        slopes(s[i], before_, to);
        for (const std::size_t which : seen) {
          interpolate(s[i], which, before_, to, at_);
          this->integral += static_cast<double>(o_.observation(which, at_, this->parameters()));
        }
      }
      y = &to;
      i = end;
    }
  }

  void reverse(const Interval* s, Step count, State& y, StateRows rows, State& lambda,
               Parameters& p_bar) {
    for (Step end = count; end > 0;) {
      Step i = end - 1;
      const auto seen = inside(s[i]);
      if (seen.empty()) {
        while (i > 0 && inside(s[i - 1]).empty()) --i;
        Base::reverse(s + i, end - i, y, row(rows, i), lambda, p_bar);
      } else {
        if (rows.first != nullptr) rows.get(i, y);
        add_adjoint(s[i], seen, y, lambda, p_bar);
        Base::reverse(s + i, 1, y, {}, lambda, p_bar);
        lambda += begin_bar_;
      }
      end = i;
    }
  }

  void tangent(const Interval& s, const State& y, State& dy, const Parameters& dp,
               double& integral_dot) requires TangentProblem<F> {
    const auto seen = inside(s);
    const State dy0 = dy;
    Base::tangent(s, y, dy, dp, integral_dot);
    if (seen.empty()) return;
    before_ = y;
    State end = y;
    Base::advance(&s, 1, before_, end, {}, {});
    slopes(s, before_, end);
    State f0 = y;
    State f1 = y;
    f_.jvp(s.t, before_, this->parameters(), dy0, dp, f0);
    f_.jvp(s.t_next, end, this->parameters(), dy, dp, f1);
    State correction = State::Zero(y.size());
    if constexpr (own) {
      std::array<State, stages> dot;
      for (std::size_t i = 0; i < stages; ++i) {
        State stage_dot = dy0;
        for (std::size_t j = 0; j < i; ++j) stage_dot += scaled(s.h * a(i, j)) * dot[j];
        dot[i].resize(y.size());
        f_.jvp(stage_time(s, i), stage_[i], this->parameters(), stage_dot, dp, dot[i]);
        correction += scaled(s.h * d(i)) * dot[i];
      }
    }
    for (const std::size_t which : seen) {
      const ExtensionWeights w = interpolate(s, which, before_, end, at_);
      const State at_dot = scaled(1 - w.alpha) * dy0 + scaled(w.alpha) * dy +
                           scaled(w.beta * s.h) * f0 + scaled(w.gamma * s.h) * f1 +
                           scaled(w.delta) * correction;
      State y_bar = State::Zero(y.size());
      Parameters q_bar = dp;
      q_bar.setZero();
      o_.observation_gradient(which, at_, this->parameters(), y_bar, q_bar);
      integral_dot += static_cast<double>(y_bar.dot(at_dot)) + static_cast<double>(q_bar.dot(dp));
    }
  }

 private:
  struct tape_states;  // hides the method's: the tape of a step knows nothing of observations in it

  static constexpr std::size_t stages = [] {
    if constexpr (own) {
      return ExtensionOf<Method>::d.size();
    } else {
      return std::size_t{0};
    }
  }();
  static constexpr double a(std::size_t i, std::size_t j) {
    if constexpr (own) {
      return Method::tableau.a[i][j];
    } else {
      return 0;
    }
  }
  static constexpr double d(std::size_t i) {
    if constexpr (own) {
      return ExtensionOf<Method>::d[i];
    } else {
      return 0;
    }
  }
  static Scalar scaled(double x) { return static_cast<Scalar>(x); }

  void prepare(Eigen::Index size) {
    for (State* v : {&before_, &after_, &at_, &f0_, &f1_, &correction_, &w_, &v_, &end_bar_,
                     &begin_bar_, &correction_bar_, &f0_bar_, &f1_bar_}) {
      v->setZero(size);
    }
    for (State& k : k_) k.setZero(size);
    for (State& y : stage_) y.setZero(size);
  }
  static StateRows row(const StateRows& rows, Step i) {
    if (rows.first == nullptr) return rows;
    return {rows.first + static_cast<std::size_t>(i) * rows.stride, rows.stride};
  }
  double stage_time(const Interval& s, std::size_t i) const {
    if constexpr (own) {
      const double c = Method::tableau.c[i];
      return c == 1 ? s.t_next : s.t + c * s.h;
    } else {
      return s.t;
    }
  }

  // The observations in (t, t_next], and those at t0 in the first step.
  std::span<const std::size_t> inside(const Interval& s) const {
    const std::span<const double> times = o_.observation_times();
    const auto past = [&](double t) {
      return std::upper_bound(order_.begin(), order_.end(), t, [&](double x, std::size_t i) {
        return sign_ * x < sign_ * times[i];
      });
    };
    return {s.k == 0 ? order_.begin() : past(s.t), past(s.t_next)};
  }

  // Slopes at both ends and the correction of the step from y to y⁺.
  void slopes(const Interval& s, const State& y, const State& y_next) {
    f_.rhs(s.t, y, this->parameters(), f0_);
    f_.rhs(s.t_next, y_next, this->parameters(), f1_);
    correction_.setZero();
    for (std::size_t i = 0; i < stages; ++i) {
      stage_[i] = y;
      for (std::size_t j = 0; j < i; ++j) {
        if (a(i, j) != 0) stage_[i] += scaled(s.h * a(i, j)) * k_[j];
      }
      f_.rhs(stage_time(s, i), stage_[i], this->parameters(), k_[i]);
      correction_ += scaled(s.h * d(i)) * k_[i];
    }
  }
  ExtensionWeights interpolate(const Interval& s, std::size_t which, const State& y,
                               const State& y_next, State& out) const {
    const ExtensionWeights w((o_.observation_times()[which] - s.t) / s.h);
    out = scaled(1 - w.alpha) * y + scaled(w.alpha) * y_next + scaled(w.beta * s.h) * f0_ +
          scaled(w.gamma * s.h) * f1_ + scaled(w.delta) * correction_;
    return w;
  }

  // What the observations in the step add to λ at its end, and, in begin_bar_, at its beginning.
  void add_adjoint(const Interval& s, std::span<const std::size_t> seen, const State& y,
                   State& lambda, Parameters& p_bar) {
    before_ = y;
    Base::advance(&s, 1, before_, after_, {}, {});
    slopes(s, before_, after_);
    for (State* v : {&end_bar_, &begin_bar_, &correction_bar_, &f0_bar_, &f1_bar_}) v->setZero();
    for (std::size_t n = seen.size(); n-- > 0;) {
      const ExtensionWeights w = interpolate(s, seen[n], before_, after_, at_);
      w_.setZero();
      o_.observation_gradient(seen[n], at_, this->parameters(), w_, p_bar);
      begin_bar_ += scaled(1 - w.alpha) * w_;
      end_bar_ += scaled(w.alpha) * w_;
      f0_bar_ += scaled(w.beta * s.h) * w_;
      f1_bar_ += scaled(w.gamma * s.h) * w_;
      correction_bar_ += scaled(w.delta) * w_;
    }
    f_.vjp(s.t_next, after_, this->parameters(), f1_bar_, v_, p_bar);
    lambda += end_bar_;
    lambda += v_;
    f_.vjp(s.t, before_, this->parameters(), f0_bar_, v_, p_bar);
    begin_bar_ += v_;
    // The adjoint of the stages, whose weights are d; k_[i] becomes v_i.
    for (std::size_t i = stages; i-- > 0;) {
      w_ = scaled(s.h * d(i)) * correction_bar_;
      for (std::size_t j = i + 1; j < stages; ++j) {
        if (a(j, i) != 0) w_ += scaled(s.h * a(j, i)) * k_[j];
      }
      f_.vjp(stage_time(s, i), stage_[i], this->parameters(), w_, k_[i], p_bar);
      begin_bar_ += k_[i];
    }
  }

  const F& f_;
  const O& o_;
  double sign_ = 1;
  std::vector<std::size_t> order_;  // of the observations in time
  State before_, after_, at_, f0_, f1_, correction_, w_, v_;
  State end_bar_, begin_bar_, correction_bar_, f0_bar_, f1_bar_;
  std::array<State, stages> k_, stage_;
};

template <Problem F, class Method, class Extension, class O>
  requires(!Piecewise<F>)
struct ChooseKernel<F, Method, BetweenSteps<Extension, O>> {
  using type = ExtendedKernel<F, Method, Extension, O>;
};
template <Piecewise F, class Method, class Extension, class O>
struct ChooseKernel<F, Method, BetweenSteps<Extension, O>> {
  using type = ExtendedKernel<F, Method, Extension, O>;
};

}  // namespace costate
