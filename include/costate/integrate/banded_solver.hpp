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
#include "costate/integrate/one_instance.hpp"
#include "costate/integrate/shifted_solver.hpp"

/// @file
/// To be included where the Jacobian of a problem is a `BandedMatrix`: one space dimension, or few
/// neighbours. For diagonally implicit methods, IMEX methods and Rosenbrock methods.

namespace costate {

/// An n × n matrix of which row i has entries in the columns i - Lower … i + Upper only;
/// on a circle (`periodic`) columns are counted modulo n.
///
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
    return entries_[at((offset + Lower) * size_ + i)];
  }
  [[nodiscard]] Scalar band(Eigen::Index i, int offset) const {
    return entries_[at((offset + Lower) * size_ + i)];
  }
  /// `band(0, offset)`, `band(1, offset)` …
  [[nodiscard]] const Scalar* diagonal(int offset) const {
    return entries_.data() + (offset + Lower) * size_;
  }

 private:
  static constexpr Eigen::Index width = Lower + Upper + 1;
  static std::size_t at(Eigen::Index i) { return static_cast<std::size_t>(i); }

  Eigen::Index size_;
  std::vector<Scalar> entries_;  // diagonal by diagonal: loops over rows are vectors
};

/// The factors of a banded matrix by LU with partial pivoting, row by row.
template <class Scalar, int L, int U>
class BandedLu {
 public:
  /// False if `a` cannot be inverted.
  bool compute(const BandedMatrix<Scalar, L, U>& a) {
    const Eigen::Index size = a.size();
    size_ = size;
    lower_.resize(at(size * L));
    inverse_.resize(at(size));
    upper_.resize(at(size * (U + L)));
    pivots_.resize(at(size));
    constexpr std::size_t width = U + L + 1;
    using Row = std::array<Scalar, width>;  // from column k on
    std::array<Row, at(L + 1)> rows{};      // k … k+L
    const auto fetch = [&](Eigen::Index i, Eigen::Index first) {
      Row row{};
      for (int j = -L; j <= U && i < size; ++j) {
        const Eigen::Index c = i + j;
        if (c >= std::max<Eigen::Index>(first, 0) && c < size) row[at(c - first)] = a.band(i, j);
      }
      return row;
    };
    for (int i = 0; i < L; ++i) rows[at(i)] = fetch(i, 0);
    for (Eigen::Index k = 0; k < size; ++k) {
      rows[at(L)] = fetch(k + L, k);
      std::size_t pivot = 0;
      for (std::size_t i = 1; i < rows.size(); ++i) {
        if (std::abs(rows[i][0]) > std::abs(rows[pivot][0])) pivot = i;
      }
      pivots_[at(k)] = static_cast<Eigen::Index>(pivot);
      std::swap(rows[0], rows[pivot]);
      const Row top = rows[0];
      const Scalar inverse = 1 / top[0];
      if (!std::isfinite(top[0]) || !std::isfinite(inverse)) return false;
      inverse_[at(k)] = inverse;
      std::copy(top.begin() + 1, top.end(), upper_.begin() + k * (U + L));
      for (std::size_t i = 1; i < rows.size(); ++i) {
        const Scalar multiplier = rows[i][0] * inverse;
        lower_[at(k * L) + i - 1] = multiplier;
        for (std::size_t j = 1; j < width; ++j) {
          rows[i - 1][j - 1] = rows[i][j] - multiplier * top[j];
        }
        rows[i - 1].back() = 0;
      }
    }
    return true;
  }

  /// x ← A⁻¹ x
  void solve(Scalar* x) const {
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

  /// x ← A⁻ᵀ x
  void solve_transpose(Scalar* x) const {
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

 private:
  static constexpr std::size_t at(Eigen::Index i) { return static_cast<std::size_t>(i); }

  Eigen::Index size_ = 0;
  std::vector<Scalar> lower_;    // multipliers of row k in the rows below it
  std::vector<Scalar> inverse_;  // of the pivots
  std::vector<Scalar> upper_;    // the rest of the rows of U
  std::vector<Eigen::Index> pivots_;
};

/// The factors of a matrix of at most `most` rows by LU without interchanges. Most of its entries
/// may be zero: rows without an entry below a pivot are left alone.
template <class Scalar, int most>
class SmallLu {
 public:
  /// Makes it a matrix of zeros.
  void clear(Eigen::Index size) {
    size_ = size;
    for (Eigen::Index i = 0; i < size * most; ++i) entries_[at(i)] = 0;
  }
  /// Until it is factored.
  Scalar& operator()(Eigen::Index i, Eigen::Index j) { return entries_[at(i * most + j)]; }

  /// False if a multiplier exceeds 1 or a pivot cannot be divided by.
  bool factor() {
    Scalar ones = 0;
    bool good = true;
    for (Eigen::Index k = 0; k < size_; ++k) {
      const Scalar* const top = row(k);
      const Scalar inverse = 1 / top[k];
      ones += inverse * top[k];
      for (Eigen::Index i = k + 1; i < size_; ++i) {
        Scalar* const x = row(i);
        if (x[k] == 0) continue;
        const Scalar multiplier = x[k] *= inverse;
        good = good && std::abs(multiplier) <= 1;
        for (Eigen::Index j = k + 1; j < size_; ++j) x[j] -= multiplier * top[j];
      }
      row(k)[k] = inverse;
    }
    return good && std::isfinite(ones);
  }

  /// x ← S⁻¹ x
  void solve(Scalar* x) const {
    for (Eigen::Index i = 1; i < size_; ++i) {
      for (Eigen::Index j = 0; j < i; ++j) x[i] -= row(i)[j] * x[j];
    }
    for (Eigen::Index i = size_ - 1; i >= 0; --i) {
      for (Eigen::Index j = size_ - 1; j > i; --j) x[i] -= row(i)[j] * x[j];
      x[i] *= row(i)[i];
    }
  }

  /// x ← S⁻ᵀ x
  void solve_transpose(Scalar* x) const {
    for (Eigen::Index i = 0; i < size_; ++i) {
      x[i] *= row(i)[i];
      for (Eigen::Index j = i + 1; j < size_; ++j) x[j] -= row(i)[j] * x[i];
    }
    for (Eigen::Index i = size_ - 1; i > 0; --i) {
      for (Eigen::Index j = 0; j < i; ++j) x[j] -= row(i)[j] * x[i];
    }
  }

 private:
  static constexpr std::size_t at(Eigen::Index i) { return static_cast<std::size_t>(i); }
  Scalar* row(Eigen::Index i) { return entries_.data() + i * most; }
  [[nodiscard]] const Scalar* row(Eigen::Index i) const { return entries_.data() + i * most; }

  Eigen::Index size_ = 0;
  std::array<Scalar, at(std::max(most* most, 1))> entries_;  // row by row; pivots inverted
};

/// The factors of a banded matrix W, periodic or not, by LU without interchanges, in blocks of rows
/// side by side: one recurrence alone would wait for each operation to end. There are eight, in the
/// lanes of one register or two, or four where registers hold two numbers only. Between the blocks
/// max(L, U) rows are left for later, and on a circle behind the last one, too: the border.
///
/// With W = (D E; C B), B the border's, the factors are those of D, Z = D⁻¹ E and those of
/// S = B - C Z (H. H. Wang, ACM Trans. Math. Softw. 7 (1981) 170-183, in another order):
/// W = (D 0; C S) (I Z; 0 I). Rounding is amplified by the multipliers and by Z, which is large
/// where D is much closer to a singular matrix than W is.
///
/// @tparam lanes  the number of blocks, 4 or 8
template <class Scalar, int L, int U, bool periodic,
          Eigen::Index lanes = EIGEN_MAX_STATIC_ALIGN_BYTES >= 32 ? 8 : 4>
class BlockedBandedLu {
  static constexpr Eigen::Index gap = std::max(L, U);
  static constexpr bool wide = lanes > 4;
  static constexpr int most = static_cast<int>(lanes * gap + lanes - 1);  // rows in the border
  using Vec = Eigen::Array<Scalar, lanes, 1>;
  using Square = Eigen::Array<Scalar, lanes, lanes>;
  using Matrix = BandedMatrix<Scalar, L, U, periodic>;

 public:
  /// The smallest matrix that is worth it.
  static constexpr Eigen::Index least = std::max<Eigen::Index>(16 * (L + U + 1), 4 * lanes * gap);

  explicit BlockedBandedLu(Eigen::Index size)
      : size_(size),
        rows_((size - (lanes - 1 + (periodic ? 1 : 0)) * gap) / lanes),
        border_(size - lanes * rows_) {
    if (size < least) return;
    lower_.resize(at(rows_ * L));
    inverse_.resize(at(rows_));
    upper_.resize(at(rows_ * U));
    left_.resize(at(rows_ * L));
    right_.resize(at(rows_ * U));
    x_.resize(at(rows_));
  }

  /// Factors W = diagonal - a J. False if a multiplier exceeds 1, so that partial pivoting would
  /// interchange rows, if an entry of Z exceeds 100, or something cannot be inverted.
  /// @param diagonal  i -> entry of a diagonal matrix
  template <class Diagonal>
  COSTATE_ONE_INSTANCE bool compute(const Matrix& j, Scalar a, const Diagonal& diagonal) {
    if constexpr (wide) {
      for (int i = 1; i <= L; ++i) interleave(j.diagonal(-i), lower_.data() + i - 1, L);
      interleave(j.diagonal(0), inverse_.data(), 1);
      for (int i = 1; i <= U; ++i) interleave(j.diagonal(i), upper_.data() + i - 1, U);
    }
    Growth growth;
    std::array<Done, at(std::max(L, 1))> done;
    factor<true>(j, a, diagonal, 0, gap, done, growth);
    factor<false>(j, a, diagonal, gap, rows_ - gap, done, growth);
    factor<true>(j, a, diagonal, rows_ - gap, rows_, done, growth);
    if (!growth.within(Scalar(1))) return false;
    return invert_border_columns().within(Scalar(100)) && reduce(j, a, diagonal);
  }

  /// x ← W⁻¹ x
  COSTATE_ONE_INSTANCE void solve(Scalar* x) {
    const Eigen::Index rows = rows_;
    Vec* const v = x_.data();
    interleave(x);
    Window<L> below;
    const Vec* const lower = lower_.data();
    for (Eigen::Index k = 0; k < rows; ++k) {
      v[k] = below.push(below.reduced(read(x, v, k), lower + k * L));
    }
    Window<U> above;
    const Vec* const upper = upper_.data();
    const Vec* const inverse = inverse_.data();
    for (Eigen::Index k = rows - 1; k >= 0; --k) {
      v[k] = above.push(above.reduced(v[k] * inverse[k], upper + k * U));
    }
    for (Eigen::Index i = 0; i < border_; ++i) rest_[at(i)] = x[row_of(i)];
    for (const Coupling& b : couplings_) rest_[at(b.i)] -= b.entry * x_[at(b.k)][b.lane];
    small_.solve(rest_.data());
    for (Eigen::Index i = 0; i < border_; ++i) x[row_of(i)] = rest_[at(i)];
    const std::array<Vec, at(L + U)> beside = neighbours();
    const Vec* const left = left_.data();
    const Vec* const right = right_.data();
    for (Eigen::Index k = 0; k < rows; ++k) {
      Vec sum = v[k];
      for (int c = 0; c < L; ++c) sum -= left[k * L + c] * beside[at(c)];
      for (int c = 0; c < U; ++c) sum -= right[k * U + c] * beside[at(L + c)];
      write(sum, x, v, k);
    }
    separate(x);
  }

  /// x ← W⁻ᵀ x
  COSTATE_ONE_INSTANCE void solve_transpose(Scalar* x) {
    const Eigen::Index rows = rows_;
    Vec* const v = x_.data();
    interleave(x);
    std::array<Vec, at(L + U)> sums;
    sums.fill(Vec::Zero());
    const Vec* const left = left_.data();
    const Vec* const right = right_.data();
    for (Eigen::Index k = 0; k < rows; ++k) {
      const Vec entry = read(x, v, k);
      v[k] = entry;
      for (int c = 0; c < L; ++c) sums[at(c)] += left[k * L + c] * entry;
      for (int c = 0; c < U; ++c) sums[at(L + c)] += right[k * U + c] * entry;
    }
    for (Eigen::Index i = 0; i < border_; ++i) rest_[at(i)] = x[row_of(i)];
    each_neighbour(
        [&](int c, Eigen::Index lane, Eigen::Index i) { rest_[at(i)] -= sums[at(c)][lane]; });
    small_.solve_transpose(rest_.data());
    for (Eigen::Index i = 0; i < border_; ++i) x[row_of(i)] = rest_[at(i)];
    for (const Coupling& b : couplings_) x_[at(b.k)][b.lane] -= b.entry * rest_[at(b.i)];
    Window<U> above;
    const Vec* const upper = upper_.data();
    const Vec* const inverse = inverse_.data();
    for (Eigen::Index k = 0; k < rows; ++k) {
      const auto with = [&](int q) -> const Vec& { return upper[(k - q) * U + q - 1]; };
      v[k] = above.push(above.reduced(v[k], with, k)) * inverse[k];
    }
    Window<L> below;
    const Vec* const lower = lower_.data();
    for (Eigen::Index k = rows - 1; k >= 0; --k) {
      const auto with = [&](int q) -> const Vec& { return lower[(k + q) * L + q - 1]; };
      write(below.push(below.reduced(v[k], with, rows - 1 - k)), x, v, k);
    }
    separate(x);
  }

 private:
  static constexpr std::size_t at(Eigen::Index i) { return static_cast<std::size_t>(i); }

  // The last entries found of a recurrence, the nearest first.
  template <int size>
  struct Window {
    std::array<Vec, at(std::max(size, 1))> x;
    Window() { x.fill(Vec::Zero()); }
    const Vec& push(const Vec& value) {
      for (std::size_t j = x.size() - 1; j > 0; --j) x[j] = x[j - 1];
      return x[0] = value;
    }
    // v less the products with them.
    [[nodiscard]] Vec reduced(Vec v, const Vec* with) const {
      for (int j = size - 1; j >= 0; --j) v -= with[j] * x[at(j)];
      return v;
    }
    // The same; with(j) belongs to the j-th of them, of which there are `found` so far.
    template <class With>
    [[nodiscard]] Vec reduced(Vec v, const With& with, Eigen::Index found) const {
      for (int j = size; j >= 1; --j) {
        if (found >= j) v -= with(j) * x[at(j - 1)];
      }
      return v;
    }
  };
  // An entry of C: row i of the border, row k of the block of a lane.
  struct Coupling {
    Eigen::Index i, k, lane;
    Scalar entry;
  };

  // The first row of a block; the row of a border entry.
  [[nodiscard]] Eigen::Index start(Eigen::Index lane) const { return lane * (rows_ + gap); }
  [[nodiscard]] Eigen::Index row_of(Eigen::Index i) const {
    const Eigen::Index lane =
        gap > 0 ? std::min(i / std::max<Eigen::Index>(gap, 1), lanes - 1) : lanes - 1;
    return start(lane) + rows_ + i - lane * gap;
  }
  // Entry k of each block.
  template <class Entry>
  [[nodiscard]] Vec each_lane(const Entry& entry, Eigen::Index k) const {
    return [&]<Eigen::Index... lane>(std::integer_sequence<Eigen::Index, lane...>) {
      return Vec(entry(start(lane) + k)...);
    }
    (std::make_integer_sequence<Eigen::Index, lanes>{});
  }
  [[nodiscard]] Vec gather(const Scalar* x, Eigen::Index k) const {
    return each_lane([x](Eigen::Index i) { return x[i]; }, k);
  }
  void scatter(const Vec& v, Scalar* x, Eigen::Index k) const {
    for (Eigen::Index lane = 0; lane < lanes; ++lane) x[start(lane) + k] = v[lane];
  }
  // out[k * stride] = entry k of each block of x, for all k: wide registers are transposed faster
  // than gathered.
  void interleave(const Scalar* x, Vec* out, Eigen::Index stride) const {
    Eigen::Index k = 0;
    for (const Eigen::Index rows = rows_, apart = start(1); k + lanes <= rows; k += lanes) {
      Square b;
      for (Eigen::Index i = 0; i < lanes; ++i) b.col(i) = Eigen::Map<const Vec>(x + i * apart + k);
      b.transposeInPlace();
      for (Eigen::Index i = 0; i < lanes; ++i) out[(k + i) * stride] = b.col(i);
    }
    for (; k < rows_; ++k) out[k * stride] = gather(x, k);
  }
  // Before entry k of x is read and after it is written, for all k, if wide.
  void interleave(const Scalar* x) {
    if constexpr (wide) interleave(x, x_.data(), 1);
  }
  [[nodiscard]] Vec read(const Scalar* x, const Vec* interleaved, Eigen::Index k) const {
    if constexpr (wide) return interleaved[k];
    return gather(x, k);
  }
  void write(const Vec& v, Scalar* x, Vec* interleaved, Eigen::Index k) const {
    if constexpr (wide) {
      interleaved[k] = v;
    } else {
      scatter(v, x, k);
    }
  }
  void separate(Scalar* x) const {
    if constexpr (wide) {
      Eigen::Index k = 0;
      for (const Eigen::Index rows = rows_, apart = start(1); k + lanes <= rows; k += lanes) {
        Square b;
        for (Eigen::Index i = 0; i < lanes; ++i) b.col(i) = x_[at(k + i)];
        b.transposeInPlace();
        for (Eigen::Index i = 0; i < lanes; ++i) Eigen::Map<Vec>(x + i * apart + k) = b.col(i);
      }
      for (; k < rows_; ++k) scatter(x_[at(k)], x, k);
    }
  }

  // Visits (c, lane, i): column c of left_ (c < L) or right_ (c - L) belongs to border entry i.
  template <class Visit>
  void each_neighbour(const Visit& visit) const {
    for (Eigen::Index lane = 0; lane < lanes; ++lane) each_neighbour_of(lane, visit);
  }
  template <class Visit>
  void each_neighbour_of(Eigen::Index lane, const Visit& visit) const {
    // Left of a block are the last L rows of the border before it.
    const Eigen::Index before = lane > 0 ? lane * gap : border_;
    for (int c = 0; c < L && (lane > 0 || periodic); ++c) visit(c, lane, before - L + c);
    for (int c = 0; c < U && lane * gap + c < border_; ++c) visit(L + c, lane, lane * gap + c);
  }
  [[nodiscard]] std::array<Vec, at(L + U)> neighbours() const {
    std::array<Vec, at(L + U)> out;
    out.fill(Vec::Zero());
    each_neighbour(
        [&](int c, Eigen::Index lane, Eigen::Index i) { out[at(c)][lane] = rest_[at(i)]; });
    return out;
  }

  // What the elimination reads of a row above.
  struct Done {
    Vec inverse;
    std::array<Vec, at(std::max(U, 1))> upper;  // not divided by the pivot
    std::array<Vec, at(std::max(L, 1))> left;
    Done() : inverse(Vec::Zero()) {  // no row
      upper.fill(Vec::Zero());
      left.fill(Vec::Zero());
    }
  };

  // The largest magnitude of what was seen. A maximum may lose a NaN, the sum of what should be
  // ones does not: not that of a pivot that is 0, infinite or NaN times its inverse.
  struct Growth {
    Vec largest = Vec::Zero();
    Vec ones = Vec::Zero();
    void see(const Vec& v) { largest = largest.max(v.abs()); }
    [[nodiscard]] bool within(Scalar bound) const {
      return (largest <= bound).all() && ones.isFinite().all();
    }
  };

  // Rows from … to-1 of all blocks. left_ becomes L⁻¹ times its columns of E, right_ its columns of
  // E. `edge`: entries may lie outside of the block.
  template <bool edge, class Diagonal>
  void factor(const Matrix& jacobian, Scalar a, const Diagonal& diagonal, Eigen::Index from,
              Eigen::Index to, std::array<Done, at(std::max(L, 1))>& above, Growth& all) {
    std::array<Done, at(std::max(L, 1))> done = above;  // the nearest first, in registers
    Growth growth = all;
    Vec* const lower = lower_.data();
    Vec* const pivot = inverse_.data();
    Vec* const upper = upper_.data();
    Vec* const left = left_.data();
    Vec* const right = right_.data();
    for (Eigen::Index k = from; k < to; ++k) {
      std::array<Vec, at(L + U + 1)> row;
      const auto entries = [&](int j, const Vec* interleaved) {
        if constexpr (wide) return Vec(-a * *interleaved);
        return Vec(-a * gather(jacobian.diagonal(j), k));
      };
      for (int j = 1; j <= L; ++j) row[at(L - j)] = entries(-j, lower + k * L + j - 1);
      row[at(L)] = entries(0, pivot + k) + each_lane(diagonal, k);
      for (int j = 1; j <= U; ++j) row[at(L + j)] = entries(j, upper + k * U + j - 1);
      Done now;
      for (int c = 0; c < U; ++c) right[k * U + c] = Vec::Zero();
      if constexpr (edge) {
        if (!periodic) {
          for (int j = -L; j <= U; ++j) {
            if (k + j < 0) row[at(j + L)][0] = 0;
            if (start(lanes - 1) + k + j >= size_) row[at(j + L)][lanes - 1] = 0;
          }
        }
        for (int j = -L; j < 0; ++j) {
          if (k + j < 0) now.left[at(k + j + L)] = std::exchange(row[at(j + L)], Vec(Vec::Zero()));
        }
        for (int j = 1; j <= U; ++j) {
          if (k + j < rows_) continue;
          right[k * U + k + j - rows_] = std::exchange(row[at(j + L)], Vec(Vec::Zero()));
        }
      }
      for (int j = L; j >= 1; --j) {
        const Done& with = done[at(j - 1)];
        const Vec entry = row[at(L - j)];
        const Vec multiplier = entry * with.inverse;
        // In this order the product does not wait for the division.
        for (int q = 0; q < U; ++q)
          row[at(L - j + 1 + q)] -= (entry * with.upper[at(q)]) * with.inverse;
        for (int c = 0; c < L; ++c) now.left[at(c)] -= multiplier * with.left[at(c)];
        lower[k * L + j - 1] = multiplier;
        growth.see(multiplier);
      }
      now.inverse = row[at(L)].inverse();
      growth.ones += row[at(L)] * now.inverse;
      pivot[k] = now.inverse;
      for (int q = 0; q < U; ++q) {
        now.upper[at(q)] = row[at(L + 1 + q)];
        upper[k * U + q] = row[at(L + 1 + q)] * now.inverse;
      }
      for (int c = 0; c < L; ++c) left[k * L + c] = now.left[at(c)];
      for (std::size_t j = done.size() - 1; j > 0; --j) done[j] = done[j - 1];
      done[0] = now;
    }
    above = done;
    all = growth;
  }

  // left_ and right_ become the columns of Z.
  Growth invert_border_columns() {
    Growth growth;
    for (Eigen::Index k = rows_ - U + 1; k < rows_; ++k) {
      for (int j = 1; j <= L && k - j >= rows_ - U; ++j) {
        for (int c = 0; c < U; ++c) {
          right_[at(k * U + c)] -= lower_[at(k * L + j - 1)] * right_[at((k - j) * U + c)];
        }
      }
    }
    const Eigen::Index rows = rows_;
    const Vec* const inverse = inverse_.data();
    const Vec* const upper = upper_.data();
    Vec* const left = left_.data();
    Vec* const right = right_.data();
    // With numbers of columns known at compile time the windows are registers.
    [&]<std::size_t... l, std::size_t... r>(std::index_sequence<l...>, std::index_sequence<r...>) {
      [[maybe_unused]] std::array<Window<U>, at(L + U)> above;
      for (Eigen::Index k = rows - 1; k >= 0; --k) {
        [[maybe_unused]] const auto substitute = [&](Window<U>& w, Vec& v) {
          v = w.push(w.reduced(v * inverse[k], upper + k * U));
          growth.see(v);
        };
        (substitute(above[l], left[k * L + static_cast<Eigen::Index>(l)]), ...);
        (substitute(above[L + r], right[k * U + static_cast<Eigen::Index>(r)]), ...);
      }
    }
    (std::make_index_sequence<at(L)>{}, std::make_index_sequence<at(U)>{});
    return growth;
  }

  // Factors S.
  template <class Diagonal>
  bool reduce(const Matrix& jacobian, Scalar a, const Diagonal& diagonal) {
    couplings_.clear();
    small_.clear(border_);
    for (Eigen::Index i = 0; i < border_; ++i) {
      const Eigen::Index row = row_of(i);
      small_(i, i) += diagonal(row);
      for (int j = -L; j <= U; ++j) {
        Eigen::Index c = row + j;
        if (c < 0 || c >= size_) {
          if (!periodic) continue;
          c += c < 0 ? size_ : -size_;
        }
        const Scalar entry = -a * jacobian.band(row, j);
        const Eigen::Index lane = std::min(c / (rows_ + gap), lanes - 1);
        const Eigen::Index k = c - start(lane);
        if (k >= rows_) {
          small_(i, lane * gap + k - rows_) += entry;
        } else {
          couplings_.push_back({i, k, lane, entry});
        }
      }
    }
    for (const Coupling& b : couplings_) {
      each_neighbour_of(b.lane, [&](int c, Eigen::Index lane, Eigen::Index i) {
        const Vec& z = c < L ? left_[at(b.k * L + c)] : right_[at(b.k * U + c - L)];
        small_(b.i, i) -= b.entry * z[lane];
      });
    }
    return small_.factor();
  }

  Eigen::Index size_, rows_, border_;
  std::vector<Vec> lower_;    // row k: multipliers of the rows k-1, k-2, …
  std::vector<Vec> inverse_;  // of the pivots
  std::vector<Vec> upper_;    // row k of U, divided by its pivot: columns k+1, …
  std::vector<Vec> left_, right_;
  std::vector<Coupling> couplings_;
  std::vector<Vec> x_;
  SmallLu<Scalar, most> small_;  // of S
  std::array<Scalar, at(std::max(most, 1))> rest_;
};

/// Factors W = M - a J(t, y, p), M diagonal, by banded LU: in blocks without interchanges if that
/// is accurate, as for parabolic problems and small steps, else with partial pivoting. For that a
/// circle is flattened: its rows are taken from both sides of row 0 in turn, which makes the band
/// twice as wide. See `DenseShiftedSolver`.
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
      : f_(f), w_(size), blocks_(size), x_(size) {
    if (size < 2 * (lower + upper + 1)) {
      throw InvalidArgument("a banded Jacobian of " + std::to_string(size) +
                            " rows is hardly banded: make it a dense matrix");
    }
  }

  /// Makes W the matrix of the next solves. False if it cannot be inverted.
  bool prepare(double t, const State& y, const Parameters& p, double a) {
    f_.jacobian(t, y, p, w_);
    const auto factor = static_cast<Scalar>(a);
    const auto mass = [&]([[maybe_unused]] Eigen::Index i) {
      if constexpr (HasMass<F>) {
        return f_.mass().diagonal()[i];
      } else {
        return Scalar(1);
      }
    };
    in_blocks_ = w_.size() >= Blocks::least && blocks_.compute(w_, factor, mass);
    if (in_blocks_) return true;
    for (Eigen::Index i = 0; i < w_.size(); ++i) {
      for (int j = -lower; j <= upper; ++j) w_.band(i, j) *= -factor;
      w_.band(i, 0) += mass(i);
    }
    if constexpr (circle) {
      if (flat_.size() == 0) flat_ = Flat(w_.size());
      for (Eigen::Index i = 0; i < w_.size(); ++i) {
        const Eigen::Index row = place(i);
        for (int j = -lower; j <= upper; ++j) {
          const Eigen::Index c = place((i + j + w_.size()) % w_.size());
          flat_.band(row, static_cast<int>(c - row)) = w_.band(i, j);
        }
      }
      return lu_.compute(flat_);
    } else {
      return lu_.compute(w_);
    }
  }

  /// x ← W⁻¹ x
  void solve(State& x) {
    if (in_blocks_) return blocks_.solve(x.data());
    flat(x, [this](Scalar* v) { lu_.solve(v); });
  }

  /// x ← W⁻ᵀ x
  void solve_transpose(State& x) {
    if (in_blocks_) return blocks_.solve_transpose(x.data());
    flat(x, [this](Scalar* v) { lu_.solve_transpose(v); });
  }

 private:
  static constexpr int lower = Matrix::lower;
  static constexpr int upper = Matrix::upper;
  static constexpr bool circle = Matrix::is_periodic;
  static constexpr int wide = 2 * std::max(lower, upper);
  using Blocks = BlockedBandedLu<Scalar, lower, upper, Matrix::is_periodic>;
  using Flat = BandedMatrix<Scalar, circle ? wide : lower, circle ? wide : upper>;

  // Row i of a circle when it is flattened: 0, n-1, 1, n-2, …
  [[nodiscard]] Eigen::Index place(Eigen::Index i) const {
    return 2 * i < w_.size() ? 2 * i : 2 * (w_.size() - 1 - i) + 1;
  }
  // Has `solve` done with x.
  template <class Solve>
  void flat(State& x, const Solve& solve) {
    if constexpr (circle) {
      for (Eigen::Index i = 0; i < x.size(); ++i) x_[place(i)] = x[i];
      solve(x_.data());
      for (Eigen::Index i = 0; i < x.size(); ++i) x[i] = x_[place(i)];
    } else {
      solve(x.data());
    }
  }

  const F& f_;
  Matrix w_;  // the Jacobian; W where rows are interchanged
  Blocks blocks_;
  bool in_blocks_ = false;
  // With interchanges:
  Flat flat_;  // W of a circle
  BandedLu<Scalar, Flat::lower, Flat::upper> lu_;
  State x_;
};

template <class F>
  requires(
      !requires { typename F::Solver; } && requires { F::Jacobian::is_periodic; })
struct SolverOf<F> {
  using type = BandedShiftedSolver<F>;
};

}  // namespace costate
