#pragma once

#include <array>
#include <cstddef>

#include <Eigen/Core>
#include <Eigen/LU>

#include "costate/integrate/one_instance.hpp"

/// @file
/// Solves with the transpose of a dense matrix, whose columns lie in one piece as those of its
/// factors do. Eigen's goes through the rows of the transposed factors one by one, which takes half
/// as long again for 20 to 60 rows, and twice as long and more from 100 on.

namespace costate {

/// Sums over columns of a matrix, `at_once` of them side by side: each entry of the vector is read
/// once for all of them, and no sum waits for another one.
template <class Scalar>
class ColumnSums {
 public:
  static constexpr Eigen::Index at_once = 4;
  using Sums = std::array<Scalar, static_cast<std::size_t>(at_once)>;

  /// sums[c] = sum over k of column[c * stride + k] x[k]
  static void of(const Scalar* column, Eigen::Index stride, const Scalar* x, Eigen::Index size,
                 Sums& sums) {
    std::array<Vec, static_cast<std::size_t>(at_once)> all;
    all.fill(Vec::Zero());
    Eigen::Index k = 0;
    for (; k + lanes <= size; k += lanes) {
      const Vec v = Vec::Map(x + k);
      for (Eigen::Index c = 0; c < at_once; ++c) {
        all[static_cast<std::size_t>(c)] += Vec::Map(column + c * stride + k) * v;
      }
    }
    for (Eigen::Index c = 0; c < at_once; ++c) {
      Scalar sum = all[static_cast<std::size_t>(c)].sum();
      for (Eigen::Index i = k; i < size; ++i) sum += column[c * stride + i] * x[i];
      sums[static_cast<std::size_t>(c)] = sum;
    }
  }

 private:
  static constexpr Eigen::Index lanes = 8;
  using Vec = Eigen::Array<Scalar, lanes, 1>;
};

/// x ← A⁻ᵀ x, given the factors of a square matrix A by LU with partial pivoting.
///
/// @param work  as long as x
template <class Matrix, class V>
COSTATE_ONE_INSTANCE void solve_transposed_system(const Eigen::PartialPivLU<Matrix>& factors, V& x,
                                                  V& work) {
  using Scalar = typename Matrix::Scalar;
  static_assert(!Matrix::IsRowMajor);
  constexpr Eigen::Index at_once = ColumnSums<Scalar>::at_once;
  const Matrix& lu = factors.matrixLU();
  const Eigen::Index n = lu.rows();
  const Eigen::Index stride = lu.outerStride();
  const Scalar* const a = lu.data();
  Scalar* const v = work.data();
  work = x;
  // A = P⁻¹ L U, so Uᵀ from the top, Lᵀ from the bottom, and then the order of the rows.
  typename ColumnSums<Scalar>::Sums sums;
  const Eigen::Index blocks = n / at_once * at_once;
  for (Eigen::Index i = 0; i < blocks; i += at_once) {
    ColumnSums<Scalar>::of(a + i * stride, stride, v, i, sums);
    for (Eigen::Index c = i; c < i + at_once; ++c) {
      Scalar rest = v[c] - sums[static_cast<std::size_t>(c - i)];
      for (Eigen::Index k = i; k < c; ++k) rest -= a[c * stride + k] * v[k];
      v[c] = rest / a[c * stride + c];
    }
  }
  for (Eigen::Index i = blocks; i < n; ++i) {
    for (Eigen::Index k = 0; k < i; ++k) v[i] -= a[i * stride + k] * v[k];
    v[i] /= a[i * stride + i];
  }
  for (Eigen::Index i = n - 1; i >= blocks; --i) {
    for (Eigen::Index k = i + 1; k < n; ++k) v[i] -= a[i * stride + k] * v[k];
  }
  for (Eigen::Index i = blocks - at_once; i >= 0; i -= at_once) {
    const Eigen::Index below = i + at_once;
    ColumnSums<Scalar>::of(a + i * stride + below, stride, v + below, n - below, sums);
    for (Eigen::Index c = below - 1; c >= i; --c) {
      v[c] -= sums[static_cast<std::size_t>(c - i)];
      for (Eigen::Index k = c + 1; k < below; ++k) v[c] -= a[c * stride + k] * v[k];
    }
  }
  x.noalias() = factors.permutationP().transpose() * work;
}

}  // namespace costate
