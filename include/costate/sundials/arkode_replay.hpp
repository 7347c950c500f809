#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "costate/integrate/step_kernel.hpp"
#include "costate/integrate/time_grid.hpp"
#include "costate/sundials/arkode.hpp"

/// @file
/// Steps that ARKODE itself takes, on a given grid, for users whose linear solver, preconditioner
/// or nonlinear solver is set up for it. ARKODE is reset to (t_n, y_n) before each step and set so
/// that nothing of a step depends on the steps before, so a replay has the same bits. The adjoint
/// is costate's, at the stage values that ARKODE found.

namespace costate::sundials {

namespace detail {

/// ARKODE as a map from y_n to y_{n+1}.
class ArkodeStepper {
 public:
  /// @throws InvalidArgument  if the tolerances are not positive
  ArkodeStepper(ArkodeProblem problem, const ArkodeMethod& method, double rtol, double atol,
                const ArkodeOptions& options);
  ~ArkodeStepper();
  ArkodeStepper(const ArkodeStepper&) = delete;
  ArkodeStepper& operator=(const ArkodeStepper&) = delete;

  /// @param stages  where to write all stage values, one after the other
  /// @throws IntegrationError  if ARKODE cannot take the step
  void step(const Interval& s, const double* y, double* y_next, double* stages);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace detail

/// The step of `Method` as ARKODE makes it.
template <Problem F, class Method, class Objective>
class ArkodeKernel;

/// A method on a given grid whose steps ARKODE takes. The gradient is that of the stage equations,
/// which ARKODE solves to a hundredth of the tolerances: exact up to what is left of them.
///
/// @tparam Method  diagonally implicit or IMEX
template <class Method>
struct ArkodeReplay {
  static constexpr const auto& tableau = Method::tableau;
  template <class F, class Objective>
  using Kernel = ArkodeKernel<F, Method, Objective>;

  std::vector<double> grid = {};  ///< the times, t0 first and t1 last: `arkode_steps`
  double rtol = 0;                ///< the tolerances of ARKODE's iterations, > 0
  double atol = 0;                ///< the same
  ArkodeOptions options = {};     ///< as for `arkode_steps`

  [[nodiscard]] StepControl control() const { return Method{.grid = grid}.control(); }
};

template <Problem F, class Method, class Objective>
class ArkodeKernel : public StepKernel<ArkodeKernel<F, Method, Objective>, F, Objective> {
  using Base = StepKernel<ArkodeKernel<F, Method, Objective>, F, Objective>;
  friend Base;
  using Adjoint = typename Method::template Kernel<F, Objective>;
  static_assert(
      requires { Adjoint::tape_states; },
      "ARKODE's own steps are offered for diagonally implicit and IMEX methods");

 public:
  using State = typename Base::State;
  using Parameters = typename Base::Parameters;
  static constexpr bool estimates_error = false;
  static constexpr std::size_t tape_states = Adjoint::tape_states;
  static constexpr bool tape_has_next = false;
  static constexpr const char* accuracy = "what ARKODE's iterations leave";

  /// @param f, objective  must outlive the kernel
  /// @throws InvalidArgument  if the tolerances are not positive
  ArkodeKernel(const F& f, const ArkodeReplay<Method>& method, const Objective& objective,
               const Parameters& p, Eigen::Index size)
      : Base(f, objective, p, size),
        adjoint_(f, objective, p, size),
        size_(static_cast<std::size_t>(size)),
        tape_((1 + stage_count) * size_),
        steps_(detail::erased<Method>(f, p_, size_), detail::coefficients<Method>(), method.rtol,
               method.atol, method.options) {
    next_.setZero(size);
    stage_.setZero(size);
  }
  ArkodeKernel(const ArkodeKernel&) = delete;
  ArkodeKernel& operator=(const ArkodeKernel&) = delete;

 private:
  using Base::accumulate, Base::integrates, Base::p_, Base::stage_time;
  static constexpr const auto& T = Method::tableau;
  static constexpr std::size_t stage_count = T.a.size();
  // Stages that are on the tape: not the first one, if it is y, nor those of the error alone.
  static constexpr std::size_t first_taped = T.a[0][0] == 0 ? 1 : 0;

  void forward(const Interval& s, const State& y, State& y_next, bool) {
    run(s, y);
    if constexpr (integrates) {
      for (std::size_t i = 0; i < stage_count; ++i) {
        if (T.b[i] == 0) continue;
        stage_ = row(1 + i);
        accumulate(s.h * T.b[i], stage_time(s, T.c[i]), stage_);
      }
    }
    y_next = next_;
  }

  void backward(const Interval& s, const State& y, State& lambda, Parameters& p_bar) {
    run(s, y);
    reverse_stages(s, lambda, p_bar);
  }

  void backward_taped(const Interval& s, const State& y, State& lambda, Parameters& p_bar) {
    row(first_taped) = y;
    reverse_stages(s, lambda, p_bar);
  }

  template <class Visit>
  void each_taped(const Visit& visit) {
    for (std::size_t i = 1; i < tape_states; ++i) {
      stage_ = row(first_taped + i);
      visit(stage_);
      row(first_taped + i) = stage_;
    }
  }

  // All stage values to the rows from 1 on, and y where the tape begins.
  void run(const Interval& s, const State& y) {
    next_ = y;
    steps_.step(s, y.data(), next_.data(), tape_.data() + size_);
    row(first_taped) = y;
  }

  void reverse_stages(const Interval& s, State& lambda, Parameters& p_bar) {
    adjoint_.reverse_tape(s, reinterpret_cast<const std::byte*>(row(first_taped).data()), stage_,
                          lambda, p_bar);
  }

  Eigen::Map<State> row(std::size_t i) {
    return Eigen::Map<State>(tape_.data() + i * size_, static_cast<Eigen::Index>(size_));
  }

  Adjoint adjoint_;
  std::size_t size_;
  std::vector<double> tape_;
  State next_, stage_;
  detail::ArkodeStepper steps_;
};

}  // namespace costate::sundials
