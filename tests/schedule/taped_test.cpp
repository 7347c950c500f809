#include "costate/schedule/taped.hpp"

#include <string>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/mixed.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

Costs costs_for(Slot slots, Slot sigma, bool has_next = false) {
  Costs costs;
  costs.tape_has_next = has_next;
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
        for (const bool has_next : {false, true}) {
          CAPTURE(n, slots, sigma, has_next);
          const Costs costs = costs_for(slots, sigma, has_next);
          try {
            const Plan plan = taped(costs, n);
            const InterpretOptions options{.tape_slots = sigma, .tape_has_next = has_next};
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
            if (slots > 0) CHECK(mixed(costs, n, has_next).counts.max_runs > 1);
          }
        }
      }
    }
  }
  CHECK(made > 200);
}

TEST_CASE("Taped stretches take the fewest advances of all schedules", "[oracle]") {
  int made = 0;
  for (const Step n : {2, 3, 7, 20, 60, 120}) {
    for (Slot slots = 1; slots <= 130; slots += 1 + slots / 6) {
      for (const Slot sigma : {1, 2, 3, 5}) {
        for (const bool has_next : {false, true}) {
          CAPTURE(n, slots, sigma, has_next);
          const Costs costs = costs_for(slots, sigma, has_next);
          const Plan best = mixed(costs, n, has_next);
          try {
            const Plan plan = taped(costs, n);
            CHECK(plan.counts.advances == best.counts.advances);
            CHECK(plan.lower_bound <= best.cost);
            ++made;
          } catch (const InvalidArgument&) {
          }
        }
      }
    }
  }
  CHECK(made > 200);
}

TEST_CASE("Tapes that contain the next state are begun again from", "[golden]") {
  // Step 0 is taped on the way forward; tapes of two more steps find room at the end.
  Schedule schedule = taped(costs_for(6, 2, true), 6).schedule;
  const std::vector<std::string> expected = {
      "record 0",          "save tape 0 -> #0", "advance 1 3",
      "record 3",          "save tape 3 -> #2", "record 4",
      "save tape 4 -> #4", "record 5",          "turn 6",
      "reverse 5",         "load 4 <- #4",      "drop #4",
      "reverse 4",         "load 3 <- #2",      "drop #2",
      "reverse 3",         "load 0 <- #0",      "record 1",
      "save tape 1 -> #2", "record 2",          "reverse 2",
      "load 1 <- #2",      "drop #2",           "reverse 1",
      "load 0 <- #0",      "drop #0",           "reverse 0",
  };
  std::vector<std::string> lines;
  while (const auto action = schedule.next()) lines.push_back(to_string(*action));
  CHECK(lines == expected);
}

TEST_CASE("At once, stretches are taken if they apply, or else the optimum", "[unit]") {
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
