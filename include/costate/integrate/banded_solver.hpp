#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include <Eigen/LU>

#include "costate/core/error.hpp"
#include "costate/integrate/implicit_problem.hpp"
#include "costate/integrate/shifted_solver.hpp"

/// @file
/// To be included where the Jacobian of a problem is a `BandedMatrix`: one space dimension, or few
/// neighbours. For diagonally implicit methods, IMEX methods and Rosenbrock methods.

namespace costate {

/// An n × n matrix of which row i has entries in the columns i - Lower … i + Upper only; on a
/// circle
/// (`periodic`) columns are counted modulo n.
template <class S, int Lower, int Upper, bool periodic = false>
class BandedMatrix {
 public:
  using Scalar = S;
  static constexpr int lower = Lower;
  static constexpr int upper = Upper;
  static constexpr bool is_periodic = periodic;
  static_assert(Lower >= 0 && Upper >= 0);

  explicit BandedMatrix(Eigen::Index size = 0) : size_(size), entries_(at(size * width)) {}

  [[nodiscard]] Eigen::Index size() const noexcept { return size_; }

  /// The entry of row i in column i + offset, -Lower <= offset <= Upper. Entries of a matrix that
  /// is not periodic may be written, and are not used, where there is no such column.
  [[nodiscard]] Scalar& band(Eigen::Index i, int offset) {
    return entries_[at(i * width + offset + Lower)];
  }
  [[nodiscard]] Scalar band(Eigen::Index i, int offset) const {
    return entries_[at(i * width + offset + Lower)];
  }

 private:
  static constexpr Eigen::Index width = Lower + Upper + 1;
  static std::size_t at(Eigen::Index i) { return static_cast<std::size_t>(i); }

  Eigen::Index size_;
  std::vector<Scalar> entries_;
};

/// The factors of a banded matrix that is not periodic. Without interchanges as long as no
/// multiplier exceeds 100, as for W of a parabolic problem or small steps; else with partial
/// pivoting.
template <class Scalar, int L, int U>
class BandedLu {
 public:
  /// Factors rows 0 … size-1 of `a`. False if it cannot be inverted.
  template <bool periodic>
  bool compute(const BandedMatrix<Scalar, L, U, periodic>& a, Eigen::Index size) {
    size_ = size;
    lower_.resize(at(size * L));
    inverse_.resize(at(size));
    upper_.resize(at(size * (U + L)));
    pivoted_ = !compute_plain(a);
    return !pivoted_ || compute_pivoted(a);
  }

  /// x ← A⁻¹ x; x has `size` entries.
  void solve(Scalar* x) const {
    if (pivoted_) return solve_pivoted(x);
    Window<L> below;
    for (Eigen::Index k = 0; k < size_; ++k) {
      x[k] = below.push(x[k] - below.dot(lower_.data() + k * L));
    }
    Window<U> above;
    for (Eigen::Index k = size_ - 1; k >= 0; --k) {
      x[k] = above.push(x[k] * inverse_[at(k)] - above.dot(upper_.data() + k * U));
    }
  }

  /// x ← A⁻ᵀ x
  void solve_transpose(Scalar* x) const {
    if (pivoted_) return solve_transpose_pivoted(x);
    // Row by row of Uᵀ and Lᵀ: column by column of what is stored.
    std::array<Scalar, at(U + 1)> ahead{};  // what the rows done contribute to row k, k+1, …
    for (Eigen::Index k = 0; k < size_; ++k) {
      const Scalar y = x[k] - ahead[0];
      for (int j = 0; j < U; ++j) {
        ahead[at(j)] = ahead[at(j + 1)] + upper_[at(k * U + j)] * y;
      }
      x[k] = y * inverse_[at(k)];
    }
    std::array<Scalar, at(L + 1)> behind{};
    for (Eigen::Index k = size_ - 1; k >= 0; --k) {
      const Scalar y = x[k] - behind[0];
      for (int j = 0; j < L; ++j) {
        behind[at(j)] = behind[at(j + 1)] + lower_[at(k * L + j)] * y;
      }
      x[k] = y;
    }
  }

 private:
  static constexpr std::size_t at(Eigen::Index i) { return static_cast<std::size_t>(i); }

  // The last entries found, the nearest first.
  template <int size>
  struct Window {
    std::array<Scalar, static_cast<std::size_t>(std::max(size, 1))> x{};
    Scalar push(Scalar value) {
      for (std::size_t j = x.size() - 1; j > 0; --j) x[j] = x[j - 1];
      return x[0] = value;
    }
    [[nodiscard]] Scalar dot(const Scalar* with) const {
      Scalar sum = 0;
      for (int j = size - 1; j >= 0; --j) sum += with[j] * x[at(j)];
      return sum;
    }
  };

  // lower_[k L + j-1] is the multiplier of row k-j in row k; upper_[k U + j-1] is the entry of U in
  // column k+j over the diagonal one, whose inverse is inverse_[k].
  template <bool periodic>
  bool compute_plain(const BandedMatrix<Scalar, L, U, periodic>& a) {
    Scalar largest = 0;
    for (Eigen::Index k = 0; k < size_; ++k) {
      std::array<Scalar, static_cast<std::size_t>(L + U + 1)> row{};
      for (int j = -L; j <= U; ++j) {
        if (k + j >= 0 && k + j < size_) row[at(j + L)] = a.band(k, j);
      }
      for (int j = L; j >= 1; --j) {
        const Scalar entry = k >= j ? row[at(L - j)] : Scalar(0);
        const Scalar multiplier = k >= j ? entry * inverse_[at(k - j)] : Scalar(0);
        for (int q = 1; q <= U && k >= j; ++q) {
          row[at(L - j + q)] -= entry * upper_[at((k - j) * U + q - 1)];
        }
        lower_[at(k * L + j - 1)] = multiplier;
        largest = std::max(largest, std::abs(multiplier));
      }
      const Scalar inverse = 1 / row[at(L)];
      inverse_[at(k)] = inverse;
      for (int j = 1; j <= U; ++j) upper_[at(k * U + j - 1)] = row[at(L + j)] * inverse;
      if (!std::isfinite(inverse)) return false;
    }
    return largest <= Scalar(100);
  }

  // Row k of U has its entries in columns k+1 … k+U+L in upper_; lower_[k L + j-1] is the
  // multiplier of row k in the row that lies j below it when column k is eliminated.
  template <bool periodic>
  bool compute_pivoted(const BandedMatrix<Scalar, L, U, periodic>& a) {
    constexpr int width = U + L + 1;
    using Row = std::array<Scalar, static_cast<std::size_t>(width)>;  // from column k on
    std::array<Row, static_cast<std::size_t>(L + 1)> rows{};          // k … k+L
    pivots_.resize(at(size_));
    const auto fetch = [&](Eigen::Index i, Eigen::Index first) {
      Row row{};
      for (int j = -L; j <= U && i < size_; ++j) {
        const Eigen::Index column = i + j;
        if (column >= first && column >= 0 && column < size_)
          row[at(column - first)] = a.band(i, j);
      }
      return row;
    };
    for (int i = 0; i < L; ++i) rows[at(i)] = fetch(i, 0);
    for (Eigen::Index k = 0; k < size_; ++k) {
      rows[at(L)] = fetch(k + L, k);
      std::size_t pivot = 0;
      for (std::size_t i = 1; i < rows.size(); ++i) {
        if (std::abs(rows[i][0]) > std::abs(rows[pivot][0])) pivot = i;
      }
      pivots_[at(k)] = static_cast<int>(pivot);
      std::swap(rows[0], rows[pivot]);
      const Row top = rows[0];
      const Scalar inverse = 1 / top[0];
      if (!std::isfinite(inverse)) return false;
      inverse_[at(k)] = inverse;
      std::copy(top.begin() + 1, top.end(), upper_.begin() + k * (U + L));
      for (std::size_t i = 1; i < rows.size(); ++i) {
        const Scalar multiplier = rows[i][0] * inverse;
        lower_[at(k * L) + i - 1] = multiplier;
        for (std::size_t j = 1; j < top.size(); ++j) {
          rows[i - 1][j - 1] = rows[i][j] - multiplier * top[j];
        }
        rows[i - 1].back() = 0;
      }
    }
    return true;
  }

  void solve_pivoted(Scalar* x) const {
    for (Eigen::Index k = 0; k < size_; ++k) {
      std::swap(x[k], x[k + pivots_[at(k)]]);
      for (Eigen::Index j = 1; j <= L && k + j < size_; ++j) {
        x[k + j] -= lower_[at(k * L + j - 1)] * x[k];
      }
    }
    for (Eigen::Index k = size_ - 1; k >= 0; --k) {
      for (Eigen::Index j = 1; j <= U + L && k + j < size_; ++j) {
        x[k] -= upper_[at(k * (U + L) + j - 1)] * x[k + j];
      }
      x[k] *= inverse_[at(k)];
    }
  }

  void solve_transpose_pivoted(Scalar* x) const {
    for (Eigen::Index k = 0; k < size_; ++k) {
      x[k] *= inverse_[at(k)];
      for (Eigen::Index j = 1; j <= U + L && k + j < size_; ++j) {
        x[k + j] -= upper_[at(k * (U + L) + j - 1)] * x[k];
      }
    }
    for (Eigen::Index k = size_ - 1; k >= 0; --k) {
      for (Eigen::Index j = 1; j <= L && k + j < size_; ++j) {
        x[k] -= lower_[at(k * L + j - 1)] * x[k + j];
      }
      std::swap(x[k], x[k + pivots_[at(k)]]);
    }
  }

  Eigen::Index size_ = 0;
  bool pivoted_ = false;
  std::vector<Scalar> lower_, inverse_, upper_;
  std::vector<int> pivots_;
};

/// Factors W = M - a J(t, y, p), M diagonal, by banded LU. On a circle the last max(Lower, Upper)
/// unknowns are eliminated last, which is as accurate as the matrix of the others is well conditioned;
/// corrections make up for it. See `DenseShiftedSolver`.
template <Problem F>
class BandedShiftedSolver {
  using Matrix = typename F::Jacobian;

 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Scalar = typename State::Scalar;
  static constexpr bool cheap = true;

  /// @param f  must outlive the solver
  /// @throws InvalidArgument if the state is shorter than twice the width of the band
  BandedShiftedSolver(const F& f, const Parameters&, Eigen::Index size)
      : f_(f), w_(size), inner_(size - border), z_(inner_, border) {
    if (size < 2 * (lower + upper + 1)) {
      throw InvalidArgument("a banded Jacobian of " + std::to_string(size) +
                            " rows is hardly banded: make it a dense matrix");
    }
  }

  /// Makes W the matrix of the next solves. False if it cannot be inverted.
  bool prepare(double t, const State& y, const Parameters& p, double a) {
    f_.jacobian(t, y, p, w_);
    const Eigen::Index size = w_.size();
    const auto factor = static_cast<Scalar>(-a);
    for (Eigen::Index i = 0; i < size; ++i) {
      for (int j = -lower; j <= upper; ++j) w_.band(i, j) *= factor;
      if constexpr (HasMass<F>) {
        w_.band(i, 0) += f_.mass().diagonal()[i];
      } else {
        w_.band(i, 0) += 1;
      }
    }
    if (!lu_.compute(w_, inner_)) return false;
    if constexpr (border > 0) return prepare_border();
    return true;
  }

  /// x ← W⁻¹ x
  void solve(State& x) {
    lu_.solve(x.data());
    if constexpr (border > 0) {
      Rest rest = x.template tail<border>();
      each_below([&](Eigen::Index r, Eigen::Index c, Scalar entry) { rest[r] -= entry * x[c]; });
      rest = s_.solve(rest).eval();
      x.template tail<border>() = rest;
      x.head(inner_).noalias() -= z_ * rest;
    }
  }

  /// x ← W⁻ᵀ x
  void solve_transpose(State& x) {
    if constexpr (border > 0) {
      Rest rest = x.template tail<border>();
      rest.noalias() -= z_.transpose() * x.head(inner_);
      rest = s_.transpose().solve(rest).eval();
      x.template tail<border>() = rest;
      each_below([&](Eigen::Index r, Eigen::Index c, Scalar entry) { x[c] -= entry * rest[r]; });
    }
    lu_.solve_transpose(x.data());
  }

 private:
  static constexpr int lower = Matrix::lower;
  static constexpr int upper = Matrix::upper;
  static constexpr int border = Matrix::is_periodic ? std::max(lower, upper) : 0;
  using Border = Eigen::Matrix<Scalar, std::max(border, 1), std::max(border, 1)>;
  using Rest = Eigen::Matrix<Scalar, border, 1>;

  bool prepare_border() {
    z_.setZero();
    for (Eigen::Index i = 0; i < inner_;
         i = i == lower - 1 ? std::max(i + 1, inner_ - upper) : i + 1) {
      for (int j = -lower; j <= upper; ++j) {
        if (const Eigen::Index c = column(i, j); c >= inner_) z_(i, c - inner_) = w_.band(i, j);
      }
    }
    for (Eigen::Index c = 0; c < border; ++c) lu_.solve(z_.col(c).data());
    Border s;
    s.setZero();
    for (Eigen::Index r = 0; r < border; ++r) {
      for (int j = -lower; j <= upper; ++j) {
        const Eigen::Index c = column(inner_ + r, j);
        const Scalar entry = w_.band(inner_ + r, j);
        if (c >= inner_) {
          s(r, c - inner_) += entry;
        } else {
          s.row(r) -= entry * z_.row(c);
        }
      }
    }
    s_.compute(s);
    return is_regular(s_);
  }

  [[nodiscard]] Eigen::Index column(Eigen::Index i, int j) const {
    const Eigen::Index c = i + j;
    return c < 0 ? c + w_.size() : c >= w_.size() ? c - w_.size() : c;
  }
  // The entries of the last rows in the first columns.
  template <class Visit>
  void each_below(const Visit& visit) const {
    for (Eigen::Index r = 0; r < border; ++r) {
      for (int j = -lower; j <= upper; ++j) {
        const Eigen::Index c = column(inner_ + r, j);
        if (c < inner_) visit(r, c, w_.band(inner_ + r, j));
      }
    }
  }

  const F& f_;
  Matrix w_;
  Eigen::Index inner_;  // rows that are not in the border
  BandedLu<Scalar, lower, upper> lu_;
  Eigen::Matrix<Scalar, Eigen::Dynamic, border> z_;  // the inner matrix inverted, times the border
  Eigen::PartialPivLU<Border> s_;                    // what is left of the border
};

template <class F>
  requires(
      !requires { typename F::Solver; } && requires { F::Jacobian::is_periodic; })
struct SolverOf<F> {
  using type = BandedShiftedSolver<F>;
};

}  // namespace costate
