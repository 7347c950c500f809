#include "plan_parts.hpp"

#include <algorithm>
#include <numeric>

#include "costate/schedule/interpreter.hpp"
#include "least_cost.hpp"

namespace costate {

void set_fixed(Plan& plan, const Costs& costs, Step n) {
  plan.fixed_cost = static_cast<double>(n) * (costs.record + costs.reverse);
  plan.state_bytes = costs.state_bytes;
}

void simplify(Costs& costs) {
  const std::vector<double>& weights = costs.weights;
  if (weights.empty() || !(weights.front() >= least_step)) return;
  if (std::any_of(weights.begin(), weights.end(),
                  [&](double weight) { return weight != weights.front(); })) {
    return;
  }
  costs.step = weights.front();
  costs.weights.clear();
}

Costs evened(Costs costs, Step n) {
  if (costs.weights.empty()) return costs;
  const double sum = std::accumulate(costs.weights.begin(), costs.weights.begin() + n, 0.0);
  costs.weights.clear();
  costs.step = std::max(least_step, sum / static_cast<double>(std::max<Step>(n, 1)));
  return costs;
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
