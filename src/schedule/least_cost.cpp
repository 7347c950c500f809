#include "least_cost.hpp"

#include <algorithm>

#include "costate/schedule/binomial.hpp"
#include "costate/schedule/lower_bound.hpp"

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
  slots = std::max<Slot>(slots, 1);
  const double advances = costs.weights.empty()
                              ? static_cast<double>(binomial_advances(n, slots)) * costs.step
                              : least_advance_cost(costs.weights, slots);
  return advances + write + static_cast<double>(n - 1) * read;
}

}  // namespace costate
