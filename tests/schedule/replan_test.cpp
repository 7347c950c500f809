#include "costate/schedule/replan.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "../../src/schedule/bases.hpp"
#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/online.hpp"
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

// Advances, writes.
using Spent = std::pair<Step, Step>;

// Runs the continuation.
Spent carry_out(const ResumePoint& point) {
  Interpreter machine(point);
  Schedule schedule = resume_from(point);
  while (const auto action = schedule.next()) machine.apply(*action);
  machine.finish();
  Spent spent{machine.counts().advances, 0};
  for (const TierCounts& tier : machine.counts().tiers) spent.second += tier.writes;
  return spent;
}

// A random resume point of a run of n steps. x_0 is stored, or live.
ResumePoint random_point(std::mt19937& random, Step n, Slot slots) {
  const auto below = [&](Step bound) {
    return std::uniform_int_distribution<Step>(0, bound - 1)(random);
  };
  ResumePoint point;
  point.steps = n;
  point.turned = below(2) == 1;
  point.end = point.turned ? 1 + below(n) : n;
  point.tiers = {{"memory", (slots + 1) / 2}, {"disk", slots / 2}};
  const bool lost = below(5) == 0;
  std::vector<Slot> places;
  for (Slot i = 0; i < slots; ++i) places.push_back(i);
  std::shuffle(places.begin(), places.end(), random);
  std::vector<bool> used(static_cast<std::size_t>(n) + 1);
  const Slot count = 1 + below(slots);
  for (Slot i = 0; i < count; ++i) {
    const Step at = i == 0 && !lost ? 0 : below(n);
    if (used[static_cast<std::size_t>(at)]) continue;
    used[static_cast<std::size_t>(at)] = true;
    point.stored.push_back({at, places[static_cast<std::size_t>(i)]});
  }
  std::shuffle(point.stored.begin(), point.stored.end(), random);
  if (below(3) > 0) point.live = below(n + 1);
  if (lost) point.live = 0;
  return point;
}

// How the states lie that are stored.
enum class Spread { anywhere, low, high, one_cluster, clusters };

// x_0 and others, with every slot taken or not.
ResumePoint spread_point(std::mt19937& random, Step n, Slot slots, Spread spread) {
  const auto below = [&](Step bound) {
    return std::uniform_int_distribution<Step>(0, std::max<Step>(bound, 1) - 1)(random);
  };
  ResumePoint point;
  point.steps = point.end = n;
  point.tiers = {{"memory", slots}};
  const Slot count = below(3) == 0 ? slots : 1 + below(slots);
  std::vector<Step> states{0};
  for (Slot i = 1; i < count; ++i) {
    Step at = below(n);
    if (spread == Spread::low) at = below(n / 4);
    if (spread == Spread::high) at = n - 1 - below(n / 4);
    if (spread == Spread::one_cluster) at = std::min(n - 1, n / 2 + below(n / 8));
    if (spread == Spread::clusters) at = std::min(n - 1, n / 3 * below(3) + below(n / 10));
    if (std::find(states.begin(), states.end(), at) == states.end()) states.push_back(at);
  }
  for (const Step at : states) {
    point.stored.push_back({at, static_cast<Slot>(point.stored.size())});
  }
  if (below(2) == 0) point.live = below(n + 1);
  return point;
}

// The least that it takes to put states in order first and to reverse the gaps between them then:
// any state may be the next one that is kept, made from the highest one up to there. x_0 is stored.
Spent least_in_order(const ResumePoint& point) {
  const Step n = point.live == point.end - 1 ? point.live : point.end;
  const Step live = point.live < n ? point.live : unknown;
  if (n == 0) return {0, 0};
  const Spent never{saturated, saturated};
  const Slot slots = std::min(point.tiers.front().slots, n);
  std::vector<bool> stored(static_cast<std::size_t>(n));
  for (const Stored& each : point.stored) {
    if (each.at < n) stored[static_cast<std::size_t>(each.at)] = true;
  }
  const auto cell = [width = static_cast<std::size_t>(slots) + 1](Step at, Slot s) {
    return static_cast<std::size_t>(at) * width + static_cast<std::size_t>(s);
  };
  std::vector<Spent> gap(cell(n + 1, 0), never);   // [l][s]
  std::vector<Spent> best(cell(n + 1, 0), never);  // [at][s]: from there on
  for (Step l = 1; l <= n; ++l) {
    for (Slot s = 0; s <= slots; ++s) {
      if (l == 1) gap[cell(l, s)] = {0, 0};
      if (l > 1 && s > 0) gap[cell(l, s)] = {binomial_advances(l, s), binomial_writes(l, s) - 1};
    }
  }
  for (Step b = n - 1; b >= 0; --b) {
    for (Slot s = b == n - 1 ? 0 : 1; s <= slots; ++s) {
      Spent spent = gap[cell(n - b, s)];
      Step from = b;
      for (Step k = b + 1; k < n; ++k) {
        const bool is_stored = stored[static_cast<std::size_t>(k)];
        if (is_stored || k == live) from = k;
        // The last step takes no slot, but what it is made from does while that has to wait for
        // what is made from the live state.
        if (k == n - 1 && live != unknown && from != b && from != live && s < 2) continue;
        const Spent& left = gap[cell(k - b, s)];
        const Spent& right = best[cell(k, s - 1)];
        if (left == never || right == never) continue;
        const Step write = is_stored || k == n - 1 ? 0 : 1;
        spent = std::min(spent,
                         {k - from + left.first + right.first, write + left.second + right.second});
      }
      best[cell(b, s)] = spent;
    }
  }
  return best[cell(0, slots)];
}

// The least of a convex function of a whole number in [low, high]. It may be too large to be
// counted at the lower end.
template <class Function>
Step least_of(Step low, Step high, const Function& f) {
  while (low < high) {
    const Step middle = low + (high - low) / 2;
    const Step here = f(middle);
    if (here == saturated || f(middle + 1) < here) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return f(low);
}

// The least advances if of two states above x_0 (stored, or live) each is kept, moved or dropped:
// the sum of the gaps' costs is convex in where they are moved to.
Step least_of_two(Step a, Step b, Step n, Slot slots) {
  const auto t = [](Step l, Slot s) { return binomial_advances(l, s); };
  const auto sum = [](Step x, Step y, Step z) { return saturating_add(x, saturating_add(y, z)); };
  const auto alone = [&](Step from, Step below) {
    return least_of(from, below - 1,
                    [&](Step y) { return sum(t(y, slots), y - from, t(n - y, slots - 1)); });
  };
  const Step both = least_of(a, b - 1, [&](Step y) {
    return sum(t(y, slots), y - a, least_of(b, n - 1, [&](Step z) {
                 return sum(t(z - y, slots - 1), z - b, t(n - z, slots - 2));
               }));
  });
  return std::min({t(n, slots), alone(a, b), alone(b, n), both});
}

// Follows a run, so that it can be interrupted.
void carry_on(ResumePoint& point, const Action& action) {
  const auto in_slot = [&](Slot slot) {
    return std::find_if(point.stored.begin(), point.stored.end(),
                        [&](const Stored& each) { return each.slot == slot; });
  };
  if (const auto* advance = std::get_if<Advance>(&action)) point.live = advance->to;
  if (const auto* save = std::get_if<Save>(&action)) point.stored.push_back({save->at, save->slot});
  if (const auto* load = std::get_if<Load>(&action)) point.live = load->at;
  if (const auto* drop = std::get_if<Drop>(&action)) point.stored.erase(in_slot(drop->slot));
  if (std::get_if<Turn>(&action)) point.turned = true;
  if (const auto* reverse = std::get_if<Reverse>(&action)) point.end = reverse->step;
}

}  // namespace

TEST_CASE("A resumed run takes the least advances there are, as a search over all schedules finds",
          "[oracle]") {
  std::mt19937 random(1);
  for (int trial = 0; trial < 900; ++trial) {
    const Step n = 1 + trial % 9;
    const Slot slots = 1 + trial / 9 % 4;
    const ResumePoint point = random_point(random, n, slots);
    CAPTURE(trial, n, slots, point.end, point.live, point.turned, point.stored.size());
    const Step least = least_advances(point, slots);
    CHECK(carry_out(point).first == least);
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
    CHECK(carry_out(point).first == resume_advances(point));
  }
}

TEST_CASE("A continuation has the fewest advances, and then writes, as a table of all states finds",
          "[oracle]") {
  std::mt19937 random(3);
#ifdef COSTATE_SOAK
  const int trials = 20'000;
  const std::vector<std::pair<Step, Slot>> longer{{3000, 3}, {3000, 5}, {2000, 10}, {1000, 40}};
#else
  const int trials = 1500;
  const std::vector<std::pair<Step, Slot>> longer{{1000, 3}, {800, 6}, {400, 20}};
#endif
  const auto check = [&](Step n, Slot slots, Spread spread) {
    const ResumePoint point = spread_point(random, n, slots, spread);
    CAPTURE(n, slots, point.live, point.stored.size(), static_cast<int>(spread));
    const Spent least = least_in_order(point);
    CHECK(resume_advances(point) == least.first);
    CHECK(carry_out(point) == least);
  };
  for (int trial = 0; trial < trials; ++trial) {
    check(2 + trial % 97, 1 + trial % 13, static_cast<Spread>(trial % 5));
  }
  for (const auto& [n, slots] : longer) {
    for (int trial = 0; trial < 10; ++trial) check(n, slots, static_cast<Spread>(trial % 5));
  }
}

TEST_CASE("Two states above x_0 are moved as a search finds, however long the run", "[oracle]") {
  std::mt19937 random(4);
  for (const Step n : {Step{100}, Step{10'000}, Step{1'000'000'000}, Step{1'000'000'000'000}}) {
    for (int trial = 0; trial < 30; ++trial) {
      const Slot slots = 3 + trial % 6;
      std::uniform_int_distribution<Step> at(1, n - 2);
      Step a = at(random);
      Step b = at(random);
      if (trial % 3 == 1) a = 1 + a % (n / 50);
      if (trial % 3 == 2) a = n - 2 - a % (n / 50), b = n - 2 - b % (n / 50);
      if (a == b) continue;
      if (a > b) std::swap(a, b);
      CAPTURE(n, slots, a, b);
      ResumePoint point{.steps = n, .end = n, .tiers = {{"memory", slots}}};
      const Step least = least_of_two(a, b, n, slots);
      point.stored = {{0, 0}, {a, 1}, {b, 2}};
      CHECK(resume_advances(point) == least);
      point.stored = {{0, 0}, {a, 1}};
      point.live = b;
      CHECK(resume_advances(point) == least);
      point.stored = {{0, 0}, {b, 1}};
      point.live = a;
      CHECK(resume_advances(point) == least);
    }
  }
}

TEST_CASE("A continuation that is interrupted costs what was left of it", "[property]") {
  std::mt19937 random(5);
  for (int trial = 0; trial < 100; ++trial) {
    const Step n = trial % 2 == 0 ? 100'000 : 1'000'000'000;
    const Slot slots = 2 + 7 * (trial % 15);
    ResumePoint point = spread_point(random, n, slots, static_cast<Spread>(trial % 5));
    Step left = resume_advances(point);
    CAPTURE(trial, n, slots, left);
    Schedule schedule = resume_from(point);
    for (int i = 0; i < 400; ++i) {
      const Action action = *schedule.next();
      carry_on(point, action);
      if (const auto* advance = std::get_if<Advance>(&action)) left -= advance->to - advance->from;
      const bool on_tape = std::get_if<Record>(&action) || std::get_if<Turn>(&action);
      if (i % 40 < 2 && !on_tape) REQUIRE(resume_advances(point) == left);
    }
  }
}

TEST_CASE("A state, a slot or a live state more never costs an advance", "[property]") {
  std::mt19937 random(6);
  for (int trial = 0; trial < 60; ++trial) {
    const Step n = 1'000'000'000;
    const Slot slots = 2 + trial;
    ResumePoint point = spread_point(random, n, slots, static_cast<Spread>(trial % 5));
    point.live = unknown;
    const Step plain = resume_advances(point);
    CAPTURE(trial, slots, plain);
    point.tiers.front().slots = slots + 1;
    const Step roomier = resume_advances(point);
    CHECK(roomier <= plain);
    std::uniform_int_distribution<Step> at(1, n - 2);
    point.live = at(random);
    const Step with_live = resume_advances(point);
    CHECK(with_live <= roomier);
    point.stored.push_back({point.live, slots});
    CHECK(resume_advances(point) <= with_live);
  }
}

TEST_CASE("A thousand stored states are put in order for a billion steps", "[unit]") {
  std::mt19937 random(7);
  const Step n = 1'000'000'000;
  ResumePoint point{.steps = n, .end = n, .tiers = {{"memory", 1000}}};
  std::uniform_int_distribution<Step> at(1, n - 1);
  for (Slot i = 0; i < 1000; ++i) point.stored.push_back({i == 0 ? 0 : at(random), i});
  const Step least = resume_advances(point);
  Schedule schedule = resume_from(point);
  const Action first = *schedule.next();
  REQUIRE(std::holds_alternative<Drop>(first));
  carry_on(point, first);
  CHECK(resume_advances(point) == least);
}

TEST_CASE("More than a thousand stored states are put in order nearly as well as can be",
          "[property]") {
  std::mt19937 random(8);
  const Slot slots = 2000;
  for (const Step n : {Step{20'000}, Step{1'000'000}}) {
    for (const bool even : {true, false}) {
      std::vector<Step> states{0};
      std::uniform_real_distribution<double> part(0, 1);
      while (states.size() < static_cast<std::size_t>(slots)) {
        const auto length = static_cast<double>(n - 2);
        const double at = even ? length * part(random) : std::pow(length, part(random));
        states.push_back(1 + static_cast<Step>(at));
      }
      std::sort(states.begin(), states.end());
      states.erase(std::unique(states.begin(), states.end()), states.end());
      ResumePoint point{.steps = n, .end = n, .tiers = {{"memory", slots}}};
      for (const Step at : states) {
        point.stored.push_back({at, static_cast<Slot>(point.stored.size())});
      }
      BinomialTable table(slots);
      const Step least = best_bases(states, unknown, n, slots, states.size(), table).price.advances;
      const Step found = resume_advances(point);
      CAPTURE(n, even, states.size(), static_cast<double>(found) / static_cast<double>(least));
      CHECK(found >= least);
      CHECK(static_cast<double>(found) <= 1.04 * static_cast<double>(least));
      if (n < 100'000) CHECK(carry_out(point).first == found);
    }
  }
}

TEST_CASE("An online run is reversed with the fewest advances, as a table of all states finds",
          "[oracle]") {
  for (const Slot slots : {2, 3, 4, 5, 8, 12}) {
    for (Step n = 1; n <= 150; n += slots < 6 ? 1 : 7) {
      CAPTURE(n, slots);
      Schedule schedule = online(slots);
      ResumePoint point{.steps = n, .end = n, .live = 0, .tiers = schedule.tiers()};
      while (point.live < n - 1) {
        Action action = *schedule.next();
        if (auto* advance = std::get_if<Advance>(&action)) {
          advance->to = std::min(advance->to, n - 1);
        }
        carry_on(point, action);
      }
      schedule.end_at(n, n - 1);
      Step advances = 0;
      while (const auto action = schedule.next()) {
        if (const auto* advance = std::get_if<Advance>(&*action)) {
          advances += advance->to - advance->from;
        }
      }
      CHECK(advances == least_in_order(point).first);
    }
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
