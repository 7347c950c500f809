#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <string>

#include <Eigen/Core>

#include "costate/core/error.hpp"
#include "costate/integrate/implicit_problem.hpp"
#include "costate/integrate/linear_combination.hpp"
#include "costate/integrate/newton.hpp"
#include "costate/integrate/one_instance.hpp"
#include "costate/integrate/shifted_solver.hpp"
#include "costate/integrate/step_kernel.hpp"
#include "costate/integrate/tableaux_implicit.hpp"
#include "costate/integrate/transposed_solve.hpp"

/// @file
/// One step of a diagonally implicit Runge-Kutta method for M y' = f(t, y, p), its tangent and its
/// adjoint.
///
/// Stage by stage, with B_i = y + h sum_{j<i} a_ij K_j,
///
///     M (Y_i - B_i) = h a_ii f(t_i, Y_i),   K_i = (Y_i - B_i) / (h a_ii),
///
/// or, if a_ii = 0, Y_i = B_i and M K_i = f(t_i, Y_i). K_i is a difference of states and never
/// f(t_i, Y_i), which would amplify rounding by the stiffness. Newton's iteration runs until
/// rounding stops it; its matrix W = M - h a_ii J is shared by the stages and evaluated anew when
/// it has become too far off.
///
/// The adjoint knows nothing of the iteration, only of its solution: for i = s … 1
///
///     (M - h a_ii J_i)ᵀ u_i = h b_i λ + h sum_{j>i} a_ji v_j + h a_ii h b_i g_y(Y_i)
///     v_i = J_iᵀ u_i + h b_i g_y(Y_i)
///     p̄  += (∂f/∂p)(Y_i)ᵀ u_i + h b_i g_p(Y_i)
///
/// and then λ ← λ + sum_i v_i. The residual of each solve is formed with `vjp` and must vanish.
///
/// Its first matrix is a function of y and the Y_i alone, so that these are all that the tape of a
/// step holds, and the bits are the same with a tape and without: W at the start of the first
/// implicit stage, which the step has left factored if the iteration asked for no other; or, if
/// W is cheap to factor (shifted_solver.hpp), W at each Y_i. Only where the corrections with it
/// would cost more is another one factored at a Y_i.

namespace costate {

/// The step of method T for one problem. All work space is sized once. Stages are a loop at run
/// time: what counts are the solves.
template <Problem F, const auto& T, class Objective = NoIntegrand>
class DirkKernel : public StepKernel<DirkKernel<F, T, Objective>, F, Objective> {
  using Base = StepKernel<DirkKernel<F, T, Objective>, F, Objective>;
  friend Base;

 public:
  using State = typename Base::State;
  using Parameters = typename Base::Parameters;
  using Scalar = typename Base::Scalar;
  static constexpr bool estimates_error = T.embedded_order > 0;
  /// A tape holds y and the Y_i, unless the first one is y.
  static constexpr std::size_t tape_states = 1 + solution_stages(T) - (T.a[0][0] == 0 ? 1 : 0);
  static constexpr bool tape_has_next = stiffly_accurate(T);

  /// @param f, objective  must outlive the kernel
  /// @param p             copied
  /// @param size          of the state
  DirkKernel(const F& f, const Objective& objective, const Parameters& p, Eigen::Index size)
      : Base(f, objective, p, size), solver_(f, p, size) {
    for (State& k : k_) k.setZero(size);
    for (State& y : y_) y.setZero(size);
    for (State* v : {&base_, &r_, &d_, &u_}) v->setZero(size);
  }

  /// dy → dy⁺ in place, the derivative of y⁺ in the direction (dy, dp); adds that of the integral.
  /// Allocates: it is made for checks.
  /// @param y  state before the step
  void tangent(const Interval& s, const State& y, State& dy, const Parameters& dp,
               double& integral_dot) requires TangentProblem<F> {
    stages(s, y, false);
    std::array<State, stage_count> k_dot = k_;
    State stage_dot = dy;
    for (std::size_t i = 0; i < solution; ++i) {
      const double t = stage_time(s, T.c[i]);
      set_base(i, s, dy, k_dot);
      stage_dot = base_;
      if (T.a[i][i] == 0) {
        f_.jvp(t, y_[i], p_, stage_dot, dp, k_dot[i]);
        invert_mass(s, t, y_[i], k_dot[i], false);
      } else {
        const auto ha = static_cast<Scalar>(s.h * T.a[i][i]);
        const auto residual = [&](const State& x, State& r) {
          f_.jvp(t, y_[i], p_, x, dp, r);
          close_residual(ha, x, r);
        };
        const auto correct = [&](State& r) { solver_.solve(r); };
        const auto refresh = [&](const State&) { return prepare(s, t, y_[i], T.a[i][i]); };
        if (!refresh(stage_dot) || !newton(stage_dot, r_, residual, correct, refresh).converged) {
          not_converged(T.name, s, t, 0);
        }
        k_dot[i] = (stage_dot - base_) / ha;
      }
      if constexpr (integrates) {
        objective_gradient(t, y_[i]);
        integral_dot +=
            s.h * T.b[i] * static_cast<double>(y_term_.dot(stage_dot) + p_term_.dot(dp));
      }
    }
    add_slopes(s, k_dot, dy);
  }

  /// The error estimate W⁻¹ M h sum (b_hat_i - b_i) K_i of the trial step just made, in the
  /// root-mean-square norm weighted by atol + rtol max(|y|, |y⁺|). W⁻¹ M takes out of it what is
  /// stiff and no error of the solution (Hairer & Wanner 1996, IV.8). NaN or infinite if the step
  /// could not be made.
  double error(const Interval& s, const State& y, const State& y_next, double rtol,
               double atol) requires(estimates_error) {
    constexpr double failed = std::numeric_limits<double>::quiet_NaN();
    if (!y_next.allFinite()) return failed;
    d_.setZero();
    for (std::size_t i = 0; i < stage_count; ++i) {
      if (i >= solution && !stage(i, s, y, true)) return failed;
      d_ += static_cast<Scalar>(s.h * (T.b_hat[i] - T.b[i])) * k_[i];
    }
    r_.setZero();
    add_mass_product(f_, d_, r_);
    solver_.solve(r_);
    return scaled_norm(r_, y, y_next, rtol, atol);
  }

 private:
  using Base::accumulate, Base::f_, Base::integrates, Base::objective_gradient, Base::p_,
      Base::p_term_, Base::scaled_norm, Base::stage_time, Base::y_term_;

  static constexpr std::size_t stage_count = T.a.size();
  static constexpr std::size_t solution = solution_stages(T);
  using Coefficients = stage_algebra::CoefficientsOf<T>;
  template <std::size_t I>
  using Row = typename Coefficients::template Row<I>;
  template <std::size_t I>
  using Column = typename Coefficients::template Column<I>;
  using Weights = typename Coefficients::Weights;
  using Ones = typename Coefficients::Ones;
  static constexpr std::size_t first_taped = T.a[0][0] == 0 ? 1 : 0;
  static constexpr std::size_t first_implicit = [] {
    std::size_t i = 0;
    while (i + 1 < solution && T.a[i][i] == 0) ++i;
    return i;
  }();

  template <class Visit>
  void each_taped(const Visit& visit) {
    for (std::size_t i = first_taped; i < solution; ++i) visit(y_[i]);
  }

  void forward(const Interval& s, const State& y, State& y_next, bool trial) {
    if (!stages(s, y, trial)) {
      y_next.setConstant(std::numeric_limits<Scalar>::quiet_NaN());
      return;
    }
    if constexpr (integrates) {
      for (std::size_t i = 0; i < solution; ++i) {
        if (T.b[i] != 0) accumulate(s.h * T.b[i], stage_time(s, T.c[i]), y_[i]);
      }
    }
    if constexpr (stiffly_accurate(T)) {
      y_next = y_[stage_count - 1];
    } else {
      y_next = y;
      add_slopes(s, k_, y_next);
    }
  }

  void backward(const Interval& s, const State& y, State& lambda, Parameters& p_bar) {
    stages(s, y, false);
    adjoint(s, y, lambda, p_bar);
  }

  void backward_taped(const Interval& s, const State& y, State& lambda, Parameters& p_bar) {
    if constexpr (first_taped > 0) y_[0] = y;
    at_start_ = false;
    adjoint(s, y, lambda, p_bar);
  }

  // With the stage values in y_; in one compiled copy, for the same bits with a tape and without.
  COSTATE_ONE_INSTANCE void adjoint(const Interval& s, const State& y, State& lambda,
                                    Parameters& p_bar) {
    if constexpr (!cheap_to_prepare<ShiftedSolver<F>>) {
      if (!at_start_) prepare_start(s, y);
    }
    // k_[i] becomes v_i.
    for (std::size_t i = solution; i-- > 0;) {
      const double t = stage_time(s, T.c[i]);
      const auto ha = static_cast<Scalar>(s.h * T.a[i][i]);
      const auto weight = static_cast<Scalar>(s.h * T.b[i]);
      stage_algebra::each<solution>([&](auto index) {
        constexpr std::size_t c = index;
        if (c != i) return;
        if constexpr (stage_algebra::next_nonzero<Column<c>>(c + 1, solution) == solution) {
          r_ = weight * lambda;
        } else if constexpr (T.b[c] == 0) {
          r_ = stage_algebra::sum<Column<c>, c + 1, solution>(s.h, k_);
        } else {
          r_ = stage_algebra::plus<Column<c>, c + 1, solution>(weight * lambda, s.h, k_);
        }
      });
      if constexpr (integrates) {
        objective_gradient(t, y_[i]);
        y_term_ *= weight;
        p_bar += static_cast<typename Parameters::Scalar>(weight) * p_term_;
        r_ += ha * y_term_;
      }
      State& v = k_[i];
      if (T.a[i][i] == 0) {
        invert_mass(s, t, y_[i], r_, true);
        f_.vjp(t, y_[i], p_, r_, v, p_bar);
      } else {
        bool first = true;
        const auto apply = [&](const State& d, State& r) {
          State& product = first ? v : base_;
          f_.vjp(t, y_[i], p_, d, product, p_bar);
          if (!first) v += product;
          first = false;
          return subtract_product(ha, d, product, r);
        };
        const auto correct = [&](State& d) { solver_.solve_transpose(d); };
        const auto refresh = [&] { return prepare(s, t, y_[i], T.a[i][i]); };
        if (cheap_to_prepare<ShiftedSolver<F>> || prepared_ != T.a[i][i]) refresh();
        const double left =
            solve_transposed(r_, d_, correct, apply, refresh, prepare_cost(solver_));
        if (first) v.setZero();
        check_adjoint_residual<Scalar>(left, T.name, s);
      }
      if constexpr (integrates) v += y_term_;
    }
    lambda = stage_algebra::plus<Ones, 0, solution>(lambda, 1, k_);
  }

  // r ← r - (M - h a J)ᵀ d, given Jᵀ d.
  Remainder<Scalar> subtract_product(Scalar ha, const State& d, const State& product, State& r) {
    if constexpr (HasMass<F>) {
      mass_transpose_product(f_, d, u_);
      return add_difference(ha, product, u_, r);
    } else {
      return add_difference(ha, product, d, r);
    }
  }

  // The stages that y⁺ depends on, in one compiled copy: forward steps, replays and adjoints have
  // the same bits.
  COSTATE_ONE_INSTANCE bool stages(const Interval& s, const State& y, bool trial) {
    prepared_ = 0;
    for (std::size_t i = 0; i < solution; ++i) {
      if (!stage(i, s, y, trial)) return false;
    }
    return true;
  }

  COSTATE_ONE_INSTANCE bool stage(std::size_t i, const Interval& s, const State& y, bool trial) {
    const double t = stage_time(s, T.c[i]);
    set_base(i, s, y, k_);
    y_[i] = base_;
    if (T.a[i][i] == 0) {
      f_.rhs(t, base_, p_, k_[i]);
      invert_mass(s, t, y_[i], k_[i], false);
      return true;
    }
    const auto ha = static_cast<Scalar>(s.h * T.a[i][i]);
    const auto residual = [&](const State& x, State& r) {
      f_.rhs(t, x, p_, r);
      close_residual(ha, x, r);
    };
    const auto correct = [&](State& r) { solver_.solve(r); };
    const auto refresh = [&](const State& x) { return prepare(s, t, x, T.a[i][i]); };
    NewtonResult result{false, std::numeric_limits<double>::infinity()};
    if (prepared_ == T.a[i][i]) {
      // The slope of the stage before is the guess at this one's.
      y_[i] += ha * k_[i - 1];
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
    k_[i] = (1 / ha) * (y_[i] - base_);
    return true;
  }

  // base = y + h sum_{j<i} a_ij k_j
  COSTATE_ONE_INSTANCE void set_base(std::size_t i, const Interval& s, const State& y,
                                     const std::array<State, stage_count>& k) {
    stage_algebra::each<stage_count>([&](auto index) {
      constexpr std::size_t row = index;
      if (row != i) return;
      if constexpr (stage_algebra::next_nonzero<Row<row>>(0, row) == row) {
        base_ = y;
      } else {
        base_ = stage_algebra::plus<Row<row>, 0, row>(y, s.h, k);
      }
    });
  }

  // y += h sum b_i k_i
  static void add_slopes(const Interval& s, const std::array<State, stage_count>& k, State& y) {
    y = stage_algebra::plus<Weights, 0, solution>(y, s.h, k);
  }

  // r ← M (base - x) + h a r
  void close_residual(Scalar ha, const State& x, State& r) {
    if constexpr (HasMass<F>) {
      d_ = base_ - x;
      r *= ha;
      add_mass_product(f_, d_, r);
    } else {
      r = ha * r + (base_ - x);
    }
  }

  // Makes W that with which the iteration of the first implicit stage began.
  void prepare_start(const Interval& s, const State& y) {
    for (std::size_t i = 0; i < first_implicit; ++i) stage(i, s, y, false);
    set_base(first_implicit, s, y, k_);
    prepare(s, stage_time(s, T.c[first_implicit]), base_, T.a[first_implicit][first_implicit]);
  }

  // Makes M - h a J(t, y) the matrix of the solver.
  bool prepare(const Interval& s, double t, const State& y, double a) {
    prepared_ = a;
    at_start_ = false;
    return solver_.prepare(t, y, p_, s.h * a);
  }

  // x ← M⁻¹ x or M⁻ᵀ x, for the explicit stage at (t, y).
  void invert_mass([[maybe_unused]] const Interval& s, [[maybe_unused]] double t,
                   [[maybe_unused]] const State& y, [[maybe_unused]] State& x,
                   [[maybe_unused]] bool transposed) {
    if constexpr (HasMass<F>) {
      if (!prepare(s, t, y, 0)) {
        throw InvalidArgument(std::string(T.name) +
                              ": has an explicit stage, so the mass matrix must not be singular");
      }
      transposed ? solver_.solve_transpose(x) : solver_.solve(x);
    }
  }

  ShiftedSolver<F> solver_;
  double prepared_ = 0;    // the a_ii of the solver's matrix in this step; 0: none
  bool at_start_ = false;  // it is the one of prepare_start
  std::array<State, stage_count> k_;
  std::array<State, stage_count> y_;
  State base_, r_, d_, u_;
};

}  // namespace costate
