#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include <Eigen/Core>

#include "costate/integrate/implicit_problem.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/sundials/context.hpp"

/// @file
/// SUNDIALS' linear solvers, and users' own, in costate's implicit methods: for the stages and for
/// the transposed systems of the adjoint. All solutions are corrected until their residual has
/// vanished, so a solver decides about the time, never about the result's accuracy.

namespace costate::sundials {

/// A solver that factors a matrix: dense, banded, sparse (KLU), or a user's own.
struct DirectSolver {
  SUNContext context = nullptr;
  /// An empty matrix with the shape and the pattern of ∂f/∂y and a diagonal.
  std::function<Matrix()> matrix = {};
  /// A solver for such a matrix. Called twice, the second time with one for the transposed
  /// matrices.
  std::function<LinearSolver(N_Vector like, SUNMatrix a)> solver = {};
  /// Writes ∂f/∂y(t, y) into a zeroed matrix.
  std::function<void(double t, N_Vector y, SUNMatrix j)> jacobian = {};
  /// Writes aᵀ into a zeroed matrix; needed for a matrix of one's own, not for dense, banded and
  /// sparse ones.
  std::function<void(SUNMatrix a, SUNMatrix transposed)> transpose = {};
  /// An empty matrix for the transposed ones, if its shape is another (a band of another shape).
  std::function<Matrix()> transposed_matrix = {};
};

/// A solver that needs products only: `jvp` of the problem forward, `vjp` for the transposed
/// systems.
struct KrylovSolver {
  SUNContext context = nullptr;
  /// Such as `SUNLinSol_SPGMR`, with right preconditioning if there is any. Called twice.
  std::function<LinearSolver(N_Vector like)> solver = {};
  double reduction = 1e-4;  ///< of the residual, in a solve

  /// Prepares P ≈ I - a ∂f/∂y(t, y). May be left out.
  std::function<void(double t, N_Vector y, double a)> setup = {};
  std::function<void(N_Vector r, N_Vector z)> precondition = {};            ///< z = P⁻¹ r
  std::function<void(N_Vector r, N_Vector z)> precondition_transpose = {};  ///< z = P⁻ᵀ r
};

namespace detail {

/// Products with the problem's derivatives, without its type; at the point of the last `at`.
struct Products {
  std::function<void(double t, const double* y)> at = {};
  std::function<void(const double* v, double* out)> j = {};            // out = J v
  std::function<void(const double* v, double* out)> j_transpose = {};  // out = Jᵀ v
};

/// What a shifted solver is asked for.
class ShiftedSystem {
 public:
  virtual ~ShiftedSystem() = default;
  virtual bool prepare(double t, const double* y, double a) = 0;
  virtual void solve(double* x) = 0;
  virtual void solve_transpose(double* x) = 0;

 protected:
  ShiftedSystem() = default;
  ShiftedSystem(const ShiftedSystem&) = default;
  ShiftedSystem& operator=(const ShiftedSystem&) = default;
};

std::unique_ptr<ShiftedSystem> shifted_system(const DirectSolver& solver, std::size_t size);
std::unique_ptr<ShiftedSystem> shifted_system(const KrylovSolver& solver, std::size_t size,
                                              Products products);

/// Has the functions of `DenseShiftedSolver`.
template <class F>
class SundialsShiftedSolver {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  /// A solve by products costs more than to begin with others.
  static constexpr bool cheap = std::same_as<typename F::Backend, KrylovSolver>;

  SundialsShiftedSolver(const F& f, const Parameters& p, Eigen::Index size)
      : f_(f), p_(p), t_(0), y_(size), v_(size), out_(size), p_bar_(p), dp_(p) {
    static_assert(std::same_as<typename State::Scalar, double>, "SUNDIALS computes in double");
    static_assert(!HasMass<F>, "SUNDIALS' solvers are for problems without a mass matrix");
    dp_.setZero();
    const auto n = static_cast<std::size_t>(size);
    if constexpr (std::same_as<typename F::Backend, DirectSolver>) {
      system_ = shifted_system(f.linear_solver(), n);
    } else {
      static_assert(TangentProblem<F>, "a Krylov solver needs the problem's jvp");
      const auto in = [this](const double* v) -> const State& {
        return v_ = Eigen::Map<const State>(v, v_.size());
      };
      system_ = shifted_system(f.linear_solver(), n,
                               {.at =
                                    [this](double t, const double* y) {
                                      t_ = t;
                                      y_ = Eigen::Map<const State>(y, y_.size());
                                    },
                                .j =
                                    [this, in](const double* v, double* out) {
                                      f_.jvp(t_, y_, p_, in(v), dp_, out_);
                                      Eigen::Map<State>(out, out_.size()) = out_;
                                    },
                                .j_transpose =
                                    [this, in](const double* v, double* out) {
                                      f_.vjp(t_, y_, p_, in(v), out_, p_bar_);
                                      Eigen::Map<State>(out, out_.size()) = out_;
                                    }});
    }
  }
  SundialsShiftedSolver(const SundialsShiftedSolver&) = delete;
  SundialsShiftedSolver& operator=(const SundialsShiftedSolver&) = delete;

  bool prepare(double t, const State& y, const Parameters& p, double a) {
    p_ = p;
    return system_->prepare(t, y.data(), a);
  }
  void solve(State& x) { system_->solve(x.data()); }
  void solve_transpose(State& x) { system_->solve_transpose(x.data()); }

 private:
  const F& f_;
  Parameters p_;
  double t_;
  State y_, v_, out_;
  Parameters p_bar_, dp_;  // p_bar_ is not used
  std::unique_ptr<ShiftedSystem> system_;
};

}  // namespace detail

/// `f` with a linear solver of SUNDIALS; see `with_linear_solver`.
template <Problem F, class Kind>
class WithLinearSolver : public F {
 public:
  using Backend = Kind;
  using Solver = detail::SundialsShiftedSolver<WithLinearSolver>;
  WithLinearSolver(F base, Kind solver) : F(std::move(base)), solver_(std::move(solver)) {}
  [[nodiscard]] const Kind& linear_solver() const { return solver_; }

 private:
  Kind solver_;
};

/// The problem for diagonally implicit and IMEX methods, solved with SUNDIALS' solvers.
/// Its context must outlive every use.
template <Problem F>
auto with_linear_solver(F f, DirectSolver solver) {
  return WithLinearSolver<F, DirectSolver>(std::move(f), std::move(solver));
}
template <TangentProblem F>
auto with_linear_solver(F f, KrylovSolver solver) {
  return WithLinearSolver<F, KrylovSolver>(std::move(f), std::move(solver));
}

}  // namespace costate::sundials
