#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "chain.hpp"
#include "costate/core/step.hpp"
#include "programme.hpp"
#include "split_schedule.hpp"

namespace costate {

/// The programme of weighted.hpp without the intervals that no plan of at most a given cost has use
/// for. For many slots these are nearly all.
///
/// If [i, j), j < n, is reversed from x_i with c slots on the way, then it has been passed before:
/// j is the end of what lies left of a checkpoint. So its steps cost W(i, j) + T_c(i, j) in all,
/// and the others, taken alone, are a chain in all s slots that costs at least what
/// `least_advance_cost` says, L(i, j). Where
///
///     W(i, j) + T_c(i, j) + L(i, j) > most
///
/// neither [i, j) nor any interval that contains it occurs, with c slots or less, in a plan of cost
/// `most` or less: leave out the steps in between, and the same bound holds. So the intervals to be
/// looked at with one end j are those from some i on, which grows with j. What is looked at and
/// does occur in such a plan has all its parts looked at, so its cost and its split are right, and
/// those of the two intervals that are one step shorter, which bound the split (Knuth). What ends
/// at n is passed but once: there all splits are tried.
class BoundedProgramme {
 public:
  /// @param slots  2 to end - first - 1, that of the first state included
  /// @param tie    a small cost of writes
  BoundedProgramme(const Chain& chain, Step first, Step end, Slot slots, double tie);

  /// What no plan can beat.
  [[nodiscard]] double lower_bound() const noexcept { return lower_bound_; }

  /// The cost of the best plan if it is at most `most`; otherwise that of some plan, or infinity.
  double solve(double most);

  /// Intervals looked at by all `solve` so far.
  [[nodiscard]] double looked_at() const noexcept { return looked_at_; }

  /// Appends the decisions of the plan found last; the first state is stored.
  void append(std::vector<Decision>& plan) const;

 private:
  [[nodiscard]] static std::size_t cell(Step i, Step j) noexcept {
    return static_cast<std::size_t>(j * (j - 1) / 2 + i);
  }
  [[nodiscard]] double sum(Step k) const noexcept { return chain_.at(first_ + k); }
  [[nodiscard]] Step& lowest(Step j) noexcept { return lowest_[static_cast<std::size_t>(j)]; }
  [[nodiscard]] bool of_use(Step i, Step j, double cost) const noexcept {
    return sum(j) - sum(i) + cost + outside_[cell(i, j)] <= most_;
  }

  void bound_outside();
  void base();
  void layer(Slot c);
  double top();
  void column(Slot c, Step j, MonotoneSplits& splits);
  void to_the_end(Slot c, Step k);
  void close_end(Slot c);

  const Chain& chain_;
  Step first_;
  Step m_;  // steps
  Slot slots_;
  double tie_;
  double most_ = 0;
  double lower_bound_ = 0;
  double looked_at_ = 0;
  std::vector<double> outside_;         // L(i, j), by columns
  std::unique_ptr<double[]> cells_;     // T(i, j), j < m, by columns, from lowest(j) on
  std::vector<Step> lowest_;            // by j
  std::vector<double> below_;           // by k: W(0, k) + T_{c-1}(k, j)
  std::vector<std::int32_t> bounds_;    // by i: K(i, j) of the last j
  std::vector<double> end_;             // T(i, m) with one slot less
  std::vector<double> end_best_;        // W(0, i) + T(i, m) so far
  std::vector<double> end_from_;        // the split that belongs to it, a whole number
  std::vector<MonotoneSplits> splits_;  // by c - 2
  std::vector<std::vector<std::uint16_t>> end_splits_;  // by c - 2, i - (slots - c)
  std::vector<std::uint16_t> top_;                      // K_slots(0, j)
};

/// Appends the decisions of an optimal reversal of [i, j) from a stored x_i in 2 to j-i-1 slots.
/// Looks at what a cost just above the lower bound allows; if the plan that is found costs more,
/// once more at what that allows, so that the plan is the best there is.
void split_within_bounds(const Chain& chain, Step i, Step j, Slot slots, double tie,
                         std::vector<Decision>& plan);

}  // namespace costate
