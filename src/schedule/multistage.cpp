#include "costate/schedule/multistage.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "plan_parts.hpp"

namespace costate {

Plan multistage(const Costs& costs, Step n) {
  const PlanningTime time;
  check(costs, n);
  std::vector<TierSlots> tiers = needed_tiers(rooms(costs), std::max<Step>(0, n - 1));
  Slot slots = 0;
  for (const TierSlots& tier : tiers) slots += tier.slots;
  if (n > 1 && slots < 1) {
    throw InvalidArgument("reversing " + std::to_string(n) + " steps needs at least one slot");
  }
  constexpr Slot most = 10'000'000;
  if (slots > most) {
    throw InvalidArgument("a multistage plan uses at most " + std::to_string(most) +
                          " slots, not " + std::to_string(slots));
  }
  const std::vector<Traffic> traffic = binomial_traffic(n, slots);

  // The heights by what they would cost in the last tier rather than in the first, dearest first.
  double write = costs.tiers.back().write - costs.tiers.front().write;
  double read = costs.tiers.back().read - costs.tiers.front().read;
  if (write <= 0 && read <= 0) write = read = 1;
  const auto cost = [&](std::size_t height) {
    return static_cast<double>(traffic[height].writes) * write +
           static_cast<double>(traffic[height].reads) * read;
  };
  std::vector<std::size_t> heights(traffic.size());
  std::iota(heights.rbegin(), heights.rend(), std::size_t{0});
  std::stable_sort(heights.begin(), heights.end(),
                   [&](std::size_t a, std::size_t b) { return cost(a) > cost(b); });

  Counts counts;
  counts.steps = n;
  counts.records = n;
  counts.advances = binomial_advances(n, slots);
  counts.max_runs = n > 1 ? repetitions(n, slots) : 0;
  counts.runs = binomial_runs(n, slots);
  std::vector<Slot> stack(traffic.size());
  Slot slot = 0;
  auto mine = heights.begin();
  for (const TierSlots& tier : tiers) {
    TierCounts count{tier.name, tier.slots, tier.slots, 0, 0};
    const auto end = mine + tier.slots;
    std::sort(mine, end);  // neighbours in height are neighbours in the tier
    for (; mine != end; ++mine) {
      stack[*mine] = slot++;
      count.writes = saturating_add(count.writes, traffic[*mine].writes);
      count.reads = saturating_add(count.reads, traffic[*mine].reads);
    }
    counts.tiers.push_back(std::move(count));
  }
  Schedule schedule = revolve_on("multistage", n, std::move(tiers), SlotStack(stack));
  return time.stop(plan_of(std::move(schedule), std::move(counts), costs, n));
}

}  // namespace costate
