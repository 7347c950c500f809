#pragma once

#include <limits>
#include <string>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/core/step.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/schedule.hpp"

/// @file
/// A schedule together with what it will cost.

namespace costate {

/// What a schedule does to one tier.
struct TierCounts {
  std::string name;
  Slot slots = 0;   ///< room
  Slot peak = 0;    ///< most slots taken at once
  Step writes = 0;  ///< checkpoints saved
  Step reads = 0;   ///< checkpoints loaded
  friend bool operator==(const TierCounts&, const TierCounts&) = default;
};

/// What a schedule does, in whole numbers. Saturates at the largest `Step`.
struct Counts {
  Step steps = 0;  ///< n
  Step advances =
      0;  ///< forward steps run without taping, the first pass included (see docs/counting.md)
  Step records = 0;   ///< taped steps
  Step max_runs = 0;  ///< how often the step that is run most often is advanced
  /// How many steps are advanced how often, ascending; together n steps and `advances`. Empty if
  /// more than `most_run_counts` numbers occur, or counting them would take too long.
  std::vector<RunCount> runs;
  std::vector<TierCounts> tiers;
  /// All forward steps: advances + records.
  [[nodiscard]] Step forward_evaluations() const noexcept {
    return advances > std::numeric_limits<Step>::max() - records ? std::numeric_limits<Step>::max()
                                                                 : advances + records;
  }
  /// How often a step is advanced on average.
  [[nodiscard]] double mean_runs() const noexcept {
    return steps > 0 ? static_cast<double>(advances) / static_cast<double>(steps) : 0;
  }
  /// Whether a count does not fit, so that a cost made of them is only a lower bound.
  [[nodiscard]] bool is_saturated() const noexcept {
    constexpr Step most = std::numeric_limits<Step>::max();
    bool yes = forward_evaluations() == most;
    for (const TierCounts& tier : tiers) yes = yes || tier.writes == most || tier.reads == most;
    return yes;
  }
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// A schedule and its predicted cost, in the unit of the `Costs` it was made with.
struct Plan {
  Schedule schedule;
  Counts counts;                ///< what carrying it out will count
  double cost = 0;              ///< advances (weighted), writes and reads
  double fixed_cost = 0;        ///< taped steps and adjoints: the same for every schedule
  double lower_bound = 0;       ///< no schedule within these tiers costs less than this
  double planning_seconds = 0;  ///< what making the plan took
  Bytes state_bytes = 0;        ///< size of a state, 0 if it is not known
  /// Room that the schedule takes in a tier at most.
  [[nodiscard]] Bytes peak_bytes(std::size_t tier) const {
    return static_cast<Bytes>(counts.tiers[tier].peak) * state_bytes;
  }
  /// `cost / lower_bound`: how far from the best this plan can be at most. 1: proven optimal.
  [[nodiscard]] double ratio() const noexcept { return cost > 0 ? cost / lower_bound : 1; }
};

}  // namespace costate
