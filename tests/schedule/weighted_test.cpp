#include "costate/schedule/weighted.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "../../src/schedule/bounded_programme.hpp"
#include "../../src/schedule/weighted_plan.hpp"
#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/hierarchical.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/lower_bound.hpp"
#include "support/catch.hpp"
#include "support/shortest_path.hpp"

using namespace costate;

namespace {

Costs one_tier(std::vector<double> weights, Slot slots, double write = 0, double read = 0) {
  Costs costs;
  costs.weights = std::move(weights);
  costs.tiers = {{.name = "memory", .slots = slots, .write = write, .read = read}};
  return costs;
}

Plan plan_for(const std::vector<double>& weights, Slot slots) {
  return weighted(one_tier(weights, slots), static_cast<Step>(weights.size()));
}

// T_c(0, n) by trying all splits.
double all_splits(const std::vector<double>& weights, Slot slots, double write) {
  const auto n = weights.size();
  std::vector<double> sum(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i) sum[i + 1] = sum[i] + weights[i];
  std::vector<std::vector<double>> below;
  for (Slot c = 1; c <= slots; ++c) {
    std::vector<std::vector<double>> here(n + 1, std::vector<double>(n + 1, 0));
    for (std::size_t i = n; i-- > 0;) {
      for (std::size_t j = i + 2; j <= n; ++j) {
        double best = std::numeric_limits<double>::infinity();
        for (std::size_t k = c == 1 ? j - 1 : i + 1; k < j; ++k) {
          const double right = j - k == 1 ? 0 : write + below[k][j];
          best = std::min(best, sum[k] - sum[i] + here[i][k] + right);
        }
        here[i][j] = best;
      }
    }
    below = here;
  }
  return below[0][n];
}

// Weights of all kinds: whole numbers, so that sums are exact.
std::vector<double> some_weights(std::mt19937& random, std::size_t n, int kind) {
  std::vector<double> weights;
  std::lognormal_distribution<double> skewed(2, 2);
  for (std::size_t i = 0; i < n; ++i) {
    const auto below = [&](unsigned bound) { return static_cast<double>(random() % bound); };
    const auto at = static_cast<double>(i);
    switch (kind % 7) {
      case 0:
        weights.push_back(1);
        break;
      case 1:
        weights.push_back(1 + below(100));
        break;
      case 2:
        weights.push_back(1 + at);
        break;
      case 3:
        weights.push_back(static_cast<double>(n) - at);
        break;
      case 4:
        weights.push_back(below(50) == 0 ? 1000 : 1);
        break;
      case 5:
        weights.push_back(below(2));
        break;
      default:
        weights.push_back(std::ceil(skewed(random)));
    }
  }
  return weights;
}

}  // namespace

TEST_CASE("Weighted advances of the reference", "[golden]") {
  std::vector<double> up;
  std::vector<double> down;
  std::vector<double> periodic;
  std::vector<double> mixed;
  for (int i = 0; i < 10; ++i) up.push_back(i + 1);
  for (int i = 0; i < 10; ++i) down.push_back(10 - i);
  for (int i = 0; i < 20; ++i) periodic.push_back(i % 5 == 0 ? 10 : 1);
  for (int i = 0; i < 30; ++i) mixed.push_back(1 + (7 * i) % 11);
  const std::vector<std::pair<std::vector<double>, std::vector<double>>> table = {
      {up, {165, 86, 69, 61, 55}},         {down, {330, 131, 95, 85, 76}},
      {periodic, {604, 160, 104, 84, 73}}, {std::vector<double>(20, 1), {190, 65, 45, 39, 33}},
      {mixed, {2576, 714, 469, 382, 332}},
  };
  for (std::size_t row = 0; row < table.size(); ++row) {
    for (Slot s = 1; s <= 5; ++s) {
      CAPTURE(row, s);
      CHECK(plan_for(table[row].first, s).cost ==
            table[row].second[static_cast<std::size_t>(s - 1)]);
    }
  }
}

TEST_CASE("Weighted plans cost what a search over all schedules finds", "[oracle]") {
  std::mt19937 random(3);
  for (int trial = 0; trial < 120; ++trial) {
    const auto n = static_cast<std::size_t>(1 + trial % 8);
    const int slots = 1 + trial / 8 % 4;
    const std::vector<double> weights = some_weights(random, n, trial);
    const auto write = static_cast<double>(trial % 3 == 0 ? 0 : random() % 40);
    const auto read = static_cast<double>(trial % 2 == 0 ? 0 : random() % 40);
    CAPTURE(trial, n, slots, write, read);
    const Plan plan = weighted(one_tier(weights, slots, write, read), static_cast<Step>(n));
    CHECK(plan.cost == support::cheapest_reversal(weights, {{slots, write, read}}));
  }
}

TEST_CASE("Weights and several tiers: no schedule of any kind is cheaper", "[oracle]") {
  std::mt19937 random(30);
#ifdef COSTATE_SOAK
  const int trials = 400;
#else
  const int trials = 60;
#endif
  const auto whole = [&random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int trial = 0; trial < trials; ++trial) {
    const auto n = static_cast<std::size_t>(whole(1, 7));
    Costs costs;
    costs.weights = some_weights(random, n, trial);
    std::vector<support::PathTier> path;
    double write = whole(0, 1) * whole(0, 20);
    double read = whole(0, 20);
    for (int i = whole(1, 3); i > 0; --i) {
      const int slots = whole(path.empty() ? 1 : 0, 3);
      costs.tiers.push_back(
          {.name = std::to_string(i), .slots = slots, .write = write, .read = read});
      path.push_back({slots, write, read});
      write += whole(0, 100);
      read += whole(0, 100);
    }
    CAPTURE(trial, n, path.size(), path[0].slots);
    const Plan plan = weighted(costs, static_cast<Step>(n));
    CHECK(plan.cost == support::cheapest_reversal(costs.weights, path));
    CHECK(plan.ratio() == 1);
    CHECK(interpret(plan.schedule, {.single_actions = true}) == plan.counts);
  }
}

TEST_CASE("Weights and tiers of any cost and room: plans keep their word", "[property]") {
  std::mt19937 random(31);
  const auto whole = [&random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  for (int trial = 0; trial < 60; ++trial) {
    const auto n = static_cast<std::size_t>(whole(1, trial % 10 == 0 ? 700 : 120));
    Costs costs;
    costs.weights = some_weights(random, n, trial);
    for (int i = whole(2, 3); i > 0; --i) {
      costs.tiers.push_back({.name = std::to_string(i),
                             .slots = whole(0, 4) == 0 ? unbounded : whole(0, 9),
                             .write = static_cast<double>(whole(0, 3) * whole(0, 50)),
                             .read = static_cast<double>(whole(0, 3) * whole(0, 50))});
    }
    costs.tiers[0].slots = std::max<Slot>(costs.tiers[0].slots, 1);
    CAPTURE(trial, n);
    const Plan plan = weighted(costs, static_cast<Step>(n));
    CHECK(interpret(plan.schedule, {.single_actions = true}) == plan.counts);
    CHECK(interpret_cost(plan.schedule, costs) == plan.cost);
    CHECK(plan.lower_bound <= plan.cost);
    for (std::size_t i = 0; i < costs.tiers.size(); ++i) {
      CHECK(plan.counts.tiers[i].peak <= costs.tiers[i].slots);
    }
  }
}

TEST_CASE("Equal weights over several tiers cost what hierarchical costs", "[oracle]") {
  for (const Step n : {2, 17, 60, 200}) {
    for (const Slot disk : {Slot{1}, Slot{4}, unbounded}) {
      Costs costs;
      costs.step = 3;
      costs.tiers = {{.slots = 3, .read = 1},
                     {.name = "disk", .slots = disk, .write = 8, .read = 5},
                     {.name = "tape", .slots = 2, .write = 20, .read = 9}};
      CAPTURE(n, disk);
      const double optimum = hierarchical(costs, n).cost;
      costs.weights.assign(static_cast<std::size_t>(n), costs.step);
      CHECK(weighted(costs, n).cost == optimum);
      CHECK(weighted_plan(costs, n, 1e-9).lower_bound <= optimum);
      CHECK(weighted_plan(costs, n, 1e-9).cost >= optimum);
    }
  }
}

TEST_CASE("Long weighted runs over two tiers: planned in blocks, above the bound", "[property]") {
  std::mt19937 random(32);
  for (int kind = 0; kind < 7; ++kind) {
    Costs costs;
    costs.weights = some_weights(random, 5000, kind);
    costs.tiers = {{.slots = kind % 2 == 0 ? 2 : 8},
                   {.name = "disk", .slots = 6, .write = 300, .read = 200}};
    CAPTURE(kind);
    const Plan plan = weighted_plan(costs, 5000, 0.05);
    CHECK(interpret(plan.schedule, {.single_actions = true}) == plan.counts);
    CHECK(plan.lower_bound <= plan.cost);
    // Never dearer than the plan for steps that all cost the mean.
    Costs even = costs;
    even.weights.clear();
    even.step = 0;
    for (const double weight : costs.weights) even.step += weight / 5000;
    CHECK(plan.cost <= interpret_cost(hierarchical(even, 5000).schedule, costs));
  }
}

TEST_CASE("Blocks too long to be looked into step by step are cut once more", "[property]") {
  std::mt19937 random(33);
  Costs costs;
  for (Step k = 0; k < 20'000; ++k) costs.weights.push_back(random() % 100 == 0 ? 1000 : 1);
  costs.tiers = {{.slots = 2}, {.name = "disk", .slots = 300, .write = 50, .read = 50}};
  const Plan plan = weighted_plan(costs, 20'000, 0.05);
  CHECK(interpret(plan.schedule) == plan.counts);
  CHECK(plan.lower_bound <= plan.cost);
  Costs even = costs;
  even.weights.clear();
  even.step = std::accumulate(costs.weights.begin(), costs.weights.end(), 0.0) / 20'000;
  CHECK(plan.cost <= 0.8 * interpret_cost(hierarchical(even, 20'000).schedule, costs));
}

TEST_CASE("Knuth's bounds lose nothing, for any weights", "[oracle]") {
  std::mt19937 random(4);
  for (int trial = 0; trial < 42; ++trial) {
    const auto n = static_cast<std::size_t>(20 + random() % 60);
    const auto slots = static_cast<Slot>(1 + random() % 12);
    const std::vector<double> weights = some_weights(random, n, trial);
    CAPTURE(trial, n, slots);
    CHECK(plan_for(weights, slots).cost == all_splits(weights, slots, 0));
    // With a cost of writes all splits are tried; x_0 is written too.
    const double write = 7;
    CHECK(weighted(one_tier(weights, slots, write), static_cast<Step>(n)).cost ==
          write + all_splits(weights, slots, write));
  }
}

TEST_CASE("Splits are kept and found again in longer chains", "[oracle]") {
  std::mt19937 random(8);
  for (int trial = 0; trial < 7; ++trial) {
    const auto n = static_cast<std::size_t>(150 + random() % 60);
    const auto slots = static_cast<Slot>(2 + random() % 30);
    const std::vector<double> weights = some_weights(random, n, trial);
    CAPTURE(trial, n, slots);
    CHECK(plan_for(weights, slots).cost == all_splits(weights, slots, 0));
  }
}

TEST_CASE("What a plan cannot have use for is left out, and nothing is lost", "[oracle]") {
  std::mt19937 random(9);
  for (int trial = 0; trial < 140; ++trial) {
    const auto n = static_cast<std::size_t>(4 + random() % 60);
    const auto slots = static_cast<Slot>(2 + random() % (n - 3));
    const std::vector<double> weights = some_weights(random, n, trial);
    CAPTURE(trial, n, slots);
    const Chain chain(weights);
    const double optimum = all_splits(weights, slots, 0);
    BoundedProgramme programme(chain, 0, static_cast<Step>(n), slots, 0);
    CHECK(programme.lower_bound() == least_advance_cost(weights, slots));
    // With just enough, and with more; weights are whole, so sums are exact.
    CHECK(programme.solve(optimum) == optimum);
    CHECK(programme.solve(1.1 * optimum) == optimum);
    CHECK(programme.solve(std::numeric_limits<double>::infinity()) == optimum);
    std::vector<Decision> plan;
    programme.append(plan);
    CHECK(cost_of(chain, 0, static_cast<Step>(n), 0, plan, 0) == optimum);
    // Too little shows.
    CHECK(programme.solve(std::nextafter(optimum, 0)) >= optimum);
    plan.clear();
    split_within_bounds(chain, 0, static_cast<Step>(n), slots, 0, plan);
    CHECK(cost_of(chain, 0, static_cast<Step>(n), 0, plan, 0) == optimum);
  }
}

TEST_CASE("Up to 4000 steps weighted plans are exact for any number of slots", "[property]") {
  std::mt19937 random(10);
#ifdef COSTATE_SOAK
  const std::vector<Slot> all_slots = {20, 88, 130, 300, 700, 1333, 2000, 3000, 3900, 3998};
  constexpr int kinds = 7;
#else
  const std::vector<Slot> all_slots = {1500};
  constexpr int kinds = 1;
#endif
  for (int kind = 0; kind < kinds; ++kind) {
    for (const Slot slots : all_slots) {
      const std::vector<double> weights = some_weights(random, 4000, kind + 4);
      CAPTURE(kind, slots);
      const Plan plan = plan_for(weights, slots);
      CHECK(plan.ratio() == 1);
      CHECK(plan.cost >= least_advance_cost(weights, slots));
      CHECK(plan.counts.tiers.front().peak <= slots);
    }
  }
}

TEST_CASE("Few intervals are looked at in long chains, as exactly as all of them", "[oracle]") {
  std::mt19937 random(12);
  for (int kind = 0; kind < 7; ++kind) {
    const std::vector<double> weights = some_weights(random, 400, kind);
    const Chain chain(weights);
    for (const Slot slots : {5, 40, 150, 300}) {
      CAPTURE(kind, slots);
      std::vector<Decision> bounded;
      split_within_bounds(chain, 0, 400, slots, 0, bounded);
      std::vector<Decision> plain;  // few enough that all are looked at
      split_exactly(chain, 0, 400, slots, 0, plain);
      CHECK(cost_of(chain, 0, 400, 0, bounded, 0) == cost_of(chain, 0, 400, 0, plain, 0));
    }
  }
}

TEST_CASE("Equal weights give the binomial schedule, with its writes", "[property]") {
  for (const Step n : {1, 2, 3, 7, 30, 100, 333}) {
    for (const Slot slots : {1, 2, 3, 5, 10, 400}) {
      CAPTURE(n, slots);
      const Plan plan = plan_for(std::vector<double>(static_cast<std::size_t>(n), 1), slots);
      CHECK(plan.counts.advances == binomial_advances(n, slots));
      CHECK(plan.counts.tiers.front().writes == binomial_writes(n, slots));
      CHECK(plan.ratio() == 1);
    }
  }
}

TEST_CASE("No plan costs less than the lower bound, which is sharp for equal weights",
          "[property]") {
  std::mt19937 random(5);
  for (int trial = 0; trial < 100; ++trial) {
    const auto n = static_cast<std::size_t>(1 + random() % 80);
    const auto slots = static_cast<Slot>(1 + random() % 8);
    const std::vector<double> weights = some_weights(random, n, trial);
    CAPTURE(trial, n, slots);
    const double bound = least_advance_cost(weights, slots);
    CHECK(bound <= plan_for(weights, slots).cost);
    if (trial % 7 == 0) CHECK(bound == plan_for(weights, slots).cost);
  }
}

TEST_CASE("Long chains are planned validly, near the exact plan and above the bound",
          "[property]") {
  std::mt19937 random(6);
  for (int kind = 0; kind < 7; ++kind) {
    for (const Slot slots : {kind % 2 == 0 ? 3 : 8, kind == 4 ? 200 : 2}) {
      const std::vector<double> weights = some_weights(random, 6000, kind);
      CAPTURE(kind, slots);
      const Plan plan = plan_for(weights, slots);
      CHECK(plan.lower_bound <= plan.cost);
      CHECK(plan.lower_bound == least_advance_cost(weights, slots));
      CHECK(plan.counts.tiers.front().peak <= slots);
      const Counts single = interpret(plan.schedule, {.single_actions = true});
      CHECK(single == plan.counts);
      // Never dearer than forgetting the weights by more than the mean-cost estimate can be off.
      CHECK(plan.cost <=
            1.05 * interpret_cost(plan_for(std::vector<double>(6000, 1), slots).schedule,
                                  one_tier(weights, slots)));
    }
  }
}

TEST_CASE("Bad input of weighted is refused with a reason", "[unit]") {
  CHECK_THROWS_AS(weighted(one_tier({1, 2}, 0), 2), InvalidArgument);
  CHECK_THROWS_AS(weighted(one_tier({1, 2}, 2), 3), InvalidArgument);
  CHECK_THROWS_AS(weighted(one_tier({1, -2}, 2), 2), InvalidArgument);
  CHECK_THROWS_AS(weighted(one_tier({1, std::nan("")}, 2), 2), InvalidArgument);
  CHECK_THROWS_AS(weighted(one_tier({1, 2}, 2, -1), 2), InvalidArgument);
  CHECK(weighted(one_tier({}, 0), 0).cost == 0);
  CHECK(weighted(one_tier({5}, 0), 1).cost == 0);
}

TEST_CASE("With room for all states and writes that cost something planning ends soon", "[unit]") {
  Costs costs;
  costs.tiers = {{.name = "disk", .slots = unbounded, .write = 3, .read = 2}};
  for (Step i = 0; i < 3000; ++i) {
    costs.weights.push_back(static_cast<double>(1 + i % 7));
  }
  const Plan made = weighted(costs, 3000);
  CHECK(made.planning_seconds < 60);
  CHECK(made.lower_bound <= made.cost);
}
