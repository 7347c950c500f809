#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "binomial_table.hpp"
#include "costate/core/step.hpp"
#include "near_tables.hpp"
#include "tier_bounds.hpp"
#include "tier_rule.hpp"
#include "tier_tables.hpp"

namespace costate {

/// A state that a plan keeps on its way to the end.
struct Pin {
  Step at;
  std::size_t tier;
};

/// Dearer than anything.
inline constexpr double never = 1e15;

/// What gaps between stored states cost to reverse, for two tiers, in steps. Transfers to and from
/// memory are not counted.
class GapCosts {
 public:
  /// @param levels  costs in steps
  explicit GapCosts(std::vector<TierLevel> levels);

  /// The reversal of l steps whose start is live and kept in tier k, with `a` slots in memory and
  /// `b` on disk free above it.
  [[nodiscard]] double kept(std::size_t k, Step l, Slot a, Slot b);
  /// The same if the start is live and not kept.
  [[nodiscard]] double unkept(Step l, Slot a, Slot b);
  /// What n steps cost that are known beforehand.
  [[nodiscard]] double offline(Step n);
  /// The states that the best plan for n steps keeps until it turns back, ascending from 0; none
  /// for more than 2·10⁶ steps.
  [[nodiscard]] std::vector<Pin> best_set(Step n);

  [[nodiscard]] Slot memory() const noexcept { return levels_[0].slots; }
  [[nodiscard]] Slot disk() const noexcept { return levels_[1].slots; }
  [[nodiscard]] double write() const noexcept { return levels_[1].write; }
  [[nodiscard]] double read() const noexcept { return levels_[1].read; }
  [[nodiscard]] const std::shared_ptr<const NearTables>& near() const noexcept { return near_; }
  /// Whether gaps of so many steps can be reckoned with.
  [[nodiscard]] bool covers(Step longest) {
    static_cast<void>(rule(longest));
    return !bounds_ || !bounds_->is_cut();
  }
  /// A rule for gaps of up to `longest` steps above states on disk with all the memory free.
  [[nodiscard]] std::shared_ptr<const TierRule> rule(Step longest);

 private:
  // P(1, l, s) of tier_tables.hpp: from tables that grow, and beyond what is affordable from what
  // is just below it.
  [[nodiscard]] double on_disk(Step l, Slot s);
  void grow(Step longest);

  std::vector<TierLevel> levels_;
  Step longest_;
  std::shared_ptr<const TierTables> tables_;  // shared by copies; never changes
  std::shared_ptr<const TierBounds> bounds_;  // beyond longest_, up to covered_; likewise
  Step covered_ = 0;
  std::shared_ptr<const NearTables> near_;
  BinomialTable table_;
};

}  // namespace costate
