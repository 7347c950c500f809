#include "costate/schedule/required.hpp"

#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "support/catch.hpp"

using namespace costate;

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

TEST_CASE("Required states are stored on the first pass and kept until they are reversed",
          "[property]") {
  const std::set<Step> wanted{10, 11, 12, 500, 777};
  for (const Slot slots : {6, 7, 10, 30}) {
    const Plan plan = plan_for(1000, slots, {wanted.begin(), wanted.end()});
    Schedule schedule = plan.schedule;
    std::map<Slot, Step> held;
    std::set<Step> found;
    Step end = 1000;
    while (const auto action = schedule.next()) {
      if (const auto* save = std::get_if<Save>(&*action)) held[save->slot] = save->at;
      if (const auto* drop = std::get_if<Drop>(&*action)) {
        CHECK((wanted.count(held[drop->slot]) == 0 || end <= held[drop->slot] + 1));
        held.erase(drop->slot);
      }
      if (const auto* reverse = std::get_if<Reverse>(&*action)) end = reverse->step;
      if (std::holds_alternative<Turn>(*action)) {
        for (const auto& [slot, at] : held) found.insert(at);
      }
    }
    for (const Step at : wanted) CHECK(found.count(at) == 1);
    CHECK(plan.counts.advances >= binomial_advances(1000, slots));
    CHECK(plan.counts == interpret(plan.schedule, {.single_actions = true}));
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
  CHECK_THROWS_WITH(plan_for(10, 5, {10}), "a required state is not among the states 0 to 9");
  CHECK_THROWS_AS(plan_for(10, 5, {-1}), InvalidArgument);
}
