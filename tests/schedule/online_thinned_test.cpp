#include "costate/schedule/online_thinned.hpp"

#include <string>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/revolve.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

// Whether the two do the same but for the last save: the state at which a run of saves is cut short
// is saved, whereas after a single step the end is noticed before the next save is asked for.
bool alike(const Counts& run, const Counts& single) {
  Counts same = single;
  Step more = 0;
  for (std::size_t i = 0; i < same.tiers.size(); ++i) {
    more += run.tiers[i].writes - same.tiers[i].writes;
    same.tiers[i].writes = run.tiers[i].writes;
    same.tiers[i].peak = run.tiers[i].peak;
  }
  return run == same && (more == 0 || more == 1);
}

}  // namespace

TEST_CASE("Any number of steps may turn up, at either door, noticed before or after the last one",
          "[schedule][property]") {
  const Slot slots = GENERATE(1, 2, 3, 4, 7, 16);
  for (Step n = 0; n <= 150; ++n) {
    CAPTURE(slots, n);
    const Counts before = interpret(online_thinned(slots), {.steps = n});
    CHECK(before.records == n);
    CHECK(alike(before, interpret(online_thinned(slots), {.steps = n, .single_actions = true})));
    CHECK(before.advances >= binomial_advances(n, slots));

    const Counts after = interpret(online_thinned(slots), {.steps = n, .knows_last_step = false});
    CHECK(after == interpret(online_thinned(slots),
                             {.steps = n, .knows_last_step = false, .single_actions = true}));
    CHECK(after.advances >= binomial_advances(n, slots) + (n > 0 ? 1 : 0));
  }
}

TEST_CASE("A run that ends while all states are kept recomputes nothing", "[schedule][property]") {
  for (Step n = 1; n <= 8; ++n) {
    CAPTURE(n);
    CHECK(interpret(online_thinned(8), {.steps = n}).advances == n - 1);
  }
  for (Step n = 0; n <= 7; ++n) {
    CAPTURE(n);
    CHECK(interpret(online_thinned(8), {.steps = n, .knows_last_step = false}).advances == n);
  }
}

TEST_CASE("Seven steps in two slots, action by action", "[schedule][golden]") {
  Schedule schedule = online_thinned(2);
  std::vector<std::string> lines;
  while (const auto action = schedule.next()) {
    lines.push_back(to_string(*action));
    // The stepper says at state 6 that step 6 is the last one.
    if (lines.back() == "advance 4 8") schedule.end_at(7, 6);
  }
  CHECK(lines == std::vector<std::string>{
                     "save 0 -> #0", "advance 0 1",  "save 1 -> #1", "advance 1 2",  "drop #1",
                     "save 2 -> #1", "advance 2 4",  "drop #1",      "save 4 -> #1", "advance 4 8",
                     "record 6",     "turn 7",       "reverse 6",    "load 4 <- #1", "advance 4 5",
                     "record 5",     "reverse 5",    "load 4 <- #1", "drop #1",      "record 4",
                     "reverse 4",    "load 0 <- #0", "advance 0 1",  "save 1 -> #1", "advance 1 3",
                     "record 3",     "reverse 3",    "load 1 <- #1", "advance 1 2",  "record 2",
                     "reverse 2",    "load 1 <- #1", "drop #1",      "record 1",     "reverse 1",
                     "load 0 <- #0", "drop #0",      "record 0",     "reverse 0"});
}

TEST_CASE("Tiers are filled from the fastest on", "[schedule][property]") {
  const std::vector<TierSlots> tiers = {{"memory", 3}, {"disk", 5}};
  for (Step n = 0; n <= 100; ++n) {
    CAPTURE(n);
    const Counts counts = interpret(online_thinned(tiers), {.steps = n});
    CHECK(alike(counts, interpret(online_thinned(tiers), {.steps = n, .single_actions = true})));
    CHECK((counts.tiers[1].writes == 0) == (n <= 3));
  }
}

TEST_CASE("The number of steps is told once, and only by one who did not know it",
          "[schedule][unit]") {
  Schedule schedule = online_thinned(2);
  static_cast<void>(schedule.next());
  schedule.end_at(1, 0);
  CHECK(schedule.steps() == 1);
  CHECK_THROWS_AS(schedule.end_at(1, 0), ScheduleError);
  CHECK_THROWS_AS(revolve(3, 2).end_at(3, 2), ScheduleError);
  CHECK_THROWS_AS(online_thinned(2).end_at(3, 1), ScheduleError);
  CHECK_THROWS_WITH(online_thinned(Slot{0}), "a run of unknown length needs at least one slot");
  CHECK_THROWS_WITH(interpret(online_thinned(2)),
                    "an online schedule is interpreted for a given number of steps");
}
