#include "costate/schedule/interpreter.hpp"

#include <limits>
#include <string>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/replan.hpp"
#include "costate/schedule/revolve.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

std::vector<Action> actions(Schedule schedule) {
  std::vector<Action> all;
  while (const auto action = schedule.next()) all.push_back(*action);
  return all;
}

bool valid(const std::vector<Action>& all, Step n, const std::vector<TierSlots>& tiers) {
  try {
    Interpreter machine(n, tiers);
    for (const Action& action : all) machine.apply(action);
    machine.finish();
    return true;
  } catch (const ScheduleError&) {
    return false;
  }
}

void run(Step n, Slot slots, const std::vector<Action>& all, const InterpretOptions& options = {}) {
  Interpreter machine(n, {{"memory", slots}}, options);
  for (const Action& action : all) machine.apply(action);
  machine.finish();
}

}  // namespace

TEST_CASE("Leaving out any one action is noticed", "[schedule][property]") {
  const Step n = GENERATE(1, 2, 5, 12, 30);
  const Slot slots = GENERATE(1, 2, 3, 6);
  const Schedule schedule = revolve(n, slots);
  const std::vector<Action> all = actions(schedule);
  REQUIRE(valid(all, n, schedule.tiers()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(n, slots, i);
    std::vector<Action> fewer = all;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK_FALSE(valid(fewer, n, schedule.tiers()));
  }
}

TEST_CASE("Saying any one action twice is noticed, but for what has no effect twice",
          "[schedule][property]") {
  const Step n = GENERATE(2, 5, 12);
  const Slot slots = GENERATE(1, 2, 3);
  const Schedule schedule = revolve(n, slots);
  const std::vector<Action> all = actions(schedule);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(n, slots, i);
    std::vector<Action> more = all;
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(i), all[i]);
    const bool harmless =
        std::holds_alternative<Load>(all[i]) || std::holds_alternative<Record>(all[i]);
    CHECK(valid(more, n, schedule.tiers()) == harmless);
  }
}

TEST_CASE("Swapping two neighbours is noticed unless they are independent",
          "[schedule][property]") {
  const Step n = 12;
  const Schedule schedule = revolve(n, 3);
  const std::vector<Action> all = actions(schedule);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    CAPTURE(i, to_string(all[i]), to_string(all[i + 1]));
    std::vector<Action> swapped = all;
    std::swap(swapped[i], swapped[i + 1]);
    // A slot may be emptied earlier or later than its state is used; the turn needs no tape.
    const bool independent =
        std::holds_alternative<Drop>(all[i]) ||
        (std::holds_alternative<Drop>(all[i + 1]) && !std::holds_alternative<Load>(all[i]));
    if (!independent) CHECK_FALSE(valid(swapped, n, schedule.tiers()));
  }
}

TEST_CASE("A wrong slot or a wrong index is noticed", "[schedule][property]") {
  const Schedule schedule = revolve(12, 3);
  const std::vector<Action> all = actions(schedule);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i, to_string(all[i]));
    std::vector<Action> wrong = all;
    if (auto* save = std::get_if<Save>(&wrong[i])) {
      save->slot = (save->slot + 1) % 3;
      CHECK_FALSE(valid(wrong, 12, schedule.tiers()));
      wrong[i] = Save{save->at + 1, std::get<Save>(all[i]).slot};
    } else if (auto* load = std::get_if<Load>(&wrong[i])) {
      load->slot = (load->slot + 1) % 3;
      CHECK_FALSE(valid(wrong, 12, schedule.tiers()));
      wrong[i] = Load{load->at + 1, std::get<Load>(all[i]).slot};
    } else if (auto* drop = std::get_if<Drop>(&wrong[i])) {
      drop->slot = (drop->slot + 1) % 3;
    } else if (auto* advance = std::get_if<Advance>(&wrong[i])) {
      advance->to += 1;
    } else if (auto* record = std::get_if<Record>(&wrong[i])) {
      record->step += 1;
    } else if (auto* turn = std::get_if<Turn>(&wrong[i])) {
      turn->at -= 1;
    } else {
      std::get<Reverse>(wrong[i]).step += 1;
    }
    CHECK_FALSE(valid(wrong, 12, schedule.tiers()));
  }
}

TEST_CASE("What is wrong is said with the action, its number and the step", "[schedule][unit]") {
  CHECK_THROWS_WITH(run(2, 1, {Advance{1, 2}}), "action 1 (advance 1 2): the live state is 0");
  CHECK_THROWS_WITH(run(2, 1, {Advance{0, 3}}), "action 1 (advance 0 3): the run has 2 steps");
  CHECK_THROWS_WITH(run(2, 1, {Advance{0, 0}}), "action 1 (advance 0 0): it does not go forward");
  CHECK_THROWS_WITH(run(2, 1, {Save{0, 1}}), "action 1: no tier has slot #1");
  CHECK_THROWS_WITH(run(2, 1, {Save{0, -1}}), "action 1: no tier has slot #-1");
  CHECK_THROWS_WITH(run(2, 1, {Save{0, 0}, Save{0, 0}}),
                    "action 2 (save 0 -> #0): slot #0 holds 0");
  CHECK_THROWS_WITH(run(2, 1, {Save{0, 0}, Load{1, 0}}),
                    "action 2 (load 1 <- #0): the slot holds 0");
  CHECK_THROWS_WITH(run(2, 1, {Load{0, 0}}), "action 1 (load 0 <- #0): the slot is empty");
  CHECK_THROWS_WITH(run(2, 1, {Drop{0}}), "action 1 (drop #0): the slot is empty");
  CHECK_THROWS_WITH(run(2, 1, {Turn{2}}), "action 1 (turn 2): the live state is 0");
  CHECK_THROWS_WITH(run(2, 1, {Turn{1}}), "action 1 (turn 1): the run has 2 steps");
  CHECK_THROWS_WITH(run(1, 1, {Record{0}, Reverse{0}}),
                    "action 2 (reverse 0): the run has not been turned");
  CHECK_THROWS_WITH(run(1, 1, {Advance{0, 1}, Turn{1}, Reverse{0}}),
                    "action 3 (reverse 0): no tape is live");
  CHECK_THROWS_WITH(
      run(2, 1, {Save{0, 0}, Advance{0, 1}, Record{1}, Turn{2}, Load{0, 0}, Record{0}, Reverse{0}}),
      "action 7 (reverse 0): the steps from 2 on are reversed");
  CHECK_THROWS_WITH(run(1, 1, {}), "the schedule ends before the end of the run is reached");
  CHECK_THROWS_WITH(run(1, 1, {Record{0}, Turn{1}}), "the schedule ends with step 0 not reversed");
  CHECK_THROWS_WITH(run(1, 1, {Save{0, 0}, Record{0}, Turn{1}, Reverse{0}}),
                    "the schedule ends with 0 left in slot #0");
}

TEST_CASE("A tape takes its room and spares the record", "[schedule][unit]") {
  const std::vector<Action> kept = {
      Record{0}, Save{0, 0, Content::tape}, Record{1}, Turn{2}, Reverse{1}, Load{0, 0}, Drop{0},
      Reverse{0}};
  CHECK_NOTHROW(run(2, 1, kept));
  CHECK_NOTHROW(run(2, 3, kept, {.tape_slots = 3}));
  CHECK_THROWS_WITH(run(2, 2, kept, {.tape_slots = 3}), "action 2: no tier has slot #2");
  CHECK_THROWS_WITH(run(2, 2, {Advance{0, 1}, Save{0, 0, Content::tape}}),
                    "action 2 (save tape 0 -> #0): no tape is live");
  CHECK_THROWS_WITH(run(2, 2, {Record{0}, Save{0, 0, Content::tape}, Drop{1}}, {.tape_slots = 2}),
                    "action 3 (drop #1): the slot is not the first one of its tape");

  // Whether x_{k+1} can be had from a loaded tape of step k is the stepper's to say.
  const std::vector<Action> go_on = {Record{0}, Save{0, 0, Content::tape}, Load{0, 0},
                                     Advance{1, 2}};
  CHECK_THROWS_WITH(run(3, 1, go_on), "action 4 (advance 1 2): no state is live");
  CHECK_THROWS_WITH(run(3, 1, go_on, {.tape_has_next = true}),
                    "the schedule ends before the end of the run is reached");
}

TEST_CASE("Costs are counted action by action", "[schedule][unit]") {
  Costs costs;
  costs.step = 3;
  costs.tiers = {{.name = "memory", .slots = 2, .write = 0.5, .read = 0.25}};
  const Schedule schedule = revolve(10, 2);
  const Counts counts = interpret(schedule);
  CHECK(counts.advances == 20);
  const double transfers = 0.5 * static_cast<double>(counts.tiers[0].writes) + 0.25 * 9;
  CHECK(cost_of(counts, costs) == 60 + transfers);
  CHECK(interpret_cost(schedule, costs) == 60 + transfers);

  costs.weights = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  double weighted = 0;
  for (Schedule copy = schedule; const auto action = copy.next();) {
    if (const auto* advance = std::get_if<Advance>(&*action)) {
      for (Step k = advance->from; k < advance->to; ++k) weighted += static_cast<double>(k + 1);
    }
  }
  CHECK(interpret_cost(schedule, costs) == weighted + transfers);

  costs.tiers.clear();
  CHECK_THROWS_WITH(cost_of(counts, costs), "the schedule has 1 tiers, the costs only 0");
}

TEST_CASE("A slot far above all others takes no room for those below", "[schedule][unit]") {
  constexpr Slot most = std::numeric_limits<Slot>::max();
  constexpr Slot far = Slot{1} << 60;
  const std::vector<TierSlots> tiers = {{"memory", far}, {"disk", 2}, {"archive", most}};
  Interpreter machine(2, tiers);
  machine.apply(Action(Save{0, far + 1}));
  CHECK_THROWS_WITH(machine.apply(Action(Save{0, far + 1})),
                    "action 2 (save 0 -> #1152921504606846977): slot #1152921504606846977 holds 0");
  CHECK_THROWS_WITH(machine.apply(Action(Load{0, far})),
                    "action 3 (load 0 <- #1152921504606846976): the slot is empty");
  machine.apply(Action(Save{0, most - 1}));
  machine.apply(Action(Advance{0, 1}));
  machine.apply(Action(Record{1}));
  machine.apply(Action(Turn{2}));
  machine.apply(Action(Reverse{1}));
  machine.apply(Action(Load{0, far + 1}));
  machine.apply(Action(Drop{far + 1}));
  machine.apply(Action(Record{0}));
  machine.apply(Action(Reverse{0}));
  CHECK_THROWS_WITH(machine.finish(), "the schedule ends with 0 left in slot #9223372036854775806");
  machine.apply(Action(Drop{most - 1}));
  machine.finish();
  CHECK(machine.counts().tiers[1].peak == 1);
  CHECK(machine.counts().tiers[2].peak == 1);

  // As the slots below are filled it is found where it was.
  Interpreter filling(10, {{"memory", 10'000'000}});
  filling.apply(Action(Save{0, 3'000'000}));
  for (Slot slot = 0; slot < 3'000'000; ++slot) filling.apply(Action(Save{0, slot}));
  filling.apply(Action(Load{0, 3'000'000}));
  filling.apply(Action(Drop{3'000'000}));
  CHECK_THROWS_AS(filling.apply(Action(Drop{3'000'000})), ScheduleError);
}

TEST_CASE("A point at which a slot holds two states is refused", "[schedule][unit]") {
  const ResumePoint point{.steps = 3, .end = 3, .stored = {{0, 1}, {2, 1}}, .tiers = {{"all", 2}}};
  CHECK_THROWS_WITH(Interpreter(point), "slot #1 is said to hold two states");
}
