#include "least_cost.hpp"

#include <algorithm>

#include "costate/schedule/binomial.hpp"

namespace costate {

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

}  // namespace costate
