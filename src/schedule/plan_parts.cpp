#include "plan_parts.hpp"

#include "costate/schedule/interpreter.hpp"
#include "least_cost.hpp"

namespace costate {

void set_fixed(Plan& plan, const Costs& costs, Step n) {
  plan.fixed_cost = static_cast<double>(n) * (costs.record + costs.reverse);
  plan.state_bytes = costs.state_bytes;
}

Plan plan_of(Schedule schedule, Counts counts, const Costs& costs, Step n) {
  Plan made{std::move(schedule), std::move(counts)};
  made.cost = costs.weights.empty() ? cost_of(made.counts, costs)
                                    : interpret_cost(made.schedule, costs, {.steps = n});
  set_fixed(made, costs, n);
  made.lower_bound = least_cost(costs, n);
  return made;
}

}  // namespace costate
