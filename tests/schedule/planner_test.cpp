#include "costate/schedule/planner.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/online_tiered.hpp"
#include "costate/schedule/revolve.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

std::vector<std::string> names(const Choice& choice) {
  std::vector<std::string> all;
  for (const Plan& made : choice.plans) all.push_back(made.schedule.name());
  return all;
}

}  // namespace

TEST_CASE("Every family keeps its word for any costs, weights, sizes and slots",
          "[schedule][property]") {
  std::mt19937 random(3);
  const auto whole = [&random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int trial = 0; trial < 60; ++trial) {
    const Step n = whole(0, 80);
    Costs costs;
    costs.step = whole(1, 40) / 8.0;
    if (trial % 3 == 0) {
      for (Step k = 0; k < n; ++k) costs.weights.push_back(whole(0, 64) / 8.0);
    }
    if (trial % 4 == 0) {
      costs.state_bytes = 8;
      costs.tape_bytes = static_cast<Bytes>(whole(1, 32));
    }
    for (int i = whole(1, 3); i > 0; --i) {
      costs.tiers.push_back({.name = std::to_string(i),
                             .slots = whole(0, 3) == 0 ? unbounded : whole(1, 9),
                             .write = whole(0, 40) / 8.0,
                             .read = whole(0, 40) / 8.0});
    }
    for (const bool online : {false, true}) {
      const Choice choice = choose(costs, n, online);
      for (const Plan& made : choice.plans) {
        CAPTURE(trial, n, made.schedule.name());
        // Weights are whole eighths, so sums of them are exact.
        const InterpretOptions options = options_for(made.schedule, costs, n);
        CHECK(interpret_cost(made.schedule, costs, options) == made.cost);
        CHECK(interpret(made.schedule, options) == made.counts);
        CHECK(made.lower_bound <= made.cost);
        Step steps = 0;
        Step advances = 0;
        for (const RunCount& each : made.counts.runs) {
          steps += each.steps;
          advances += each.runs * each.steps;
        }
        CHECK(steps == n);
        CHECK(advances == made.counts.advances);
        CHECK(choice.best().cost <= made.cost);
      }
      std::size_t known = 0;
      for (const Family& family : families()) known += family.online == online ? 1 : 0;
      CHECK(choice.plans.size() + choice.unfit.size() == known);
    }
  }
}

TEST_CASE("Plans may be used from several threads at once, and are printed in a line",
          "[schedule][unit]") {
  Costs costs;
  costs.state_bytes = 10;
  costs.tape_bytes = 20;
  costs.tiers = {{.slots = 9}, {.name = "disk", .slots = unbounded, .write = 2, .read = 2}};
  for (const bool online : {false, true}) {
    for (const Plan& made : choose(costs, 300, online).plans) {
      const InterpretOptions options = options_for(made.schedule, costs, 300);
      std::vector<Counts> counts(3);
      {
        std::vector<std::jthread> threads;  // each copies the one schedule
        for (Counts& mine : counts) {
          threads.emplace_back([&] { mine = interpret(made.schedule, options); });
        }
      }
      CAPTURE(made.schedule.name());
      for (const Counts& mine : counts) CHECK(mine == made.counts);
      CHECK(made.peak_bytes(0) == static_cast<Bytes>(made.counts.tiers[0].peak) * 10);
      CHECK(to_string(made.schedule).starts_with(made.schedule.name() + ", "));
    }
  }
  CHECK(to_string(plan("revolve", costs, 300).schedule) ==
        "revolve, 300 steps, memory 9, disk 290");
  CHECK(to_string(online_tiered(costs)) ==
        "online-tiered, steps unknown, memory 9, disk unbounded");
  CHECK(to_string(revolve(1, 0)) == "revolve, 1 step, memory 0");
}

TEST_CASE("With memory alone the binomial schedule is chosen, being the plainest of the best",
          "[schedule][unit]") {
  Costs costs;
  costs.tiers = {{.slots = 10}};
  const Choice choice = choose(costs, 1000);
  CHECK(names(choice) == std::vector<std::string>{"revolve", "multistage", "hierarchical",
                                                  "halving", "recompute-all"});
  CHECK(choice.best().ratio() == 1);
  CHECK(choice.why ==
        "revolve is the cheapest of 5; multistage costs as much and is not plainer; nothing costs "
        "less");
  REQUIRE(choice.unfit.front().family == "store-all");
  CHECK(choice.unfit.front().why ==
        "keeping all states of 1000 steps needs 999 slots; there are 10");
}

TEST_CASE("The choice depends on what the disk costs", "[schedule][unit]") {
  Costs costs;
  costs.tiers = {{.slots = 4}, {.name = "disk", .slots = 8, .write = 5, .read = 5}};
  CHECK(choose(costs, 1000).best().schedule.name() == "hierarchical");
  costs.tiers[1].write = costs.tiers[1].read = 0;
  CHECK(choose(costs, 1000).best().schedule.name() == "revolve");
  costs.tiers[1].write = costs.tiers[1].read = 1e12;
  const Choice dear = choose(costs, 1000);
  CHECK(dear.best().counts.tiers[1].writes == 0);
  CHECK(dear.best().counts.advances == binomial_advances(1000, 4));
}

TEST_CASE("What is planned at once is near what is chosen at leisure, and made at once",
          "[schedule][property]") {
  std::mt19937 random(11);
  const auto whole = [&random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int trial = 0; trial < 40; ++trial) {
    Costs costs;
    costs.step = whole(1, 16) / 8.0;
    const double write = whole(0, 160) / 8.0;
    costs.tiers = {{.slots = whole(0, 9)},
                   {.name = "disk",
                    .slots = trial % 5 == 0 ? unbounded : whole(1, 20),
                    .write = write,
                    .read = whole(0, 160) / 8.0}};
    const Step n = whole(0, 600);
    CAPTURE(trial, n);
    const Plan plan = choose_at_once(costs, n);
    CHECK(interpret(plan.schedule) == plan.counts);
    CHECK(cost_of(plan.counts, costs) == plan.cost);
    // Tables are complete for so short a run.
    CHECK(plan.cost == choose(costs, n).best().cost);
  }
  Costs costs;
  costs.tiers = {{.slots = 1000}, {.name = "disk", .slots = 100'000, .write = 3, .read = 3}};
  const Plan plan = choose_at_once(costs, 1'000'000'000);
  CHECK(plan.counts.steps == 1'000'000'000);
  // More slots than revolve counts one by one: the memory alone will do.
  costs.tiers = {{.slots = 20'000'000}, {.name = "disk", .slots = 20'000'000, .write = 3}};
  CHECK(choose_at_once(costs, 1'000'000'000).counts.tiers[0].peak == 20'000'000);
  costs.tiers = {{.slots = 0}};
  CHECK_THROWS_AS(choose_at_once(costs, 2), InvalidArgument);
}

TEST_CASE("Tapes are kept where they save more than states", "[schedule][golden]") {
  Costs costs;
  costs.state_bytes = 100;
  costs.tape_bytes = 200;
  costs.tiers = {{.slots = 8}};
  // 60 steps, 8 units, 2 stages, a tape without the next state: 98 recomputed steps.
  const Choice choice = choose(costs, 60);
  CHECK(choice.best().schedule.name() == "mixed");
  CHECK(choice.best().counts.forward_evaluations() == 98 + 60);
  CHECK(choice.plans[1].schedule.name() == "revolve");
  // The bound of the others allows for the tapes that they do not keep.
  CHECK(choice.plans[1].lower_bound <= choice.best().cost);
}

TEST_CASE("Tapes are kept in memory although there is a disk", "[schedule][property]") {
  Costs costs;
  costs.state_bytes = 1;
  costs.tape_bytes = 3;
  costs.tiers = {{.slots = 20}, {.name = "disk", .slots = 10, .write = 1, .read = 1}};
  const Choice choice = choose(costs, 100);
  CHECK(choice.best().schedule.name() == "mixed");
  Costs alone = costs;
  alone.tiers.pop_back();
  CHECK(choice.best().cost == choose(alone, 100).best().cost);
  // Proven for one tier only.
  CHECK(choice.best().lower_bound < choice.best().cost);
  // Too long for the programme of `mixed` in so many slots.
  costs.tape_bytes = 2;
  costs.tiers[0].slots = 2'000;
  const Choice longer = choose(costs, 100'000);
  CHECK(longer.best().schedule.name() == "taped");
  CHECK(longer.best().counts.max_runs == 1);
  for (const FrontierPoint& point : frontier(costs, 500)) {
    costs.tiers[0].slots = point.slots;
    CAPTURE(point.slots, point.schedule);
    CHECK(point.cost <= plan("mixed", costs, 500).cost);
    CHECK(point.lower_bound <= point.cost);
  }
}

TEST_CASE("Without the number of steps, too, all that applies is compared", "[schedule][unit]") {
  Costs costs;
  costs.tiers = {{.slots = 4}, {.name = "disk", .slots = 8, .write = 0.25, .read = 0.25}};
  CHECK(names(choose(costs, 300, true)).size() == 2);
  costs.tiers[1].write = 20;
  CHECK(names(choose(costs, 300, true)).front() == "online-tiered");
  costs.tiers.push_back({.name = "tape", .slots = 9, .write = 50, .read = 50});
  CHECK(names(choose(costs, 300, true)) == std::vector<std::string>{"online"});
  CHECK(plan_guessed(costs, 300, 300).counts.advances == binomial_advances(300, 4 + 8 + 9));
}

TEST_CASE("Very long runs are compared at once", "[schedule][unit]") {
  Costs costs;
  costs.tiers = {{.slots = 20}, {.name = "disk", .slots = 100, .write = 5, .read = 5}};
  const Step n = 1'000'000'000'000;
  const Choice choice = choose(costs, n);
  CHECK(choice.best().schedule.name() == "hierarchical");
  CHECK(choice.best().counts.steps == n);
  CHECK(choice.best().ratio() <= 1.02);
  costs.tiers[1].slots = 16;
  CHECK(choose_at_once(costs, n).schedule.name() == "hierarchical");
  costs.tiers[1].slots = unbounded;
  const Choice open = choose(costs, n);
  CHECK(open.best().schedule.name() == "periodic-disk");
  CHECK(open.best().ratio() <= 1.02);
  CHECK(open.unfit.size() + open.plans.size() == choice.unfit.size() + choice.plans.size());
}

TEST_CASE("The frontier falls with memory and meets the classical schedules from below",
          "[schedule][property]") {
  Costs costs;
  costs.state_bytes = 100;
  costs.tiers = {{.slots = 7}};
  const Step n = 500;
  const std::vector<FrontierPoint> points = frontier(costs, n);
  CHECK(points.front().slots == 1);
  CHECK(points.back().slots == n - 1);
  CHECK(points.back().cost == static_cast<double>(n - 1));
  for (std::size_t i = 0; i < points.size(); ++i) {
    CHECK(points[i].bytes == static_cast<Bytes>(points[i].slots) * 100);
    CHECK(points[i].cost == static_cast<double>(binomial_advances(n, points[i].slots)));
    CHECK(points[i].lower_bound == points[i].cost);
    if (i > 0) CHECK(points[i].cost < points[i - 1].cost);
  }
  for (const FrontierPoint& mark : classical(costs, n)) {
    CAPTURE(mark.schedule);
    CHECK(mark.cost >= static_cast<double>(binomial_advances(n, mark.slots)));
  }
}

TEST_CASE("The frontier knows of tapes, up to the room for all of them", "[schedule][oracle]") {
  for (const bool has_next : {false, true}) {
    Costs costs;
    costs.state_bytes = 100;
    costs.tape_bytes = 250;  // three slots
    costs.tape_has_next = has_next;
    costs.tiers = {{.slots = 7}};
    const Step n = 60;
    const std::vector<FrontierPoint> points = frontier(costs, n);
    CHECK(points.back().slots == 3 * (n - 1));
    CHECK(points.back().cost == 0);  // nothing is run twice, and taped steps are not counted
    for (const FrontierPoint& point : points) {
      CAPTURE(has_next, point.slots);
      costs.tiers[0].slots = point.slots;
      CHECK(point.cost == plan("mixed", costs, n).cost);
      CHECK(point.cost == choose(costs, n).best().cost);
      CHECK(point.lower_bound == point.cost);
    }
  }
  // Not told apart where transfers cost something; then the bound allows for tapes.
  Costs costs;
  costs.state_bytes = 100;
  costs.tape_bytes = 100;
  costs.tiers = {{.slots = 7}, {.name = "disk", .slots = 4, .write = 2, .read = 2}};
  for (const FrontierPoint& point : frontier(costs, 40)) CHECK(point.lower_bound <= point.cost);
}

TEST_CASE("The frontier of weighted steps is above its bounds and near the plans",
          "[schedule][property]") {
  std::mt19937 random(21);
  Costs costs;
  costs.tiers = {{.slots = 1, .write = 0.5, .read = 0.25}};
  const Step n = 300;
  for (Step k = 0; k < n; ++k) costs.weights.push_back(1 + static_cast<double>(random() % 9));
  for (const FrontierPoint& point : frontier(costs, n)) {
    CAPTURE(point.slots);
    costs.tiers[0].slots = point.slots;
    const double best = plan("weighted", costs, n).cost;
    CHECK(point.lower_bound <= best);
    CHECK(point.cost >= best * (1 - 1e-12));  // the same sums in another order
    CHECK(point.cost <= 1.05 * best);
  }
}

TEST_CASE("What cannot be planned is refused", "[schedule][unit]") {
  Costs costs;
  CHECK_THROWS_WITH(choose(costs, 3), "a plan needs at least one tier");
  costs.tiers = {{.slots = 0}};
  CHECK_THROWS_WITH(choose(costs, 3), "reversing 3 steps needs at least one slot");
  CHECK(choose(costs, 1).best().cost == 0);
  CHECK(choose(costs, 0).best().cost == 0);
  costs.tiers = {{.slots = 2}};
  costs.weights = {1, 2};
  CHECK_THROWS_WITH(choose(costs, 3), "there are 2 weights for 3 steps");
  costs.weights = {1, -2, 3};
  CHECK_THROWS_WITH(choose(costs, 3),
                    "step 1 costs -2.000000: a cost must be finite and not negative");
  costs.weights.clear();
  CHECK_THROWS_AS(plan("magic", costs, 3), InvalidArgument);
}
