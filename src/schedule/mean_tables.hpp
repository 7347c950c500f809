#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "binomial_table.hpp"
#include "chain.hpp"
#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/replan.hpp"
#include "gap_costs.hpp"
#include "gap_tables.hpp"

namespace costate {

/// For gaps of many steps, whose best reversal is not known: a gap is reckoned to cost its mean
/// weight times what so many equal steps do (`GapCosts`, or in one tier the fewest advances), and
/// its first split is the one that is best if the parts cost that. A start is kept in one tier at a
/// time: copied to the first one, it is dropped from the second. Short gaps of unequal steps go by
/// `WeightedGapTables`, with some of the slots.
class MeanTables final : public GapTables {
 public:
  /// @param tiers   one with slots, or two, both with slots
  /// @param chain   outlives this
  /// @param places  the states that are looked at for what is stored
  /// @param equal   whether all steps cost the same
  /// @returns nothing if there are too many slots or steps for it
  [[nodiscard]] static std::unique_ptr<const MeanTables> make(const std::vector<GapTier>& tiers,
                                                              const Chain& chain, Step places,
                                                              bool equal);

  [[nodiscard]] double steps(Step b, Step e) const noexcept override { return chain_.span(b, e); }
  [[nodiscard]] const double* kept(Step b, Step e) const override;
  [[nodiscard]] Next next(Set m, Step b, Step e, const std::vector<Slot>& free) const override;

 private:
  MeanTables(const std::vector<GapTier>& tiers, const Chain& chain, double mean, Step places);

  // G with the start in tier t; what it costs if the start is live and not stored, and where it
  // goes then.
  [[nodiscard]] double kept_in(std::size_t t, Step b, Step e, const std::vector<Slot>& free) const;
  [[nodiscard]] double unkept(Step b, Step e, const std::vector<Slot>& free,
                              std::size_t& tier) const;

  const Chain& chain_;
  // What is reckoned is written down as it is asked for.
  mutable std::optional<GapCosts> costs_;  // of two tiers
  mutable BinomialTable advances_;         // of one
  mutable std::unordered_map<std::int64_t, std::vector<double>> kept_;
  // The short gap that is being reversed.
  struct Window {
    Step begin = 0;
    Step end = 0;
    std::vector<GapTier> tiers = {};
    std::vector<Slot> besides = {};  // slots that are not used, by tier
    std::unique_ptr<const WeightedGapTables> tables = nullptr;
  };
  [[nodiscard]] std::vector<GapTier> window_tiers(Set m, const std::vector<Slot>& free,
                                                  Step length) const;
  void open_window(Set m, Step b, Step e, const std::vector<Slot>& free) const;
  Step longest_window_ = 0;
  std::vector<GapTier> tiers_;
  mutable Window window_;
};

/// A point and its tiers as one tier, or two: those after the first are one, at the cost of the
/// first of them that has slots. Slots keep their numbers.
struct FewTiers {
  ResumePoint point;
  std::vector<GapTier> tiers;
};
[[nodiscard]] FewTiers few_tiers(ResumePoint point, const Costs& costs);

/// A long continuation by `MeanTables`, with `replan_at` for what is stored. Steps may have
/// weights.
/// @param point  as for `replan_exact`
/// @returns nothing if that would take too long
[[nodiscard]] std::optional<std::vector<Command>> replan_by_mean(const ResumePoint& point,
                                                                 const Costs& costs);

/// A long schedule by `MeanTables`, with `required_exact` for what is stored.
/// @param required  ascending, 0 and states below n-1, no more than there are slots
/// @param tiers     with their slots
[[nodiscard]] std::optional<std::vector<Command>> required_by_mean(
    const std::vector<Step>& required, Step n, const std::vector<TierSlots>& tiers,
    const Costs& costs);

}  // namespace costate
