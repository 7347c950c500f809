#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "chain.hpp"
#include "costate/core/step.hpp"
#include "split_schedule.hpp"
#include "tier_rule.hpp"

namespace costate {

/// Steps of unequal cost over several tiers: the recursion of `TierTables` with W(i, m) in the
/// place of a number of steps,
///
///     O(k, i, j, s) = min(O(k-1, i, j, c_{k-1}), w_k + P(k, i, j, s) if s > 0)
///     P(k, i, j, s) = min(O(k-1, i, j, c_{k-1}),
///                         min_{i<m<j} W(i, m) + O(k, m, j, s-1) + r_k + P(k, i, m, s)),
///
/// on a chain of blocks of steps, from border to border. Level 0 is reversed by `Programme`; it
/// must not be open, and there must be another.
///
/// Time O(m² tries sum c_k) for m blocks, memory O(m² sum c_k) half words.
class TieredProgramme {
 public:
  struct Task {
    const std::vector<TierLevel>& levels;
    std::vector<Step> borders;  ///< ascending, at least two
    double tie = 0;             ///< what a write costs besides, so that the fewest are made
    Step slack = 0;  ///< m is looked for so far beyond the best of the two intervals that are one
                     ///< block shorter; 0: everywhere
  };
  /// What reversing a block costs with its start stored at level k in one of s slots: one number
  /// for each k > 0 and s.
  using Inside = std::vector<double>;
  /// @param inside  of blocks of more than one step, asked once for each; without it they are
  ///                reversed on level 0
  TieredProgramme(const Chain& chain, Task task, const std::function<Inside(Step)>& inside);
  ~TieredProgramme();
  TieredProgramme(const TieredProgramme&) = delete;
  TieredProgramme& operator=(const TieredProgramme&) = delete;

  /// Of all blocks; nothing is stored at the start.
  [[nodiscard]] double cost() const noexcept { return cost_; }
  /// The same as one block of another chain.
  [[nodiscard]] const Inside& whole() const noexcept { return whole_; }

  /// Appends the decisions of a block of more than one step whose start is stored at level k.
  using Leaf = std::function<void(Step block, std::size_t k, Slot s, std::vector<Decision>&)>;

  /// Appends the decisions for all blocks. The start is live; nothing is stored.
  void append(std::vector<Decision>& plan, const Leaf& leaf) const;
  /// The start is stored at level k in one of s slots.
  void append_stored(std::size_t k, Slot s, std::vector<Decision>& plan, const Leaf& leaf) const;

 private:
  class Bottom;
  struct Node {
    Step i;
    Step j;
    std::size_t k;
    Slot s;
    bool stored;  // x_i, at level k
  };
  // For each interval: m - i, or 0 if level k-1 takes over; and whether x_i is worth storing.
  using Codes = std::vector<std::uint16_t>;
  static constexpr std::uint16_t keep = 0x8000;

  [[nodiscard]] static std::size_t cell(Step i, Step j) noexcept {
    return static_cast<std::size_t>(j * (j - 1) / 2 + i);
  }
  [[nodiscard]] Step border(Step i) const noexcept { return borders_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] bool single(Step i, Step j) const noexcept { return border(j) - border(i) == 1; }
  [[nodiscard]] double sum(Step i) const noexcept { return chain_.at(border(i)); }
  [[nodiscard]] Slot slots(std::size_t k) const { return levels_[k].open() ? 1 : levels_[k].slots; }
  [[nodiscard]] std::uint16_t code(const Node& node) const;

  void fill(std::size_t k, std::vector<double>& all);
  void column(std::size_t k, Step j, const std::vector<double>& lower, std::vector<double>& p,
              std::vector<double>& all, Codes& codes, std::size_t layer);
  void append(std::vector<Node> open, std::vector<Decision>& plan, const Leaf& leaf) const;

  const Chain& chain_;
  std::vector<TierLevel> levels_;
  std::vector<Step> borders_;
  Step m_;  // blocks
  double tie_;
  Step slack_;
  std::vector<Inside> inside_;  // by block
  std::unique_ptr<Bottom> bottom_;
  std::vector<std::vector<Codes>> codes_;  // by level - 1, slots - 1
  std::vector<double> below_;              // scratch: by m, for a column
  std::vector<std::int32_t> bounds_;       // scratch: by i, the best m of (i, j-1), then (i, j)
  double cost_ = 0;
  Inside whole_;
};

}  // namespace costate
