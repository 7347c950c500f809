#include "costate/schedule/planner.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/online_thinned.hpp"
#include "costate/schedule/revolve.hpp"

namespace costate {
namespace {

// What any schedule costs at least: the advances of the binomial one in all slots together, a read
// before every reverse step but the first, and a write.
double least_cost(const Costs& costs, Step n) {
  if (n <= 1) return 0;
  Slot slots = 0;
  double write = costs.tiers.front().write;
  double read = costs.tiers.front().read;
  const std::vector<TierSlots> tiers = rooms(costs);
  for (std::size_t i = 0; i < tiers.size(); ++i) {
    slots = saturating_add(slots, tiers[i].slots);
    write = std::min(write, costs.tiers[i].write);
    read = std::min(read, costs.tiers[i].read);
  }
  double advances =
      static_cast<double>(binomial_advances(n, std::max<Slot>(slots, 1))) * costs.step;
  if (!costs.weights.empty()) {  // every step but the last is advanced at least once
    advances = 0;
    for (std::size_t i = 0; i + 1 < costs.weights.size(); ++i) advances += costs.weights[i];
  }
  return advances + write + static_cast<double>(n - 1) * read;
}

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
