#pragma once

#include <chrono>
#include <utility>

#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"
#include "slot_stack.hpp"

namespace costate {

/// What is the same for every schedule: taped steps and adjoints of n steps, the size of a state.
void set_fixed(Plan& plan, const Costs& costs, Step n);

/// A plan of counts that are known: its cost from them (from its actions, if steps have weights),
/// and the bound that holds for any schedule.
[[nodiscard]] Plan plan_of(Schedule schedule, Counts counts, const Costs& costs, Step n);

/// Weights that are all the same are the cost of a step.
void simplify(Costs& costs);

/// The same costs with all of the first n steps costing the mean.
[[nodiscard]] Costs evened(Costs costs, Step n);

/// Measures how long making a plan takes.
class PlanningTime {
 public:
  [[nodiscard]] Plan stop(Plan plan) const {
    const auto now = std::chrono::steady_clock::now();
    plan.planning_seconds = std::chrono::duration<double>(now - start_).count();
    return plan;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The binomial schedule on a stack of any slots.
[[nodiscard]] Schedule revolve_on(std::string name, Step n, std::vector<TierSlots> tiers,
                                  SlotStack stack);

}  // namespace costate
