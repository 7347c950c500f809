#pragma once

#include <concepts>

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <Eigen/SparseLU>

#include "costate/integrate/shifted_solver.hpp"

/// @file
/// To be included where the Jacobian of a problem is an `Eigen::SparseMatrix`. A header of its own,
/// because Eigen's sparse LU is slow to compile.

namespace costate {

/// Factors W = M - a J(t, y, p) by sparse LU with partial pivoting and the column ordering COLAMD,
/// which is found once: the pattern of J must not change. See `DenseShiftedSolver`.
template <Problem F>
class SparseShiftedSolver {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Scalar = typename State::Scalar;
  using Matrix = Eigen::SparseMatrix<Scalar>;

  /// @param f  must outlive the solver
  SparseShiftedSolver(const F& f, const Parameters&, Eigen::Index size)
      : f_(f), j_(size, size), m_(size, size), x_(size) {
    if constexpr (HasMass<F>) {
      m_ = Matrix(f.mass());
    } else {
      m_.setIdentity();
    }
  }

  /// Makes W = M - a J(t, y, p) the matrix of the next solves. False if it cannot be inverted.
  bool prepare(double t, const State& y, const Parameters& p, double a) {
    f_.jacobian(t, y, p, j_);
    w_ = m_ - static_cast<Scalar>(a) * j_;
    if (!ordered_) {
      lu_.analyzePattern(w_);
      ordered_ = true;
    }
    lu_.factorize(w_);
    return lu_.info() == Eigen::Success;
  }

  /// x ← W⁻¹ x
  void solve(State& x) {
    x_ = lu_.solve(x);
    x = x_;
  }

  /// x ← W⁻ᵀ x
  void solve_transpose(State& x) {
    x_ = lu_.transpose().solve(x);
    x = x_;
  }

 private:
  const F& f_;
  Matrix j_, m_, w_;
  Eigen::SparseLU<Matrix, Eigen::COLAMDOrdering<typename Matrix::StorageIndex>> lu_;
  bool ordered_ = false;
  State x_;
};

template <class F>
  requires(!requires { typename F::Solver; } &&
           std::derived_from<typename F::Jacobian, Eigen::SparseMatrixBase<typename F::Jacobian>>)
struct SolverOf<F> {
  using type = SparseShiftedSolver<F>;
};

}  // namespace costate
