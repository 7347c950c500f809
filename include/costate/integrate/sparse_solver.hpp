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

  /// Of both factors.
  [[nodiscard]] double entries() const { return static_cast<double>(lu_.nnzL() + lu_.nnzU()); }

  /// x ← W⁻¹ x
  template <class V>
  void solve(V& x) {
    x = V(lu_.solve(x));
  }
  /// x ← W⁻ᵀ x. As Eigen does it, but column by column with sums in registers, which takes a third
  /// of the time for one right-hand side.
  template <class V>
  void solve_transpose(V& x) {
    const auto factors = lu_.matrixU();
    const auto& blocks = factors.m_mapL;  // columns of equal structure; L, and U on the diagonal
    const auto& upper = factors.m_mapU;   // the rest of U
    const Eigen::Index last = blocks.nsuper();
    x_ = lu_.colsPermutation() * x;
    for (Eigen::Index k = 0; k <= last; ++k) {
      const Block block(blocks, k);
      for (Eigen::Index c = 0; c < block.columns; ++c) {
        const Eigen::Index j = block.first + c;
        const auto start = upper.outerIndexPtr()[j];
        const auto count = upper.outerIndexPtr()[j + 1] - start;
        const Scalar* const a = block.column(c);
        x_[j] -= gather(upper.valuePtr() + start, upper.innerIndexPtr() + start, count);
        x_[j] = (x_[j] - map(a, c).dot(x_.segment(block.first, c))) / a[c];
      }
    }
    below_.resize(x_.size());
    for (Eigen::Index k = last; k >= 0; --k) {
      const Block block(blocks, k);
      const Eigen::Index rows = block.rows - block.columns;
      for (Eigen::Index i = 0; i < rows; ++i) below_[i] = x_[block.row[block.columns + i]];
      for (Eigen::Index c = block.columns; c-- > 0;) {
        const Eigen::Index inside = block.columns - 1 - c;
        const Scalar* const a = block.column(c);
        x_[block.first + c] -= map(a + c + 1, inside).dot(x_.segment(block.first + c + 1, inside)) +
                               map(a + block.columns, rows).dot(below_.head(rows));
      }
    }
    x = lu_.rowsPermutation().transpose() * x_;
  }

 private:
  using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
  using Index = typename Matrix::StorageIndex;

  // Columns first, first + 1, …, which have the same `rows` rows; the first ones are those on the
  // diagonal.
  struct Block {
    template <class Blocks>
    Block(const Blocks& blocks, Eigen::Index k)
        : first(blocks.supToCol()[k]),
          columns(blocks.supToCol()[k + 1] - first),
          rows(blocks.rowIndexPtr()[first + 1] - blocks.rowIndexPtr()[first]),
          row(blocks.rowIndex() + blocks.rowIndexPtr()[first]),
          values(blocks.valuePtr() + blocks.colIndexPtr()[first]),
          stride(blocks.colIndexPtr()[first + 1] - blocks.colIndexPtr()[first]) {}
    [[nodiscard]] const Scalar* column(Eigen::Index c) const { return values + c * stride; }

    Eigen::Index first, columns, rows;
    const Index* row;
    const Scalar* values;
    Eigen::Index stride;
  };

  static Eigen::Map<const Vector> map(const Scalar* values, Eigen::Index count) {
    return {values, count};
  }
  // The sum of a_i x[at_i], in four parts that do not wait for each other.
  Scalar gather(const Scalar* a, const Index* at, Index count) const {
    const Scalar* const x = x_.data();
    Scalar sum[4] = {};
    Index i = 0;
    for (; i + 4 <= count; i += 4) {
      for (Index part = 0; part < 4; ++part) sum[part] += a[i + part] * x[at[i + part]];
    }
    for (; i < count; ++i) sum[0] += a[i] * x[at[i]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  Eigen::SparseLU<Matrix, Eigen::COLAMDOrdering<typename Matrix::StorageIndex>> lu_;
  bool ordered_ = false;
  Vector x_, below_;
};

/// What it costs to factor a sparse matrix, in solves: the number of entries in a column of the
/// factors decides. Measured were 7 to 25 on lines and 30 to 170 on squares, with KLU, too.
template <class Factors>
double sparse_prepare_cost(const Factors& factors, Eigen::Index rows) {
  return 5 + factors.entries() / (2 * static_cast<double>(rows));
}

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

  [[nodiscard]] double prepare_cost() const { return sparse_prepare_cost(factors_, w_.rows()); }

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

  [[nodiscard]] double prepare_cost() const { return sparse_prepare_cost(factors_, w_.rows()); }

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
