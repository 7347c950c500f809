#pragma once

#include <algorithm>
#include <concepts>

#include <Eigen/Core>
#include <Eigen/LU>

#include "costate/integrate/dense_transpose.hpp"
#include "costate/integrate/implicit_problem.hpp"

/// @file
/// Solves with W = M - a J(t, y, p), the matrix of every implicit stage.
///
/// A problem may bring a solver of its own, matrix-free and iterative as it likes:
///
///     using Solver = …;
///
/// with the functions of `DenseShiftedSolver`. It need not be accurate: all solutions are corrected
/// until their residual, formed with `rhs` and `vjp`, has vanished. A reduction by 1000 a solve
/// needs about five corrections. If `prepare` costs no more than a few solves, it should say
///
///     static constexpr bool cheap = true;
///
/// An adjoint then begins with the matrix at the stage itself, not with that of the step. Else
///
///     double prepare_cost() const;
///
/// says what `prepare` costs, in solves: for how many corrections the matrix of the step is worth
/// keeping. It must depend on the matrix alone.

namespace costate {

/// Evaluates ∂f/∂y as a dense matrix: the problem's own, or row by row from products.
template <Problem F>
class DenseJacobian {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;

  /// @param f  must outlive it
  DenseJacobian(const F& f, const Parameters& p, Eigen::Index size)
      : f_(f), unit_(size), row_(size), p_bar_(p) {}

  void evaluate(double t, const State& y, const Parameters& p, DenseMatrix<F>& j) {
    if constexpr (HasJacobian<F>) {
      static_assert(std::same_as<typename F::Jacobian, DenseMatrix<F>>,
                    "a Jacobian that is not a dense matrix of the state's size: if it is sparse, "
                    "include costate/integrate/sparse_solver.hpp");
      f_.jacobian(t, y, p, j);
    } else {
      unit_.setZero();
      for (Eigen::Index i = 0; i < y.size(); ++i) {
        unit_[i] = 1;
        f_.vjp(t, y, p, unit_, row_, p_bar_);
        j.row(i) = row_.transpose();
        unit_[i] = 0;
      }
    }
  }

 private:
  const F& f_;
  State unit_, row_;
  Parameters p_bar_;  // not used
};

/// Whether an LU factorisation can be solved with.
template <class Lu>
bool is_regular(const Lu& lu) {
  using Scalar = typename Lu::MatrixType::Scalar;
  const auto pivots = lu.matrixLU().diagonal().array();
  return pivots.allFinite() && (pivots != Scalar(0)).all();
}

/// What it costs to factor a dense matrix, in solves: as measured for 20 to 200 rows.
inline double dense_prepare_cost(Eigen::Index rows) {
  return std::max(3.0, static_cast<double>(rows) / 10);
}

/// Factors W by LU with partial pivoting.
template <Problem F>
class DenseShiftedSolver {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Scalar = typename State::Scalar;
  static constexpr bool cheap =
      State::SizeAtCompileTime != Eigen::Dynamic && State::SizeAtCompileTime <= 4;

  /// @param f  must outlive the solver
  DenseShiftedSolver(const F& f, const Parameters& p, Eigen::Index size)
      : f_(f), jacobian_(f, p, size), w_(size, size), lu_(size), x_(size) {
    w_.setZero();
  }

  /// Makes W = M - a J(t, y, p) the matrix of the next solves. False if it cannot be inverted.
  bool prepare(double t, const State& y, const Parameters& p, double a) {
    jacobian_.evaluate(t, y, p, w_);
    w_ *= static_cast<Scalar>(-a);
    if constexpr (HasMass<F>) {
      w_ += f_.mass();
    } else {
      w_.diagonal().array() += Scalar(1);
    }
    lu_.compute(w_);
    return is_regular(lu_);
  }

  [[nodiscard]] double prepare_cost() const { return dense_prepare_cost(w_.rows()); }

  /// x ← W⁻¹ x
  void solve(State& x) {
    x_ = lu_.solve(x);
    x = x_;
  }

  /// x ← W⁻ᵀ x
  void solve_transpose(State& x) { solve_transposed_system(lu_, x, x_); }

 private:
  const F& f_;
  DenseJacobian<F> jacobian_;
  DenseMatrix<F> w_;
  Eigen::PartialPivLU<DenseMatrix<F>> lu_;
  State x_;
};

/// Whether a solver says so.
template <class Solver>
inline constexpr bool cheap_to_prepare = requires {
  requires Solver::cheap;
};

/// What `prepare` costs, in solves, as a solver says.
template <class Solver>
double prepare_cost(const Solver& solver) {
  if constexpr (requires { solver.prepare_cost(); }) {
    return solver.prepare_cost();
  } else {
    return 3;
  }
}

/// Chooses the solver of a problem: its own, else by the type of its Jacobian (sparse_solver.hpp).
template <class F>
struct SolverOf {
  using type = DenseShiftedSolver<F>;
};
template <class F>
  requires requires {
    typename F::Solver;
  }
struct SolverOf<F> {
  using type = typename F::Solver;
};
template <Problem F>
using ShiftedSolver = typename SolverOf<F>::type;

}  // namespace costate
