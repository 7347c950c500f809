#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include <Eigen/Core>

#include "costate/integrate/newton.hpp"
#include "costate/integrate/one_instance.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/integrate/shifted_solver.hpp"
#include "costate/integrate/step_kernel.hpp"
#include "costate/integrate/transposed_solve.hpp"

/// @file
/// One step of an additive Runge-Kutta method for y' = f(t, y, p) + g(t, y, p), implicit in f and
/// explicit in g, its tangent and its adjoint. With F_j = f(t_j, Y_j), G_j = g(t_j, Y_j),
///
///     B_i = y + h sum_{j<i} (a_ij F_j + â_ij G_j),   Y_i = B_i + h a_ii F_i,
///     y⁺ = y + h sum_i (b_i F_i + b̂_i G_i),
///
/// where F_i = (Y_i - B_i) / (h a_ii) if a_ii ≠ 0. The adjoint is that of a diagonally implicit
/// method (dirk_kernel.hpp) whose stages have one more reader: for i = s … 1
///
///     û_i = h b̂_i λ + h sum_{j>i} â_ji v_j,     q_i = (∂g/∂y)(Y_i)ᵀ û_i
///     (I - h a_ii J_i)ᵀ u_i = h b_i λ + h sum_{j>i} a_ji v_j + h a_ii q_i
///     v_i = J_iᵀ u_i + q_i
///
/// and then λ ← λ + sum_i v_i, with J = ∂f/∂y. A running integral is a component of the implicit
/// part: its weights are h b_i.

namespace costate {

/// A right-hand side f + g. A problem like any other, for every method; IMEX methods treat the
/// parts differently.
template <Problem F, Problem G>
class SplitProblem {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  static_assert(std::same_as<State, typename G::State> &&
                    std::same_as<Parameters, typename G::Parameters>,
                "the two parts need the same State and Parameters");

  SplitProblem(F stiff, G nonstiff) : stiff_(std::move(stiff)), nonstiff_(std::move(nonstiff)) {}

  void rhs(double t, const State& y, const Parameters& p, State& dydt) const {
    State other = dydt;
    stiff_.rhs(t, y, p, dydt);
    nonstiff_.rhs(t, y, p, other);
    dydt += other;
  }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    State other = y_bar;
    stiff_.vjp(t, y, p, w, y_bar, p_bar);
    nonstiff_.vjp(t, y, p, w, other, p_bar);
    y_bar += other;
  }
  void jvp(double t, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
           State& out) const requires TangentProblem<F> && TangentProblem<G> {
    State other = out;
    stiff_.jvp(t, y, p, dy, dp, out);
    nonstiff_.jvp(t, y, p, dy, dp, other);
    out += other;
  }

  [[nodiscard]] const F& stiff() const { return stiff_; }
  [[nodiscard]] const G& nonstiff() const { return nonstiff_; }

 private:
  [[no_unique_address]] F stiff_;
  [[no_unique_address]] G nonstiff_;
};

/// @param stiff     the part to be treated implicitly
/// @param nonstiff  the part to be treated explicitly
template <Problem F, Problem G>
auto split(F stiff, G nonstiff) {
  return SplitProblem<F, G>(std::move(stiff), std::move(nonstiff));
}

/// The coefficients of an additive Runge-Kutta method: a, b of the implicit part, lower triangular,
/// and a_explicit, b_explicit of the other, with common stage times.
template <std::size_t S>
struct ImexTableau {
  const char* name;
  std::array<std::array<double, S>, S> a;
  std::array<double, S> b;
  std::array<std::array<double, S>, S> a_explicit;
  std::array<double, S> b_explicit;
  std::array<double, S> c;
  std::array<double, S> b_hat = {};  ///< embedded weights of both parts
  int order = 1;
  int embedded_order = 0;  ///< 0: none, no adaptive steps
};

/// The step of method T for one `SplitProblem`.
template <class P, const auto& T, class Objective = NoIntegrand>
class ImexKernel : public StepKernel<ImexKernel<P, T, Objective>, P, Objective> {
  using Base = StepKernel<ImexKernel<P, T, Objective>, P, Objective>;
  friend Base;
  using Stiff = std::remove_cvref_t<decltype(std::declval<const P&>().stiff())>;
  static_assert(!HasMass<Stiff>, "IMEX methods are for problems without a mass matrix");

 public:
  using State = typename Base::State;
  using Parameters = typename Base::Parameters;
  using Scalar = typename Base::Scalar;
  static constexpr bool estimates_error = T.embedded_order > 0;
  /// A tape holds y and the stage values but the first, which is y.
  static constexpr std::size_t tape_states = T.a.size();
  static constexpr bool tape_has_next = false;

  /// @param f, objective  must outlive the kernel
  /// @param p             copied
  /// @param size          of the state
  ImexKernel(const P& f, const Objective& objective, const Parameters& p, Eigen::Index size)
      : Base(f, objective, p, size), solver_(f.stiff(), p, size) {
    for (auto* states : {&y_, &f_slope_, &g_slope_}) {
      for (State& x : *states) x.setZero(size);
    }
    for (State* x : {&base_, &r_, &d_, &q_}) x->setZero(size);
  }

  /// dy → dy⁺ in place, the derivative of y⁺ in the direction (dy, dp); adds that of the integral.
  /// Allocates: it is made for checks.
  /// @param y  state before the step
  void tangent(const Interval& s, const State& y, State& dy, const Parameters& dp,
               double& integral_dot) requires TangentProblem<P> {
    stages(s, y, false);
    std::array<State, stage_count> f_dot = f_slope_;
    std::array<State, stage_count> g_dot = g_slope_;
    State x = dy;
    for (std::size_t i = 0; i < stage_count; ++i) {
      const double t = stage_time(s, T.c[i]);
      const auto ha = static_cast<Scalar>(s.h * T.a[i][i]);
      set_base(i, s, dy, f_dot, g_dot);
      x = base_;
      if (ha == Scalar(0)) {
        f_.stiff().jvp(t, y_[i], p_, x, dp, f_dot[i]);
      } else {
        const auto residual = [&](const State& z, State& r) {
          f_.stiff().jvp(t, y_[i], p_, z, dp, r);
          r *= ha;
          r += base_ - z;
        };
        const auto correct = [&](State& r) { solver_.solve(r); };
        const auto refresh = [&](const State&) { return prepare(s, t, y_[i], T.a[i][i]); };
        if (!refresh(x) || !newton(x, r_, residual, correct, refresh).converged) {
          not_converged(T.name, s, t, 0);
        }
        f_dot[i] = (x - base_) / ha;
      }
      f_.nonstiff().jvp(t, y_[i], p_, x, dp, g_dot[i]);
      if constexpr (integrates) {
        objective_gradient(t, y_[i]);
        integral_dot += s.h * T.b[i] * static_cast<double>(y_term_.dot(x) + p_term_.dot(dp));
      }
    }
    add_slopes(s, f_dot, g_dot, dy);
  }

  /// The error estimate W⁻¹ h sum (b_hat_i - b_i) (F_i + G_i) of the trial step just made, in the
  /// root-mean-square norm weighted by atol + rtol max(|y|, |y⁺|); W⁻¹ takes out what is stiff and
  /// no error of the solution. NaN if the step could not be made.
  double error(const Interval& s, const State& y, const State& y_next, double rtol,
               double atol) requires(estimates_error) {
    if (!y_next.allFinite()) return std::numeric_limits<double>::quiet_NaN();
    d_.setZero();
    for (std::size_t i = 0; i < stage_count; ++i) {
      const auto weight = static_cast<Scalar>(s.h * (T.b_hat[i] - T.b[i]));
      if (weight != Scalar(0)) d_ += weight * (f_slope_[i] + g_slope_[i]);
    }
    solver_.solve(d_);
    return Base::scaled_norm(d_, y, y_next, rtol, atol);
  }

 private:
  using Base::accumulate, Base::f_, Base::integrates, Base::objective_gradient, Base::p_,
      Base::p_term_, Base::stage_time, Base::y_term_;

  static constexpr std::size_t stage_count = T.a.size();
  static constexpr std::size_t first_implicit = [] {
    std::size_t i = 0;
    while (i + 1 < stage_count && T.a[i][i] == 0) ++i;
    return i;
  }();
  static_assert(T.a[0][0] == 0, "the first stage is explicit");

  template <class Visit>
  void each_taped(const Visit& visit) {
    for (std::size_t i = 1; i < stage_count; ++i) visit(y_[i]);
  }

  void forward(const Interval& s, const State& y, State& y_next, bool trial) {
    if (!stages(s, y, trial)) {
      y_next.setConstant(std::numeric_limits<Scalar>::quiet_NaN());
      return;
    }
    if constexpr (integrates) {
      for (std::size_t i = 0; i < stage_count; ++i) {
        if (T.b[i] != 0) accumulate(s.h * T.b[i], stage_time(s, T.c[i]), y_[i]);
      }
    }
    y_next = y;
    add_slopes(s, f_slope_, g_slope_, y_next);
  }

  using Slopes = std::array<State, stage_count>;

  // base = y + h sum_{j<i} (a_ij f_j + â_ij g_j)
  COSTATE_ONE_INSTANCE void set_base(std::size_t i, const Interval& s, const State& y,
                                     const Slopes& f, const Slopes& g) {
    base_ = y;
    for (std::size_t j = 0; j < i; ++j) {
      const auto of_g = static_cast<Scalar>(s.h * T.a_explicit[i][j]);
      const auto of_f = static_cast<Scalar>(s.h * T.a[i][j]);
      if (of_g != Scalar(0)) base_ += of_g * g[j];
      if (of_f != Scalar(0)) base_ += of_f * f[j];
    }
  }

  // y += h sum_i (b_i f_i + b̂_i g_i)
  static void add_slopes(const Interval& s, const Slopes& f, const Slopes& g, State& y) {
    for (std::size_t i = 0; i < stage_count; ++i) {
      if (T.b[i] != 0) y += static_cast<Scalar>(s.h * T.b[i]) * f[i];
      if (T.b_explicit[i] != 0) y += static_cast<Scalar>(s.h * T.b_explicit[i]) * g[i];
    }
  }

  void backward(const Interval& s, const State& y, State& lambda, Parameters& p_bar) {
    stages(s, y, false);
    adjoint(s, y, lambda, p_bar);
  }

  void backward_taped(const Interval& s, const State& y, State& lambda, Parameters& p_bar) {
    y_[0] = y;
    at_start_ = false;
    adjoint(s, y, lambda, p_bar);
  }

  // With the stage values in y_. The first matrix is a function of them alone, as in DirkKernel.
  COSTATE_ONE_INSTANCE void adjoint(const Interval& s, const State& y, State& lambda,
                                    Parameters& p_bar) {
    if constexpr (!cheap_to_prepare<ShiftedSolver<Stiff>>) {
      if (!at_start_) prepare_start(s, y);
    }
    // f_slope_[i] becomes v_i.
    for (std::size_t i = stage_count; i-- > 0;) {
      const double t = stage_time(s, T.c[i]);
      const auto ha = static_cast<Scalar>(s.h * T.a[i][i]);
      d_ = static_cast<Scalar>(s.h * T.b_explicit[i]) * lambda;
      r_ = static_cast<Scalar>(s.h * T.b[i]) * lambda;
      for (std::size_t j = i + 1; j < stage_count; ++j) {
        const auto of_g = static_cast<Scalar>(s.h * T.a_explicit[j][i]);
        const auto of_f = static_cast<Scalar>(s.h * T.a[j][i]);
        if (of_g != Scalar(0)) d_ += of_g * f_slope_[j];
        if (of_f != Scalar(0)) r_ += of_f * f_slope_[j];
      }
      f_.nonstiff().vjp(t, y_[i], p_, d_, q_, p_bar);
      if constexpr (integrates) {
        const auto weight = static_cast<Scalar>(s.h * T.b[i]);
        objective_gradient(t, y_[i]);
        q_ += weight * y_term_;
        p_bar += static_cast<typename Parameters::Scalar>(weight) * p_term_;
      }
      State& v = f_slope_[i];
      if (ha == Scalar(0)) {
        f_.stiff().vjp(t, y_[i], p_, r_, v, p_bar);
      } else {
        r_ += ha * q_;
        v.setZero();
        const auto apply = [&](const State& d, State& r) {
          f_.stiff().vjp(t, y_[i], p_, d, base_, p_bar);
          v += base_;
          base_ *= ha;
          r += base_ - d;
          return std::max(base_.cwiseAbs().maxCoeff(), d.cwiseAbs().maxCoeff());
        };
        const auto correct = [&](State& d) { solver_.solve_transpose(d); };
        const auto refresh = [&] { return prepare(s, t, y_[i], T.a[i][i]); };
        if (cheap_to_prepare<ShiftedSolver<Stiff>> || prepared_ != T.a[i][i]) refresh();
        const double left =
            solve_transposed(r_, d_, correct, apply, refresh, prepare_cost(solver_));
        check_adjoint_residual<Scalar>(left, T.name, s);
      }
      v += q_;
    }
    for (const State& v : f_slope_) lambda += v;
  }

  // The stages, in one compiled copy: forward steps, replays and adjoints have the same bits.
  COSTATE_ONE_INSTANCE bool stages(const Interval& s, const State& y, bool trial) {
    prepared_ = 0;
    for (std::size_t i = 0; i < stage_count; ++i) {
      if (!stage(i, s, y, trial)) return false;
    }
    return true;
  }

  COSTATE_ONE_INSTANCE bool stage(std::size_t i, const Interval& s, const State& y, bool trial) {
    const double t = stage_time(s, T.c[i]);
    const auto ha = static_cast<Scalar>(s.h * T.a[i][i]);
    set_base(i, s, y, f_slope_, g_slope_);
    y_[i] = base_;
    if (ha == Scalar(0)) {
      f_.stiff().rhs(t, y_[i], p_, f_slope_[i]);
    } else {
      const auto residual = [&](const State& x, State& r) {
        f_.stiff().rhs(t, x, p_, r);
        r *= ha;
        r += base_ - x;
      };
      const auto correct = [&](State& r) { solver_.solve(r); };
      const auto refresh = [&](const State& x) { return prepare(s, t, x, T.a[i][i]); };
      NewtonResult result{false, std::numeric_limits<double>::infinity()};
      if (prepared_ == T.a[i][i]) {
        // The slope of the stage before is the guess at this one's.
        y_[i] += ha * f_slope_[i - 1];
        result = newton(y_[i], r_, residual, correct, refresh);
        if (!result.converged) y_[i] = base_;
      }
      if (!result.converged && refresh(y_[i])) {
        at_start_ = i == first_implicit;
        result = newton(y_[i], r_, residual, correct, refresh);
      }
      if (!result.converged) {
        if (!trial) not_converged(T.name, s, t, result.correction);
        return false;
      }
      f_slope_[i] = (y_[i] - base_) / ha;
    }
    f_.nonstiff().rhs(t, y_[i], p_, g_slope_[i]);
    return true;
  }

  // Makes the matrix that with which the iteration of the first implicit stage began.
  void prepare_start(const Interval& s, const State& y) {
    for (std::size_t i = 0; i < first_implicit; ++i) stage(i, s, y, false);
    set_base(first_implicit, s, y, f_slope_, g_slope_);
    prepare(s, stage_time(s, T.c[first_implicit]), base_, T.a[first_implicit][first_implicit]);
  }

  // Makes I - h a J(t, y) the matrix of the solver.
  bool prepare(const Interval& s, double t, const State& y, double a) {
    prepared_ = a;
    at_start_ = false;
    return solver_.prepare(t, y, p_, s.h * a);
  }

  ShiftedSolver<Stiff> solver_;
  double prepared_ = 0;    // the a_ii of the solver's matrix in this step; 0: none
  bool at_start_ = false;  // it is the one of prepare_start
  std::array<State, stage_count> y_, f_slope_, g_slope_;
  State base_, r_, d_, q_;
};

}  // namespace costate
