#include "costate/schedule/weighted.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "chain.hpp"
#include "costate/core/error.hpp"
#include "costate/schedule/hierarchical.hpp"
#include "costate/schedule/interpreter.hpp"
#include "least_cost.hpp"
#include "plan_parts.hpp"
#include "split_schedule.hpp"
#include "weighted_plan.hpp"

namespace costate {
namespace {

std::vector<double> weights_of(const Costs& costs, Step n) {
  return costs.weights.empty() ? std::vector<double>(static_cast<std::size_t>(n), costs.step)
                               : costs.weights;
}

// On one level all the time.
WeightedDecisions split_on_one(const Chain& chain, const TierLevel& level, double effort) {
  const Step n = chain.steps();
  const Slot slots = std::min<Slot>(level.slots, std::max<Step>(1, n - 1));
  WeightedDecisions out;
  if (n > 1) out.decisions.push_back(Decision::store(0));
  out.proven = split(chain, 0, n, slots, level.write, effort, out.decisions);
  for (Decision& decision : out.decisions) decision.tier = level.tier;
  return out;
}

Plan carry_out_plan(const Costs& costs, Step n, std::vector<Decision> decisions) {
  std::vector<TierSlots> tiers = rooms(costs);
  for (TierSlots& tier : tiers) tier.slots = std::min<Slot>(tier.slots, std::max<Step>(0, n - 1));
  Plan made{Schedule("weighted", n, tiers, carry_out(n, std::move(decisions), tiers)), {}};
  made.counts = interpret(made.schedule);
  made.cost = interpret_cost(made.schedule, costs);
  set_fixed(made, costs, n);
  return made;
}

// As if all steps cost the same.
std::optional<Plan> by_mean_weight(const Costs& costs, Step n, double mean) {
  Costs even = costs;
  even.weights.clear();
  if (mean > 0) even.step = mean;
  try {
    Plan made = hierarchical(even, n);
    made.cost = interpret_cost(made.schedule, costs);
    made.schedule = made.schedule.renamed("weighted");
    return made;
  } catch (const InvalidArgument&) {
    return std::nullopt;
  }
}

double bound_of(const Costs& costs, const std::vector<double>& weights,
                const std::vector<TierLevel>& levels, double effort) {
  const double bound = least_cost(costs, static_cast<Step>(weights.size()));
  // Without transfers to pay for the layers say the same.
  if (levels.size() == 1 && levels[0].write <= 0 && levels[0].read <= 0) return bound;
  if (!nothing_missed(costs, levels)) return bound;
  return std::max(bound, least_weighted_cost(weights, levels, effort));
}

}  // namespace

WeightedCost weighted_cost(const Costs& costs, Step n, double effort) {
  const std::vector<TierLevel> levels = useful_levels(costs, n);
  if (levels.size() != 1 || n <= 1) {
    const Plan made = weighted_plan(costs, n, effort);
    return {made.cost, made.lower_bound};
  }
  const std::vector<double> weights = weights_of(costs, n);
  const Chain chain(weights);
  const WeightedDecisions found = split_on_one(chain, levels[0], effort);
  const double cost = cost_of(chain, 0, n, levels[0].write, found.decisions, 1) + levels[0].write +
                      static_cast<double>(n - 1) * levels[0].read;
  const bool proven = found.proven && nothing_missed(costs, levels);
  return {cost, proven ? cost : std::min(cost, bound_of(costs, weights, levels, effort))};
}

Plan weighted_plan(const Costs& costs, Step n, double effort) {
  const PlanningTime time;
  check(costs, n);
  constexpr Step most_planned = 20'000'000;
  if (n > most_planned) {
    throw InvalidArgument("a weighted plan is made for at most " + std::to_string(most_planned) +
                          " steps, not " + std::to_string(n));
  }
  const std::vector<TierLevel> levels = useful_levels(costs, n);
  if (levels.empty() && n > 1) throw InvalidArgument("there is no slot for state 0");
  const std::vector<double> weights = weights_of(costs, n);
  const Chain chain(weights);
  std::optional<WeightedDecisions> found;
  if (n <= 1) {
    found = WeightedDecisions{{}, true};
  } else if (levels.size() == 1) {
    found = split_on_one(chain, levels[0], effort);
  } else {
    found = split_over_tiers(chain, levels, effort);
  }
  const bool proven = found && found->proven && nothing_missed(costs, levels);
  std::optional<Plan> made;
  if (found) made = carry_out_plan(costs, n, std::move(found->decisions));
  if (!proven && levels.size() > 1) {
    std::optional<Plan> other = by_mean_weight(costs, n, chain.at(n) / static_cast<double>(n));
    if (other && (!made || other->cost < made->cost)) made = std::move(other);
  }
  if (!made) throw InvalidArgument("there are too many slots for a weighted plan");
  made->lower_bound =
      proven ? made->cost : std::min(made->cost, bound_of(costs, weights, levels, effort));
  return time.stop(std::move(*made));
}

Plan weighted(const Costs& costs, Step n) {
  return weighted_plan(costs, n, 1);
}

}  // namespace costate
