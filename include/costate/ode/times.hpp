#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "costate/core/error.hpp"
#include "costate/integrate/autonomous.hpp"
#include "costate/integrate/implicit_problem.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/ode/pieces.hpp"

/// @file
/// Derivatives with respect to times: the start, the end, observations, switches of a control.
///
/// @code
///   const auto timed = costate::with_times(costate::autonomous(f), {t0, 0.9, t1});
///   auto result = costate::value_and_gradient(timed, method, objective,
///                     {.t0 = t0, .t1 = t1, .y0 = y0, .p = timed.parameters(p)});
///   timed.times(result.dp);      // ∂J/∂t0, ∂J/∂(0.9), ∂J/∂t1
///   timed.constants(result.dp);  // ∂J/∂p
/// @endcode
///
/// The times become parameters. Between two of them time is stretched in proportion: when one
/// moves, all steps between it and its neighbours keep their shares of the interval. The derivative
/// is exact for that; with `.steps` it is the derivative of the computed value as it stands. Value,
/// ∂J/∂y0 and ∂J/∂p keep their bits.
///
/// An integrand does not see moving times, and is refused: make the integral a component of the
/// state.

namespace costate {

/// A problem whose f does not depend on t, or that brings
///
///     time_derivative(t, y, p, out)   out = ∂f/∂t
template <class F>
concept HasTimeDerivative = Problem<F> &&(
    requires { requires F::autonomous; } ||
    requires(const F& f, double t, const typename F::State& y, const typename F::Parameters& p,
             typename F::State& out) { f.time_derivative(t, y, p, out); });

/// `f` with its derivative by t given as a function.
template <Problem F, class Function>
class WithTimeDerivative : public F {
 public:
  WithTimeDerivative(F f, Function function) : F(std::move(f)), function_(std::move(function)) {}
  void time_derivative(double t, const typename F::State& y, const typename F::Parameters& p,
                       typename F::State& out) const {
    function_(t, y, p, out);
  }

 private:
  [[no_unique_address]] Function function_;
};
/// @param function  (t, y, p, out), writes ∂f/∂t to out
template <Problem F, class Function>
auto with_time_derivative(F f, Function function) {
  return WithTimeDerivative<F, Function>(std::move(f), std::move(function));
}

/// f in a time that is stretched between `begin` and `end`, with the derivative by these two: a
/// step of dy/ds = T'(s) f(T(s), y, p), where T is linear and, as it stands, the identity.
/// Parameters: the problem's, then times. Holds a reference to the problem; made for a kernel of
/// its own.
template <HasTimeDerivative F>
class Stretched {
 public:
  using State = typename F::State;
  using Inner = typename F::Parameters;
  using Parameters = Eigen::Matrix<typename Inner::Scalar, Eigen::Dynamic, 1>;
  static constexpr Eigen::Index fixed = -1;  ///< the place of a time that does not move

  /// @param f      must outlive it, unless it is piecewise, when it is copied
  /// @param times  how many there are among the parameters
  Stretched(const F& f, Eigen::Index times) : f_(f), times_(times) {}

  /// What is evaluated next lies between two times, which are the parameters of these places.
  void stretch(double begin, double end, Eigen::Index begin_place, Eigen::Index end_place) {
    begin_ = begin;
    end_ = end;
    begin_place_ = begin_place;
    end_place_ = end_place;
  }
  void enter_inner([[maybe_unused]] const Interval& s) {
    if constexpr (Piecewise<F>) f_.enter(s);
  }

  void rhs(double t, const State& y, const Parameters& p, State& dydt) const {
    set(p);
    f_.rhs(t, y, p_, dydt);
  }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    set(p);
    p_bar_.setZero(p_.size());
    f_.vjp(t, y, p_, w, y_bar, p_bar_);
    for (Eigen::Index i = 0; i < p_.size(); ++i) p_bar[i] += p_bar_[i];
    slope_ = y;
    f_.rhs(t, y, p_, slope_);
    const double length = end_ - begin_;
    const double share = static_cast<double>(w.dot(slope_)) / length;
    double by_time = 0;
    if constexpr (!requires { requires F::autonomous; }) {
      f_.time_derivative(t, y, p_, slope_);
      by_time = static_cast<double>(w.dot(slope_));
    }
    const double x = (t - begin_) / length;
    using Scalar = typename Inner::Scalar;
    if (begin_place_ != fixed) {
      p_bar[p_.size() + begin_place_] += static_cast<Scalar>((1 - x) * by_time - share);
    }
    if (end_place_ != fixed) {
      p_bar[p_.size() + end_place_] += static_cast<Scalar>(x * by_time + share);
    }
  }
  template <class J>
  void jacobian(double t, const State& y, const Parameters& p, J& j) const requires HasJacobian<F> {
    set(p);
    f_.jacobian(t, y, p_, j);
  }
  [[nodiscard]] const auto& mass() const requires HasMass<F> { return f_.mass(); }

 private:
  void set(const Parameters& p) const {
    p_.resize(p.size() - times_);
    for (Eigen::Index i = 0; i < p_.size(); ++i) p_[i] = p[i];
  }

  std::conditional_t<Piecewise<F>, F, const F&> f_;
  Eigen::Index times_;
  double begin_ = 0;
  double end_ = 1;
  Eigen::Index begin_place_ = fixed;
  Eigen::Index end_place_ = fixed;
  // Work space: a kernel evaluates a copy of its own.
  mutable State slope_;
  mutable Inner p_, p_bar_;
};

/// A problem with times among its parameters; see `with_times`.
template <HasTimeDerivative F>
class Timed : public Stretched<F> {
 public:
  using typename Stretched<F>::State;
  using typename Stretched<F>::Parameters;
  static constexpr bool moves_times = true;

  Timed(std::shared_ptr<const F> f, std::vector<double> times)
      : Stretched<F>(*f, static_cast<Eigen::Index>(times.size())),
        owned_(std::move(f)),
        times_(std::move(times)),
        breaks_(times_) {
    const bool up = times_.size() < 2 || times_[1] > times_[0];
    for (std::size_t i = 0; i < times_.size(); ++i) {
      if (!std::isfinite(times_[i]) ||
          (i > 0 && (up ? times_[i] <= times_[i - 1] : times_[i] >= times_[i - 1]))) {
        throw InvalidArgument("with_times: the times are not strictly monotone at index " +
                              std::to_string(i));
      }
    }
    if (times_.size() < 2) throw InvalidArgument("with_times: needs at least t0 and t1");
    if constexpr (HasBreaks<F>) {
      for (const double t : std::span<const double>(owned_->breaks())) breaks_.push_back(t);
    }
  }

  /// The parameters of a run.
  template <class P>
  [[nodiscard]] Parameters parameters(const Eigen::MatrixBase<P>& p) const {
    Parameters out(p.size() + count());
    for (Eigen::Index i = 0; i < p.size(); ++i) out[i] = p.derived()[i];
    for (Eigen::Index i = 0; i < count(); ++i) {
      out[p.size() + i] =
          static_cast<typename Parameters::Scalar>(times_[static_cast<std::size_t>(i)]);
    }
    return out;
  }
  /// Of a gradient: the derivatives by the times.
  [[nodiscard]] Parameters times(const Parameters& p) const { return p.tail(count()); }
  /// Of a gradient: the derivatives by the problem's own parameters.
  [[nodiscard]] Parameters constants(const Parameters& p) const {
    return p.head(p.size() - count());
  }

  [[nodiscard]] std::span<const double> breaks() const { return breaks_; }
  void enter(const Interval& s) {
    const double middle = s.t + 0.5 * s.h;
    const bool up = times_[1] > times_[0];
    std::size_t i = 0;
    while (i + 2 < times_.size() && (up ? times_[i + 1] <= middle : times_[i + 1] >= middle)) ++i;
    const auto place = static_cast<Eigen::Index>(i);
    this->stretch(times_[i], times_[i + 1], place, place + 1);
    this->enter_inner(s);
  }

 private:
  [[nodiscard]] Eigen::Index count() const { return static_cast<Eigen::Index>(times_.size()); }

  std::shared_ptr<const F> owned_;
  std::vector<double> times_;
  std::vector<double> breaks_;
};

/// The same for a problem that brings its Jacobian.
template <HasTimeDerivative F>
  requires HasJacobian<F>
class TimedWithJacobian : public Timed<F> {
 public:
  using Timed<F>::Timed;
  using Jacobian = typename F::Jacobian;
};

/// `f` with times among its parameters. One-step methods only.
/// @param f      with its derivative by t (`HasTimeDerivative`): `autonomous(f)`,
///               `with_time_derivative(f, function)`
/// @param times  t0 first, t1 last, strictly monotone; between them any times of observations or
///               of switches
template <HasTimeDerivative F>
auto with_times(F f, std::vector<double> times) {
  auto owned = std::make_shared<const F>(std::move(f));
  if constexpr (HasJacobian<F>) {
    return TimedWithJacobian<F>(std::move(owned), std::move(times));
  } else {
    return Timed<F>(std::move(owned), std::move(times));
  }
}

}  // namespace costate
