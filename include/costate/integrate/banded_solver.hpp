#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include <Eigen/LU>

#include "costate/core/error.hpp"
#include "costate/integrate/implicit_problem.hpp"
#include "costate/integrate/one_instance.hpp"
#include "costate/integrate/shifted_solver.hpp"
#include "costate/integrate/transpose.hpp"

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

/// The last values found of a recurrence, the nearest first.
template <class Value, int size>
struct Window {
  std::array<Value, static_cast<std::size_t>(std::max(size, 1))> x;

  explicit Window(const Value& zero) { x.fill(zero); }
  const Value& push(const Value& value) {
    for (std::size_t j = x.size() - 1; j > 0; --j) x[j] = x[j - 1];
    return x[0] = value;
  }
  /// v less the products with them; with(j) belongs to the j-th of them, of which there are
  /// `found`.
  template <class With>
  [[nodiscard]] Value reduced(Value v, const With& with, Eigen::Index found = size) const {
    for (int j = size; j >= 1; --j) {
      if (found >= j) v -= with(j) * x[static_cast<std::size_t>(j - 1)];
    }
    return v;
  }
};

/// The factors of a matrix of `most` rows or less by LU without interchanges. Its entries are at
/// most `band` off the diagonal or else in one of the last `edge` rows and columns.
template <class Scalar, int band, int edge, int most>
class ArrowLu {
 public:
  /// Makes it a matrix of zeros.
  void clear(Eigen::Index size) {
    body_ = size - edge;
    entries_.fill(0);
  }
  /// Where `entry` finds row i and column j of a matrix of so many rows.
  [[nodiscard]] static Eigen::Index place(Eigen::Index i, Eigen::Index j, Eigen::Index size) {
    const Eigen::Index body = size - edge;
    if (i >= body) return most * width + (i - body) * length + j;
    return i * width + (j < body ? j - i + band : j - body + after);
  }
  /// Until it is factored.
  Scalar& entry(Eigen::Index place) { return entries_[at(place)]; }

  /// False if a multiplier exceeds 1 or a pivot cannot be divided by.
  bool factor() {
    Scalar ones = 0;
    bool good = true;
    const auto invert = [&](Scalar& pivot) {
      const Scalar inverse = 1 / pivot;
      ones += inverse * pivot;
      return pivot = inverse;
    };
    // Of a row below that of the pivot: x from the pivot's column on, y in the edge's columns.
    const auto eliminate = [&](Scalar inverse, const Scalar* upper, const Scalar* last, Scalar* x,
                               Scalar* y) {
      if (x[0] == 0) return;
      const Scalar multiplier = x[0] *= inverse;
      good = good && std::abs(multiplier) <= 1;
      for (int j = 1; j <= band; ++j) x[j] -= multiplier * upper[j];
      for (int a = 0; a < edge; ++a) y[a] -= multiplier * last[a];
    };
    for (Eigen::Index k = 0; k < body_; ++k) {
      Scalar* const upper = row(k) + band;
      Scalar* const last = row(k) + after;
      const Scalar inverse = invert(upper[0]);
      for (int i = 1; i <= band && k + i < body_; ++i) {
        eliminate(inverse, upper, last, row(k + i) + band - i, row(k + i) + after);
      }
      for (int a = 0; a < edge; ++a) {
        eliminate(inverse, upper, last, edge_row(a) + k, edge_row(a) + body_);
      }
      for (int j = 1; j <= band; ++j) upper[j] *= inverse;
      for (int a = 0; a < edge; ++a) last[a] *= inverse;
    }
    for (int k = 0; k < edge; ++k) {
      Scalar* const upper = edge_row(k) + body_;
      const Scalar inverse = invert(upper[k]);
      for (int i = k + 1; i < edge; ++i) {
        Scalar* const x = edge_row(i) + body_;
        if (x[k] == 0) continue;
        const Scalar multiplier = x[k] *= inverse;
        good = good && std::abs(multiplier) <= 1;
        for (int j = k + 1; j < edge; ++j) x[j] -= multiplier * upper[j];
      }
      for (int j = k + 1; j < edge; ++j) upper[j] *= inverse;
    }
    return good && std::isfinite(ones);
  }

  /// x ← S⁻¹ x
  void solve(Scalar* x) const {
    std::array<Scalar, at(std::max(edge, 1))> last;
    for (int a = 0; a < edge; ++a) last[at(a)] = x[body_ + a];
    Window<Scalar, band> before(0);
    for (Eigen::Index k = 0; k < body_; ++k) {
      const Scalar* const lower = row(k) + band;
      x[k] = before.push(before.reduced(x[k], [=](int j) { return lower[-j]; }));
      for (int a = 0; a < edge; ++a) last[at(a)] -= edge_row(a)[k] * x[k];
    }
    for (int a = 1; a < edge; ++a) {
      for (int j = 0; j < a; ++j) last[at(a)] -= edge_row(a)[body_ + j] * last[at(j)];
    }
    for (int a = edge - 1; a >= 0; --a) {
      last[at(a)] *= edge_row(a)[body_ + a];
      for (int j = edge - 1; j > a; --j) last[at(a)] -= edge_row(a)[body_ + j] * last[at(j)];
    }
    for (int a = 0; a < edge; ++a) x[body_ + a] = last[at(a)];
    Window<Scalar, band> behind(0);
    for (Eigen::Index k = body_ - 1; k >= 0; --k) {
      const Scalar* const upper = row(k) + band;
      Scalar v = x[k] * upper[0];
      for (int a = 0; a < edge; ++a) v -= row(k)[after + a] * last[at(a)];
      x[k] = behind.push(behind.reduced(v, [=](int j) { return upper[j]; }));
    }
  }

  /// x ← S⁻ᵀ x
  void solve_transpose(Scalar* x) const {
    std::array<Scalar, at(std::max(edge, 1))> last;
    for (int a = 0; a < edge; ++a) last[at(a)] = x[body_ + a];
    Window<Scalar, band> before(0);
    for (Eigen::Index k = 0; k < body_; ++k) {
      const auto with = [&](int j) { return row(k - j)[band + j]; };
      const Scalar v = before.push(before.reduced(x[k], with, k));
      for (int a = 0; a < edge; ++a) last[at(a)] -= row(k)[after + a] * v;
      x[k] = v * row(k)[band];
    }
    for (int a = 0; a < edge; ++a) {
      for (int j = 0; j < a; ++j) last[at(a)] -= edge_row(j)[body_ + a] * last[at(j)];
    }
    for (int a = edge - 1; a >= 0; --a) {
      last[at(a)] *= edge_row(a)[body_ + a];
      for (int j = edge - 1; j > a; --j) last[at(a)] -= edge_row(j)[body_ + a] * last[at(j)];
    }
    for (int a = 0; a < edge; ++a) x[body_ + a] = last[at(a)];
    Window<Scalar, band> behind(0);
    for (Eigen::Index k = body_ - 1; k >= 0; --k) {
      const auto with = [&](int j) { return row(k + j)[band - j]; };
      Scalar v = x[k];
      for (int a = 0; a < edge; ++a) v -= edge_row(a)[k] * last[at(a)];
      x[k] = behind.push(behind.reduced(v, with, body_ - 1 - k));
    }
  }

 private:
  static constexpr std::size_t at(Eigen::Index i) { return static_cast<std::size_t>(i); }
  static constexpr Eigen::Index after = 2 * band + 1;  // the edge's columns follow the band
  static constexpr Eigen::Index width = after + edge;
  static constexpr Eigen::Index length = most + band;
  // Of the body, from `band` columns before the diagonal on; of the edge, from column 0 on. Pivots
  // are inverted, what is right of them divided by them.
  Scalar* row(Eigen::Index i) { return entries_.data() + i * width; }
  [[nodiscard]] const Scalar* row(Eigen::Index i) const { return entries_.data() + i * width; }
  Scalar* edge_row(Eigen::Index i) { return entries_.data() + most * width + i * length; }
  [[nodiscard]] const Scalar* edge_row(Eigen::Index i) const {
    return entries_.data() + most * width + i * length;
  }

  Eigen::Index body_ = 0;  // rows before the edge's
  std::array<Scalar, at(std::max<Eigen::Index>(most* width + edge * length, 1))> entries_;
};

/// The factors of a banded matrix W, periodic or not, by LU without interchanges, in blocks of rows
/// side by side: one recurrence alone would wait for each operation to end. There are as many as
/// two registers hold numbers, but eight if the recurrences of a wide band would need too many of
/// those. Between the blocks max(L, U) rows are left for later, and on a circle behind the last
/// one, too: the border.
///
/// Everything is inlined into `compute` and the solves: calls between operations on registers would
/// take as long as these.
///
/// With W = (D E; C B), B the border's, the factors are those of D, Z = D⁻¹ E and those of
/// S = B - C Z (H. H. Wang, ACM Trans. Math. Softw. 7 (1981) 170-183, in another order):
/// W = (D 0; C S) (I Z; 0 I). Rounding is amplified by the multipliers and by Z, which is large
/// where D is much closer to a singular matrix than W is. Where the diagonal dominates, Z decays
/// from the border on; what is far below rounding is left out.
///
/// @tparam lanes  the number of blocks, 4, 8 or 16
template <class Scalar, int L, int U, bool periodic,
          Eigen::Index lanes = EIGEN_MAX_STATIC_ALIGN_BYTES >= 64 && L + U <= 2 ? 16
                               : EIGEN_MAX_STATIC_ALIGN_BYTES >= 32             ? 8
                                                                                : 4>
class BlockedBandedLu {
  static constexpr Eigen::Index gap = std::max(L, U);
  static constexpr int most = static_cast<int>(lanes * gap + lanes - 1);  // rows in the border
  static constexpr Eigen::Index stretch = 8;  // rows that are transposed together
  // of the squares of which transpositions are made: a register
  static constexpr int side = static_cast<int>(std::min<std::size_t>(
      {8, lanes, std::max<std::size_t>(EIGEN_MAX_STATIC_ALIGN_BYTES / sizeof(Scalar), 2)}));
  using Vec = Eigen::Array<Scalar, lanes, 1>;
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
    z_.resize(at(rows_ * (L + U)));
    x_.resize(at(rows_));
    plan();
  }

  /// Factors W = diagonal - a J. False if a multiplier exceeds 1, so that partial pivoting would
  /// interchange rows, if an entry of Z exceeds 100, or something cannot be inverted.
  /// @param diagonal  i -> entry of a diagonal matrix
  template <class Diagonal>
  [[gnu::flatten]] COSTATE_ONE_INSTANCE bool compute(const Matrix& j, Scalar a,
                                                     const Diagonal& diagonal) {
    const auto interleave_from = [&](Eigen::Index k) {
      for (int i = 1; i <= L; ++i) interleave(j.diagonal(-i), lower_.data() + i - 1, L, k);
      interleave(j.diagonal(0), inverse_.data(), 1, k);
      for (int i = 1; i <= U; ++i) interleave(j.diagonal(i), upper_.data() + i - 1, U, k);
    };
    Growth growth;
    std::array<Done, at(std::max(L, 1))> done;
    bool fills = true;
    left_end_ = rows_;
    if (rows_ % stretch != 0) interleave_from(last_stretch());
    for (Eigen::Index from = 0; from < rows_; from += stretch) {
      const Eigen::Index to = std::min(from + stretch, rows_);
      if (to == from + stretch) interleave_from(from);
      if (fills && from >= L && left_vanishes(from)) {
        fills = false;
        left_end_ = from;
        for (Done& row : done) row.left.fill(Vec::Zero());
      }
      if (at_edge(from, to)) {
        factor<true, true>(a, diagonal, from, to, done, growth);
      } else if (fills) {
        factor<false, true>(a, diagonal, from, to, done, growth);
      } else {
        factor<false, false>(a, diagonal, from, to, done, growth);
      }
    }
    if (!growth.within(Scalar(1))) return false;
    return invert_border_columns().within(Scalar(100)) && reduce(j, a, diagonal);
  }

  /// x ← W⁻¹ x
  [[gnu::flatten]] COSTATE_ONE_INSTANCE void solve(Scalar* x) {
    const Eigen::Index rows = rows_;
    Vec* const v = x_.data();
    if (rows % stretch != 0) interleave(x, v, 1, last_stretch());
    Window<Vec, L> below(Vec::Zero());
    const Vec* const lower = lower_.data();
    for (Eigen::Index from = 0; from < rows; from += stretch) {
      const Eigen::Index to = std::min(from + stretch, rows);
      if (to == from + stretch) interleave(x, v, 1, from);
      for (Eigen::Index k = from; k < to; ++k) {
        v[k] = below.push(below.reduced(v[k], entries(lower + k * L)));
      }
    }
    Window<Vec, U> above(Vec::Zero());
    const Vec* const upper = upper_.data();
    const Vec* const inverse = inverse_.data();
    for (Eigen::Index k = rows - 1; k >= 0; --k) {
      v[k] = above.push(above.reduced(v[k] * inverse[k], entries(upper + k * U)));
    }
    for (Eigen::Index i = 0; i < border_; ++i) rest_[at(i)] = x[row_of(i)];
    const Scalar* const entry_of = x_[0].data();
    for (const Coupling& b : couplings_) rest_[at(b.i)] -= b.entry * entry_of[b.k];
    small_.solve(rest_.data());
    for (Eigen::Index i = 0; i < border_; ++i) x[row_of(i)] = rest_[at(i)];
    std::array<Vec, at(std::max(L + U, 1))> beside;
    beside.fill(Vec::Zero());
    for (const Neighbour& n : neighbours_) beside[at(n.c)][n.lane] = rest_[at(n.i)];
    const Vec* const left = this->left();
    const Vec* const right = this->right();
    for (Eigen::Index from = 0; from < rows; from += stretch) {
      const Eigen::Index to = std::min(from + stretch, rows);
      if (from < left_end_) {
        for (Eigen::Index k = from; k < to; ++k) {
          for (int c = 0; c < L; ++c) v[k] -= left[k * L + c] * beside[at(c)];
        }
      }
      if (from >= right_begin_) {
        for (Eigen::Index k = from; k < to; ++k) {
          for (int c = 0; c < U; ++c) v[k] -= right[k * U + c] * beside[at(L + c)];
        }
      }
      separate(v, x, to == from + stretch ? from : last_stretch());
    }
  }

  /// x ← W⁻ᵀ x
  [[gnu::flatten]] COSTATE_ONE_INSTANCE void solve_transpose(Scalar* x) {
    const Eigen::Index rows = rows_;
    Vec* const v = x_.data();
    std::array<Vec, at(std::max(L + U, 1))> sums;
    sums.fill(Vec::Zero());
    const Vec* const left = this->left();
    const Vec* const right = this->right();
    for (Eigen::Index from = 0; from < rows; from += stretch) {
      const Eigen::Index to = std::min(from + stretch, rows);
      interleave(x, v, 1, to == from + stretch ? from : last_stretch());
      if (from < left_end_) {
        for (Eigen::Index k = from; k < to; ++k) {
          for (int c = 0; c < L; ++c) sums[at(c)] += left[k * L + c] * v[k];
        }
      }
      if (from >= right_begin_) {
        for (Eigen::Index k = from; k < to; ++k) {
          for (int c = 0; c < U; ++c) sums[at(L + c)] += right[k * U + c] * v[k];
        }
      }
    }
    for (Eigen::Index i = 0; i < border_; ++i) rest_[at(i)] = x[row_of(i)];
    for (const Neighbour& n : neighbours_) rest_[at(n.i)] -= sums[at(n.c)][n.lane];
    small_.solve_transpose(rest_.data());
    for (Eigen::Index i = 0; i < border_; ++i) x[row_of(i)] = rest_[at(i)];
    Scalar* const entry_of = x_[0].data();
    for (const Coupling& b : couplings_) entry_of[b.k] -= b.entry * rest_[at(b.i)];
    Window<Vec, U> above(Vec::Zero());
    const Vec* const upper = upper_.data();
    const Vec* const inverse = inverse_.data();
    for (Eigen::Index k = 0; k < rows; ++k) {
      const auto with = [&](int q) -> const Vec& { return upper[(k - q) * U + q - 1]; };
      v[k] = above.push(above.reduced(v[k], with, k)) * inverse[k];
    }
    Window<Vec, L> below(Vec::Zero());
    const Vec* const lower = lower_.data();
    for (Eigen::Index to = rows; to > 0;) {
      const Eigen::Index from = (to - 1) / stretch * stretch;
      for (Eigen::Index k = to - 1; k >= from; --k) {
        const auto with = [&](int q) -> const Vec& { return lower[(k + q) * L + q - 1]; };
        v[k] = below.push(below.reduced(v[k], with, rows - 1 - k));
      }
      separate(v, x, to == from + stretch ? from : last_stretch());
      to = from;
    }
  }

 private:
  static constexpr std::size_t at(Eigen::Index i) { return static_cast<std::size_t>(i); }

  // An entry of C, row i of the border. Column k as x_ is stored, of J's bands as they are.
  struct Coupling {
    Eigen::Index i, k, from;
    Scalar entry;
  };
  // Column c of Z - those of left first - belongs to border entry i in this lane.
  struct Neighbour {
    Eigen::Index c, lane, i;
  };
  // An entry of S, and what is added to it: an entry of J's bands or a product.
  struct Direct {
    Eigen::Index to, from;
  };
  struct Product {
    Eigen::Index to, coupling, z;
  };

  static auto entries(const Vec* of) {
    return [of](int j) -> const Vec& { return of[j - 1]; };
  }
  Vec* left() { return z_.data(); }
  Vec* right() { return z_.data() + rows_ * L; }

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
  // Where the last rows are transposed, with others before them.
  [[nodiscard]] Eigen::Index last_stretch() const {
    return std::max<Eigen::Index>(rows_ - stretch, 0);
  }
  // out[i * stride] = entry i of each block of x, for a stretch of rows from k on. Wide registers
  // are transposed faster than gathered.
  void interleave(const Scalar* x, Vec* out, Eigen::Index stride, Eigen::Index k) const {
    if (rows_ < stretch) {
      for (; k < rows_; ++k) out[k * stride] = each_lane([x](Eigen::Index i) { return x[i]; }, k);
      return;
    }
    for (Eigen::Index i = k; i < k + stretch; i += side) {
      for (Eigen::Index lane = 0; lane < lanes; lane += side) {
        transpose_square<side>(x + start(lane) + i, start(1), out[i * stride].data() + lane,
                               stride * lanes);
      }
    }
  }
  // The reverse.
  void separate(const Vec* v, Scalar* x, Eigen::Index k) const {
    if (rows_ < stretch) {
      for (; k < rows_; ++k) {
        for (Eigen::Index lane = 0; lane < lanes; ++lane) x[start(lane) + k] = v[k][lane];
      }
      return;
    }
    for (Eigen::Index i = k; i < k + stretch; i += side) {
      for (Eigen::Index lane = 0; lane < lanes; lane += side) {
        transpose_square<side>(v[i].data() + lane, lanes, x + start(lane) + i, start(1));
      }
    }
  }

  // Whether entries of Z are so small that no sum would notice them, even if it were some 1e16
  // times smaller than what they are multiplied with.
  [[nodiscard]] static bool vanishes(const Vec& z) {
    constexpr Scalar epsilon = std::numeric_limits<Scalar>::epsilon();
    return (z.abs() <= epsilon * epsilon).all();
  }
  // The same of the rows of left next above `end`, not divided by the pivots yet.
  [[nodiscard]] bool left_vanishes(Eigen::Index end) {
    for (Eigen::Index k = end - L; k < end; ++k) {
      for (int c = 0; c < L; ++c) {
        if (!vanishes(left()[k * L + c] * inverse_[at(k)])) return false;
      }
    }
    return true;
  }
  // And of those of right from `begin` on.
  [[nodiscard]] bool right_vanishes(Eigen::Index begin) {
    for (Eigen::Index k = begin; k < begin + U; ++k) {
      for (int c = 0; c < U; ++c) {
        if (!vanishes(right()[k * U + c])) return false;
      }
    }
    return true;
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

  // Whether entries of rows from … to-1 may lie outside of the block.
  [[nodiscard]] bool at_edge(Eigen::Index from, Eigen::Index to) const {
    return from < gap || to > rows_ - gap;
  }
  // Rows from … to-1 of all blocks. left becomes L⁻¹ times its columns of E, right its columns of
  // E; unless it `fills` the former are zero, unless at the `edge` the latter are, and not stored.
  template <bool edge, bool fills, class Diagonal>
  void factor(Scalar a, const Diagonal& diagonal, Eigen::Index from, Eigen::Index to,
              std::array<Done, at(std::max(L, 1))>& above, Growth& all) {
    std::array<Done, at(std::max(L, 1))> done = above;  // the nearest first, in registers
    Growth growth = all;
    Vec* const lower = lower_.data();
    Vec* const pivot = inverse_.data();
    Vec* const upper = upper_.data();
    Vec* const left = this->left();
    Vec* const right = this->right();
    for (Eigen::Index k = from; k < to; ++k) {
      std::array<Vec, at(L + U + 1)> row;
      for (int j = 1; j <= L; ++j) row[at(L - j)] = -a * lower[k * L + j - 1];
      row[at(L)] = -a * pivot[k] + each_lane(diagonal, k);
      for (int j = 1; j <= U; ++j) row[at(L + j)] = -a * upper[k * U + j - 1];
      Done now;
      if constexpr (edge) {
        for (int c = 0; c < U; ++c) right[k * U + c] = Vec::Zero();
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
        for (int c = 0; fills && c < L; ++c) now.left[at(c)] -= multiplier * with.left[at(c)];
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
      for (int c = 0; fills && c < L; ++c) left[k * L + c] = now.left[at(c)];
      for (std::size_t j = done.size() - 1; j > 0; --j) done[j] = done[j - 1];
      done[0] = now;
    }
    above = done;
    all = growth;
  }

  // z_ becomes Z.
  Growth invert_border_columns() {
    Growth growth;
    for (Eigen::Index k = rows_ - U + 1; k < rows_; ++k) {
      for (int j = 1; j <= L && k - j >= rows_ - U; ++j) {
        for (int c = 0; c < U; ++c) {
          right()[k * U + c] -= lower_[at(k * L + j - 1)] * right()[(k - j) * U + c];
        }
      }
    }
    std::array<Window<Vec, U>, at(L + U)> above =
        zero_windows(std::make_index_sequence<at(L + U)>());
    bool fills = true;
    right_begin_ = rows_;
    for (Eigen::Index to = rows_; to > 0;) {
      const Eigen::Index from = (to - 1) / stretch * stretch;
      const bool has_left = from < left_end_;
      if (fills) {
        if (at_edge(from, to)) {
          substitute<true, L, U>(from, to, above, growth);
        } else if (has_left) {
          substitute<false, L, U>(from, to, above, growth);
        } else {
          substitute<false, 0, U>(from, to, above, growth);
        }
        right_begin_ = from;
        fills = from + U > rows_ || !right_vanishes(from);
      } else if (has_left) {
        substitute<false, L, 0>(from, to, above, growth);
      }
      to = from;
    }
    return growth;
  }
  template <std::size_t... c>
  static std::array<Window<Vec, U>, sizeof...(c)> zero_windows(std::index_sequence<c...>) {
    return {((void)c, Window<Vec, U>(Vec::Zero()))...};
  }
  // Rows to-1 … from of the first columns of left and right.
  template <bool edge, std::size_t l_count, std::size_t r_count>
  void substitute(Eigen::Index from, Eigen::Index to, std::array<Window<Vec, U>, at(L + U)>& all,
                  Growth& seen) {
    const Vec* const inverse = inverse_.data();
    const Vec* const upper = upper_.data();
    Vec* const left = this->left();
    Vec* const right = this->right();
    // With numbers of columns known at compile time the windows are registers.
    [&]<std::size_t... l, std::size_t... r>(std::index_sequence<l...>, std::index_sequence<r...>) {
      [[maybe_unused]] std::array<Window<Vec, U>, at(L + U)> above = all;
      Growth growth = seen;
      for (Eigen::Index k = to - 1; k >= from; --k) {
        [[maybe_unused]] const auto next = [&](Window<Vec, U>& w, Vec& v, bool stored) {
          const Vec first = stored ? Vec(v * inverse[k]) : Vec(Vec::Zero());
          v = w.push(w.reduced(first, entries(upper + k * U)));
          growth.see(v);
        };
        (next(above[l], left[k * L + static_cast<Eigen::Index>(l)], true), ...);
        (next(above[L + r], right[k * U + static_cast<Eigen::Index>(r)], edge), ...);
      }
      all = above;
      seen = growth;
    }
    (std::make_index_sequence<l_count>{}, std::make_index_sequence<r_count>{});
  }

  // What goes where in S: a function of the size.
  void plan() {
    for (Eigen::Index lane = 0; lane < lanes; ++lane) {
      // Left of a block are the last L rows of the border before it.
      const Eigen::Index before = lane > 0 ? lane * gap : border_;
      for (int c = 0; c < L && (lane > 0 || periodic); ++c) {
        neighbours_.push_back({c, lane, before - L + c});
      }
      for (int c = 0; c < U && lane * gap + c < border_; ++c) {
        neighbours_.push_back({L + c, lane, lane * gap + c});
      }
    }
    for (Eigen::Index i = 0; i < border_; ++i) {
      const Eigen::Index row = row_of(i);
      for (int j = -L; j <= U; ++j) {
        Eigen::Index c = row + j;
        if (c < 0 || c >= size_) {
          if (!periodic) continue;
          c += c < 0 ? size_ : -size_;
        }
        const Eigen::Index from = (j + L) * size_ + row;
        const Eigen::Index lane = std::min(c / (rows_ + gap), lanes - 1);
        const Eigen::Index k = c - start(lane);
        if (k >= rows_) {
          direct_.push_back({Small::place(i, lane * gap + k - rows_, border_), from});
          continue;
        }
        for (const Neighbour& n : neighbours_) {
          if (n.lane != lane) continue;
          const Eigen::Index z = n.c < L ? k * L + n.c : rows_ * L + k * U + n.c - L;
          products_.push_back({Small::place(i, n.i, border_),
                               static_cast<Eigen::Index>(couplings_.size()), z * lanes + lane});
        }
        couplings_.push_back({i, k * lanes + lane, from, 0});
      }
    }
  }

  // Factors S.
  template <class Diagonal>
  bool reduce(const Matrix& jacobian, Scalar a, const Diagonal& diagonal) {
    const Scalar* const bands = jacobian.diagonal(-L);
    small_.clear(border_);
    for (Eigen::Index i = 0; i < border_; ++i) {
      small_.entry(Small::place(i, i, border_)) = diagonal(row_of(i));
    }
    for (const Direct& d : direct_) small_.entry(d.to) += -a * bands[d.from];
    for (Coupling& b : couplings_) b.entry = -a * bands[b.from];
    for (const Product& p : products_) {  // without any, z_ may be empty
      const Scalar* const z = z_[0].data();
      small_.entry(p.to) -= couplings_[at(p.coupling)].entry * z[p.z];
    }
    return small_.factor();
  }

  using Small = ArrowLu<Scalar, static_cast<int>(std::max<Eigen::Index>(2 * gap - 1, 0)),
                        static_cast<int>(periodic ? gap : 0), most>;

  Eigen::Index size_, rows_, border_;
  Eigen::Index left_end_ = 0, right_begin_ = 0;  // from where on and up to where Z is left out
  std::vector<Vec> lower_;                       // row k: multipliers of the rows k-1, k-2, …
  std::vector<Vec> inverse_;                     // of the pivots
  std::vector<Vec> upper_;  // row k of U, divided by its pivot: columns k+1, …
  std::vector<Vec> z_;      // left's columns of Z, row by row; then right's
  std::vector<Coupling> couplings_;
  std::vector<Neighbour> neighbours_;
  std::vector<Direct> direct_;
  std::vector<Product> products_;
  std::vector<Vec> x_;
  Small small_;  // of S
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
    fetch();
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

  // Asks for the memory of w_: the factors have displaced it from the nearest cache, and stores
  // would wait for one line after the other. More than half of that cache is not asked for.
  void fetch() const {
#ifdef __GNUC__
    constexpr Eigen::Index line = 64 / sizeof(Scalar);
    constexpr Eigen::Index half = 24576 / sizeof(Scalar);
    const Eigen::Index size = w_.size() * (lower + upper + 1);
    for (Eigen::Index i = 0; i < std::min(size, half); i += line) {
      __builtin_prefetch(w_.diagonal(-lower) + i, 1);
    }
#endif
  }
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
