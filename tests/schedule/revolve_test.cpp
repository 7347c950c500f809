#include "costate/schedule/revolve.hpp"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "support/catch.hpp"
#include "support/shortest_path.hpp"

using namespace costate;

namespace {

std::vector<std::string> lines(Schedule schedule) {
  std::vector<std::string> out;
  while (const auto action = schedule.next()) out.push_back(to_string(*action));
  return out;
}

}  // namespace

TEST_CASE("Four steps in two slots, action by action", "[schedule][golden]") {
  const std::vector<std::string> expected = {
      "save 0 -> #0", "advance 0 1",  "save 1 -> #1", "advance 1 3", "record 3",
      "turn 4",       "reverse 3",    "load 1 <- #1", "advance 1 2", "record 2",
      "reverse 2",    "load 1 <- #1", "drop #1",      "record 1",    "reverse 1",
      "load 0 <- #0", "drop #0",      "record 0",     "reverse 0",
  };
  CHECK(lines(revolve(4, 2)) == expected);
}

TEST_CASE("Runs of no and of one step keep nothing", "[schedule][golden]") {
  CHECK(lines(revolve(0, 3)) == std::vector<std::string>{"turn 0"});
  CHECK(lines(revolve(1, 1)) == std::vector<std::string>{"record 0", "turn 1", "reverse 0"});
  CHECK(interpret(revolve(1, {{"memory", 0}, {"disk", 1}})).tiers[1].writes == 0);
  CHECK(interpret(revolve(1, {{"memory", 1}, {"disk", 5}})).forward_evaluations() == 1);
}

TEST_CASE("Both doors emit the same actions, all valid, optimal and as counted",
          "[schedule][property]") {
  const Slot slots = GENERATE(1, 2, 3, 4, 5, 7, 12, 40, 100);
  for (Step n = 0; n <= 130; ++n) {
    CAPTURE(n, slots);
    const Counts counts = interpret(revolve(n, slots));

    CHECK(counts == interpret(revolve(n, slots), {.single_actions = true}));
    CHECK(counts == revolve_counts(n, {{"memory", slots}}));
    CHECK(counts.advances == binomial_advances(n, slots));
    CHECK(counts.records == n);
    CHECK(counts.tiers[0].writes == binomial_writes(n, slots));
    CHECK(counts.tiers[0].reads == std::max<Step>(0, n - 1));
    CHECK(counts.tiers[0].peak == std::min<Slot>(slots, std::max<Step>(0, n - 1)));
  }
}

TEST_CASE("The bottom of the stack lies in the last tier", "[schedule][property]") {
  const auto tiers = GENERATE(std::vector<TierSlots>{{"memory", 2}, {"disk", 3}},
                              std::vector<TierSlots>{{"memory", 5}, {"disk", 1}},
                              std::vector<TierSlots>{{"fast", 1}, {"memory", 0}, {"disk", 4}},
                              std::vector<TierSlots>{{"fast", 2}, {"memory", 2}, {"disk", 2}},
                              std::vector<TierSlots>{{"memory", 3}, {"disk", saturated - 3}});
  Slot all = 0;
  for (const TierSlots& tier : tiers) all += tier.slots;
  for (Step n = 0; n <= 70; ++n) {
    CAPTURE(n);
    const Schedule schedule = revolve(n, tiers);
    const Counts counts = interpret(schedule);

    CHECK(counts == interpret(schedule, {.single_actions = true}));
    CHECK(counts == revolve_counts(n, tiers));
    CHECK(counts.advances == binomial_advances(n, all));
  }
  Schedule schedule = revolve(100, tiers);
  CHECK(schedule.next() == Action(Save{0, schedule.slots() - schedule.tiers().back().slots}));
}

TEST_CASE("No schedule of any kind has fewer advances, or as few and fewer writes",
          "[schedule][oracle]") {
  const int slots = GENERATE(1, 2, 3, 4);
  for (int n = 1; n <= 8; ++n) {
    CAPTURE(n, slots);
    // Writes count a 1024th: the sum of both is found in one search.
    const std::vector<double> weights(static_cast<std::size_t>(n), 1.0);
    const double least = support::cheapest_reversal(weights, {{slots, 1.0 / 1024, 0}});
    const Counts counts = interpret(revolve(n, slots));
    CHECK(static_cast<double>(counts.advances) +
              static_cast<double>(counts.tiers[0].writes) / 1024 ==
          least);
  }
}

TEST_CASE("Saves, loads and commands are those of Algorithm 799", "[schedule][golden]") {
  struct Row {
    Step n;
    Slot s;
    Step saves;
    Step loads;
    Step commands;
  };
  for (const Row& row : std::vector<Row>{{10, 3, 6, 9, 35},
                                         {50, 7, 28, 49, 177},
                                         {100, 5, 44, 99, 343},
                                         {1000, 10, 714, 999, 3713},
                                         {14, 3, 6, 13, 0},
                                         {20, 4, 10, 19, 0},
                                         {56, 5, 35, 55, 0},
                                         {100, 10, 55, 99, 0},
                                         {1000, 30, 504, 999, 0},
                                         {100000, 10, 48620, 99999, 348619}}) {
    CAPTURE(row.n, row.s);
    Step saves = 0;
    Step loads = 0;
    Step commands = 1;  // "terminate"
    for (Schedule schedule = revolve(row.n, row.s); const auto action = schedule.next();) {
      saves += std::holds_alternative<Save>(*action) ? 1 : 0;
      loads += std::holds_alternative<Load>(*action) ? 1 : 0;
      commands += std::holds_alternative<Save>(*action) || std::holds_alternative<Load>(*action) ||
                          std::holds_alternative<Advance>(*action) ||
                          std::holds_alternative<Reverse>(*action)
                      ? 1
                      : 0;
    }
    CHECK(saves == row.saves);
    CHECK(loads == row.loads);
    if (row.commands != 0) CHECK(commands == row.commands);
  }
}

TEST_CASE("Fifty-six steps in three slots: how often each step is run", "[schedule][golden]") {
  CHECK(interpret_runs(revolve(56, 3)) ==
        std::map<Step, Step>{{0, 1}, {1, 3}, {2, 6}, {3, 10}, {4, 15}, {5, 21}});
}

TEST_CASE("A run that fits is scheduled in four commands and a turn", "[schedule][golden]") {
  Schedule schedule = store_all(1'000'000);
  using Kind = Command::Kind;
  CHECK(schedule.next_command() == Command{Kind::keep, Content::state, 0, 999'999, 0});
  CHECK(schedule.next_command() == Command{Kind::record, Content::state, 999'999, 0, 0});
  CHECK(schedule.next_command() == Command{Kind::turn, Content::state, 1'000'000, 0, 0});
  CHECK(schedule.next_command() == Command{Kind::reverse, Content::state, 999'999, 0, 0});
  CHECK(schedule.next_command() == Command{Kind::unwind, Content::state, 0, 999'999, 0});
  CHECK(schedule.next_command().kind == Kind::end);
}

TEST_CASE("C15: more slots than steps recompute nothing and are not asked for",
          "[schedule][golden]") {
  for (const Slot slots : {4, 5, 8, 1000}) {
    CAPTURE(slots);
    const Schedule schedule = revolve(4, slots);
    CHECK(interpret(schedule).advances == 3);
    CHECK(schedule.slots() == 3);
  }
  CHECK(interpret(store_all(100)).advances == 99);
  CHECK(interpret(recompute_all(100)).advances == 4950);
}

TEST_CASE("C53: very long runs start at once", "[schedule][golden]") {
  struct Row {
    Step n;
    Slot s;
  };
  for (const Row& row : std::vector<Row>{{1'000'000, 20},
                                         {1'000'000, 1},
                                         {2147483653, 3},
                                         {1'000'000'000, 50},
                                         {1'000'000'000'000, 2},
                                         {10'000'000'000'000, 2}}) {
    CAPTURE(row.n, row.s);
    Schedule schedule = revolve(row.n, row.s);
    Interpreter machine(row.n, schedule.tiers());
    for (int i = 0; i < 10; ++i) machine.apply(*schedule.next());
    CHECK(machine.counts().advances > 0);
    CHECK(machine.counts().advances < 10 * row.n);
    const Counts counts = revolve_counts(row.n, {{"memory", row.s}});
    CHECK(counts.advances == binomial_advances(row.n, row.s));
    CHECK(counts.advances > 0);
    CHECK(counts.forward_evaluations() > 0);
  }
}

TEST_CASE("The first hundred thousand splits of a very long run are the closed form's",
          "[schedule][property]") {
  // The generator moves through the table of binomials by multiplying and dividing; here products
  // pass 64 bits.
  const auto [n, slots] = GENERATE(
      std::pair<Step, Slot>{10'000'000'000'000, 2}, std::pair<Step, Slot>{1'000'000'000'000, 3},
      std::pair<Step, Slot>{9'999'999'999'999, 5}, std::pair<Step, Slot>{10'000'000'000'000, 1000});
  Schedule schedule = revolve(n, slots);
  std::vector<Step> kept;
  Step end = n;
  for (int i = 0; i < 100'000; ++i) {
    const auto action = *schedule.next();
    if (const auto* save = std::get_if<Save>(&action)) {
      kept.push_back(save->at);
    } else if (std::holds_alternative<Drop>(action)) {
      kept.pop_back();
    } else if (const auto* reverse = std::get_if<Reverse>(&action)) {
      end = reverse->step;
    } else if (const auto* advance = std::get_if<Advance>(&action)) {
      const Slot free = slots - static_cast<Slot>(kept.size()) + 1;
      REQUIRE(advance->from == kept.back());
      REQUIRE(advance->to - advance->from == binomial_split(end - advance->from, free));
    }
  }
}

TEST_CASE("A schedule is a value: copies run on independently", "[schedule][unit]") {
  Schedule one = revolve(50, 4);
  for (int i = 0; i < 30; ++i) static_cast<void>(one.next());
  Schedule two = one;
  CHECK(one == two);
  static_cast<void>(two.next());
  CHECK_FALSE(one == two);
  CHECK(lines(one).size() == lines(two).size() + 1);
  CHECK(revolve(10, 9) == store_all(10));
  CHECK_FALSE(revolve(10, 3) == revolve(10, 4));
}

TEST_CASE("Distinct schedules may be used from distinct threads", "[schedule][unit]") {
  std::vector<Counts> counts(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : counts) {
      threads.emplace_back([&mine] { mine = interpret(revolve(3000, 7)); });
    }
  }
  for (const Counts& mine : counts) CHECK(mine == counts[0]);
}

TEST_CASE("Bad arguments of revolve are refused", "[schedule][unit]") {
  CHECK_THROWS_WITH(revolve(-1, 1), "the number of steps must be at least 0, not -1");
  CHECK_THROWS_WITH(revolve(2, Slot{0}), "reversing 2 steps needs at least one slot");
  CHECK_THROWS_WITH(revolve(5, -2), "tier memory has -2 slots");
  CHECK_THROWS_WITH(revolve(5, std::vector<TierSlots>{}), "a schedule needs at least one tier");
}
