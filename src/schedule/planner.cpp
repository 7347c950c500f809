#include "costate/schedule/planner.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/online_thinned.hpp"
#include "costate/schedule/revolve.hpp"
#include "least_cost.hpp"

namespace costate {
namespace {

double fixed_cost(const Costs& costs, Step n) {
  double records = costs.record * static_cast<double>(n);
  return records + costs.reverse * static_cast<double>(n);
}

Plan finished(Schedule schedule, Counts counts, const Costs& costs, Step n) {
  Plan made{std::move(schedule), std::move(counts)};
  made.cost = costs.weights.empty() ? cost_of(made.counts, costs)
                                    : interpret_cost(made.schedule, costs, {.steps = n});
  made.fixed_cost = fixed_cost(costs, n);
  made.lower_bound = least_cost(costs, n);
  return made;
}

Plan plan_revolve(const Costs& costs, Step n) {
  const std::vector<TierSlots> tiers = rooms(costs);
  return finished(revolve(n, tiers), revolve_counts(n, tiers), costs, n);
}

Plan plan_store_all(const Costs& costs, Step n) {
  const std::vector<TierSlots> tiers = rooms(costs);
  Slot slots = 0;
  for (const TierSlots& tier : tiers) slots = saturating_add(slots, tier.slots);
  if (slots < n - 1) {
    throw InvalidArgument("keeping all states of " + std::to_string(n) + " steps needs " +
                          std::to_string(n - 1) + " slots; there are " + std::to_string(slots));
  }
  const Schedule all = revolve(n, tiers);
  return finished(all.renamed("store-all"), revolve_counts(n, tiers), costs, n);
}

Plan plan_recompute_all(const Costs& costs, Step n) {
  std::vector<TierSlots> tiers = rooms(costs);
  bool given = false;
  for (TierSlots& tier : tiers) {
    tier.slots = given ? 0 : std::min<Slot>(tier.slots, 1);
    given = given || tier.slots > 0;
  }
  return finished(revolve(n, tiers).renamed("recompute-all"), revolve_counts(n, tiers), costs, n);
}

Plan plan_thinned(const Costs& costs, Step n) {
  Schedule schedule = online_thinned(rooms(costs));
  Counts counts = interpret(schedule, {.steps = n});
  return finished(std::move(schedule), std::move(counts), costs, n);
}

struct Entry {
  Family family;
  Plan (*make)(const Costs&, Step);
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {{"store-all", "every state is kept"}, plan_store_all},
      {{"recompute-all", "only the first state is kept"}, plan_recompute_all},
      {{"revolve", "the least advances; slots of all tiers as one stack"}, plan_revolve},
      {{"online-thinned", "length unknown: evenly thinned checkpoints", true}, plan_thinned},
  };
  return all;
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> names;
    for (const Entry& entry : entries()) names.push_back(entry.family);
    return names;
  }();
  return all;
}

Plan plan(const std::string& family, const Costs& costs, Step n) {
  const auto start = std::chrono::steady_clock::now();
  check(costs, n);
  for (const Entry& entry : entries()) {
    if (entry.family.name != family) continue;
    Plan made = entry.make(costs, n);
    made.planning_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return made;
  }
  std::string known;
  for (const Entry& entry : entries()) known += (known.empty() ? "" : ", ") + entry.family.name;
  throw InvalidArgument("there is no schedule \"" + family + "\"; there are " + known);
}

}  // namespace costate
