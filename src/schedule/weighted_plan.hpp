#pragma once

#include <optional>
#include <vector>

#include "chain.hpp"
#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"
#include "split_schedule.hpp"
#include "tier_rule.hpp"

namespace costate {

/// `weighted` with less work: limits on what is computed exactly, and the number of blocks, shrink
/// with `effort`, 1 being that of `weighted`. For plans of which many are wanted.
[[nodiscard]] Plan weighted_plan(const Costs& costs, Step n, double effort);

/// What `weighted_plan` costs at most and any plan at least. On one level the schedule is not made.
struct WeightedCost {
  double cost;
  double lower_bound;
};
[[nodiscard]] WeightedCost weighted_cost(const Costs& costs, Step n, double effort);

/// Decisions, and whether nothing can be cheaper.
struct WeightedDecisions {
  std::vector<Decision> decisions;
  bool proven = false;
};

/// The decisions for all of the chain, nothing being stored, over several levels by
/// `TieredProgramme`. Nothing if there are too many slots for it.
[[nodiscard]] std::optional<WeightedDecisions> split_over_tiers(
    const Chain& chain, const std::vector<TierLevel>& levels, double effort);

/// What no schedule of these weights and levels can beat: advances, writes and reads. For long
/// runs, where no exact plan is known.
///
/// Only the order of the weights matters to it. Let theta be a weight, and cut the chain's weights
/// into layers, each one of equal weights on the heaviest m steps: a schedule of the chain is one
/// of each layer once the other steps are left out. The layers below theta share the transfers in
/// proportion to their thickness, so that together they cost at least
///
///     sum over m of (min(w_m, theta) - min(w_{m+1}, theta)) H(m),
///
/// H(m) the hierarchical bound for m steps of cost 1 with transfers costing 1/theta of theirs;
/// those above cost at least what `least_advance_cost` says. The best of a few theta is returned,
/// as many as `effort` allows.
[[nodiscard]] double least_weighted_cost(const std::vector<double>& weights,
                                         std::vector<TierLevel> levels, double effort);

}  // namespace costate
