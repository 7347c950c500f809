#include "costate/schedule/costs.hpp"

#include <algorithm>
#include <cmath>

#include "costate/core/error.hpp"

namespace costate {
namespace {

void check_cost(double cost, const std::string& what) {
  if (!std::isfinite(cost) || cost < 0) {
    throw InvalidArgument(what + " costs " + std::to_string(cost) +
                          ": a cost must be finite and not negative");
  }
  if (cost > most_cost) {
    throw InvalidArgument(what + " costs more than 1e150: sums of such costs do not fit");
  }
}

}  // namespace

std::vector<TierSlots> rooms(const Costs& costs) {
  if (costs.tiers.empty()) throw InvalidArgument("a plan needs at least one tier");
  std::vector<TierSlots> all;
  for (const TierCosts& tier : costs.tiers) {
    if (tier.slots < 0) {
      throw InvalidArgument("tier " + tier.name + " has " + std::to_string(tier.slots) + " slots");
    }
    Slot slots = tier.slots;
    if (slots == 0 && tier.bytes > 0) {
      if (costs.state_bytes == 0) {
        throw InvalidArgument("the room of tier " + tier.name +
                              " is given in bytes, but not the size of a state");
      }
      slots = static_cast<Slot>(
          std::min<Bytes>(tier.bytes / costs.state_bytes, static_cast<Bytes>(unbounded)));
    }
    all.push_back({tier.name, slots});
  }
  return all;
}

void check(const Costs& costs, Step n) {
  if (n < 0) {
    throw InvalidArgument("the number of steps must be at least 0, not " + std::to_string(n));
  }
  if (n > most_steps) {
    throw InvalidArgument("a plan is made for at most 10^18 steps, not " + std::to_string(n));
  }
  check_cost(costs.step, "a step");
  if (costs.step == 0) throw InvalidArgument("a step costs nothing: there is nothing to plan");
  if (costs.step < least_step) {
    throw InvalidArgument("a step costs less than 1e-100: choose another unit");
  }
  check_cost(costs.record, "a taped step");
  check_cost(costs.reverse, "a reverse step");
  if (!costs.weights.empty() && static_cast<Step>(costs.weights.size()) != n) {
    throw InvalidArgument("there are " + std::to_string(costs.weights.size()) + " weights for " +
                          std::to_string(n) + " steps");
  }
  for (std::size_t i = 0; i < costs.weights.size(); ++i) {
    check_cost(costs.weights[i], "step " + std::to_string(i));
  }
  for (const TierCosts& tier : costs.tiers) {
    check_cost(tier.write, "a write to tier " + tier.name);
    check_cost(tier.read, "a read from tier " + tier.name);
  }
  static_cast<void>(rooms(costs));
}

}  // namespace costate
