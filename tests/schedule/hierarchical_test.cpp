#include "costate/schedule/hierarchical.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../../src/schedule/hierarchical_plan.hpp"
#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/planner.hpp"
#include "costate/schedule/weighted.hpp"
#include "support/catch.hpp"
#include "support/shortest_path.hpp"

using namespace costate;

namespace {

Costs two_tiers(Slot memory, Slot disk, double write, double read) {
  Costs costs;
  costs.tiers = {{.name = "memory", .slots = memory},
                 {.name = "disk", .slots = disk, .write = write, .read = read}};
  return costs;
}

// The plan keeps its word: what it says it costs is what the interpreter counts.
void check_counted(const Plan& plan, const Costs& costs) {
  const Counts counted = interpret(plan.schedule);
  CHECK(counted == plan.counts);
  CHECK(cost_of(counted, costs) == plan.cost);
  CHECK(interpret(plan.schedule, {.single_actions = true}) == counted);
  CHECK(plan.lower_bound <= plan.cost);
  const std::vector<TierSlots> rooms_given = rooms(costs);
  for (std::size_t i = 0; i < rooms_given.size(); ++i) {
    CHECK(counted.tiers[i].peak <= rooms_given[i].slots);
  }
}

}  // namespace

TEST_CASE("Makespans of H-Revolve are those of the reference", "[schedule][golden]") {
  struct Row {
    Slot memory, disk;
    double write, read, uf, ub;
    std::map<Step, double> makespan;
  };
  for (const Row& row : std::vector<Row>{{1,
                                          1,
                                          1,
                                          1,
                                          1,
                                          1,
                                          {{2, 3},
                                           {5, 13},
                                           {10, 34},
                                           {20, 90},
                                           {32, 179},
                                           {50, 344},
                                           {64, 494},
                                           {100, 958},
                                           {128, 1383},
                                           {200, 2689},
                                           {256, 3886}}},
                                         {2,
                                          2,
                                          2,
                                          2,
                                          1,
                                          1,
                                          {{2, 3},
                                           {5, 11},
                                           {10, 30},
                                           {20, 70},
                                           {32, 124},
                                           {50, 214},
                                           {64, 289},
                                           {100, 505},
                                           {128, 688},
                                           {200, 1197},
                                           {256, 1645}}},
                                         {3,
                                          3,
                                          2,
                                          2,
                                          1,
                                          1,
                                          {{2, 3},
                                           {5, 10},
                                           {10, 25},
                                           {20, 63},
                                           {32, 110},
                                           {50, 182},
                                           {64, 243},
                                           {100, 420},
                                           {128, 560},
                                           {200, 943},
                                           {256, 1279}}},
                                         {5,
                                          5,
                                          2,
                                          2,
                                          1,
                                          1,
                                          {{2, 3},
                                           {5, 9},
                                           {10, 23},
                                           {20, 53},
                                           {32, 95},
                                           {50, 158},
                                           {64, 213},
                                           {100, 357},
                                           {128, 469},
                                           {200, 768},
                                           {256, 1021}}},
                                         {5,
                                          5,
                                          2,
                                          2,
                                          1,
                                          2,
                                          {{2, 5},
                                           {5, 14},
                                           {10, 33},
                                           {20, 73},
                                           {32, 127},
                                           {50, 208},
                                           {64, 277},
                                           {100, 457},
                                           {128, 597},
                                           {200, 968},
                                           {256, 1277}}},
                                         {3,
                                          3,
                                          2,
                                          2,
                                          2,
                                          1,
                                          {{2, 4},
                                           {5, 15},
                                           {10, 40},
                                           {20, 96},
                                           {32, 176},
                                           {50, 302},
                                           {64, 402},
                                           {100, 710},
                                           {128, 962},
                                           {200, 1628},
                                           {256, 2244}}},
                                         {3,
                                          3,
                                          2,
                                          2,
                                          1,
                                          10,
                                          {{2, 21},
                                           {5, 55},
                                           {10, 115},
                                           {20, 243},
                                           {32, 398},
                                           {50, 632},
                                           {64, 819},
                                           {100, 1320},
                                           {128, 1712},
                                           {200, 2743},
                                           {256, 3583}}},
                                         {5,
                                          10,
                                          0.5,
                                          0.5,
                                          1,
                                          2,
                                          {{2, 5},
                                           {5, 14},
                                           {10, 33},
                                           {20, 73},
                                           {32, 121},
                                           {50, 193},
                                           {64, 249},
                                           {100, 407},
                                           {128, 547},
                                           {200, 907},
                                           {256, 1187}}},
                                         {2,
                                          5,
                                          10,
                                          1,
                                          1,
                                          1,
                                          {{2, 3},
                                           {5, 11},
                                           {10, 30},
                                           {20, 78},
                                           {32, 136},
                                           {50, 222},
                                           {64, 290},
                                           {100, 470},
                                           {128, 624},
                                           {200, 1040},
                                           {256, 1376}}}}) {
    Costs costs = two_tiers(row.memory, row.disk, row.write, row.read);
    costs.step = row.uf;
    for (const auto& [n, makespan] : row.makespan) {
      CAPTURE(row.memory, row.disk, row.write, row.read, row.uf, row.ub, n);
      const Plan plan = hierarchical(costs, n);
      CHECK(plan.cost + row.ub * static_cast<double>(n) == makespan);
      CHECK(plan.ratio() == 1);
      check_counted(plan, costs);
    }
  }
}

TEST_CASE("Makespans of Disk-Revolve are the optimum, not that of one read", "[schedule][golden]") {
  struct Row {
    Slot memory;
    double write, read;
    std::map<Step, double> makespan;
  };
  for (const Row& row : std::vector<Row>{{1,
                                          1,
                                          1,
                                          {{5, 13},
                                           {10, 31},
                                           {20, 66},
                                           {50, 171},
                                           {64, 220},
                                           {100, 346},
                                           {128, 444},
                                           {200, 696},
                                           {256, 892}}},
                                         {1,
                                          2,
                                          2,
                                          {{5, 15},
                                           {10, 36},
                                           {20, 80},
                                           {50, 210},
                                           {64, 270},
                                           {100, 426},
                                           {128, 548},
                                           {200, 860},
                                           {256, 1102}}},
                                         {3,
                                          2,
                                          2,
                                          {{5, 10},
                                           {10, 25},
                                           {20, 63},
                                           {50, 175},
                                           {64, 228},
                                           {100, 363},
                                           {128, 468},
                                           {200, 738},
                                           {256, 948}}},
                                         {5,
                                          2,
                                          2,
                                          {{5, 9},
                                           {10, 23},
                                           {20, 53},
                                           {50, 158},
                                           {64, 207},
                                           {100, 333},
                                           {128, 431},
                                           {200, 683},
                                           {256, 879}}},
                                         {5,
                                          20,
                                          20,
                                          {{5, 9},
                                           {10, 23},
                                           {20, 53},
                                           {50, 172},
                                           {64, 236},
                                           {100, 416},
                                           {128, 558},
                                           {200, 940},
                                           {256, 1232}}},
                                         {3,
                                          5,
                                          1,
                                          {{5, 10},
                                           {10, 25},
                                           {20, 65},
                                           {50, 188},
                                           {64, 245},
                                           {100, 391},
                                           {128, 505},
                                           {200, 798},
                                           {256, 1026}}},
                                         {3,
                                          1,
                                          5,
                                          {{5, 10},
                                           {10, 25},
                                           {20, 65},
                                           {50, 188},
                                           {64, 246},
                                           {100, 393},
                                           {128, 508},
                                           {200, 803},
                                           {256, 1033}}},
                                         {10,
                                          5,
                                          5,
                                          {{5, 9},
                                           {10, 19},
                                           {20, 48},
                                           {50, 138},
                                           {64, 180},
                                           {100, 316},
                                           {128, 424},
                                           {200, 698},
                                           {256, 912}}}}) {
    const Costs costs = two_tiers(row.memory, unbounded, row.write, row.read);
    for (const auto& [n, makespan] : row.makespan) {
      CAPTURE(row.memory, row.write, row.read, n);
      const Plan plan = hierarchical(costs, n);
      CHECK(plan.cost + static_cast<double>(n) == makespan);
      check_counted(plan, costs);
    }
  }
}

TEST_CASE("No schedule of any kind is cheaper, for tiers that are ordered", "[schedule][oracle]") {
  std::mt19937 random(20260);
#ifdef COSTATE_SOAK
  const int trials = 400;
#else
  const int trials = 40;
#endif
  for (int trial = 0; trial < trials; ++trial) {
    const auto quarters = [&random](int most) {
      return std::uniform_int_distribution<int>(0, most)(random) / 4.0;
    };
    const int n = std::uniform_int_distribution<int>(1, 7)(random);
    const int tiers = std::uniform_int_distribution<int>(1, 3)(random);
    Costs costs;
    costs.step = 0.25 + quarters(8);
    std::vector<support::PathTier> path;
    double write = quarters(1) * 2;
    double read = quarters(2);
    for (int i = 0; i < tiers; ++i) {
      const int slots = std::uniform_int_distribution<int>(i == 0 ? 1 : 0, 3)(random);
      costs.tiers.push_back(
          {.name = "t" + std::to_string(i), .slots = slots, .write = write, .read = read});
      path.push_back({slots, write, read});
      write += quarters(8);
      read += quarters(8);
    }
    CAPTURE(trial, n, tiers, costs.step);
    const Plan plan = hierarchical(costs, n);
    const std::vector<double> weights(static_cast<std::size_t>(n), costs.step);
    CHECK(plan.cost == support::cheapest_reversal(weights, path));
    check_counted(plan, costs);
  }
}

TEST_CASE("More slots on disk than are wanted change nothing", "[schedule][property]") {
  // Up to 64 slots the plan is made with a table for each of them.
  for (const double cost : {5.0, 20.0}) {
    for (const Step n : {300, 900}) {
      const Plan tables = hierarchical(two_tiers(16, 64, cost, cost), n);
      CAPTURE(cost, n, tables.counts.tiers[1].peak);
      REQUIRE(tables.counts.tiers[1].peak < 64);
      for (const Slot disk : {65, 200}) {
        const Costs costs = two_tiers(16, disk, cost, cost);
        const Plan plan = hierarchical(costs, n);
        CHECK(plan.cost == tables.cost);
        CHECK(plan.ratio() == 1);
        check_counted(plan, costs);
      }
    }
  }
  // And if more are wanted than there are, no more are used.
  const Costs costs = two_tiers(2, 70, 0.1, 0.1);
  const Plan plan = hierarchical(costs, 2000);
  CHECK(plan.counts.tiers[1].peak == 70);
  check_counted(plan, costs);
}

TEST_CASE("Plans keep their word for any costs, sizes and slots", "[schedule][property]") {
  std::mt19937 random(7);
  const auto whole = [&random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int trial = 0; trial < 150; ++trial) {
    Costs costs;
    costs.step = whole(1, 40) / 8.0;
    const int tiers = whole(1, 4);
    for (int i = 0; i < tiers; ++i) {
      costs.tiers.push_back({.name = std::to_string(i),
                             .slots = whole(0, 5) == 0 ? unbounded : whole(0, 9),
                             .write = whole(0, 80) / 8.0,
                             .read = whole(0, 80) / 8.0});
    }
    costs.tiers[0].slots = std::max<Slot>(costs.tiers[0].slots, 1);
    const Step n = whole(0, 300);
    CAPTURE(trial, n);
    check_counted(hierarchical(costs, n), costs);
  }
}

TEST_CASE("With free memory alone the plan is the binomial one", "[schedule][property]") {
  for (const Step n : {1, 2, 17, 1000}) {
    for (const Slot slots : {1, 3, 10}) {
      Costs costs;
      costs.tiers = {{.slots = slots}};
      const Plan plan = hierarchical(costs, n);
      CHECK(plan.counts.advances == binomial_advances(n, slots));
      CHECK(plan.counts.tiers[0].writes == binomial_writes(n, slots));
    }
  }
}

TEST_CASE("A disk that is dearer than recomputing is not touched", "[schedule][unit]") {
  const Plan plan = hierarchical(two_tiers(2, 100, 1e9, 1e9), 50);
  CHECK(plan.counts.tiers[1].writes == 0);
  CHECK(plan.counts.advances == binomial_advances(50, 2));
  CHECK(hierarchical(two_tiers(3, 5, 1, 1), 0).counts.tiers[1].writes == 0);
  CHECK(hierarchical(two_tiers(0, 5, 1, 1), 1).counts.tiers[1].writes == 0);
}

TEST_CASE("Long runs: a bound below, a plan above, and little between", "[schedule][property]") {
  struct Row {
    Slot memory, disk;
    double cost;
    Step n;
  };
  for (const Row& row : std::vector<Row>{{16, 16, 20, 20'000},
                                         {4, 8, 1, 40'000},
                                         {2, 4, 20, 40'000},
                                         {4, 300, 2, 100'000},
                                         {16, 1000, 5, 1'000'000},
                                         {4, unbounded, 5, 100'000},
                                         {1, unbounded, 20, 30'000},
                                         {40, unbounded, 0, 100'000}}) {
    const Costs costs = two_tiers(row.memory, row.disk, row.cost, row.cost);
    CAPTURE(row.memory, row.disk, row.cost, row.n);
    const Plan plan = hierarchical(costs, row.n);
    CHECK(plan.ratio() <= 1.02);
    const Counts counted = interpret(plan.schedule);
    CHECK(counted == plan.counts);
    if (row.memory > 2) CHECK(hierarchical(costs, 1'000'000'000'000).ratio() <= 1.02);
  }
}

TEST_CASE("Planned with little work, a run keeps its word and costs little more",
          "[schedule][property]") {
  std::mt19937 random(12);
  const auto whole = [&random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int trial = 0; trial < 12; ++trial) {
    Costs costs = two_tiers(whole(1, 8), whole(1, 12), whole(0, 40) / 4.0, whole(0, 40) / 4.0);
    if (trial % 3 == 0) {
      costs.tiers.push_back({.name = "tape",
                             .slots = whole(1, 9),
                             .write = costs.tiers[1].write + whole(0, 40),
                             .read = costs.tiers[1].read + whole(0, 40)});
    }
    if (trial % 4 == 1) costs.tiers.back().slots = unbounded;
    costs.step = whole(1, 8) / 4.0;
    const Step n = whole(3'000, 8'000);
    CAPTURE(trial, n);
    // Complete tables for some dozen steps.
    const Plan plan = hierarchical_plan(costs, n, 2e-3);
    check_counted(plan, costs);
    const Plan best = hierarchical(costs, n);
    CHECK(plan.cost >= best.lower_bound);
    CHECK(plan.lower_bound <= best.cost);
    CHECK(plan.ratio() <= 1.02);
  }
}

TEST_CASE("Bad costs are refused", "[schedule][unit]") {
  Costs costs = two_tiers(1, 1, 1, 1);
  CHECK_THROWS_WITH(hierarchical(costs, -1), "the number of steps must be at least 0, not -1");
  costs.tiers[1].write = -1;
  CHECK_THROWS_WITH(hierarchical(costs, 5),
                    "a write to tier disk costs -1.000000: a cost must be finite and not negative");
  costs.tiers[1].write = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(hierarchical(costs, 5), InvalidArgument);
  costs = two_tiers(0, 0, 1, 1);
  CHECK_THROWS_WITH(hierarchical(costs, 5), "reversing 5 steps needs at least one slot");
  costs.tiers[0].slots = -1;
  CHECK_THROWS_WITH(hierarchical(costs, 5), "tier memory has -1 slots");
  costs.tiers[0] = {.name = "memory", .bytes = 100};
  CHECK_THROWS_WITH(hierarchical(costs, 5),
                    "the room of tier memory is given in bytes, but not the size of a state");
  costs.state_bytes = 30;
  CHECK(hierarchical(costs, 5).counts.tiers[0].peak == 3);
  costs.step = 0;
  CHECK_THROWS_WITH(hierarchical(costs, 5), "a step costs nothing: there is nothing to plan");
  costs.tiers.clear();
  CHECK_THROWS_AS(hierarchical(costs, 5), InvalidArgument);
}

TEST_CASE("A tier of any room that is slow to read does not make faster ones useless", "[oracle]") {
  // Cheap to write and dear to read: one state in the other tier is read again and again instead.
  Costs costs;
  costs.step = 6.75;
  costs.tiers = {{.slots = 6, .write = 3.3e7, .read = 610},
                 {.name = "disk", .slots = unbounded, .write = 2.75, .read = 3e6}};
  const Step n = 22;
  const double other = plan("recompute-all", costs, n).cost;
  const Plan made = hierarchical(costs, n);
  CHECK(other < made.cost);
  CHECK(made.lower_bound <= other);
  CHECK(choose_at_once(costs, n).lower_bound <= other);
  costs.weights.assign(static_cast<std::size_t>(n), costs.step);
  CHECK(weighted(costs, n).lower_bound <= other);
}
