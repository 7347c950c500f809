#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "chain.hpp"
#include "costate/core/step.hpp"
#include "split_schedule.hpp"

namespace costate {

/// The splits of one number of slots, monotone in i: a column K(i, j), K(i-1, j), … in unary, the
/// decrements as ones, each closed by a zero. Two bits a split instead of sixteen.
class MonotoneSplits {
 public:
  // shortest: length of the shortest interval that is held
  MonotoneSplits(Step n, Step shortest)
      : shortest_(shortest), starts_(static_cast<std::size_t>(n) + 1) {}

  // Columns come in any order, each as a whole.
  void begin_column(Step j) {
    starts_[static_cast<std::size_t>(j)] = bits_.size() * 64 + filled_;
    last_ = j - shortest_ + 2;
  }
  void append(Step k) {
    auto ones = static_cast<std::size_t>(last_ - k);
    last_ = k;
    for (; ones >= 32; ones -= 32) push((std::uint64_t{1} << 32) - 1, 32);
    push((std::uint64_t{1} << ones) - 1, ones + 1);
  }
  void end_layer() { bits_.push_back(open_); }

  [[nodiscard]] Step operator()(Step i, Step j) const {
    // The ones before the zero of (i, j).
    std::size_t bit = starts_[static_cast<std::size_t>(j)];
    Step zeros = j - i - shortest_ + 1;
    Step ones = 0;
    for (;;) {
      const std::size_t offset = bit % 64;
      const std::uint64_t word = bits_[bit / 64] >> offset;
      const auto length = static_cast<Step>(64 - offset);
      const Step here = length - std::popcount(word);  // zeros, the shifted-in ones of `length`
      if (here >= zeros) {
        for (std::uint64_t rest = word;; rest >>= 1) {
          if ((rest & 1) != 0) {
            ++ones;
          } else if (--zeros == 0) {
            return j - shortest_ + 2 - ones;
          }
        }
      }
      zeros -= here;
      ones += length - here;
      bit += static_cast<std::size_t>(length);
    }
  }

 private:
  // The `length` lowest bits of `value`, length <= 33.
  void push(std::uint64_t value, std::size_t length) {
    open_ |= value << filled_;
    filled_ += length;
    if (filled_ < 64) return;
    bits_.push_back(open_);
    filled_ -= 64;
    open_ = filled_ == 0 ? 0 : value >> (length - filled_);
  }

  Step shortest_;
  std::vector<std::uint64_t> bits_;
  std::uint64_t open_ = 0;  // the word that is being filled
  std::size_t filled_ = 0;  // its bits
  std::vector<std::size_t> starts_;
  Step last_ = 0;
};

/// The splits if they need not be monotone.
class AnySplits {
 public:
  AnySplits(Step n, Step shortest)
      : shortest_(shortest), columns_(static_cast<std::size_t>(n) + 1) {}
  void begin_column(Step j) {
    column_ = j;
    columns_[static_cast<std::size_t>(j)].reserve(
        static_cast<std::size_t>(std::max<Step>(0, j - shortest_ + 1)));
  }
  void append(Step k) {
    columns_[static_cast<std::size_t>(column_)].push_back(static_cast<std::uint16_t>(column_ - k));
  }
  void end_layer() {}
  [[nodiscard]] Step operator()(Step i, Step j) const {
    return j - columns_[static_cast<std::size_t>(j)][static_cast<std::size_t>(j - i - shortest_)];
  }

 private:
  Step shortest_;
  std::vector<std::vector<std::uint16_t>> columns_;
  Step column_ = 0;
};

/// The programme of weighted.hpp on a chain of blocks of steps, from border to border; a block of
/// one step is a step. T_c takes the place of T_{c-1} column by column: of T_{c-1} only column j is
/// needed for column j of T_c. As i goes down in a column the best split goes down slowly, so that
/// T_c(i, k) is read along few columns at a time.
template <typename Splits>
class Programme {
 public:
  struct Task {
    const std::vector<Step>& borders;  ///< ascending, at least two
    Slot slots;                        ///< >= 1, that of the first state included
    double write;                      ///< cost of a write
    Step slack;                        ///< how far beyond Knuth's bounds to look; 0: exactly them,
                                       ///< and blocks are steps
    bool all = false;                  ///< wanted of every interval, not of the whole only
  };
  /// @param inside  (i, c): what reversing block i in c slots costs
  template <typename Inside>
  Programme(const Chain& chain, const Task& task, Inside inside)
      : chain_(chain),
        borders_(task.borders),
        m_(static_cast<Step>(task.borders.size()) - 1),
        slots_(task.slots),
        write_(task.write),
        slack_(task.slack),
        all_(task.all),
        first_layer_(all_ ? 1 : std::max<Slot>(1, slots_ - m_ + 1)),
        cells_(
            std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(m_ * (m_ + 1) / 2))),
        below_(static_cast<std::size_t>(m_)),
        bounds_(static_cast<std::size_t>(m_)) {
    if (slots_ < 2 && !all_) return;
    base(inside);
    for (Slot c = first_layer_ + 1; c < slots_ + (all_ ? 1 : 0); ++c) {
      splits_.emplace_back(m_, kept_whole(c) + 1);
      layer(c, inside);
    }
    if (all_) return;
    top(inside);
    cells_.reset();
  }

  /// T(i, j) with all slots, x_i stored; only if asked for `all`.
  [[nodiscard]] double cost(Step i, Step j) const noexcept {
    return cells_[static_cast<std::size_t>(j * (j - 1) / 2 + i)];
  }
  [[nodiscard]] Step blocks() const noexcept { return m_; }

  /// The decisions for the blocks [first, last). `leaf(i, c, plan)` appends those of block i; x_i
  /// is stored. For all blocks unless asked for `all`.
  template <typename Leaf>
  void append(Step first, Step last, std::vector<Decision>& plan, Leaf leaf) const {
    struct Interval {
      Step i;
      Step j;
      Slot c;
    };
    std::vector<Interval> open{{first, last, slots_}};
    while (!open.empty()) {
      const Interval at = open.back();
      open.pop_back();
      if (at.j - at.i == 1) {
        leaf(at.i, at.c, plan);
        continue;
      }
      if (at.c == 1) {
        cut_singly(at.i, at.j, plan);
        continue;
      }
      const Step k = split(at.i, at.j, at.c);
      plan.push_back(Decision::cut(border(k)));
      if (border(at.j) - border(k) > 1) plan.push_back(Decision::store(0));
      open.push_back({at.i, k, at.c});
      open.push_back({k, at.j, at.c - 1});
    }
  }

 private:
  [[nodiscard]] double* at(Step i, Step j) noexcept { return cells_.get() + (j * (j - 1) / 2 + i); }
  [[nodiscard]] Step border(Step k) const noexcept { return borders_[static_cast<std::size_t>(k)]; }
  [[nodiscard]] double sum(Step k) const noexcept { return chain_.at(border(k)); }

  // Intervals up to this length need no choice: all states fit, or there is but one split.
  [[nodiscard]] Step kept_whole(Slot c) const { return slack_ > 0 ? 2 : c + 1; }

  [[nodiscard]] Step split(Step i, Step j, Slot c) const {
    if (j - i <= kept_whole(c)) return i + 1;
    if (c == slots_ && !all_) return top_[static_cast<std::size_t>(j)];
    return splits_[static_cast<std::size_t>(c - first_layer_ - 1)](i, j);
  }
  // All steps of [i, j) from x_i alone, one by one.
  void cut_singly(Step i, Step j, std::vector<Decision>& plan) const {
    for (Step k = border(j) - 1; k > border(i); --k) plan.push_back(Decision::cut(k));
  }

  // With c slots left at least slots - c states lie below the start of an interval.
  [[nodiscard]] Step lowest(Slot c) const { return all_ ? 0 : slots_ - c; }

  template <typename Inside>
  void base(const Inside& inside) {
    const Step low = lowest(first_layer_);
    for (Step j = low + 1; j <= m_; ++j) {
      double* column = at(0, j);
      for (Step i = low; i < j; ++i) {
        column[i] = first_layer_ == 1 ? chain_.triangle(border(i), border(j))
                                      : inside(i, first_layer_);  // there is but one block
      }
    }
  }

  // All T_c(i, j) that may be asked for, from T_{c-1}.
  template <typename Inside>
  void layer(Slot c, const Inside& inside) {
    Splits& splits = splits_.back();
    const Step low = lowest(c);
    for (Step j = low + 1; j <= m_; ++j) {
      splits.begin_column(j);
      double* column = at(0, j);
      take_below(low + 1, j);
      Step i = j - 1;
      if (slack_ > 0) {
        column[i] = inside(i, c);
        if (--i >= low) {
          column[i] = sum(j - 1) - sum(i) + *at(i, j - 1) +
                      below_[static_cast<std::size_t>(j - 1)] - sum(j - 1);
          bounds_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i + 1);
          --i;
        }
        loose_column(i, low, j, splits);
      } else {
        for (const Step end = std::max(low, j - kept_whole(c)); i >= end; --i) {
          column[i] =
              sum(j - 1) - sum(i) + write_ * static_cast<double>(std::max<Step>(0, j - i - 2));
          bounds_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i + 1);
        }
        column_within_bounds(i, low, j, splits);
      }
    }
    splits.end_layer();
  }

  // The cells i, i-1, …, lowest of column j. bounds_ holds K(i, j-1), but K = i+1 where T_c(i, j)
  // is there already.
  void column_within_bounds(Step i, Step lowest, Step j, Splits& splits) {
    double* column = at(0, j);
    Step upper = i + 2;  // K(i+1, j), which is that of an interval whose states all fit
    for (; i >= lowest; --i) {
      // Rounding and ties may turn Knuth's bounds round.
      Step k = std::min<Step>(bounds_[static_cast<std::size_t>(i)], upper);
      const double* cell = at(i, k);
      double best = *cell + below_[static_cast<std::size_t>(k)];
      Step k_best = k;
      while (k < upper) {
        cell += k;  // from column k to column k+1
        ++k;
        const double value = *cell + below_[static_cast<std::size_t>(k)];
        if (value < best) {
          best = value;
          k_best = k;
        }
      }
      splits.append(k_best);
      upper = k_best;
      bounds_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(k_best);
      column[i] = best - sum(i);
    }
  }

  void loose_column(Step i, Step lowest, Step j, Splits& splits) {
    double* column = at(0, j);
    Step upper = i + 2;
    for (; i >= lowest; --i) {
      const Step lower = std::min<Step>(bounds_[static_cast<std::size_t>(i)], upper);
      const Step from = std::max(i + 1, lower - slack_);
      const Step to = std::min(j - 1, upper + slack_);
      Step k_best = j - 1;
      double best = *at(i, k_best) + below_[static_cast<std::size_t>(k_best)];
      const double* cell = at(i, from);
      for (Step k = from; k <= to; ++k) {
        const double value = *cell + below_[static_cast<std::size_t>(k)];
        cell += k;
        if (value < best) {
          best = value;
          k_best = k;
        }
      }
      splits.append(k_best);
      upper = k_best;
      bounds_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(k_best);
      column[i] = best - sum(i);
    }
  }

  // With all slots only intervals that start at the first border occur. All splits are tried.
  template <typename Inside>
  void top(const Inside& inside) {
    std::vector<double> whole(static_cast<std::size_t>(m_) + 1, 0.0);  // T_slots(0, j)
    top_.resize(whole.size());
    whole[1] = inside(0, slots_);
    for (Step j = 2; j <= m_; ++j) {
      take_below(1, j);
      double best = std::numeric_limits<double>::infinity();
      Step k_best = 1;
      for (Step k = 1; k < j; ++k) {
        const double value =
            whole[static_cast<std::size_t>(k)] + below_[static_cast<std::size_t>(k)];
        if (value < best) {
          best = value;
          k_best = k;
        }
      }
      top_[static_cast<std::size_t>(j)] = k_best;
      whole[static_cast<std::size_t>(j)] = best - sum(0);
    }
  }

  // For the splits k of intervals that end at j: W(0, k) + T_{c-1}(k, j), and storing x_k.
  void take_below(Step from, Step j) {
    const double* column = at(0, j);
    for (Step k = from; k < j; ++k) {
      below_[static_cast<std::size_t>(k)] =
          sum(k) + column[k] + (border(j) - border(k) > 1 ? write_ : 0.0);
    }
  }

  const Chain& chain_;
  const std::vector<Step>& borders_;
  Step m_;  // blocks
  Slot slots_;
  double write_;
  Step slack_;
  bool all_;
  Slot first_layer_;                  // c below which no interval is left
  std::unique_ptr<double[]> cells_;   // T(i, j), by columns
  std::vector<double> below_;         // by k
  std::vector<std::int32_t> bounds_;  // K(i, j-1), then K(i, j)
  std::vector<Splits> splits_;        // by c - first_layer_ - 1
  std::vector<Step> top_;             // K_slots(0, j)
};

}  // namespace costate
