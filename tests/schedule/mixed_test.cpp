#include "costate/schedule/mixed.hpp"

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

Plan plan_for(Step n, Slot slots, Slot sigma, bool has_next = false) {
  Costs costs;
  costs.state_bytes = 8;
  costs.tape_bytes = 8 * static_cast<Bytes>(sigma) - 3;  // rounded up
  costs.tiers = {{.name = "memory", .slots = slots}};
  return mixed(costs, n, has_next);
}

// All forward steps that are not reversed from at once: the "extra" or "recomputed" steps of the
// literature.
Step total(const Plan& plan) {
  return plan.counts.forward_evaluations();
}

// The least number of forward steps, taped ones included, by breadth-first search over all states
// of the machine: stored states and tapes, the live state, the live tape, the adjoint.
Step least_total(int n, int units, int sigma, bool has_next) {
  struct Node {
    unsigned states = 0;
    unsigned tapes = 0;
    int live = 0;   // -1: none
    int tape = -1;  // the live tape; then x_{tape+1} is available if `next`
    bool next = false;
    int end = 0;
    auto operator<=>(const Node&) const = default;
  };
  Node first;
  first.end = n;
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
    const int used = __builtin_popcount(node.states) + sigma * __builtin_popcount(node.tapes);
    if (node.tape >= 0 && node.tape == node.end - 1) {
      Node x = node;
      --x.end;
      x.tape = -1;
      x.next = false;
      reach(x, cost, true);
    }
    for (int k = 0; k < n; ++k) {
      if ((node.states >> k & 1U) != 0) {
        Node x = node;
        x.live = k;
        x.tape = -1;
        x.next = false;
        reach(x, cost, true);
        x = node;
        x.states &= ~(1U << k);
        reach(x, cost, true);
      }
      if ((node.tapes >> k & 1U) != 0) {
        Node x = node;
        x.live = -1;
        x.tape = k;
        x.next = has_next;
        reach(x, cost, true);
        x = node;
        x.tapes &= ~(1U << k);
        reach(x, cost, true);
      }
    }
    if (node.tape >= 0 && used + sigma <= units) {
      Node x = node;
      x.tapes |= 1U << node.tape;
      reach(x, cost, true);
    }
    for (const int at : {node.live, node.next ? node.tape + 1 : -1}) {
      if (at < 0 || at >= node.end) continue;
      if (used + 1 <= units) {
        Node x = node;
        x.states |= 1U << at;
        reach(x, cost, true);
      }
      Node x = node;  // advance
      x.live = at + 1;
      x.tape = -1;
      x.next = false;
      reach(x, cost + 1, false);
      x = node;  // record
      x.live = at;
      x.tape = at;
      x.next = true;
      reach(x, cost + 1, false);
    }
  }
  return saturated;
}

}  // namespace

TEST_CASE("Tapes as large as states: the counts of the reference", "[golden]") {
  const std::vector<Slot> slots = {1, 2, 3, 4, 5, 7, 8, 10, 16, 20, 30, 50, 100};
  const std::vector<std::pair<Step, std::vector<Step>>> table = {
      {2, {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
      {3, {5, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}},
      {4, {9, 6, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}},
      {5, {14, 8, 7, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5}},
      {8, {35, 18, 14, 12, 11, 8, 8, 8, 8, 8, 8, 8, 8}},
      {10, {54, 26, 19, 17, 15, 13, 12, 10, 10, 10, 10, 10, 10}},
      {16, {135, 56, 40, 33, 29, 26, 24, 22, 16, 16, 16, 16, 16}},
      {20, {209, 79, 55, 46, 38, 34, 33, 30, 24, 20, 20, 20, 20}},
      {30, {464, 148, 100, 80, 70, 56, 54, 51, 44, 40, 30, 30, 30}},
      {50, {1274, 325, 209, 164, 138, 116, 105, 94, 86, 81, 70, 50, 50}},
      {100, {5049, 931, 554, 421, 352, 278, 263, 237, 190, 184, 172, 150, 100}},
      {128, {8255, 1352, 782, 587, 487, 385, 354, 325, 249, 242, 229, 207, 156}},
      {200, {20099, 2650, 1450, 1064, 873, 688, 630, 553, 450, 392, 376, 353, 300}},
      {256, {32895, 3841, 2035, 1475, 1201, 929, 865, 737, 622, 538, 490, 466, 413}},
      {500, {125249, 10512, 5075, 3545, 2838, 2163, 1951, 1732, 1376, 1284, 1004, 959, 904}},
      {1000, {500499, 29775, 12986, 8712, 6828, 5088, 4577, 3921, 3015, 2823, 2522, 1974, 1909}},
  };
  for (const auto& [n, row] : table) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      CAPTURE(n, slots[i]);
      CHECK(total(plan_for(n, slots[i], 1)) == row[i]);
    }
  }
}

TEST_CASE("Stage-aware counts against those of CAMS", "[golden]") {
  // steps, units, stages; recomputed steps of CAMS for stiffly accurate and for other methods
  struct Case {
    Step n;
    Slot units;
    Slot stages;
    Step accurate;
    Step general;
  };
  for (const Case c :
       {Case{10, 3, 2, 14, 14}, Case{30, 10, 2, 27, 31}, Case{30, 10, 4, 40, 40},
        Case{100, 30, 2, 84, 89}, Case{100, 30, 4, 95, 97}, Case{10, 6, 2, 6, 8},
        Case{100, 20, 3, 121, 121}, Case{300, 60, 2, 269, 277}, Case{1000, 50, 2, 1347, 1348},
        Case{60, 8, 2, 97, 102}, Case{60, 16, 4, 78, 78}}) {
    CAPTURE(c.n, c.units, c.stages);
    CHECK(total(plan_for(c.n, c.units, c.stages, true)) - c.n <= c.accurate);
    CHECK(total(plan_for(c.n, c.units, c.stages, false)) - c.n <= c.general);
  }
  CHECK(total(plan_for(60, 8, 2, true)) - 60 == 94);
  CHECK(total(plan_for(60, 8, 2, false)) - 60 == 98);
  CHECK(total(plan_for(60, 16, 4, true)) - 60 == 74);
}

TEST_CASE("Mixed plans take the fewest forward steps, as a search over all schedules finds",
          "[oracle]") {
  for (const bool has_next : {false, true}) {
    for (int n = 1; n <= 6; ++n) {
      for (int sigma = 1; sigma <= 3; ++sigma) {
        for (int units = 1; units <= 6; ++units) {
          CAPTURE(has_next, n, sigma, units);
          CHECK(total(plan_for(n, units, sigma, has_next)) ==
                least_total(n, units, sigma, has_next));
        }
      }
    }
  }
}

TEST_CASE("Mixed plans are valid at both doors, and never worse than states alone", "[property]") {
  for (const bool has_next : {false, true}) {
    for (const Step n : {1, 2, 5, 17, 100, 321}) {
      for (const Slot slots : {1, 2, 3, 5, 9, 40, 2000}) {
        for (const Slot sigma : {1, 2, 4, 7}) {
          CAPTURE(has_next, n, slots, sigma);
          const Plan plan = plan_for(n, slots, sigma, has_next);
          const InterpretOptions options{.tape_slots = sigma, .tape_has_next = has_next};
          InterpretOptions single = options;
          single.single_actions = true;
          CHECK(interpret(plan.schedule, options) == plan.counts);
          CHECK(interpret(plan.schedule, single) == plan.counts);
          CHECK(plan.counts.advances <= binomial_advances(n, slots));
          CHECK(plan.ratio() == 1);
          if (slots >= (n - 1) * sigma) CHECK(plan.counts.advances == 0);
        }
      }
    }
  }
}

TEST_CASE("Long runs are planned in bounded time, above the lower bound", "[property]") {
  const Plan plan = plan_for(100'000, 10, 2);
  const Step revolve = binomial_advances(100'000, 10);
  CHECK(plan.counts.advances <= revolve);
  CHECK(plan.lower_bound == static_cast<double>(revolve - 100'000));
  CHECK(plan.ratio() <= static_cast<double>(revolve) / static_cast<double>(revolve - 100'000));
}

TEST_CASE("Runs too long for tables of all slots are never worse than states alone", "[property]") {
  struct Row {
    Step n;
    Slot slots;
    Slot sigma;
  };
  for (const Row& row :
       {Row{1'500'000, 1, 4}, Row{200'000, 1500, 2}, Row{20, 10'000'000, 900'000}}) {
    CAPTURE(row.n, row.slots, row.sigma);
    const Plan plan = plan_for(row.n, row.slots, row.sigma);
    CHECK(plan.counts.advances <= binomial_advances(row.n, row.slots));
    CHECK(plan.counts.tiers[0].peak <= row.slots);
    CHECK(plan.lower_bound <= plan.cost);
  }
}

TEST_CASE("Reads and writes are in the cost", "[unit]") {
  Costs costs;
  costs.state_bytes = costs.tape_bytes = 1;
  costs.tiers = {{.name = "memory", .slots = 3, .write = 0.5, .read = 0.25}};
  const Plan plan = mixed(costs, 40);
  const TierCounts& tier = plan.counts.tiers.front();
  CHECK(plan.cost == static_cast<double>(plan.counts.advances) +
                         0.5 * static_cast<double>(tier.writes) +
                         0.25 * static_cast<double>(tier.reads));
}

TEST_CASE("Bad input of mixed is refused with a reason", "[unit]") {
  CHECK_THROWS_AS(plan_for(5, 0, 1), InvalidArgument);
  Costs costs;
  costs.tiers = {{.name = "memory", .slots = 3}};
  CHECK_THROWS_WITH(mixed(costs, 5), "keeping tapes needs the sizes of a state and of a tape");
  costs.state_bytes = costs.tape_bytes = 1;
  costs.tiers.push_back({.name = "disk", .slots = 3});
  CHECK_THROWS_WITH(mixed(costs, 5), "mixed() is for one tier, not 2");
}
