// What cannot be planned is refused by every function that plans, with a reason, and what is
// trivial is planned trivially.

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/baselines.hpp"
#include "costate/schedule/disk.hpp"
#include "costate/schedule/hierarchical.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/lower_bound.hpp"
#include "costate/schedule/mixed.hpp"
#include "costate/schedule/multistage.hpp"
#include "costate/schedule/online.hpp"
#include "costate/schedule/online_tiered.hpp"
#include "costate/schedule/planner.hpp"
#include "costate/schedule/replan.hpp"
#include "costate/schedule/required.hpp"
#include "costate/schedule/revolve.hpp"
#include "costate/schedule/taped.hpp"
#include "costate/schedule/weighted.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr Step largest = std::numeric_limits<Step>::max();

struct Planner {
  std::string name;
  std::function<Plan(const Costs&, Step)> make;
};

// Every function that makes a plan of costs.
std::vector<Planner> planners() {
  std::vector<Planner> all;
  for (const Family& family : families()) {
    all.push_back({"plan " + family.name,
                   [name = family.name](const Costs& c, Step n) { return plan(name, c, n); }});
  }
  const std::vector<Planner> others = {
      {"choose", [](const Costs& c, Step n) { return choose(c, n).best(); }},
      {"choose online", [](const Costs& c, Step n) { return choose(c, n, true).best(); }},
      {"choose_at_once", choose_at_once},
      {"plan_guessed", [](const Costs& c, Step n) { return plan_guessed(c, n, 7); }},
      {"halving", halving},
      {"periodic", periodic},
      {"multistage", multistage},
      {"hierarchical", hierarchical},
      {"disk_revolve", disk_revolve},
      {"periodic_disk", periodic_disk},
      {"weighted", weighted},
      {"mixed", [](const Costs& c, Step n) { return mixed(c, n); }},
      {"taped", taped},
      {"tapes_at_once", tapes_at_once},
      {"required", [](const Costs& c, Step n) { return required(c, n, {}); }},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

Costs good(int tiers) {
  Costs costs;
  costs.state_bytes = 8;
  costs.tape_bytes = 16;
  costs.tiers = {{.slots = 6}};
  if (tiers == 2) costs.tiers.push_back({.name = "disk", .slots = 8, .write = 2, .read = 2});
  return costs;
}

// Of a call: its message, or nothing if it was not refused. Any other exception is let through.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
    return "";
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

struct Bad {
  const char* name;
  std::function<void(Costs&, Step&)> spoil;
};

// Refused by everything, since `check` does. A run has 20 steps.
const std::vector<Bad>& never_valid() {
  static const std::vector<Bad> all = {
      {"no tier", [](Costs& c, Step&) { c.tiers.clear(); }},
      {"negative room", [](Costs& c, Step&) { c.tiers[0].slots = -3; }},
      {"a run of -1 steps", [](Costs&, Step& n) { n = -1; }},
      {"the least number of steps", [](Costs&, Step& n) { n = std::numeric_limits<Step>::min(); }},
      {"2^62 steps", [](Costs&, Step& n) { n = Step{1} << 62; }},
      {"2^63 - 1 steps", [](Costs&, Step& n) { n = largest; }},
      {"NaN for a step", [](Costs& c, Step&) { c.step = not_a_number; }},
      {"a negative step", [](Costs& c, Step&) { c.step = -1; }},
      {"a free step", [](Costs& c, Step&) { c.step = 0; }},
      {"a step too small to divide by", [](Costs& c, Step&) { c.step = 1e-310; }},
      {"an infinite step", [](Costs& c, Step&) { c.step = infinite; }},
      {"a step whose multiples do not fit", [](Costs& c, Step&) { c.step = 1e300; }},
      {"NaN for a write", [](Costs& c, Step&) { c.tiers.back().write = not_a_number; }},
      {"a negative read", [](Costs& c, Step&) { c.tiers.back().read = -1e-9; }},
      {"an infinite read", [](Costs& c, Step&) { c.tiers.back().read = infinite; }},
      {"a write whose multiples do not fit", [](Costs& c, Step&) { c.tiers.back().write = 1e300; }},
      {"NaN for a taped step", [](Costs& c, Step&) { c.record = not_a_number; }},
      {"a negative adjoint", [](Costs& c, Step&) { c.reverse = -1; }},
      {"too few weights",
       [](Costs& c, Step&) {
         c.weights = {1, 2};
       }},
      {"too many weights", [](Costs& c, Step&) { c.weights.assign(21, 1.0); }},
      {"NaN for a weight",
       [](Costs& c, Step&) {
         c.weights.assign(20, 1.0);
         c.weights[3] = not_a_number;
       }},
      {"a negative weight",
       [](Costs& c, Step&) {
         c.weights.assign(20, 1.0);
         c.weights[19] = -2;
       }},
      {"weights whose sum does not fit", [](Costs& c, Step&) { c.weights.assign(20, 1e308); }},
      {"bytes without the size of a state",
       [](Costs& c, Step&) {
         c.state_bytes = 0;
         c.tiers[0] = {.bytes = 100};
       }},
  };
  return all;
}

}  // namespace

TEST_CASE("Every planner refuses what cannot be planned with", "[schedule][property]") {
  for (const int tiers : {1, 2}) {
    for (const Bad& bad : never_valid()) {
      Costs costs = good(tiers);
      Step n = 20;
      bad.spoil(costs, n);
      for (const Planner& planner : planners()) {
        CAPTURE(tiers, bad.name, planner.name);
        CHECK(refusal([&] { static_cast<void>(planner.make(costs, n)); }) != "");
      }
      CAPTURE(tiers, bad.name);
      CHECK(refusal([&] { check(costs, n); }) != "");
      CHECK(refusal([&] { static_cast<void>(frontier(costs, n)); }) != "");
      CHECK(refusal([&] { static_cast<void>(classical(costs, n)); }) != "");
    }
  }
}

TEST_CASE("Online schedules, which are not told the number of steps, refuse the rest",
          "[schedule][property]") {
  for (const Bad& bad : never_valid()) {
    Costs one = good(1);
    Costs two = good(2);
    Step n = 20;
    bad.spoil(one, n);
    bad.spoil(two, n);
    // They cannot know how many weights there should be.
    if (n != 20 || one.weights.size() == 2 || one.weights.size() == 21) continue;
    CAPTURE(bad.name);
    CHECK(refusal([&] { static_cast<void>(online(one)); }) != "");
    CHECK(refusal([&] { static_cast<void>(online_tiered(two)); }) != "");
  }
  CHECK(refusal([] { static_cast<void>(online(good(1), -2)); }) != "");
  CHECK(refusal([] { static_cast<void>(online_tiered(good(2), {.guess = -2})); }) != "");
  CHECK(refusal([] { static_cast<void>(online(0)); }) != "");
  CHECK(refusal([] { static_cast<void>(online(-1)); }) != "");
  CHECK(refusal([] { static_cast<void>(online(std::vector<TierSlots>{})); }) != "");
  CHECK(refusal([] { static_cast<void>(online({{"memory", 3}, {"disk", -1}})); }) != "");
}

TEST_CASE("Without a slot only runs that need none are planned", "[schedule][property]") {
  for (const int tiers : {1, 2}) {
    Costs costs = good(tiers);
    for (TierCosts& tier : costs.tiers) tier.slots = 0;
    Costs small = good(tiers);  // no state fits
    for (TierCosts& tier : small.tiers) {
      tier.slots = 0;
      tier.bytes = 7;
    }
    for (const Planner& planner : planners()) {
      CAPTURE(tiers, planner.name);
      CHECK(refusal([&] { static_cast<void>(planner.make(costs, 2)); }) != "");
      CHECK(refusal([&] { static_cast<void>(planner.make(small, 2)); }) != "");
      for (const Step n : {0, 1}) {
        CAPTURE(n);
        // Refused, or nothing is run, written and read.
        refusal([&] {
          const Plan made = planner.make(costs, n);
          CHECK(made.cost == 0);
          CHECK(made.counts.advances == 0);
          CHECK(made.counts.records == n);
          for (const TierCounts& tier : made.counts.tiers) CHECK(tier.writes + tier.reads == 0);
          CHECK(interpret(made.schedule, options_for(made.schedule, costs, n)) == made.counts);
        });
      }
    }
    for (const Step n : {0, 1}) {
      CHECK(choose(costs, n).best().cost == 0);
      CHECK(choose_at_once(costs, n).cost == 0);
    }
  }
}

TEST_CASE("Sizes and rooms at the ends of their ranges are planned or refused",
          "[schedule][property]") {
  const std::vector<Bad> extremes = {
      {"free weights", [](Costs& c, Step&) { c.weights.assign(20, 0.0); }},
      {"the dearest step", [](Costs& c, Step&) { c.step = most_cost; }},
      {"the cheapest step", [](Costs& c, Step&) { c.step = least_step; }},
      {"the dearest transfers",
       [](Costs& c, Step&) { c.tiers.back().write = c.tiers.back().read = most_cost; }},
      {"all bytes there are",
       [](Costs& c, Step&) {
         c.tiers[0] = {.bytes = std::numeric_limits<Bytes>::max()};
         c.state_bytes = 1;
       }},
      {"a tape of all bytes",
       [](Costs& c, Step&) { c.tape_bytes = std::numeric_limits<Bytes>::max(); }},
      {"any room everywhere",
       [](Costs& c, Step&) {
         for (TierCosts& tier : c.tiers) tier.slots = unbounded;
       }},
      {"nearly any room everywhere",
       [](Costs& c, Step&) {
         for (TierCosts& tier : c.tiers) tier.slots = unbounded - 1;
       }},
  };
  for (const int tiers : {1, 2}) {
    for (const Bad& extreme : extremes) {
      Costs costs = good(tiers);
      Step n = 20;
      extreme.spoil(costs, n);
      for (const Planner& planner : planners()) {
        CAPTURE(tiers, extreme.name, planner.name);
        refusal([&] {
          const Plan made = planner.make(costs, n);
          CHECK(std::isfinite(made.cost));
          CHECK(made.lower_bound <= made.cost);
          const InterpretOptions options = options_for(made.schedule, costs, n);
          CHECK(interpret(made.schedule, options) == made.counts);
        });
      }
      CAPTURE(tiers, extreme.name);
      CHECK(std::isfinite(choose(costs, n).best().cost));
    }
  }
}

TEST_CASE("A disk dearer than running everything again is left alone", "[schedule][unit]") {
  for (const double dear : {400.0, 1e9, most_cost}) {
    Costs costs = good(2);
    costs.tape_bytes = 0;
    costs.tiers[1].write = costs.tiers[1].read = dear;
    Costs alone = costs;
    alone.tiers.pop_back();
    for (const Step n : {2, 20, 28}) {
      CAPTURE(dear, n);
      CHECK(plan("online-tiered", costs, n).counts.tiers[1].writes == 0);
      for (const Plan& made :
           {choose(costs, n).best(), choose_at_once(costs, n), hierarchical(costs, n)}) {
        CHECK(made.counts.tiers[1].writes == 0);
        CHECK(made.cost == hierarchical(alone, n).cost);
      }
    }
    costs.weights.assign(20, 1.0);
    CHECK(weighted(costs, 20).counts.tiers[1].writes == 0);
  }
}

TEST_CASE("The longest runs are planned or refused at once", "[schedule][unit]") {
  for (const int tiers : {1, 2}) {
    const Costs costs = good(tiers);
    for (const Planner& planner : planners()) {
      CAPTURE(tiers, planner.name);
      refusal([&] {
        const Plan made = planner.make(costs, most_steps);
        CHECK(made.counts.steps == most_steps);
        CHECK(made.counts.advances >= most_steps - 1);
        CHECK(made.lower_bound <= made.cost);
      });
    }
    CHECK(choose_at_once(costs, most_steps).counts.steps == most_steps);
    CHECK(refusal([&] { static_cast<void>(frontier(costs, most_steps)); }) != "");
  }
  // Slots so few that a step is run 10⁹ times, and more than a plan can be counted part by part
  // for.
  for (const auto& [memory, disk] : std::vector<std::pair<Slot, Slot>>{{1, 1}, {2, 1}, {3, 300}}) {
    Costs costs = good(2);
    costs.tape_bytes = 0;
    costs.tiers[0].slots = memory;
    costs.tiers[1].slots = disk;
    CAPTURE(memory, disk);
    CHECK(choose_at_once(costs, most_steps).counts.steps == most_steps);
    for (const char* family : {"revolve", "multistage"}) {
      refusal([&] {
        const Plan made = plan(family, costs, most_steps);
        CHECK(made.lower_bound <= made.cost);
      });
    }
  }
}

TEST_CASE("Functions of numbers refuse what is out of range", "[schedule][unit]") {
  const std::vector<std::function<void()>> calls = {
      [] { static_cast<void>(revolve(-1, 3)); },
      [] { static_cast<void>(revolve(5, 0)); },
      [] { static_cast<void>(revolve(5, -1)); },
      [] { static_cast<void>(revolve(5, std::vector<TierSlots>{})); },
      [] {
        static_cast<void>(revolve(5, {{"memory", 2}, {"disk", -1}}));
      },
      [] { static_cast<void>(revolve_counts(5, {})); },
      [] {
        static_cast<void>(revolve_counts(-5, {{"memory", 2}}));
      },
      [] { static_cast<void>(store_all(-1)); },
      [] { static_cast<void>(recompute_all(-1)); },
      [] { static_cast<void>(repetitions(0, 1)); },
      [] { static_cast<void>(repetitions(1, 0)); },
      [] { static_cast<void>(binomial_advances(-1, 1)); },
      [] { static_cast<void>(binomial_advances(2, 0)); },
      [] { static_cast<void>(binomial_writes(2, 0)); },
      [] { static_cast<void>(binomial_runs(2, 0)); },
      [] { static_cast<void>(binomial_split(1, 1)); },
      [] { static_cast<void>(binomial_splits(2, 0)); },
      [] { static_cast<void>(binomial_traffic(2, 0)); },
      [] { static_cast<void>(disk_period(0, 1)); },
      [] { static_cast<void>(disk_period(2, -1)); },
      [] { static_cast<void>(disk_period(2, not_a_number)); },
      [] {
        static_cast<void>(least_advance_cost({1, 2}, 0));
      },
      [] { static_cast<void>(required(good(1), 20, {20})); },
      [] { static_cast<void>(required(good(1), 20, {-1})); },
      [] {
        static_cast<void>(required(good(1), 20, {0, 1, 2, 3, 4, 5, 6}));
      },
      [] { static_cast<void>(plan("", good(1), 20)); },
      [] { static_cast<void>(plan_guessed(good(1), 20, -2)); },
      [] { static_cast<void>(online_tiered(good(2), {.every = 0})); },
      [] { static_cast<void>(interpret(online(2))); },
      [] { static_cast<void>(interpret_cost(revolve(5, 2), Costs{})); },
      [] {
        static_cast<void>(cost_of(revolve_counts(5, {{"memory", 2}}), Costs{}));
      },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CAPTURE(i);
    CHECK(refusal(calls[i]) != "");
  }
}
