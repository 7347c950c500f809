#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "costate/core/error.hpp"
#include "costate/integrate/implicit_problem.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/ode/objective.hpp"
#include "costate/ode/ode_stepper.hpp"
#include "costate/ode/pieces.hpp"
#include "costate/ode/run.hpp"
#include "costate/ode/tangent.hpp"
#include "costate/ode/value_and_gradient.hpp"
#include "costate/sweep/sweep.hpp"

/// @file
/// Products with the Hessian of an objective, by the adjoint of the tangent:
///
/// @code
///   auto h = costate::hessian_product(problem, method, objective, run, {.dy0 = u, .dp = v});
///   h.hy0; h.hp;   // H (u, v), with H of the objective as a function of (y0, p)
///   h.dy0; h.dp;   // the gradient
/// @endcode
///
/// A Runge-Kutta step of the problem together with its tangent,
///
///     y' = f(t, y, p),   ẏ' = (∂f/∂y) ẏ + (∂f/∂p) ṗ,
///
/// is the step of y and its exact derivative; the adjoint of that pair gives the product, as exact
/// a derivative of the gradient as the gradient is of the value. A sweep over such pairs is a sweep
/// like any other: budget, schedule and disk apply, with states of twice the size.

namespace costate {

template <class F>
struct SolverOf;  // shifted_solver.hpp
template <class F, std::size_t S>
struct CoupledSolverOf;  // coupled_solver.hpp

namespace second_order_detail {

template <class V>
using Twice = Eigen::Matrix<
    typename V::Scalar,
    V::SizeAtCompileTime == Eigen::Dynamic ? Eigen::Dynamic : 2 * V::SizeAtCompileTime, 1>;

/// Both halves into one. By entries: GCC 12 warns of packets that it never reads.
template <class V>
void join(const V& a, const V& b, Twice<V>& out) {
  for (Eigen::Index i = 0; i < a.size(); ++i) out[i] = a[i];
  for (Eigen::Index i = 0; i < b.size(); ++i) out[a.size() + i] = b[i];
}
template <class V>
void add(const V& a, const V& b, Twice<V>& out) {
  for (Eigen::Index i = 0; i < a.size(); ++i) out[i] += a[i];
  for (Eigen::Index i = 0; i < b.size(); ++i) out[a.size() + i] += b[i];
}
template <class V>
void halve(const Twice<V>& in, V& a, V& b) {
  const Eigen::Index n = in.size() / 2;
  a.resize(n);
  b.resize(n);
  for (Eigen::Index i = 0; i < n; ++i) a[i] = in[i];
  for (Eigen::Index i = 0; i < n; ++i) b[i] = in[n + i];
}

/// Solves with diag(W, W): the part of the Jacobian that is left out, ∂ẏ'/∂y, is below the
/// diagonal, so that it costs the iterations one round more.
template <class F>
class PairSolver {
 public:
  using State = Twice<typename F::State>;
  using Parameters = Twice<typename F::Parameters>;

  template <class Pair>
  PairSolver(const Pair& f, const Parameters& p, Eigen::Index size)
      : inner_(f.problem(), typename F::Parameters(p.head(p.size() / 2)), size / 2) {}

  bool prepare(double t, const State& y, const Parameters& p, double a) {
    halve(y, a_, b_);
    halve(p, p_, dp_);
    return inner_.prepare(t, a_, p_, a);
  }
  void solve(State& x) {
    halve(x, a_, b_);
    inner_.solve(a_);
    inner_.solve(b_);
    join(a_, b_, x);
  }
  void solve_transpose(State& x) {
    halve(x, a_, b_);
    inner_.solve_transpose(a_);
    inner_.solve_transpose(b_);
    join(a_, b_, x);
  }

 private:
  typename SolverOf<F>::type inner_;
  typename F::State a_, b_;
  typename F::Parameters p_, dp_;
};

/// The same for all stages of a fully implicit method at once.
template <class F, std::size_t S>
class PairCoupledSolver {
 public:
  using State = Twice<typename F::State>;
  using Parameters = Twice<typename F::Parameters>;

  template <class Pair>
  PairCoupledSolver(const Pair& f, const Parameters& p, Eigen::Index size)
      : inner_(f.problem(), typename F::Parameters(p.head(p.size() / 2)), size / 2),
        half_(static_cast<Eigen::Index>(S) * (size / 2)) {}

  bool prepare(const std::array<double, S>& t, const std::array<State, S>& y, const Parameters& p,
               const std::array<std::array<double, S>, S>& a, double h) {
    for (std::size_t i = 0; i < S; ++i) halve(y[i], y_[i], b_);
    halve(p, p_, dp_);
    return inner_.prepare(t, y_, p_, a, h);
  }
  template <class V>
  void solve(V& x) {
    each_half(x, [&] { inner_.solve(half_); });
  }
  template <class V>
  void solve_transpose(V& x) {
    each_half(x, [&] { inner_.solve_transpose(half_); });
  }

 private:
  // The first halves of all stages, then the second ones.
  template <class V, class Solve>
  void each_half(V& x, const Solve& solve) {
    const Eigen::Index n = half_.size() / static_cast<Eigen::Index>(S);
    for (const Eigen::Index first : {Eigen::Index{0}, n}) {
      for (Eigen::Index i = 0; i < half_.size(); ++i) half_[i] = x[(i / n) * 2 * n + first + i % n];
      solve();
      for (Eigen::Index i = 0; i < half_.size(); ++i) x[(i / n) * 2 * n + first + i % n] = half_[i];
    }
  }

  typename CoupledSolverOf<F, S>::type inner_;
  std::array<typename F::State, S> y_;
  typename F::State b_;
  typename F::Parameters p_, dp_;
  Eigen::Matrix<typename F::State::Scalar, Eigen::Dynamic, 1> half_;
};

}  // namespace second_order_detail

/// A problem together with its tangent. State: y, then ẏ; parameters: p, then ṗ.
template <SecondOrderProblem F>
class PairProblem {
  using Y = typename F::State;
  using P = typename F::Parameters;

 public:
  using State = second_order_detail::Twice<Y>;
  using Parameters = second_order_detail::Twice<P>;

  /// @param f  must outlive it
  explicit PairProblem(const F& f) : f_(f) {
    if constexpr (HasMass<F>) {
      const DenseMatrix<F> m(f.mass());
      mass_.setZero(2 * m.rows(), 2 * m.cols());
      mass_.topLeftCorner(m.rows(), m.cols()) = m;
      mass_.bottomRightCorner(m.rows(), m.cols()) = m;
    }
  }
  [[nodiscard]] const F& problem() const { return f_; }

  void rhs(double t, const State& y, const Parameters& p, State& dydt) const {
    set(y, p);
    f_.rhs(t, y_, p_, a_);
    f_.jvp(t, y_, p_, dy_, dp_, b_);
    second_order_detail::join(a_, b_, dydt);
  }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    set(y, p);
    second_order_detail::halve(w, w_, dw_);
    q_.setZero(p_.size());
    dq_.setZero(p_.size());
    f_.vjp(t, y_, p_, w_, a_, q_);
    f_.jvp_vjp(t, y_, p_, dy_, dp_, dw_, a_, q_);
    f_.vjp(t, y_, p_, dw_, b_, dq_);
    second_order_detail::join(a_, b_, y_bar);
    second_order_detail::add(q_, dq_, p_bar);
  }

  [[nodiscard]] const auto& mass() const requires HasMass<F> { return mass_; }
  [[nodiscard]] auto breaks() const requires HasBreaks<F> { return f_.breaks(); }
  void enter(const Interval& s) requires Piecewise<F> { f_.enter(s); }

  using Solver = second_order_detail::PairSolver<F>;

 private:
  void set(const State& y, const Parameters& p) const {
    second_order_detail::halve(y, y_, dy_);
    second_order_detail::halve(p, p_, dp_);
    a_.resize(y_.size());
    b_.resize(y_.size());
  }

  // A kernel of a piecewise problem copies it, to `enter` its own.
  std::conditional_t<Piecewise<F>, F, const F&> f_;
  struct NoMass {};
  [[no_unique_address]] std::conditional_t<
      HasMass<F>,
      Eigen::Matrix<typename Y::Scalar, State::SizeAtCompileTime, State::SizeAtCompileTime>, NoMass>
      mass_;
  // Work space: it belongs to one sweep.
  mutable Y y_, dy_, a_, b_, w_, dw_;
  mutable P p_, dp_, q_, dq_;
};

template <class F, std::size_t S>
struct CoupledSolverOf<PairProblem<F>, S> {
  using type = second_order_detail::PairCoupledSolver<F, S>;
};

/// The derivative of an objective in the direction that a pair carries.
template <SecondOrderProblem F, class O>
class PairObjective {
  using Y = typename F::State;
  using P = typename F::Parameters;
  using State = second_order_detail::Twice<Y>;
  using Parameters = second_order_detail::Twice<P>;

 public:
  /// @param objective  must outlive it
  explicit PairObjective(const O& objective) : objective_(objective) {}

  double terminal(const State& y, const Parameters& p) const requires HasTerminal<O, Y, P> {
    return derivative(y, p, [&] { objective_.terminal_gradient(y_, p_, a_, q_); });
  }
  void terminal_gradient(const State& y, const Parameters& p, State& y_bar,
                         Parameters& p_bar) const requires HasTerminal<O, Y, P> {
    gradient(
        y, p, y_bar, p_bar, [&] { objective_.terminal_product(y_, p_, dy_, dp_, a_, q_); },
        [&] { objective_.terminal_gradient(y_, p_, b_, dq_); });
  }
  double integrand(double t, const State& y,
                   const Parameters& p) const requires HasIntegrand<O, Y, P> {
    return derivative(y, p, [&] { objective_.integrand_gradient(t, y_, p_, a_, q_); });
  }
  void integrand_gradient(double t, const State& y, const Parameters& p, State& y_bar,
                          Parameters& p_bar) const requires HasIntegrand<O, Y, P> {
    gradient(
        y, p, y_bar, p_bar, [&] { objective_.integrand_product(t, y_, p_, dy_, dp_, a_, q_); },
        [&] { objective_.integrand_gradient(t, y_, p_, b_, dq_); });
  }
  [[nodiscard]] std::span<const double> observation_times() const requires
      HasObservations<O, Y, P> {
    return objective_.observation_times();
  }
  double observation(std::size_t i, const State& y,
                     const Parameters& p) const requires HasObservations<O, Y, P> {
    return derivative(y, p, [&] { objective_.observation_gradient(i, y_, p_, a_, q_); });
  }
  void observation_gradient(std::size_t i, const State& y, const Parameters& p, State& y_bar,
                            Parameters& p_bar) const requires HasObservations<O, Y, P> {
    gradient(
        y, p, y_bar, p_bar, [&] { objective_.observation_product(i, y_, p_, dy_, dp_, a_, q_); },
        [&] { objective_.observation_gradient(i, y_, p_, b_, dq_); });
  }

 private:
  void set(const State& y, const Parameters& p) const {
    second_order_detail::halve(y, y_, dy_);
    second_order_detail::halve(p, p_, dp_);
    a_.setZero(y_.size());
    b_.setZero(y_.size());
    q_.setZero(p_.size());
    dq_.setZero(p_.size());
  }
  template <class Gradient>
  double derivative(const State& y, const Parameters& p, const Gradient& evaluate) const {
    set(y, p);
    evaluate();
    return static_cast<double>(a_.dot(dy_)) + static_cast<double>(q_.dot(dp_));
  }
  template <class Product, class Gradient>
  void gradient(const State& y, const Parameters& p, State& y_bar, Parameters& p_bar,
                const Product& product, const Gradient& evaluate) const {
    set(y, p);
    product();
    evaluate();
    second_order_detail::add(a_, b_, y_bar);
    second_order_detail::add(q_, dq_, p_bar);
  }

  const O& objective_;
  // Work space: it belongs to one sweep.
  mutable Y y_, dy_, a_, b_;
  mutable P p_, dp_, q_, dq_;
};

/// The product of the Hessian with a direction, and what comes with it.
template <RealVector State, RealVector Parameters>
struct HessianProduct {
  double value = 0;
  double derivative = 0;  ///< of the value in the direction
  State dy0 = {};         ///< the gradient
  Parameters dp = {};
  State hy0 = {};      ///< the derivative of dy0 in the direction
  Parameters hp = {};  ///< the derivative of dp in the direction
  TimeGrid grid;       ///< the accepted steps
  Step rejected = 0;   ///< trial steps that were not accepted
  Report report = {};  ///< of the sweep over the pairs
};

/// H d, with H the Hessian of the objective as a function of (y0, p), with the accepted steps held
/// fixed. The value comes from a forward run of its own, which chooses the steps if they are
/// adaptive: the direction has no influence on them. Methods whose steps hold derivatives of the
/// problem (Rosenbrock) would need third ones and are not for this.
///
/// @param problem    with `jvp` and `jvp_vjp` (`SecondOrderProblem`); `autodiff(...)` has them
/// @param objective  with products (`SecondOrderObjective`); `autodiff_terminal(...)` and its like
///                   have them
/// @throws as `value_and_gradient`
template <SecondOrderProblem F, class Method, class O>
HessianProduct<typename F::State, typename F::Parameters> hessian_product(
    const F& problem, const Method& method, const O& objective, const RunOf<F>& run,
    const DirectionOf<F>& direction) {
  using Y = typename F::State;
  using P = typename F::Parameters;
  static_assert(SecondOrderObjective<O, Y, P>,
                "the objective lacks the second derivatives of a part: give terminal, integral and "
                "observations a third function, or use autodiff_terminal and its like");
  if (direction.dy0.size() != run.y0.size() || direction.dp.size() != run.p.size()) {
    throw InvalidArgument("hessian_product: the direction has " +
                          std::to_string(direction.dy0.size()) + " and " +
                          std::to_string(direction.dp.size()) + " entries, y0 and p have " +
                          std::to_string(run.y0.size()) + " and " + std::to_string(run.p.size()));
  }
  const ValueOf<F> forward = value(problem, method, objective, run);
  const bool adaptive = method.control().adaptive() && run.t0 != run.t1;
  const Method fixed = adaptive ? on_grid(method, forward.grid.times()) : method;

  using Pair = PairProblem<F>;
  const Pair pair(problem);
  const PairObjective<F, O> along(objective);
  typename Pair::State y0(2 * run.y0.size());
  typename Pair::Parameters p(2 * run.p.size());
  second_order_detail::join(run.y0, direction.dy0, y0);
  second_order_detail::join(run.p, direction.dp, p);
  OdeStepper<Pair, Method, PairObjective<F, O>> stepper(pair, fixed, along, run.t0, run.t1, y0, p);
  HessianProduct<Y, P> out;
  out.report = sweep(stepper, run.sweep_options());
  out.value = forward.value;
  out.derivative = stepper.value();
  second_order_detail::halve(stepper.adjoint(), out.hy0, out.dy0);
  second_order_detail::halve(stepper.parameter_gradient(), out.hp, out.dp);
  out.grid = forward.grid;
  out.rejected = forward.rejected;
  if (!stepper.adjoint().allFinite() || !stepper.parameter_gradient().allFinite()) {
    throw NonFiniteError("the product with the Hessian is not finite", unknown);
  }
  return out;
}

}  // namespace costate
