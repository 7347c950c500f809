#include "costate/schedule/required.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../../src/schedule/mean_tables.hpp"
#include "../../src/schedule/replanner.hpp"
#include "../../src/schedule/required_exact.hpp"
#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/weighted.hpp"
#include "support/catch.hpp"
#include "support/replan_cases.hpp"
#include "support/shortest_path.hpp"

using namespace costate;
using support::more;
using support::Random;

namespace {

Plan plan_for(Step n, Slot slots, const std::vector<Step>& positions) {
  Costs costs;
  costs.tiers = {{.name = "memory", .slots = slots}};
  return required(costs, n, positions);
}

// The fewest advances by breadth-first search over all states of the machine that never passes a
// required state which is not stored, and never drops one before it is reversed.
Step least_advances(int n, int slots, unsigned wanted) {
  struct Node {
    unsigned stored;
    int live;
    int end;
    auto operator<=>(const Node&) const = default;
  };
  const Node first{0, 0, n};
  std::map<Node, Step> best{{first, 0}};
  std::deque<std::pair<Step, Node>> queue{{0, first}};
  const auto reach = [&](const Node& node, Step cost, bool free) {
    const auto [it, is_new] = best.try_emplace(node, cost);
    if (!is_new && it->second <= cost) return;
    it->second = cost;
    if (free) {
      queue.emplace_front(cost, node);
    } else {
      queue.emplace_back(cost, node);
    }
  };
  while (!queue.empty()) {
    const Step cost = queue.front().first;
    const Node node = queue.front().second;
    queue.pop_front();
    if (best.at(node) < cost) continue;
    if (node.end == 0) return cost;
    if (node.live == node.end - 1) reach({node.stored, node.live, node.end - 1}, cost, true);
    for (int k = 0; k < n; ++k) {
      if ((node.stored >> k & 1U) == 0) continue;
      reach({node.stored, k, node.end}, cost, true);
      if ((wanted >> k & 1U) == 0 || node.end <= k) {
        reach({node.stored & ~(1U << k), node.live, node.end}, cost, true);
      }
    }
    if (__builtin_popcount(node.stored) < slots) {
      reach({node.stored | 1U << node.live, node.live, node.end}, cost, true);
    }
    const bool may_pass = (wanted >> node.live & 1U) == 0 || (node.stored >> node.live & 1U) != 0;
    if (node.live < node.end - 1 && may_pass) {
      reach({node.stored, node.live + 1, node.end}, cost + 1, false);
    }
  }
  return saturated;
}

// Once it has been reached, a required state is held in some tier until it is reversed.
void check_kept(const Plan& plan, Step n, const std::vector<Step>& positions) {
  const std::set<Step> wanted(positions.begin(), positions.end());
  Schedule schedule = plan.schedule;
  std::map<Slot, Step> held;
  Step end = n;
  Step live = 0;
  const auto check_held = [&](Step at) {
    if (wanted.count(at) == 0 || at >= end - 1) return;
    const bool found =
        std::any_of(held.begin(), held.end(), [at](const auto& each) { return each.second == at; });
    CAPTURE(at, end, live);
    CHECK(found);
  };
  while (const auto action = schedule.next()) {
    if (const auto* advance = std::get_if<Advance>(&*action)) {
      for (Step at = advance->from; at < advance->to; ++at) check_held(at);
      live = advance->to;
    }
    if (const auto* save = std::get_if<Save>(&*action)) held[save->slot] = save->at;
    if (const auto* load = std::get_if<Load>(&*action)) live = load->at;
    if (const auto* drop = std::get_if<Drop>(&*action)) {
      const Step at = held[drop->slot];
      held.erase(drop->slot);
      check_held(at);
    }
    if (const auto* reverse = std::get_if<Reverse>(&*action)) end = reverse->step;
  }
  CHECK(end == 0);
}

}  // namespace

TEST_CASE("With required states the advances are the fewest, as a search over all schedules finds",
          "[oracle]") {
  for (int n = 2; n <= 8; ++n) {
    for (int slots = 1; slots <= 4; ++slots) {
      for (unsigned wanted = 1; wanted < 1U << (n - 1); wanted += 2) {
        if (__builtin_popcount(wanted) > slots) continue;
        std::vector<Step> positions;
        for (int k = 1; k < n; ++k) {
          if ((wanted >> k & 1U) != 0) positions.push_back(k);
        }
        CAPTURE(n, slots, wanted);
        CHECK(plan_for(n, slots, positions).counts.advances == least_advances(n, slots, wanted));
      }
    }
  }
}

TEST_CASE("With costs and weights hardly any schedule that stores the required states is cheaper",
          "[oracle]") {
  Random random(31);
  constexpr int trials = 600 * more;
  int cheapest = 0;
  double worst = 1;
  for (int trial = 0; trial < trials; ++trial) {
    const int tiers = trial % 7 == 0 ? 3 : trial % 7 < 3 ? 1 : 2;
    Costs costs = random.costs(tiers, 4, tiers == 3 ? 1 : 3);
    const Step n = 1 + random.below(tiers == 3 ? 6 : 8);
    if (trial % 2 == 0) costs.weights = random.weights(n);
    costs.step = 0.25 * static_cast<double>(1 + random.below(8));
    Slot slots = 0;
    for (const TierCosts& tier : costs.tiers) slots += tier.slots;
    std::vector<Step> positions;
    std::uint32_t wanted = 1;
    for (Slot i = random.below(slots); i > 0; --i) {
      const Step at = random.below(n);
      positions.push_back(at);
      wanted |= 1U << at;
    }
    wanted &= (1U << (n - 1)) - 1;
    CAPTURE(trial, tiers, n, wanted);
    const Plan plan = required(costs, n, positions);
    CHECK(plan.counts == interpret(plan.schedule, {.single_actions = true}));
    CHECK(interpret_cost(plan.schedule, costs) == Catch::Approx(plan.cost).epsilon(1e-14));
    check_kept(plan, n, positions);

    std::vector<support::PathTier> path;
    for (const TierCosts& tier : costs.tiers) {
      path.push_back({static_cast<int>(tier.slots), tier.write, tier.read});
    }
    const std::vector<double> equal(static_cast<std::size_t>(n), costs.step);
    const double least =
        support::cheapest_reversal(costs.weights.empty() ? equal : costs.weights, path, wanted);
    CHECK(plan.cost >= least);
    CHECK(plan.lower_bound <= least);
    if (tiers == 1) CHECK(plan.cost == least);
    if (tiers == 1) CHECK(plan.lower_bound >= least * (1 - 1e-8));
    if (least > 0) worst = std::max(worst, plan.cost / least);
    if (plan.cost == least) ++cheapest;
  }
  CAPTURE(cheapest, worst);
  // What is stated (required.hpp).
  CHECK(worst <= 2.5);
  CHECK(cheapest * 200 >= trials * 199);
}

TEST_CASE("Required states are stored on the first pass and kept until they are reversed",
          "[property]") {
  for (const Slot slots : {6, 7, 10, 30}) {
    const Plan plan = plan_for(1000, slots, {10, 11, 12, 500, 777});
    check_kept(plan, 1000, {10, 11, 12, 500, 777});
    CHECK(plan.counts.advances >= binomial_advances(1000, slots));
    CHECK(plan.counts == interpret(plan.schedule, {.single_actions = true}));
    CHECK(plan.cost == plan.lower_bound);
  }
}

TEST_CASE("Required states in two tiers cost no more than to count advances alone", "[property]") {
  Random random(32);
  for (int trial = 0; trial < 20 * more; ++trial) {
    Costs costs;
    costs.tiers = {{.slots = 3 + random.below(4)},
                   {.name = "disk",
                    .slots = 4 + random.below(6),
                    .write = static_cast<double>(random.below(12)) / 2,
                    .read = static_cast<double>(random.below(30)) / 2}};
    const Step n = 30 + random.below(trial % 2 == 0 ? 60 : 300);
    std::vector<Step> positions;
    for (Slot i = random.below(7); i > 0; --i) positions.push_back(random.below(n));
    if (trial % 2 == 0) costs.weights = random.weights(n);
    CAPTURE(trial, n, positions);
    const Plan plan = required(costs, n, positions);
    CHECK(plan.counts == interpret(plan.schedule, {.single_actions = true}));
    CHECK(interpret_cost(plan.schedule, costs) == Catch::Approx(plan.cost).epsilon(1e-14));
    CHECK(plan.lower_bound <= plan.cost);
    CHECK(plan.lower_bound >= 0.5 * plan.cost);
    check_kept(plan, n, positions);

    Costs alike = costs;
    alike.weights.clear();
    alike.tiers = {{.slots = costs.tiers[0].slots + costs.tiers[1].slots}};
    CHECK(plan.counts.advances >= required(alike, n, positions).counts.advances);
  }
}

TEST_CASE("With one tier the fewest advances are the least cost of a programme over all states",
          "[property]") {
  Random random(36);
  for (int trial = 0; trial < 30 * more; ++trial) {
    const Slot slots = 3 + random.below(trial % 2 == 0 ? 8 : 60);
    const Step n = 20 + random.below(300);
    std::vector<Step> positions{0};
    for (Slot i = random.below(3); i > 0; --i) positions.push_back(1 + random.below(n - 2));
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    CAPTURE(trial, n, slots, positions);
    const EqualGapTables tables({{slots, 0, 0}}, 1, n);
    std::vector<Step> all;
    for (Step at = 0; at < n; ++at) all.push_back(at);
    const FirstPass pass = required_exact(tables, positions, n, all);
    const auto advances = static_cast<double>(plan_for(n, slots, positions).counts.advances);
    CHECK(advances == Catch::Approx(pass.cost).margin(1e-3));
  }
}

TEST_CASE("Many steps with required states are planned near the exact plan where there is one",
          "[property]") {
  Random random(34);
  double sum = 0;
  double worst = 1;
  int compared = 0;
  for (int trial = 0; trial < 40 * more; ++trial) {
    Costs costs;
    costs.tiers = {{.slots = 3 + random.below(5)}};
    if (trial % 4 > 0) {
      costs.tiers.push_back({.name = "disk",
                             .slots = 3 + random.below(4),
                             .write = static_cast<double>(random.below(12)) / 2,
                             .read = static_cast<double>(random.below(12)) / 2});
    } else {
      costs.tiers[0].write = 0.5;
    }
    const bool equal = trial % 4 == 1;
    const Step n = equal ? 300 + random.below(300) : 80 + random.below(100);
    if (!equal) costs.weights = random.weights(n);
    std::vector<Step> positions{0};
    for (Slot i = random.below(3); i > 0; --i) positions.push_back(1 + random.below(n - 2));
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
    const auto quick = required_by_mean(positions, n, rooms(costs), costs);
    REQUIRE(quick);
    const Plan exact = required(costs, n, positions);
    const Schedule schedule("required", n, rooms(costs), listed(*quick));
    const Plan long_plan{schedule, interpret(schedule)};
    check_kept(long_plan, n, positions);
    CAPTURE(trial, n, positions, exact.cost);
    const double ratio = interpret_cost(schedule, costs) / exact.cost;
    CHECK(ratio >= 0.85);  // in two tiers what is exact is so but for the order of things
    worst = std::max(worst, ratio);
    sum += ratio;
    ++compared;
  }
  CAPTURE(sum / compared, worst);
  // What is stated (required.hpp).
  CHECK(sum <= 1.03 * compared);
  CHECK(worst <= 1.1);
}

TEST_CASE("Required states in two tiers of long runs have a bound and are kept", "[property]") {
  Random random(35);
  for (const bool equal : {false, true}) {
    const Step n = 20'000;
    Costs costs;
    costs.tiers = {{.slots = 8}, {.name = "disk", .slots = 14, .write = 5, .read = 1}};
    if (!equal) costs.weights = random.weights(n);
    const std::vector<Step> positions{3000, 3001, 9000, 15'000, 19'990};
    const Plan plan = required(costs, n, positions);
    check_kept(plan, n, positions);
    CHECK(plan.counts == interpret(plan.schedule));
    CHECK(interpret_cost(plan.schedule, costs) == Catch::Approx(plan.cost).epsilon(1e-13));
    CHECK(plan.ratio() <= (equal ? 1.02 : 1.15));
  }
}

TEST_CASE("With one tier, weights, and nothing required the schedule is the weighted one",
          "[property]") {
  Random random(33);
  for (int trial = 0; trial < 20 * more; ++trial) {
    Costs costs = random.costs(1, 8, 0);
    costs.tiers[0].slots += 1;
    const Step n = 1 + random.below(150);
    costs.weights = random.weights(n);
    CAPTURE(trial, n);
    CHECK(required(costs, n, {}).cost == Catch::Approx(weighted(costs, n).cost));
    const std::vector<double> equal(static_cast<std::size_t>(n), 0.5);
    costs.weights = equal;
    costs.step = 2;
    const Plan plan = required(costs, n, {n / 2});
    costs.weights.clear();
    costs.step = 0.5;
    CHECK(plan.counts == required(costs, n, {n / 2}).counts);
  }
}

TEST_CASE("Without required states the advances are those of the binomial schedule", "[property]") {
  for (const Step n : {0, 1, 2, 5, 40, 1000}) {
    for (const Slot slots : {1, 2, 5, 17}) {
      CAPTURE(n, slots);
      CHECK(plan_for(n, slots, {}).counts.advances == binomial_advances(n, slots));
    }
  }
}

TEST_CASE("Bad input of required is refused with a reason", "[unit]") {
  CHECK_THROWS_WITH(plan_for(10, 2, {3, 5}),
                    "3 states are to be stored, x_0 among them, in 2 slots");
  CHECK_THROWS_WITH(plan_for(10, 5, {3, -1}),
                    "state -1 is required, but only the states 0 to 9 can be");
  CHECK_THROWS_WITH(plan_for(10, 5, {10}),
                    "state 10 is required, but only the states 0 to 9 can be");
  CHECK_THROWS_AS(plan_for(10, 5, {-1}), InvalidArgument);
}
