#include "costate/schedule/replan.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

// The least number of advances from a resume point, by breadth-first search (0-1 weights) over all
// states of the machine: which states are stored, which is live, how far the adjoint is, whether
// the run has been turned.
Step least_advances(const ResumePoint& point, Slot slots) {
  struct Node {
    unsigned stored;
    int live;  // -1: none
    int end;
    bool turned;
    auto operator<=>(const Node&) const = default;
  };
  Node first{0, static_cast<int>(point.live), static_cast<int>(point.end), point.turned};
  for (const Stored& each : point.stored) first.stored |= 1U << each.at;
  const int n = static_cast<int>(point.steps);
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
    if (node.turned && node.end == 0) return cost;
    const auto with = [&](auto change) {
      Node next = node;
      change(next);
      return next;
    };
    if (!node.turned && node.live == n) reach(with([](Node& x) { x.turned = true; }), cost, true);
    if (node.live >= 0 && node.live == node.end - 1) {
      // The step is recorded, which makes x_n available to the turn, and reversed.
      reach(with([](Node& x) { x.turned = true, x.end--; }), cost, true);
    }
    for (int k = 0; k <= n; ++k) {
      if ((node.stored >> k & 1U) == 0) continue;
      reach(with([k](Node& x) { x.live = k; }), cost, true);
      reach(with([k](Node& x) { x.stored &= ~(1U << k); }), cost, true);
    }
    if (node.live >= 0) {
      if (__builtin_popcount(node.stored) < slots) {
        reach(with([](Node& x) { x.stored |= 1U << x.live; }), cost, true);
      }
      if (node.live < node.end) reach(with([](Node& x) { x.live++; }), cost + 1, false);
    }
  }
  return saturated;
}

// Runs the continuation and returns its advances.
Step carry_out(const ResumePoint& point) {
  Interpreter machine(point);
  Schedule schedule = resume_from(point);
  while (const auto action = schedule.next()) machine.apply(*action);
  machine.finish();
  return machine.counts().advances;
}

// A random resume point of a run of n steps. x_0 is stored; a live state is at or above all stored.
ResumePoint random_point(std::mt19937& random, Step n, Slot slots) {
  const auto below = [&](Step bound) {
    return std::uniform_int_distribution<Step>(0, bound - 1)(random);
  };
  ResumePoint point;
  point.steps = n;
  point.turned = below(2) == 1;
  point.end = point.turned ? 1 + below(n) : n;
  point.tiers = {{"memory", (slots + 1) / 2}, {"disk", slots / 2}};
  std::vector<Slot> places;
  for (Slot i = 0; i < slots; ++i) places.push_back(i);
  std::shuffle(places.begin(), places.end(), random);
  std::vector<bool> used(static_cast<std::size_t>(n) + 1);
  const Slot count = 1 + below(slots);
  for (Slot i = 0; i < count; ++i) {
    const Step at = i == 0 ? 0 : below(n);
    if (used[static_cast<std::size_t>(at)]) continue;
    used[static_cast<std::size_t>(at)] = true;
    point.stored.push_back({at, places[static_cast<std::size_t>(i)]});
  }
  std::shuffle(point.stored.begin(), point.stored.end(), random);
  if (below(3) > 0) point.live = below(n + 1);
  return point;
}

}  // namespace

TEST_CASE("A resumed run takes the least advances there are, as a search over all schedules finds",
          "[oracle]") {
  std::mt19937 random(1);
  for (int trial = 0; trial < 600; ++trial) {
    const Step n = 1 + trial % 9;
    const Slot slots = 1 + trial / 9 % 4;
    const ResumePoint point = random_point(random, n, slots);
    CAPTURE(trial, n, slots, point.end, point.live, point.turned, point.stored.size());
    const Step least = least_advances(point, slots);
    CHECK(carry_out(point) == least);
    CHECK(resume_advances(point) == least);
  }
}

TEST_CASE("Long runs are resumed validly, at the planned cost", "[property]") {
  std::mt19937 random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const Step n = 50 + 37 * trial;
    const Slot slots = 1 + trial % 23;
    ResumePoint point = random_point(random, n, slots);
    CAPTURE(trial, n, slots, point.end, point.live, point.turned);
    CHECK(carry_out(point) == resume_advances(point));
  }
}

TEST_CASE("From the start and with nothing stored, resuming is the binomial schedule",
          "[property]") {
  for (const Step n : {1, 2, 3, 10, 100, 1000, 100'000}) {
    for (const Slot slots : {1, 2, 3, 10}) {
      if (slots == 1 && n > 1000) continue;
      CAPTURE(n, slots);
      const ResumePoint point{.steps = n, .end = n, .live = 0, .tiers = {{"memory", slots}}};
      CHECK(resume_advances(point) == binomial_advances(n, slots));
      CHECK(interpret(resume_from(point)).advances == binomial_advances(n, slots));
      CHECK(interpret(resume_from(point)).tiers.front().writes == binomial_writes(n, slots));
    }
  }
}

TEST_CASE("A lost x_0 that is live again takes the place of a stored state if it must", "[unit]") {
  ResumePoint point{.steps = 9, .end = 9, .live = 0, .tiers = {{"memory", 2}}};
  point.stored = {{3, 1}, {6, 0}};
  Interpreter machine(9, point.tiers);
  machine.apply(Action(Advance{0, 3}));
  machine.apply(Action(Save{3, 1}));
  machine.apply(Action(Advance{3, 6}));
  machine.apply(Action(Save{6, 0}));
  // The machine cannot make x_0 live out of nothing: the driver starts the model afresh.
  Schedule schedule = resume_from(point);
  CHECK(schedule.next() == Action(Drop{1}));
  CHECK(schedule.next() == Action(Save{0, 1}));
  CHECK(schedule.next() == Action(Load{6, 0}));
}

TEST_CASE("An impossible resume point is refused with a reason", "[unit]") {
  const std::vector<TierSlots> tiers{{"memory", 2}};
  const auto message = [&](ResumePoint point) -> std::string {
    point.tiers = tiers;
    try {
      (void)resume_from(point);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  CHECK(message({.steps = 5, .end = 6}) ==
        "resume: the end 6 is not within the 5 steps of the run");
  CHECK(message({.steps = 5, .end = 4}) ==
        "resume: steps cannot have been reversed before the turn");
  CHECK(message({.steps = 5, .end = 5}) == "resume: state 0 is neither stored nor live");
  CHECK(message({.steps = 5, .end = 5, .stored = {{1, 0}}}) ==
        "resume: state 0 is neither stored nor live");
  CHECK(message({.steps = 5, .end = 5, .stored = {{0, 2}}}) == "resume: there is no slot #2");
  CHECK(message({.steps = 5, .end = 5, .stored = {{0, 1}, {1, 1}}}) ==
        "resume: slot #1 is listed twice");
  CHECK(message({.steps = 5, .end = 5, .live = 6, .stored = {{0, 1}}}) ==
        "resume: state 6 cannot be live");
}
