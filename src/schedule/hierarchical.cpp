#include "costate/schedule/hierarchical.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "hierarchical_plan.hpp"
#include "least_cost.hpp"
#include "open_disk_bound.hpp"
#include "plan_parts.hpp"
#include "tier_bounds.hpp"
#include "tier_tables.hpp"

namespace costate {
namespace {

// Additions for complete tables that may take about a second, and half of what shorter tables that
// a long run starts from may take.
constexpr double affordable = 2e9;
constexpr double quick = 1e8;
// Slots beyond the first tier, some 0.1 ms each.
constexpr double most_columns = 2e4;
// With more slots on the slowest tier they may be more than are wanted.
constexpr Slot few = 64;

// The plan with any number of slots on the slowest tier, if it needs no more than there are: then
// it is the best, and found without a table for each of them.
std::optional<Plan> with_enough(const Costs& costs, Step n, const std::vector<TierLevel>& levels,
                                double effort) {
  if (levels.size() < 2 || levels.back().open() || levels.back().slots <= few ||
      !nothing_missed(costs, levels)) {
    return std::nullopt;
  }
  Costs wide = costs;
  wide.tiers[levels.back().tier].slots = unbounded;
  try {
    Plan plan = hierarchical_plan(wide, n, effort);
    if (plan.counts.tiers[levels.back().tier].peak <= levels.back().slots) return plan;
  } catch (const InvalidArgument&) {  // it takes too long
  }
  return std::nullopt;
}

}  // namespace

std::vector<TierLevel> useful_levels(const Costs& costs, Step n) {
  const std::vector<TierSlots> all = rooms(costs);
  std::vector<TierLevel> levels;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].slots == 0) continue;
    const Slot slots = all[i].slots >= n - 1 ? unbounded : all[i].slots;
    levels.push_back({i, slots, costs.tiers[i].write, costs.tiers[i].read});
  }
  std::stable_sort(levels.begin(), levels.end(), [](const TierLevel& a, const TierLevel& b) {
    return a.write + a.read < b.write + b.read;
  });
  // Nothing need be kept anywhere slower than a tier that holds everything.
  const auto open = std::find_if(levels.begin(), levels.end(),
                                 [](const TierLevel& level) { return level.open(); });
  if (open != levels.end()) levels.erase(open + 1, levels.end());
  return levels;
}

bool ordered(const std::vector<TierLevel>& levels) {
  for (std::size_t k = 1; k < levels.size(); ++k) {
    if (levels[k].write < levels[k - 1].write || levels[k].read < levels[k - 1].read) return false;
  }
  return true;
}

bool nothing_missed(const Costs& costs, const std::vector<TierLevel>& levels) {
  if (levels.empty()) return true;
  const std::vector<TierSlots> all = rooms(costs);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool taken = std::any_of(levels.begin(), levels.end(),
                                   [i](const TierLevel& level) { return level.tier == i; });
    if (taken || all[i].slots == 0) continue;
    if (costs.tiers[i].write < levels.back().write || costs.tiers[i].read < levels.back().read) {
      return false;
    }
  }
  return true;
}

Plan hierarchical_plan(const Costs& costs, Step n, double effort) {
  const PlanningTime time;
  check(costs, n);
  std::vector<TierLevel> levels = useful_levels(costs, n);
  if (levels.empty()) {
    if (n > 1) {
      throw InvalidArgument("reversing " + std::to_string(n) + " steps needs at least one slot");
    }
    levels.push_back({0, unbounded, 0, 0});
  }
  if (auto plan = with_enough(costs, n, levels, effort)) return time.stop(std::move(*plan));
  double columns = 0;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    if (k == 0 && levels[k].write == 0) continue;
    columns += levels[k].open() ? 1 : static_cast<double>(levels[k].slots);
  }
  const auto length = static_cast<double>(n);
  std::shared_ptr<const TierRule> rule;
  double lower_bound = 0;
  const bool bounded =
      ordered(levels) && nothing_missed(costs, levels);  // the tables bound the cost from below
  const bool complete = length * length * columns / 2 <= affordable / 2 * effort;
  if (levels.size() == 1 && levels[0].write == 0) {
    rule = std::make_shared<TierTables>(levels, costs.step, 1);  // binomial: no tables are needed
  } else if (complete) {
    rule = std::make_shared<TierTables>(levels, costs.step, std::max<Step>(n, 1));
  } else {
    const auto refuse = [n](const char* why) {
      throw InvalidArgument("a hierarchical plan of " + std::to_string(n) +
                            " steps takes too long to make with so " + why +
                            " (`choose`, or --schedule auto, takes what can be had)");
    };
    if (columns > most_columns * effort) refuse("many slots to keep states in at a cost");
    const auto longest = static_cast<Step>(std::sqrt(2 * quick * effort / columns));
    auto bounds = std::make_shared<TierBounds>(
        TierTables(levels, costs.step, std::clamp<Step>(longest, 64, 4096)), n);
    if (bounds->is_cut()) refuse("few slots in the first tier");
    lower_bound = bounds->lower_bound(n);
    rule = std::move(bounds);
  }
  const std::vector<TierSlots> tiers = rooms(costs);
  Counts counts = tiered_counts(*rule, n, tiers, effort);
  std::vector<TierSlots> used;
  for (const TierCounts& tier : counts.tiers) used.push_back({tier.name, tier.slots});
  Plan made{tiered_schedule("hierarchical", n, std::move(used), rule), std::move(counts)};
  made.cost = cost_of(made.counts, costs);
  set_fixed(made, costs, n);
  const auto general = [&] { return std::max(least_cost(costs, n), open_disk_bound(costs, n)); };
  made.lower_bound = !bounded   ? std::min(made.cost, general())
                     : complete ? made.cost
                                : std::min(made.cost, lower_bound);
  return time.stop(std::move(made));
}

Plan hierarchical(const Costs& costs, Step n) {
  return hierarchical_plan(costs, n, 1);
}

}  // namespace costate
