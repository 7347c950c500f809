#pragma once

#include <cstddef>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/binomial.hpp"
#include "tier_rule.hpp"

namespace costate {

/// The best reversal of short gaps when states in memory lie below the gap, so that not all of the
/// memory is free for it: what TierTables, which has all memory free above every state on disk,
/// does not know. With u, w, r the costs of a step and of writing and reading on disk, a and b the
/// slots free in memory and on disk, and r_k = 0 in memory (k = 0), r on disk (k = 1),
///
///     G(k, l, a, b) = min over j of  j u + r_k + G(k, j, a, b) + min(0 if l - j = 1,
///                                        G(0, l-j, a-1, b), w + G(1, l-j, a, b-1)),
///     G(1, l, a, b) = min(that, G(0, l, a-1, b)):  copied to memory,
///
/// and G = 0 for l = 1. Transfers to and from memory are not counted. Time
/// O(longest^2 slots_0 slots_1), with at most 16 slots in each tier.
class NearTables {
 public:
  NearTables(const std::vector<TierLevel>& levels, double step);

  [[nodiscard]] Step longest() const noexcept { return longest_; }
  /// Whether G(k, l, a, b) is known: a beyond the table only means that memory alone does.
  [[nodiscard]] bool knows(Step l, Slot a) const noexcept { return l <= longest_ && a < memory_; }

  /// G(k, l, a, b); knows(l, a).
  [[nodiscard]] double operator()(std::size_t k, Step l, Slot a, Slot b) const noexcept {
    return cost_[index(k, l, a, b)];
  }

  /// The same with memory alone, the start being there.
  [[nodiscard]] double in_memory(Step l, Slot a) const {
    return step_ * static_cast<double>(binomial_advances(l, a + 1));
  }

  /// What to do with the start of l >= 2 steps live and kept in tier k.
  struct Next {
    Step ahead;        ///< how far to the next state, 0: copy the start to memory first
    std::size_t tier;  ///< where that is kept, unless it is the last one
  };
  [[nodiscard]] Next next(std::size_t k, Step l, Slot a, Slot b) const;

 private:
  [[nodiscard]] std::size_t index(std::size_t k, Step l, Slot a, Slot b) const noexcept {
    const Slot column = open_ ? 0 : (b < disk_ ? b : disk_ - 1);
    return static_cast<std::size_t>(
        ((static_cast<Step>(k) * (longest_ + 1) + l) * memory_ + a) * disk_ + column);
  }
  // The state after j steps, and what it costs to go there and to reverse what is above it.
  [[nodiscard]] double above(Step l, Slot a, Slot b, std::size_t& tier) const noexcept;
  [[nodiscard]] double best(std::size_t k, Step l, Slot a, Slot b, Next& next) const noexcept;

  double step_;
  double write_;
  double read_;
  bool open_;
  Step longest_;
  Slot memory_;  // a < memory_
  Slot disk_;    // b < disk_; one column if the disk is open
  std::vector<double> cost_;
};

}  // namespace costate
