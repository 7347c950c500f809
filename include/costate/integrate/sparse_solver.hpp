#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <vector>

#include <Eigen/Core>
#include <Eigen/SparseCore>
#include <Eigen/SparseLU>

#include "costate/integrate/coupled_solver.hpp"
#include "costate/integrate/shifted_solver.hpp"

/// @file
/// To be included where the Jacobian of a problem is an `Eigen::SparseMatrix`. A header of its own,
/// because Eigen's sparse LU is slow to compile.

namespace costate {

/// Sparse LU of Eigen with partial pivoting and the column ordering COLAMD, which is found once.
template <class Scalar>
class SparseLuFactors {
 public:
  using Matrix = Eigen::SparseMatrix<Scalar>;

  /// False if W cannot be inverted. Its pattern must be that of the first call.
  bool factor(const Matrix& w) {
    if (!ordered_) {
      lu_.analyzePattern(w);
      ordered_ = true;
    }
    lu_.factorize(w);
    return lu_.info() == Eigen::Success;
  }

  /// x ← W⁻¹ x
  template <class V>
  void solve(V& x) {
    x = V(lu_.solve(x));
  }
  /// x ← W⁻ᵀ x
  template <class V>
  void solve_transpose(V& x) {
    x = V(lu_.transpose().solve(x));
  }

 private:
  Eigen::SparseLU<Matrix, Eigen::COLAMDOrdering<typename Matrix::StorageIndex>> lu_;
  bool ordered_ = false;
};

/// Factors W = M - a J(t, y, p), J sparse: its pattern must not change. See `DenseShiftedSolver`.
///
/// @tparam Factors  with the functions of `SparseLuFactors`
template <Problem F, class Factors = SparseLuFactors<typename F::State::Scalar>>
class SparseShiftedSolver {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Scalar = typename State::Scalar;
  using Matrix = Eigen::SparseMatrix<Scalar>;

  /// @param f  must outlive the solver
  SparseShiftedSolver(const F& f, const Parameters&, Eigen::Index size)
      : f_(f), j_(size, size), m_(size, size) {
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
    return factors_.factor(w_);
  }

  /// x ← W⁻¹ x
  void solve(State& x) { factors_.solve(x); }

  /// x ← W⁻ᵀ x
  void solve_transpose(State& x) { factors_.solve_transpose(x); }

 private:
  const F& f_;
  Matrix j_, m_, w_;
  Factors factors_;
};

/// Solves with W = I⊗M - h A⊗J_j by sparse LU. See `DenseCoupledSolver`.
template <Problem F, std::size_t S>
class SparseCoupledSolver {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Scalar = typename State::Scalar;
  using Matrix = Eigen::SparseMatrix<Scalar>;

  /// @param f  must outlive the solver
  SparseCoupledSolver(const F& f, const Parameters&, Eigen::Index size)
      : f_(f), size_(size), j_(size, size), m_(size, size) {
    const auto s = static_cast<Eigen::Index>(S);
    w_.resize(s * size, s * size);
    if constexpr (HasMass<F>) {
      m_ = Matrix(f.mass());
    } else {
      m_.setIdentity();
    }
  }

  bool prepare(const std::array<double, S>& t, const std::array<State, S>& y, const Parameters& p,
               const std::array<std::array<double, S>, S>& a, double h) {
    entries_.clear();
    for (std::size_t j = 0; j < S; ++j) {
      f_.jacobian(t[j], y[j], p, j_);
      add(j, j, m_, Scalar(1));
      for (std::size_t i = 0; i < S; ++i) add(i, j, j_, static_cast<Scalar>(-h * a[i][j]));
    }
    w_.setFromTriplets(entries_.begin(), entries_.end());
    return factors_.factor(w_);
  }

  template <class V>
  void solve(V& x) {
    factors_.solve(x);
  }
  template <class V>
  void solve_transpose(V& x) {
    factors_.solve_transpose(x);
  }

 private:
  // W_ij += factor * block
  void add(std::size_t i, std::size_t j, const Matrix& block, Scalar factor) {
    const auto row = static_cast<Eigen::Index>(i) * size_;
    const auto column = static_cast<Eigen::Index>(j) * size_;
    for (Eigen::Index k = 0; k < block.outerSize(); ++k) {
      for (typename Matrix::InnerIterator it(block, k); it; ++it) {
        entries_.emplace_back(row + it.row(), column + it.col(), factor * it.value());
      }
    }
  }

  const F& f_;
  Eigen::Index size_;
  Matrix j_, m_, w_;
  std::vector<Eigen::Triplet<Scalar, Eigen::Index>> entries_;
  SparseLuFactors<Scalar> factors_;
};

template <class F, std::size_t S>
  requires std::derived_from<typename F::Jacobian, Eigen::SparseMatrixBase<typename F::Jacobian>>
struct CoupledSolverOf<F, S> {
  using type = SparseCoupledSolver<F, S>;
};

template <class F>
  requires(!requires { typename F::Solver; } &&
           std::derived_from<typename F::Jacobian, Eigen::SparseMatrixBase<typename F::Jacobian>>)
struct SolverOf<F> {
  using type = SparseShiftedSolver<F>;
};

}  // namespace costate
