#include "costate/schedule/taped.hpp"

#include "costate/core/error.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/mixed.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

Costs costs_for(Slot slots, Slot sigma) {
  Costs costs;
  costs.state_bytes = 8;
  costs.tape_bytes = 8 * static_cast<Bytes>(sigma) - 3;  // rounded up
  costs.tiers = {{.name = "memory", .slots = slots}};
  return costs;
}

}  // namespace

TEST_CASE("Schedules of taped stretches do what they say, at both doors", "[property]") {
  int made = 0;
  for (const Step n : {1, 2, 3, 4, 5, 17, 100, 321}) {
    for (const Slot slots : {0, 1, 2, 3, 5, 9, 24, 40, 160, 2000}) {
      for (const Slot sigma : {1, 2, 4, 7}) {
        CAPTURE(n, slots, sigma);
        try {
          const Plan plan = taped(costs_for(slots, sigma), n);
          const InterpretOptions options{.tape_slots = sigma};
          InterpretOptions single = options;
          single.single_actions = true;
          CHECK(interpret(plan.schedule, options) == plan.counts);
          CHECK(interpret(plan.schedule, single) == plan.counts);
          CHECK(plan.counts.max_runs <= 1);
          CHECK(plan.counts.tiers[0].peak <= slots);
          CHECK(plan.counts.advances < n);
          if (slots >= (n - 1) * sigma) CHECK(plan.counts.advances == 0);
          CHECK(plan.lower_bound <= plan.cost);
          ++made;
        } catch (const InvalidArgument&) {
          // Then even the optimum advances a step twice or more.
          if (slots > 0) CHECK(mixed(costs_for(slots, sigma), n).counts.max_runs > 1);
        }
      }
    }
  }
  CHECK(made > 100);
}

TEST_CASE("Taped stretches take the fewest advances of all schedules that use no tape twice",
          "[oracle]") {
  for (const Step n : {2, 3, 7, 20, 60, 120}) {
    for (Slot slots = 1; slots <= 130; slots += 1 + slots / 6) {
      for (const Slot sigma : {1, 2, 3, 5}) {
        CAPTURE(n, slots, sigma);
        try {
          const Plan plan = taped(costs_for(slots, sigma), n);
          CHECK(plan.counts.advances == mixed(costs_for(slots, sigma), n).counts.advances);
        } catch (const InvalidArgument&) {
        }
      }
    }
  }
}

TEST_CASE("At once, the better of stretches and the optimum is taken", "[unit]") {
  CHECK(tapes_at_once(costs_for(2000, 2), 1000).schedule.name() == "taped");
  CHECK(tapes_at_once(costs_for(4, 2), 100).schedule.name() == "mixed");
  const Plan plan = tapes_at_once(costs_for(30'000, 3), 100'000'000);
  CHECK(plan.planning_seconds < 1);
  CHECK(plan.counts.max_runs == 1);
}

TEST_CASE("What cannot be taped is refused with a reason", "[unit]") {
  CHECK_THROWS_AS(taped(costs_for(3, 2), 100), InvalidArgument);
  CHECK_THROWS_AS(tapes_at_once(costs_for(3, 2), 1'000'000), InvalidArgument);
  Costs costs = costs_for(3, 2);
  costs.tape_bytes = 0;
  CHECK_THROWS_WITH(taped(costs, 5), "keeping tapes needs the sizes of a state and of a tape");
  costs = costs_for(3, 2);
  costs.tiers.push_back({.name = "disk", .slots = 3});
  CHECK_THROWS_WITH(taped(costs, 5), "taped() is for one tier, not 2");
}
