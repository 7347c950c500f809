#pragma once

#include <concepts>
#include <utility>

#include <Eigen/Core>

#include "costate/integrate/problem.hpp"

/// @file
/// Separable Hamiltonian systems, and others of their shape: positions x and momenta m with
///
///     x' = v(m, p),   m' = F(x, p).
///
/// The state is the positions followed by the momenta. Neither function sees the time: methods for
/// such systems leave the step in between (Yoshida's by 0.35 h), so that a time would be one
/// outside of the run. A force that depends on time is one of a system with one more position, the
/// time, whose velocity is 1.

namespace costate {

/// Functions of positions and momenta, all const, as for `Problem`: vectors that arrive for output
/// have the right size and hold anything, `p_bar` is added to.
///
///     velocity(m, p, out)                 out = v
///     force(x, p, out)                    out = F
///     velocity_vjp(m, p, w, m_bar, p_bar) m_bar = (∂v/∂m)ᵀ w,  p_bar += (∂v/∂p)ᵀ w
///     force_vjp(x, p, w, x_bar, p_bar)    x_bar = (∂F/∂x)ᵀ w,  p_bar += (∂F/∂p)ᵀ w
template <class H>
concept SeparableFunctions = RealVector<typename H::Half> && RealVector<typename H::Parameters> &&
    requires(const H& h, const typename H::Half& x, const typename H::Parameters& p,
             typename H::Half& out, typename H::Parameters& p_bar) {
  h.velocity(x, p, out);
  h.force(x, p, out);
  h.velocity_vjp(x, p, x, out, p_bar);
  h.force_vjp(x, p, x, out, p_bar);
};

/// With tangents, too:
///
///     velocity_jvp(m, p, dm, dp, out)     out = (∂v/∂m) dm + (∂v/∂p) dp
///     force_jvp(x, p, dx, dp, out)        out = (∂F/∂x) dx + (∂F/∂p) dp
template <class H>
concept SeparableTangents = SeparableFunctions<H> &&
    requires(const H& h, const typename H::Half& x, const typename H::Parameters& p,
             typename H::Half& out) {
  h.velocity_jvp(x, p, x, p, out);
  h.force_jvp(x, p, x, p, out);
};

/// The functions as a `Problem` of positions and momenta together, so that any method can take it;
/// the symplectic ones see its two halves. Made by `separable`.
template <SeparableFunctions H>
class SeparableProblem {
 public:
  using Functions = H;
  using Half = typename H::Half;
  using Parameters = typename H::Parameters;
  using State = Eigen::Matrix<
      typename Half::Scalar,
      Half::SizeAtCompileTime == Eigen::Dynamic ? Eigen::Dynamic : 2 * Half::SizeAtCompileTime, 1>;

  explicit SeparableProblem(H functions) : functions_(std::move(functions)) {}

  [[nodiscard]] const H& functions() const noexcept { return functions_; }

  void rhs(double, const State& y, const Parameters& p, State& dydt) const {
    const Eigen::Index d = y.size() / 2;
    Half out = y.head(d);
    functions_.velocity(y.tail(d), p, out);
    dydt.head(d) = out;
    functions_.force(y.head(d), p, out);
    dydt.tail(d) = out;
  }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    const Eigen::Index d = y.size() / 2;
    Half out = y.head(d);
    functions_.velocity_vjp(y.tail(d), p, w.head(d), out, p_bar);
    y_bar.tail(d) = out;
    functions_.force_vjp(y.head(d), p, w.tail(d), out, p_bar);
    y_bar.head(d) = out;
  }
  void jvp(double, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
           State& out) const requires SeparableTangents<H> {
    const Eigen::Index d = y.size() / 2;
    Half half = y.head(d);
    functions_.velocity_jvp(y.tail(d), p, dy.tail(d), dp, half);
    out.head(d) = half;
    functions_.force_jvp(y.head(d), p, dy.head(d), dp, half);
    out.tail(d) = half;
  }

 private:
  H functions_;
};

/// @code
///   const auto pendulum = costate::separable(Pendulum{});
///   auto result = costate::value_and_gradient(pendulum, costate::StoermerVerlet{.h = 0.01}, …);
/// @endcode
template <SeparableFunctions H>
SeparableProblem<H> separable(H functions) {
  return SeparableProblem<H>(std::move(functions));
}

/// A problem that shows its two halves.
template <class F>
concept Separable = Problem<F> && SeparableFunctions<typename F::Functions> &&
    std::derived_from<F, SeparableProblem<typename F::Functions>>;

}  // namespace costate
