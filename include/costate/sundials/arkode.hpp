#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/integrate/imex_kernel.hpp"
#include "costate/integrate/shifted_solver.hpp"
#include "costate/integrate/step_control.hpp"
#include "costate/integrate/tableau.hpp"
#include "costate/integrate/tableaux_implicit.hpp"
#include "costate/ode/value_and_gradient.hpp"
#include "costate/sundials/context.hpp"

/// @file
/// ARKODE chooses the steps; the value, every replay and the adjoint are those of costate's own
/// kernel with the same tableau on the steps that ARKODE accepted. So the gradient is exact, like
/// that of every fixed grid, whatever ARKODE's controller did.
///
/// ARKODE runs once, keeping nothing but 8 bytes a step. Afterwards the number of steps is known,
/// and the sweep takes the schedule for a known number, which needs fewer advances than an online
/// one.

namespace costate::sundials {

/// How ARKODE chooses steps, besides what the method says: `rtol`, `atol`, `first_step`, `max_step`
/// and `max_steps`. The controller is ARKODE's, so the method's other options have no effect.
struct ArkodeOptions {
  /// Called last before the first step, with the memory of ARKStep and a vector to be cloned: for a
  /// linear solver of one's own, weights, a controller. All that it sets is the step choice; the
  /// accepted steps are then costate's.
  std::function<void(void* arkode, N_Vector like)> configure = {};
  /// What the functions that `configure` gives to ARKODE are handed as their `user_data`.
  void* user_data = nullptr;
};

/// The steps that were accepted and what they took.
struct ArkodeSteps {
  std::vector<double> times;  ///< t0 first, t1 last: the `.grid` of the method
  Step attempts = 0;          ///< accepted steps and others
  Step rhs_evaluations = 0;   ///< of both parts together, by ARKODE
};

namespace detail {

/// A problem without its type. Vectors are arrays of `size` entries.
struct ArkodeProblem {
  using Rhs = std::function<void(double t, const double* y, double* out)>;
  std::size_t size = 0;
  Rhs explicit_rhs = {};
  Rhs implicit_rhs = {};
  /// Makes I - a ∂f/∂y(t, y) of the implicit part the matrix of the solves; false if singular.
  std::function<bool(double t, const double* y, double a)> prepare = {};
  std::function<void(double* x)> solve = {};
};

/// Coefficients, the rows of `a` one after the other. No stages: no table.
struct ArkodeTable {
  int stages = 0;
  std::vector<double> a = {};
  std::vector<double> b = {};
  std::vector<double> c = {};
  std::vector<double> b_hat = {};
};

struct ArkodeMethod {
  ArkodeTable explicit_table = {};
  ArkodeTable implicit_table = {};
  int order = 0;
  int embedded_order = 0;
};

ArkodeSteps choose_steps(const ArkodeProblem& problem, const ArkodeMethod& method,
                         const StepControl& control, double t0, double t1, const double* y0,
                         std::span<const double> stops, const ArkodeOptions& options);

template <std::size_t S>
ArkodeTable table(const std::array<std::array<double, S>, S>& a, const std::array<double, S>& b,
                  const std::array<double, S>& c, const std::array<double, S>& b_hat) {
  ArkodeTable out{.stages = static_cast<int>(S)};
  for (const auto& row : a) out.a.insert(out.a.end(), row.begin(), row.end());
  out.b.assign(b.begin(), b.end());
  out.c.assign(c.begin(), c.end());
  out.b_hat.assign(b_hat.begin(), b_hat.end());
  return out;
}

template <class Method>
concept IsImex = requires {
  Method::tableau.a_explicit;
};

template <class Method>
ArkodeMethod coefficients() {
  constexpr const auto& T = Method::tableau;
  ArkodeMethod out{.order = T.order, .embedded_order = T.embedded_order};
  if constexpr (IsImex<Method>) {
    out.implicit_table = table(T.a, T.b, T.c, T.b_hat);
    out.explicit_table = table(T.a_explicit, T.b_explicit, T.c, T.b_hat);
  } else if constexpr (consistent(T)) {
    out.explicit_table = table(T.a, T.b, T.c, T.b_hat);
  } else {
    static_assert(diagonally_implicit(T),
                  "ARKODE knows explicit, diagonally implicit and IMEX Runge-Kutta methods");
    out.implicit_table = table(T.a, T.b, T.c, T.b_hat);
  }
  return out;
}

/// One of the right-hand sides, seen through arrays.
template <Problem F>
ArkodeProblem::Rhs through_arrays(const F& f, const typename F::Parameters& p, std::size_t size) {
  using State = typename F::State;
  const auto n = static_cast<Eigen::Index>(size);
  State zero(n);
  zero.setZero();
  return [&f, &p, y_state = zero, slope = zero, n](double t, const double* y, double* out) mutable {
    y_state = Eigen::Map<const State>(y, n);
    f.rhs(t, y_state, p, slope);
    Eigen::Map<State>(out, n) = slope;
  };
}

/// The solver of the implicit part, seen through arrays: the one that costate's kernels use.
template <Problem F>
void add_solver(ArkodeProblem& problem, const F& f, const typename F::Parameters& p) {
  using State = typename F::State;
  const auto n = static_cast<Eigen::Index>(problem.size);
  const auto solver = std::make_shared<ShiftedSolver<F>>(f, p, n);
  const auto work = std::make_shared<State>(n);
  problem.prepare = [solver, work, &p, n](double t, const double* y, double a) {
    *work = Eigen::Map<const State>(y, n);
    return solver->prepare(t, *work, p, a);
  };
  problem.solve = [solver, work, n](double* x) {
    *work = Eigen::Map<const State>(x, n);
    solver->solve(*work);
    Eigen::Map<State>(x, n) = *work;
  };
}

/// The problem as `Method` splits it. `f` and `p` must outlive it.
template <class Method, Problem F>
ArkodeProblem erased(const F& f, const typename F::Parameters& p, std::size_t size) {
  static_assert(std::same_as<typename F::State::Scalar, double>, "SUNDIALS computes in double");
  static_assert(!HasMass<F>, "problems with a mass matrix are not passed to ARKODE");
  ArkodeProblem out{.size = size};
  if constexpr (IsImex<Method>) {
    out.explicit_rhs = through_arrays(f.nonstiff(), p, size);
    out.implicit_rhs = through_arrays(f.stiff(), p, size);
    add_solver(out, f.stiff(), p);
  } else if constexpr (consistent(Method::tableau)) {
    out.explicit_rhs = through_arrays(f, p, size);
  } else {
    out.implicit_rhs = through_arrays(f, p, size);
    add_solver(out, f, p);
  }
  return out;
}

}  // namespace detail

/// The steps that ARKODE takes with the tableau and the tolerances of `method`. They land on the
/// times that the objective observes.
///
/// @param method  explicit, diagonally implicit or IMEX, with an embedded solution and tolerances
/// @throws InvalidArgument   if the method has no tolerances
/// @throws IntegrationError  if ARKODE cannot go on: names the step, the time and ARKODE's reason
/// @throws SundialsError     if `configure` left ARKODE unusable
template <Problem F, class Method, class O>
ArkodeSteps arkode_steps(const F& problem, const Method& method, const O& objective,
                         const RunOf<F>& run, const ArkodeOptions& options = {}) {
  static_assert(
      requires { Method::tableau.embedded_order; },
      "ARKODE knows explicit, diagonally implicit and IMEX Runge-Kutta methods");
  static_assert(Method::tableau.embedded_order > 0,
                "this method has no error estimate to choose steps by");
  std::span<const double> stops;
  if constexpr (Observes<O>) stops = objective.observation_times();
  const StepControl control = method.control();
  check(control, run.t0, run.t1, stops);
  const auto erased =
      detail::erased<Method>(problem, run.p, static_cast<std::size_t>(run.y0.size()));
  return detail::choose_steps(erased, detail::coefficients<Method>(), control, run.t0, run.t1,
                              run.y0.data(), stops, options);
}

/// `costate::value_and_gradient` on the steps that ARKODE takes.
/// @throws as `arkode_steps` and `costate::value_and_gradient`
template <Problem F, class Method, class O>
GradientOf<F> value_and_gradient(const F& problem, const Method& method, const O& objective,
                                 const RunOf<F>& run, const ArkodeOptions& options = {}) {
  return costate::value_and_gradient(
      problem, Method{.grid = arkode_steps(problem, method, objective, run, options).times},
      objective, run);
}

}  // namespace costate::sundials
