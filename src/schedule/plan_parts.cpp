#include "plan_parts.hpp"

#include "costate/schedule/interpreter.hpp"
#include "least_cost.hpp"

namespace costate {

double fixed_cost(const Costs& costs, Step n) {
  return static_cast<double>(n) * (costs.record + costs.reverse);
}

Plan plan_of(Schedule schedule, Counts counts, const Costs& costs, Step n) {
  Plan made{std::move(schedule), std::move(counts)};
  made.cost = costs.weights.empty() ? cost_of(made.counts, costs)
                                    : interpret_cost(made.schedule, costs, {.steps = n});
  made.fixed_cost = fixed_cost(costs, n);
  made.lower_bound = least_cost(costs, n);
  return made;
}

}  // namespace costate
