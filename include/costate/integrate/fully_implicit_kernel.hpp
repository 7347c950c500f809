#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include <Eigen/Core>
#include <Eigen/LU>

#include "costate/integrate/coupled_solver.hpp"
#include "costate/integrate/implicit_problem.hpp"
#include "costate/integrate/newton.hpp"
#include "costate/integrate/one_instance.hpp"
#include "costate/integrate/step_kernel.hpp"
#include "costate/integrate/tableaux_implicit.hpp"
#include "costate/integrate/transposed_solve.hpp"

/// @file
/// One step of a fully implicit Runge-Kutta method for M y' = f(t, y, p), its tangent and its
/// adjoint. All stages are one system,
///
///     M (Y_i - y) = h sum_j a_ij f(t_j, Y_j),   y⁺ = y + sum_i d_i (Y_i - y),   dᵀ = bᵀ A⁻¹,
///
/// so that M need not be inverted (for a stiffly accurate method y⁺ = Y_s). With the multipliers
/// θ_i of these equations the adjoint is
///
///     Mᵀ θ_i - J_iᵀ u_i = d_i λ + h b_i g_y(Y_i),   u_i = h sum_j a_ji θ_j,
///     λ ← λ + sum_i (J_iᵀ u_i + h b_i g_y(Y_i)),
///     p̄ ← p̄ + sum_i ((∂f/∂p)(Y_i)ᵀ u_i + h b_i g_p(Y_i)).

namespace costate {

/// The step of method T for one problem.
template <Problem F, const auto& T, class Objective = NoIntegrand>
class FullyImplicitKernel : public StepKernel<FullyImplicitKernel<F, T, Objective>, F, Objective> {
  using Base = StepKernel<FullyImplicitKernel<F, T, Objective>, F, Objective>;
  friend Base;

 public:
  using State = typename Base::State;
  using Parameters = typename Base::Parameters;
  using Scalar = typename Base::Scalar;
  static constexpr bool estimates_error = false;
  /// A tape holds y and the stage values.
  static constexpr std::size_t tape_states = 1 + T.a.size();
  static constexpr bool tape_has_next = stiffly_accurate(T);

  /// @param f, objective  must outlive the kernel
  /// @param p             copied
  /// @param size          of the state
  FullyImplicitKernel(const F& f, const Objective& objective, const Parameters& p,
                      Eigen::Index size)
      : Base(f, objective, p, size), size_(size), solver_(f, p, size) {
    for (auto* states : {&y_, &v_}) {
      for (State& x : *states) x.setZero(size);
    }
    for (Stages* x : {&x_, &r_, &d_}) x->setZero(stage_count * size);
    for (State* x : {&slope_, &part_, &sum_}) x->setZero(size);

    if constexpr (stiffly_accurate(T)) {
      weights_.setZero();
      weights_[stage_count - 1] = 1;
    } else {
      Eigen::Matrix<double, stage_count, stage_count> a;
      Eigen::Matrix<double, stage_count, 1> b;
      for (Eigen::Index i = 0; i < stage_count; ++i) {
        b[i] = T.b[at(i)];
        for (Eigen::Index j = 0; j < stage_count; ++j) a(j, i) = T.a[at(i)][at(j)];
      }
      weights_ = a.partialPivLu().solve(b);
    }
  }

  /// dy → dy⁺ in place, the derivative of y⁺ in the direction (dy, dp); adds that of the integral.
  /// Allocates: it is made for checks.
  /// @param y  state before the step
  void tangent(const Interval& s, const State& y, State& dy, const Parameters& dp,
               double& integral_dot) requires TangentProblem<F> {
    stages(s, y, false);
    const auto residual = [&](const Stages& x, Stages& r) {
      r.setZero();
      for (Eigen::Index j = 0; j < stage_count; ++j) {
        part_ = x.segment(j * size_, size_);
        f_.jvp(t_[at(j)], y_[at(j)], p_, part_, dp, slope_);
        add_stage(s, j, dy, r);
      }
    };
    const auto correct = [&](Stages& r) { solver_.solve(r); };
    const auto refresh = [&](const Stages&) { return prepare(s); };
    for (Eigen::Index i = 0; i < stage_count; ++i) x_.segment(i * size_, size_) = dy;
    if (!refresh(x_) || !newton(x_, r_, residual, correct, refresh).converged) {
      not_converged(T.name, s, s.t, 0);
    }
    for (Eigen::Index i = 0; i < stage_count; ++i) {
      part_ = x_.segment(i * size_, size_);
      v_[at(i)] = part_;
      if constexpr (integrates) {
        objective_gradient(t_[at(i)], y_[at(i)]);
        integral_dot +=
            s.h * T.b[at(i)] * static_cast<double>(y_term_.dot(part_) + p_term_.dot(dp));
      }
    }
    combine(dy, v_);
  }

 private:
  using Base::accumulate, Base::f_, Base::integrates, Base::objective_gradient, Base::p_,
      Base::p_term_, Base::stage_time, Base::y_term_;

  static constexpr auto stage_count = static_cast<Eigen::Index>(T.a.size());
  static constexpr int n = State::SizeAtCompileTime;
  using Stages = Eigen::Matrix<Scalar, n == Eigen::Dynamic ? Eigen::Dynamic : n * stage_count, 1>;

  static constexpr std::size_t at(Eigen::Index i) { return static_cast<std::size_t>(i); }

  void forward(const Interval& s, const State& y, State& y_next, bool trial) {
    if (!stages(s, y, trial)) {
      y_next.setConstant(std::numeric_limits<Scalar>::quiet_NaN());
      return;
    }
    if constexpr (integrates) {
      for (std::size_t i = 0; i < T.a.size(); ++i) accumulate(s.h * T.b[i], t_[i], y_[i]);
    }
    y_next = y;
    combine(y_next, y_);
  }

  template <class Visit>
  void each_taped(const Visit& visit) {
    for (State& y : y_) visit(y);
  }

  void backward(const Interval& s, const State& y, State& lambda, Parameters& p_bar) {
    stages(s, y, false);
    adjoint(s, y, lambda, p_bar);
  }

  void backward_taped(const Interval& s, const State& y, State& lambda, Parameters& p_bar) {
    set_times(s);
    at_start_ = false;
    adjoint(s, y, lambda, p_bar);
  }

  // With the stage values in y_. The first matrix is a function of y alone, so the bits are the
  // same with a tape and without.
  COSTATE_ONE_INSTANCE void adjoint(const Interval& s, const State& y, State& lambda,
                                    Parameters& p_bar) {
    if (!at_start_) prepare_start(s, y);
    for (Eigen::Index i = 0; i < stage_count; ++i) {
      auto r = r_.segment(i * size_, size_);
      r = static_cast<Scalar>(weights_[i]) * lambda;
      v_[at(i)].setZero();
      if constexpr (integrates) {
        const auto weight = static_cast<Scalar>(s.h * T.b[at(i)]);
        objective_gradient(t_[at(i)], y_[at(i)]);
        v_[at(i)] += weight * y_term_;
        r += v_[at(i)];
        p_bar += static_cast<typename Parameters::Scalar>(weight) * p_term_;
      }
    }
    const auto apply = [&](const Stages& d, Stages& r) {
      Scalar largest = 0;
      for (Eigen::Index i = 0; i < stage_count; ++i) {
        part_.setZero();
        for (Eigen::Index j = 0; j < stage_count; ++j) {
          part_ += static_cast<Scalar>(s.h * T.a[at(j)][at(i)]) * d.segment(j * size_, size_);
        }
        f_.vjp(t_[at(i)], y_[at(i)], p_, part_, slope_, p_bar);
        v_[at(i)] += slope_;
        part_ = d.segment(i * size_, size_);
        mass_transpose_product(f_, part_, sum_);
        r.segment(i * size_, size_) += slope_ - sum_;
        largest = std::max({largest, slope_.cwiseAbs().maxCoeff(), sum_.cwiseAbs().maxCoeff()});
      }
      return largest;
    };
    const auto correct = [&](Stages& d) { solver_.solve_transpose(d); };
    const auto refresh = [&] { return prepare(s); };
    const double left = solve_transposed(r_, d_, correct, apply, refresh, prepare_cost(solver_));
    check_adjoint_residual<Scalar>(left, T.name, s);
    for (const State& v : v_) lambda += v;
  }

  // The stage values, in one compiled copy: forward steps, replays and adjoints have the same bits.
  COSTATE_ONE_INSTANCE bool stages(const Interval& s, const State& y, bool trial) {
    set_times(s);
    for (std::size_t i = 0; i < T.a.size(); ++i) {
      y_[i] = y;
      x_.segment(static_cast<Eigen::Index>(i) * size_, size_) = y;
    }
    const auto residual = [&](const Stages& x, Stages& r) {
      r.setZero();
      for (Eigen::Index j = 0; j < stage_count; ++j) {
        part_ = x.segment(j * size_, size_);
        f_.rhs(t_[at(j)], part_, p_, slope_);
        add_stage(s, j, y, r);
      }
    };
    const auto correct = [&](Stages& r) { solver_.solve(r); };
    const auto refresh = [&](const Stages& x) {
      unpack(x);
      return prepare(s);
    };
    NewtonResult result{false, std::numeric_limits<double>::infinity()};
    if (prepare(s)) {
      at_start_ = true;
      result = newton(x_, r_, residual, correct, refresh);
    }
    unpack(x_);
    if (!result.converged && !trial) not_converged(T.name, s, s.t, result.correction);
    return result.converged;
  }

  // With the value `part_` and the slope `slope_` of stage j: r_j += M (y - part), and
  // r_i += h a_ij slope for all i.
  void add_stage(const Interval& s, Eigen::Index j, const State& y, Stages& r) {
    for (Eigen::Index i = 0; i < stage_count; ++i) {
      r.segment(i * size_, size_) += static_cast<Scalar>(s.h * T.a[at(i)][at(j)]) * slope_;
    }
    part_ = y - part_;
    sum_.setZero();
    add_mass_product(f_, part_, sum_);
    r.segment(j * size_, size_) += sum_;
  }

  void unpack(const Stages& x) {
    for (Eigen::Index i = 0; i < stage_count; ++i) y_[at(i)] = x.segment(i * size_, size_);
  }

  // y ← y + sum d_i (x_i - y)
  void combine(State& y, const std::array<State, T.a.size()>& x) {
    if constexpr (stiffly_accurate(T)) {
      y = x.back();
    } else {
      sum_ = y;
      for (Eigen::Index i = 0; i < stage_count; ++i) {
        y += static_cast<Scalar>(weights_[i]) * (x[at(i)] - sum_);
      }
    }
  }

  void set_times(const Interval& s) {
    for (std::size_t i = 0; i < T.a.size(); ++i) t_[i] = stage_time(s, T.c[i]);
  }

  // Makes the matrix that with which the iteration of the step began.
  void prepare_start(const Interval& s, const State& y) {
    for (Eigen::Index i = 0; i < stage_count; ++i) {
      x_.segment(i * size_, size_) = y_[at(i)];
      y_[at(i)] = y;
    }
    prepare(s);
    unpack(x_);
  }

  // Makes the matrix at the stage values y_ that of the solver.
  bool prepare(const Interval& s) {
    at_start_ = false;
    return solver_.prepare(t_, y_, p_, T.a, s.h);
  }

  Eigen::Index size_;
  CoupledSolver<F, T.a.size()> solver_;
  bool at_start_ = false;                          // its matrix is the one of prepare_start
  Eigen::Matrix<double, stage_count, 1> weights_;  // d
  std::array<double, T.a.size()> t_{};
  std::array<State, T.a.size()> y_;
  std::array<State, T.a.size()> v_;
  Stages x_, r_, d_;
  State slope_, part_, sum_;
};

}  // namespace costate
