#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <Eigen/Core>

/// @file
/// What a right-hand side is: y' = f(t, y, p), with its vector-Jacobian product. States and
/// parameters are Eigen column vectors of `float` or `double`, of fixed or dynamic size; times are
/// always `double`.

namespace costate {

/// A column vector of real numbers, of fixed or dynamic size.
template <class V>
concept RealVector = std::derived_from<V, Eigen::PlainObjectBase<V>> && V::ColsAtCompileTime == 1 &&
                     (std::same_as<typename V::Scalar, double> ||
                      std::same_as<typename V::Scalar, float>);

/// No parameters.
using NoParameters = Eigen::Matrix<double, 0, 1>;

/// A problem has the types `State` and `Parameters` and
///
///     rhs(t, y, p, dydt)           dydt  = f(t, y, p)
///     vjp(t, y, p, w, y_bar, p_bar) y_bar = (∂f/∂y)ᵀ w,   p_bar += (∂f/∂p)ᵀ w
///
/// both const, and functions of their arguments only: the same arguments give the same bits.
/// `dydt` and `y_bar` arrive with the size of `y` and hold anything; no argument overlaps another.
template <class F>
concept Problem = RealVector<typename F::State> && RealVector<typename F::Parameters> &&
    requires(const F& f, double t, const typename F::State& y, const typename F::Parameters& p,
             typename F::State& out, typename F::Parameters& p_bar) {
  f.rhs(t, y, p, out);
  f.vjp(t, y, p, y, out, p_bar);
};

/// A problem with a tangent, too:
///
///     jvp(t, y, p, dy, dp, out)    out = (∂f/∂y) dy + (∂f/∂p) dp
template <class F>
concept TangentProblem = Problem<F> &&
    requires(const F& f, double t, const typename F::State& y, const typename F::Parameters& p,
             typename F::State& out) {
  f.jvp(t, y, p, y, p, out);
};

/// A problem with second derivatives, too, for products with the Hessian of an objective:
///
///     jvp_vjp(t, y, p, dy, dp, w, y_bar, p_bar)   adds the gradients with respect to y and p of
///                                                 wᵀ((∂f/∂y) dy + (∂f/∂p) dp)
template <class F>
concept SecondOrderProblem = TangentProblem<F> &&
    requires(const F& f, double t, const typename F::State& y, const typename F::Parameters& p,
             typename F::State& y_bar, typename F::Parameters& p_bar) {
  f.jvp_vjp(t, y, p, y, p, y, y_bar, p_bar);
};

/// Stands for a tangent that was not given.
struct NoTangent {};

/// A problem made of functions; see `problem`.
template <RealVector S, RealVector P, class Rhs, class Vjp, class Jvp = NoTangent>
class FunctionProblem {
 public:
  using State = S;
  using Parameters = P;

  FunctionProblem(Rhs rhs, Vjp vjp, Jvp jvp)
      : rhs_(std::move(rhs)), vjp_(std::move(vjp)), jvp_(std::move(jvp)) {}

  void rhs(double t, const State& y, const Parameters& p, State& dydt) const {
    rhs_(t, y, p, dydt);
  }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    vjp_(t, y, p, w, y_bar, p_bar);
  }
  void jvp(double t, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
           State& out) const requires(!std::same_as<Jvp, NoTangent>) {
    jvp_(t, y, p, dy, dp, out);
  }

 private:
  [[no_unique_address]] Rhs rhs_;
  [[no_unique_address]] Vjp vjp_;
  [[no_unique_address]] Jvp jvp_;
};

/// A problem from two or three functions with the signatures above.
///
/// @code
///   auto decay = costate::problem<State, Parameters>(
///       [](double, const State& y, const Parameters& p, State& dydt) { dydt = -p[0] * y; },
///       [](double, const State& y, const Parameters& p, const State& w, State& y_bar,
///          Parameters& p_bar) { y_bar = -p[0] * w; p_bar[0] -= y.dot(w); });
/// @endcode
template <RealVector State, RealVector Parameters, class Rhs, class Vjp, class Jvp = NoTangent>
auto problem(Rhs rhs, Vjp vjp, Jvp jvp = {}) {
  return FunctionProblem<State, Parameters, Rhs, Vjp, Jvp>(std::move(rhs), std::move(vjp),
                                                           std::move(jvp));
}

}  // namespace costate
