#pragma once

#include <vector>

#include "envelope.hpp"
#include "tier_tables.hpp"

namespace costate {

/// A rule for long runs, and a proof of how good it is. The recursion of `TierTables` is carried on
/// beyond the tables with O and P replaced by convex functions below them. A minimum over a sum of
/// convex functions is found in O(1) from that of the run one step shorter, and what comes out is
/// below the truth: a lower bound on the cost. Where the bound is attained is where to split.
///
/// Time O(n sum c_k), memory O(n + corners); no more than a few megabytes for a million steps.
class TierBounds final : public TierRule {
 public:
  TierBounds(TierTables tables, Step n);

  [[nodiscard]] bool keeps(std::size_t k, Step l, Slot s) const override;
  [[nodiscard]] Step split(std::size_t k, Step l, Slot s) const override;

  /// No schedule of l <= n steps costs less (but for the small cost that ties are broken with).
  [[nodiscard]] double lower_bound(Step l) const {
    return lower_bounds_[static_cast<std::size_t>(l)];
  }
  /// Not above P(k, l, s), and equal or near to it.
  [[nodiscard]] double kept_bound(std::size_t k, Step l, Slot s) const {
    return kept_of(k, s).at(l);
  }
  /// The same with the start stored on the last level, which is open.
  [[nodiscard]] double kept_bound(Step l) const { return levels_.back().kept.front().at(l); }

 private:
  struct Level {
    std::vector<Envelope> kept;  // below P, by slots - 1
    std::vector<Envelope> all;   // below O, by slots; the first is O of the level below
    std::vector<double> below;   // O(k-1, ·, all free), values that are not above it
  };
  struct Hints {
    std::size_t left = 0;
    std::size_t right = 0;
  };
  void fill(std::size_t k, Step n);
  [[nodiscard]] const Envelope& kept_of(std::size_t k, Slot s) const {
    return levels_[k].kept[levels()[k].open() ? 0 : static_cast<std::size_t>(s - 1)];
  }
  // Below O(k, ·, s) of the part behind the next checkpoint.
  [[nodiscard]] const Envelope& all_of(std::size_t k, Slot s) const {
    return levels_[k].all[levels()[k].open() ? 1 : static_cast<std::size_t>(s)];
  }
  // The j of the least sum of j steps, left(j) and right(l-j), looked for from `near` on.
  Step least(const Envelope& left, const Envelope& right, Step l, Step near, Hints& hints) const;

  TierTables tables_;
  std::vector<Level> levels_;
  std::vector<double> lower_bounds_;  // by number of steps
};

}  // namespace costate
