#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "binomial_table.hpp"
#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "gap_tables.hpp"
#include "tier_bounds.hpp"
#include "tier_rule.hpp"
#include "tier_tables.hpp"

namespace costate {

/// What gaps above stored states cost to reverse when only some slots are free for them, and by
/// which rules that is done, for gaps of any length and up to `most_tiers` tiers.
///
/// Short gaps cost what `GapTables` says. A longer one, its start in tier k, is reversed by
/// `TierRule`: a hierarchy of the slots that are free in the tiers 0 to k, or to a slower one that
/// the start is moved to before.
class GapRules {
 public:
  static constexpr std::size_t most_tiers = 6;
  using Room = std::array<Slot, most_tiers>;  ///< slots by tier

  /// @param slots    all of them
  /// @param longest  no gap is longer
  /// @param near     gaps beyond that are long, if not before
  GapRules(const Costs& costs, const Room& slots, Step longest, Step near);

  [[nodiscard]] std::size_t tiers() const noexcept { return tiers_.size(); }
  [[nodiscard]] double step() const noexcept { return step_; }
  [[nodiscard]] double write(std::size_t t) const noexcept { return tiers_[t].write; }
  [[nodiscard]] double read(std::size_t t) const noexcept { return tiers_[t].read; }

  /// The reversal of l steps whose start is live and stored in tier k; `free` are the slots above.
  /// Infinite if it is not known how. And the tier that the start is moved to before.
  struct Kept {
    double cost;
    std::size_t tier;
  };
  [[nodiscard]] Kept kept(std::size_t k, Step l, const Room& free);

  /// The rule for that, the start being in tier k; none if that is the binomial one in the fastest
  /// tier.
  [[nodiscard]] std::shared_ptr<const TierRule> rule(std::size_t k, Step l, const Room& free) {
    return best(k, l, free).rule;
  }
  [[nodiscard]] const std::shared_ptr<const EqualGapTables>& near() const noexcept { return near_; }

 private:
  struct Rule {
    std::shared_ptr<const TierRule> rule;
    const TierTables* tables = nullptr;  // either
    const TierBounds* bounds = nullptr;  // or
  };
  // As if the last tier held everything, and how many of its slots that takes, by length, for some
  // lengths up to the longest.
  struct Open {
    Rule rule;
    std::vector<std::pair<Step, Slot>> taken;
  };
  [[nodiscard]] const Rule& bounded(std::size_t k, const Room& free);
  [[nodiscard]] const Open& open(std::size_t k, const Room& free);
  [[nodiscard]] static bool is_enough(const Open& open, Step l, Slot slots);
  [[nodiscard]] Room key(std::size_t k, const Room& free, Slot apart) const;
  [[nodiscard]] Rule make(std::size_t k, const Room& free, Slot last);
  [[nodiscard]] const Rule& best(std::size_t k, Step l, const Room& free);
  [[nodiscard]] double by_rule(std::size_t k, Step l, const Room& free);

  std::vector<GapTier> tiers_;
  double step_;
  Step longest_;
  std::shared_ptr<const EqualGapTables> near_;
  // By tier, then by what is free in those below.
  std::vector<std::map<Room, Rule>> rules_;
  std::vector<std::map<Room, Open>> open_;
  double columns_ = 0;  // of all rules
  BinomialTable binomial_;
};

}  // namespace costate
