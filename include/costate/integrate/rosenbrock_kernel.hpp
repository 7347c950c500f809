#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include <Eigen/Core>

#include "costate/integrate/autonomous.hpp"
#include "costate/integrate/implicit_problem.hpp"
#include "costate/integrate/newton.hpp"
#include "costate/integrate/one_instance.hpp"
#include "costate/integrate/shifted_solver.hpp"
#include "costate/integrate/step_kernel.hpp"
#include "costate/integrate/transposed_solve.hpp"

/// @file
/// One step of a Rosenbrock method for y' = f(t, y, p), its tangent and its adjoint: linear systems
/// with one matrix, no iteration. With J and f_t at (t, y), the stages are
///
///     (I - γ h J) U_i = γ h (f(t + α_i h, Y_i) + sum_{j<i} c_ij U_j / h + γ_i h f_t),
///     Y_i = y + sum_{j<i} a_ij U_j,     y⁺ = y + sum_i m_i U_i
///
/// (E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 1996, IV.7, eq. 7.25). J is
/// part of the method, not only of its solution, so the adjoint holds second derivatives: for
/// i = s … 1
///
///     (I - γ h J)ᵀ w_i = m_i λ + sum_{j>i} (a_ji v_j + γ c_ji w_j),   v_i = γ h J(Y_i)ᵀ w_i,
///
/// and, with ∇ the gradient with respect to y and to p,
///
///     λ ← λ + sum_i (v_i + γ h ∇(w_iᵀ J U_i) + γ γ_i h² ∇(w_iᵀ f_t)).
///
/// Without the last two terms the result is no derivative of anything.
///
/// As one more component of y, a running integral would bring second derivatives of the integrand
/// in. It is formed by Simpson's rule instead, h/6 (g(y) + 4 g(y + sum_i middle_i U_i) + g(y⁺)),
/// which is of fourth order if the value in the middle is of third.

namespace costate {

/// The coefficients of a Rosenbrock method with S stages, in the form above.
template <std::size_t S>
struct RosenbrockTableau {
  const char* name;
  double gamma;
  std::array<std::array<double, S>, S> a;  ///< strictly lower triangular
  std::array<std::array<double, S>, S> c;  ///< strictly lower triangular
  std::array<double, S> m;                 ///< weights of the solution
  std::array<double, S> alpha;             ///< stage times
  std::array<double, S> gamma_i;           ///< weights of f_t
  std::array<double, S> m_hat = {};        ///< weights of the embedded solution, if there is one
  std::array<double, S> middle = {};       ///< weights of y at t + h/2; none: no running integrals
  int order = 1;
  int embedded_order = 0;  ///< 0: none, no adaptive steps
};

/// Brings the second derivatives that a Rosenbrock method needs:
///
///     jacobian_vjp(t, y, p, k, w, y_bar, p_bar)   adds the gradients of wᵀ J(t, y, p) k
///
/// or jvp_vjp(t, y, p, dy, dp, w, y_bar, p_bar), which adds the gradients of
/// wᵀ (J dy + ∂f/∂p dp), and either `static constexpr bool autonomous = true`, or
///
///     time_derivative(t, y, p, out)               out = ∂f/∂t
///     time_derivative_vjp(t, y, p, w, y_bar, p_bar)  adds the gradients of wᵀ ∂f/∂t
template <class F>
concept RosenbrockProblem = Problem<F> &&
    requires(const F& f, double t, const typename F::State& y, const typename F::Parameters& p,
             typename F::State& y_bar, typename F::Parameters& p_bar) {
  requires requires {
    f.jacobian_vjp(t, y, p, y, y, y_bar, p_bar);
  } || requires {
    f.jvp_vjp(t, y, p, y, p, y, y_bar, p_bar);
  };
} &&(
    requires { requires F::autonomous; } ||
    requires(const F& f, double t, const typename F::State& y, const typename F::Parameters& p,
             typename F::State& y_bar, typename F::Parameters& p_bar) {
      f.time_derivative(t, y, p, y_bar);
      f.time_derivative_vjp(t, y, p, y, y_bar, p_bar);
    });

/// The step of method T for one problem.
template <Problem F, const auto& T, class Objective = NoIntegrand>
class RosenbrockKernel : public StepKernel<RosenbrockKernel<F, T, Objective>, F, Objective> {
  using Base = StepKernel<RosenbrockKernel<F, T, Objective>, F, Objective>;
  friend Base;
  static_assert(RosenbrockProblem<F>,
                "a Rosenbrock method needs the problem's jacobian_vjp or jvp_vjp, and its "
                "time_derivative and "
                "time_derivative_vjp unless it says `autonomous`");
  static_assert(!Base::integrates || T.middle != decltype(T.middle){},
                "this Rosenbrock method has no `middle`, so no running integrals: make the "
                "integral a component of the state");
  static_assert(!HasMass<F>, "Rosenbrock methods are for problems without a mass matrix");
  static_assert(
      !requires { typename F::Solver; } && !requires { requires F::approximate; },
      "a Rosenbrock method differentiates its Jacobian, which must be exact");

 public:
  using State = typename Base::State;
  using Parameters = typename Base::Parameters;
  using Scalar = typename Base::Scalar;
  static constexpr bool estimates_error = T.embedded_order > 0;

  /// @param f, objective  must outlive the kernel
  /// @param p             copied
  /// @param size          of the state
  RosenbrockKernel(const F& f, const Objective& objective, const Parameters& p, Eigen::Index size)
      : Base(f, objective, p, size), solver_(f, p, size), scratch_p_(p), no_parameters_(p) {
    no_parameters_.setZero();
    for (auto* states : {&y_, &u_, &w_, &v_}) {
      for (State& x : *states) x.setZero(size);
    }
    for (State* x : {&slope_, &d_, &r_, &sum_}) x->setZero(size);
  }

  /// dy → dy⁺ in place, the derivative of y⁺ in the direction (dy, dp); adds that of the integral.
  /// Allocates, and forms the derivatives of J and f_t from n products a stage: it is made for
  /// checks.
  /// @param y  state before the step
  void tangent(const Interval& s, const State& y, State& dy, const Parameters& dp,
               double& integral_dot) requires TangentProblem<F> {
    stages(s, y, false);
    const double gamma_h = T.gamma * s.h;
    std::array<State, stage_count> u_dot = u_;
    for (std::size_t i = 0; i < stage_count; ++i) {
      State& x = u_dot[i];
      d_ = dy;
      add_stages(T.a[i], u_dot, d_);
      f_.jvp(stage_time(s, T.alpha[i]), y_[i], p_, d_, dp, x);
      add_along(dy, dp, x, [&](const State& w, State& y_bar, Parameters& p_bar) {
        add_jacobian_vjp(s.t, y, u_[i], w, y_bar, p_bar);
      });
      if constexpr (!autonomous) {
        add_along(dy, dp, x, [&](const State& w, State& y_bar, Parameters& p_bar) {
          r_ = static_cast<Scalar>(T.gamma_i[i] * s.h) * w;
          f_.time_derivative_vjp(s.t, y, p_, r_, y_bar, p_bar);
        });
      }
      x *= static_cast<Scalar>(gamma_h);
      for (std::size_t j = 0; j < i; ++j) {
        if (T.c[i][j] != 0) x += static_cast<Scalar>(T.gamma * T.c[i][j]) * u_dot[j];
      }
      solver_.solve(x);
    }
    if constexpr (integrates) {
      const auto add = [&](double weight, double t, const State& at, const State& along) {
        objective_gradient(t, at);
        integral_dot += weight * static_cast<double>(y_term_.dot(along) + p_term_.dot(dp));
      };
      add(s.h / 6, s.t, y, dy);
      r_ = y;
      add_stages(T.middle, u_, r_);
      d_ = dy;
      add_stages(T.middle, u_dot, d_);
      add(4 * (s.h / 6), s.t + 0.5 * s.h, r_, d_);
      r_ = y;
      add_stages(T.m, u_, r_);
      add_stages(T.m, u_dot, dy);
      add(s.h / 6, s.t_next, r_, dy);
    } else {
      add_stages(T.m, u_dot, dy);
    }
  }

  /// The error estimate sum (m_hat_i - m_i) U_i of the trial step just made, in the
  /// root-mean-square norm weighted by atol + rtol max(|y|, |y⁺|). NaN if the step could not be
  /// made.
  double error(const Interval&, const State& y, const State& y_next, double rtol,
               double atol) requires(estimates_error) {
    if (!y_next.allFinite()) return std::numeric_limits<double>::quiet_NaN();
    d_.setZero();
    for (std::size_t i = 0; i < stage_count; ++i) {
      if (T.m_hat[i] != T.m[i]) d_ += static_cast<Scalar>(T.m_hat[i] - T.m[i]) * u_[i];
    }
    return Base::scaled_norm(d_, y, y_next, rtol, atol);
  }

 private:
  using Base::accumulate, Base::f_, Base::integrates, Base::objective_gradient, Base::p_,
      Base::p_term_, Base::stage_time, Base::y_term_;

  static constexpr std::size_t stage_count = T.a.size();
  static constexpr bool autonomous = requires { requires F::autonomous; };

  void forward(const Interval& s, const State& y, State& y_next, bool trial) {
    if (!stages(s, y, trial)) {
      y_next.setConstant(std::numeric_limits<Scalar>::quiet_NaN());
      return;
    }
    if constexpr (integrates) {
      accumulate(s.h / 6, s.t, y);
      d_ = y;
      add_stages(T.middle, u_, d_);
      accumulate(4 * (s.h / 6), s.t + 0.5 * s.h, d_);
    }
    y_next = y;
    add_stages(T.m, u_, y_next);
    if constexpr (integrates) accumulate(s.h / 6, s.t_next, y_next);
  }

  // y += sum_i weights_i u_i
  static void add_stages(const std::array<double, stage_count>& weights,
                         const std::array<State, stage_count>& u, State& y) {
    for (std::size_t i = 0; i < stage_count; ++i) {
      if (weights[i] != 0) y += static_cast<Scalar>(weights[i]) * u[i];
    }
  }

  // Adds the gradients of wᵀ J k.
  void add_jacobian_vjp(double t, const State& y, const State& k, const State& w, State& y_bar,
                        Parameters& p_bar) const {
    if constexpr (requires { f_.jacobian_vjp(t, y, p_, k, w, y_bar, p_bar); }) {
      f_.jacobian_vjp(t, y, p_, k, w, y_bar, p_bar);
    } else {
      f_.jvp_vjp(t, y, p_, k, no_parameters_, w, y_bar, p_bar);
    }
  }

  // out += the derivative along (dy, dp) of the vector whose products wᵀ ∂/∂(y, p) are `product`.
  template <class Product>
  void add_along(const State& dy, const Parameters& dp, State& out, const Product& product) const {
    State w = out;
    State y_bar = out;
    Parameters p_bar = dp;
    w.setZero();
    for (Eigen::Index i = 0; i < w.size(); ++i) {
      w[i] = 1;
      y_bar.setZero();
      p_bar.setZero();
      product(w, y_bar, p_bar);
      out[i] += y_bar.dot(dy) + static_cast<Scalar>(p_bar.dot(dp));
      w[i] = 0;
    }
  }

  void backward(const Interval& s, const State& y, State& lambda, Parameters& p_bar) {
    stages(s, y, false);
    const double gamma_h = T.gamma * s.h;
    const auto factor = static_cast<Scalar>(gamma_h);
    if constexpr (integrates) {
      r_ = y;
      add_stages(T.m, u_, r_);
      integrand_adjoint(s.h / 6, s.t_next, r_, p_bar);
      lambda += y_term_;
      integrand_adjoint(s.h / 6, s.t, y, p_bar);
      sum_ = lambda + y_term_;
      r_ = y;
      add_stages(T.middle, u_, r_);
      integrand_adjoint(4 * (s.h / 6), s.t + 0.5 * s.h, r_, p_bar);
      sum_ += y_term_;  // which stays the adjoint of y in the middle
    } else {
      sum_ = lambda;
    }
    State* w = nullptr;
    const auto apply = [&](const State& d, State& r) {
      *w += d;
      f_.vjp(s.t, y, p_, d, slope_, scratch_p_);
      r += factor * slope_ - d;
      return std::max(d.cwiseAbs().maxCoeff(), factor * slope_.cwiseAbs().maxCoeff());
    };
    const auto correct = [&](State& d) { solver_.solve_transpose(d); };
    const auto refresh = [] { return false; };  // the matrix is exact already
    for (std::size_t i = stage_count; i-- > 0;) {
      r_ = static_cast<Scalar>(T.m[i]) * lambda;
      if constexpr (integrates) r_ += static_cast<Scalar>(T.middle[i]) * y_term_;
      for (std::size_t j = i + 1; j < stage_count; ++j) {
        if (T.a[j][i] != 0) r_ += static_cast<Scalar>(T.a[j][i]) * v_[j];
        if (T.c[j][i] != 0) r_ += static_cast<Scalar>(T.gamma * T.c[j][i]) * w_[j];
      }
      w = &w_[i];
      w->setZero();
      const double left = solve_transposed(r_, d_, correct, apply, refresh);
      check_adjoint_residual<Scalar>(left, T.name, s);
      d_ = factor * w_[i];
      f_.vjp(stage_time(s, T.alpha[i]), y_[i], p_, d_, v_[i], p_bar);
      sum_ += v_[i];
      add_jacobian_vjp(s.t, y, u_[i], d_, sum_, p_bar);
      if constexpr (!autonomous) {
        if (T.gamma_i[i] != 0) {
          d_ *= static_cast<Scalar>(T.gamma_i[i] * s.h);
          f_.time_derivative_vjp(s.t, y, p_, d_, sum_, p_bar);
        }
      }
    }
    lambda = sum_;
  }

  // The gradient of weight · g(t, y): into y_term_, and added to p_bar.
  void integrand_adjoint(double weight, double t, const State& y, Parameters& p_bar) {
    objective_gradient(t, y);
    y_term_ *= static_cast<Scalar>(weight);
    p_bar += static_cast<typename Parameters::Scalar>(weight) * p_term_;
  }

  // The stages, in one compiled copy: forward steps, replays and adjoints have the same bits.
  COSTATE_ONE_INSTANCE bool stages(const Interval& s, const State& y, bool trial) {
    const double gamma_h = T.gamma * s.h;
    if (!solver_.prepare(s.t, y, p_, gamma_h)) {
      if (!trial) not_converged(T.name, s, s.t, std::numeric_limits<double>::infinity());
      return false;
    }
    if constexpr (!autonomous) f_.time_derivative(s.t, y, p_, slope_);
    for (std::size_t i = 0; i < stage_count; ++i) {
      y_[i] = y;
      add_stages(T.a[i], u_, y_[i]);
      f_.rhs(stage_time(s, T.alpha[i]), y_[i], p_, u_[i]);
      if constexpr (!autonomous) {
        if (T.gamma_i[i] != 0) u_[i] += static_cast<Scalar>(T.gamma_i[i] * s.h) * slope_;
      }
      u_[i] *= static_cast<Scalar>(gamma_h);
      for (std::size_t j = 0; j < i; ++j) {
        if (T.c[i][j] != 0) u_[i] += static_cast<Scalar>(T.gamma * T.c[i][j]) * u_[j];
      }
      solver_.solve(u_[i]);
    }
    return true;
  }

  ShiftedSolver<F> solver_;
  std::array<State, stage_count> y_, u_, w_, v_;
  State slope_, d_, r_, sum_;
  Parameters scratch_p_;  // of products with J at y, whose parameters jacobian_vjp takes care of
  Parameters no_parameters_;
};

}  // namespace costate
