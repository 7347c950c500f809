#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../../src/schedule/open_disk_bound.hpp"
#include "costate/core/error.hpp"
#include "costate/schedule/baselines.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/disk.hpp"
#include "costate/schedule/hierarchical.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/multistage.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

Costs costs_of(std::vector<TierCosts> tiers) {
  Costs costs;
  costs.tiers = std::move(tiers);
  return costs;
}

// The plan keeps its word: what it says is what the interpreter counts, at either door.
void check_counted(const Plan& plan, const Costs& costs) {
  const Counts counted = interpret(plan.schedule);
  CHECK(counted == plan.counts);
  CHECK(cost_of(counted, costs) == plan.cost);
  CHECK(interpret(plan.schedule, {.single_actions = true}) == counted);
  CHECK(plan.lower_bound <= plan.cost);
  for (std::size_t i = 0; i < counted.tiers.size(); ++i) {
    CHECK(counted.tiers[i].peak <= rooms(costs)[i].slots);
  }
}

}  // namespace

TEST_CASE("Recursive halving costs what the texts say", "[schedule][golden]") {
  const Costs costs = costs_of({{.slots = unbounded}});
  for (const auto& [n, advances] : std::vector<std::pair<Step, Step>>{
           {8, 12}, {16, 32}, {64, 192}, {100, 316}, {1024, 5120}, {10000, 64608}}) {
    CAPTURE(n);
    const Plan plan = halving(costs, n);
    CHECK(plan.counts.advances == advances);
    check_counted(plan, costs);
  }
  // One slot less than log2(n) + 1: the last state need not be kept.
  CHECK(halving(costs, 10000).counts.tiers[0].peak == 14);
  CHECK(halving(costs, 1'000'000'000'000).counts.tiers[0].peak == 40);
  CHECK_THROWS_WITH(halving(costs_of({{.slots = 3}}), 100),
                    "halving 100 steps needs 7 slots in one tier");
}

TEST_CASE("Every hundredth state kept: two hundred slots and two runs", "[schedule][golden]") {
  const Costs costs = costs_of({{.slots = unbounded}});
  const Plan plan = periodic(costs, 10000);
  CHECK(plan.counts.tiers[0].peak == 198);
  CHECK(plan.counts.max_runs == 2);
  CHECK(plan.counts.advances == 99 * 199 + 99);
  check_counted(plan, costs);
  CHECK_THROWS_WITH(periodic(costs_of({{.slots = 3}}), 100),
                    "keeping every 10th state and a stretch of 100 steps needs 18 slots; there "
                    "are 3");
}

TEST_CASE("The period of the disk is that of the reference", "[schedule][golden]") {
  struct Row {
    Slot slots;
    double each;
    Step period;
  };
  for (const Row& row : std::vector<Row>{
           {1, 1, 2},   {1, 2, 3},   {1, 5, 5},   {1, 20, 9},  {2, 1, 3},   {2, 2, 6},   {2, 5, 10},
           {2, 20, 21}, {3, 1, 4},   {3, 2, 4},   {3, 5, 10},  {3, 20, 35}, {5, 1, 6},   {5, 2, 6},
           {5, 5, 21},  {5, 20, 56}, {10, 1, 11}, {10, 2, 11}, {10, 5, 11}, {10, 20, 66}}) {
    CAPTURE(row.slots, row.each);
    CHECK(disk_period(row.slots, 2 * row.each) == row.period);
  }
  CHECK(disk_period(4, 0) == 1);
  CHECK_THROWS_AS(disk_period(0, 1), InvalidArgument);
}

TEST_CASE("Periodic disk is within two per cent of the optimum for long runs",
          "[schedule][property]") {
  for (const Slot slots : {1, 2, 4, 8, 16}) {
    for (const double each : {0.5, 5.0, 20.0, 100.0}) {
      const Costs costs = costs_of(
          {{.slots = slots}, {.name = "disk", .slots = unbounded, .write = each, .read = each}});
      CAPTURE(slots, each);
      const Plan plan = periodic_disk(costs, 3000);
      check_counted(plan, costs);
      CHECK(plan.cost <= 1.02 * disk_revolve(costs, 3000).cost);
    }
  }
}

TEST_CASE("Periodic disk leaves to memory what memory alone does cheaply", "[schedule][property]") {
  // 47905 = beta(64, 3) steps at 3 advances each, where a stretch on disk costs 3.9 a step.
  const Costs costs =
      costs_of({{.slots = 64}, {.name = "disk", .slots = unbounded, .write = 1000, .read = 1000}});
  for (const Step n : {3000, 10'000, 47'905, 60'000, 100'000}) {
    CAPTURE(n);
    const Plan plan = periodic_disk(costs, n);
    check_counted(plan, costs);
    CHECK(plan.cost <= 1.02 * disk_revolve(costs, n).cost);
  }
}

TEST_CASE("Periodic disk is within two per cent of the optimum for runs of any length",
          "[schedule][property]") {
  std::mt19937 random(18);
  const auto power = [&random](double least, double most) {
    return std::pow(10, std::uniform_real_distribution<double>(least, most)(random));
  };
  // Just longer than what memory reverses with four advances of each step, less than a period.
  std::vector<std::pair<Costs, Step>> runs = {
      {costs_of({{.slots = 16}, {.name = "disk", .slots = unbounded, .write = 547, .read = 547}}),
       5000}};
  for (int trial = 0; trial < 60; ++trial) {
    runs.emplace_back(costs_of({{.slots = 1 + static_cast<Slot>(random() % 20)},
                                {.name = "disk",
                                 .slots = unbounded,
                                 .write = power(-1.5, 3),
                                 .read = power(-1.5, 3)}}),
                      static_cast<Step>(power(0.4, 3.8)));
  }
  for (const auto& [costs, n] : runs) {
    CAPTURE(n, costs.tiers[0].slots, costs.tiers[1].write, costs.tiers[1].read);
    CHECK(periodic_disk(costs, n).cost <= 1.02 * disk_revolve(costs, n).cost);
  }
}

TEST_CASE("Periodic disk says itself how near it is, for any number of steps",
          "[schedule][property]") {
  for (const Slot slots : {1, 4, 16, 64}) {
    for (const double each : {0.5, 5.0, 1000.0}) {
      for (const Step n : {Step{100'000}, Step{10'000'000}, Step{1'000'000'000'000}}) {
        const Costs costs = costs_of(
            {{.slots = slots}, {.name = "disk", .slots = unbounded, .write = each, .read = each}});
        CAPTURE(slots, each, n);
        CHECK(periodic_disk(costs, n).ratio() <= 1.02);
      }
    }
  }
}

TEST_CASE("The bound for a disk of any room holds, and is near for long runs",
          "[schedule][oracle]") {
  std::mt19937 random(17);
  const auto whole = [&random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  int used = 0;
  for (int trial = 0; trial < 60; ++trial) {
    Costs costs;
    costs.step = whole(1, 16) / 8.0;
    costs.tiers = {{.slots = whole(1, 6), .read = whole(0, 4) / 8.0}};
    for (int i = whole(1, 2); i > 0; --i) {
      costs.tiers.push_back({.name = "disk",
                             .slots = i == 1 ? unbounded : whole(1, 9),
                             .write = whole(0, 160) / 8.0,
                             .read = whole(4, 160) / 8.0});
    }
    const Step n = whole(2, 3000);
    CAPTURE(trial, n);
    const Plan exact = hierarchical(costs, n);
    const double bound = open_disk_bound(costs, n);  // beyond 1024 steps by convex functions
    CHECK(bound <= exact.cost);
    if (n > 1024 && costs.tiers.size() == 2) {
      ++used;
      CHECK(1.02 * bound >= exact.cost);
    }
  }
  CHECK(used > 5);
}

TEST_CASE("Disk plans say how much room they miss", "[schedule][unit]") {
  Costs costs = costs_of({{.slots = 2}, {.name = "disk", .slots = 3, .write = 1, .read = 1}});
  CHECK_THROWS_WITH(periodic_disk(costs, 100),
                    "periodic-disk needs 31 slots in tier disk; there are 3");
  CHECK_THROWS_AS(disk_revolve(costs, 100), InvalidArgument);
  costs.tiers[1].slots = 100;
  check_counted(disk_revolve(costs, 100), costs);
  CHECK(disk_revolve(costs, 100).schedule.name() == "disk-revolve");
  CHECK_THROWS_WITH(periodic_disk(costs_of({{.slots = 2}}), 100),
                    "periodic-disk needs a slot in the first of at least two tiers");
}

TEST_CASE("Multistage keeps what is touched most in memory", "[schedule][property]") {
  for (const auto& [memory, disk] : std::vector<std::pair<Slot, Slot>>{{2, 3}, {4, 8}, {8, 2}}) {
    for (const Step n : {2, 9, 40, 123, 1000}) {
      const Costs costs = costs_of({{.slots = memory, .write = 0.25, .read = 0.5},
                                    {.name = "disk", .slots = disk, .write = 3, .read = 2}});
      CAPTURE(memory, disk, n);
      const Plan plan = multistage(costs, n);
      CHECK(plan.counts.advances == binomial_advances(n, memory + disk));
      check_counted(plan, costs);

      // No other choice of heights for memory is cheaper: the dearest are there.
      std::vector<Traffic> traffic = binomial_traffic(n, memory + disk);
      std::vector<double> dearer;
      double least = static_cast<double>(plan.counts.advances);
      for (const Traffic& height : traffic) {
        least += 3.0 * static_cast<double>(height.writes) + 2.0 * static_cast<double>(height.reads);
        dearer.push_back(2.75 * static_cast<double>(height.writes) +
                         1.5 * static_cast<double>(height.reads));
      }
      std::sort(dearer.rbegin(), dearer.rend());
      for (std::size_t i = 0; i < dearer.size() && i < static_cast<std::size_t>(memory); ++i) {
        least -= dearer[i];
      }
      CHECK(plan.cost == least);
      CHECK(hierarchical(costs, n).cost <= plan.cost);
    }
  }
}

TEST_CASE("All families keep their word for any costs, sizes and slots", "[schedule][property]") {
  std::mt19937 random(11);
  const auto whole = [&random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int trial = 0; trial < 200; ++trial) {
    Costs costs;
    costs.step = whole(1, 40) / 8.0;
    const int tiers = whole(1, 3);
    for (int i = 0; i < tiers; ++i) {
      costs.tiers.push_back({.name = std::to_string(i),
                             .slots = whole(0, 3) == 0 ? unbounded : whole(1, 9),
                             .write = whole(0, 80) / 8.0,
                             .read = whole(0, 80) / 8.0});
    }
    const Step n = whole(0, 200);
    CAPTURE(trial, n);
    check_counted(multistage(costs, n), costs);
    costs.tiers.back().slots = unbounded;
    check_counted(halving(costs, n), costs);
    check_counted(periodic(costs, n), costs);
    check_counted(disk_revolve(costs, n), costs);
    if (tiers > 1) check_counted(periodic_disk(costs, n), costs);
  }
}
