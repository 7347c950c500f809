#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/plan.hpp"
#include "costate/schedule/replan.hpp"
#include "shortest_path.hpp"

/// Random cases for what plans continuations by costs, and what is checked of each plan.
namespace support {

using namespace costate;

/// So many times as many cases in the soak runs.
#ifdef COSTATE_SOAK
inline constexpr int more = 10;
#else
inline constexpr int more = 1;
#endif

inline Counts count(Schedule schedule, const ResumePoint& point, bool single_actions = false) {
  Interpreter machine(point);
  if (single_actions) {
    while (const auto action = schedule.next()) machine.apply(*action);
    machine.finish();
    return machine.counts();
  }
  for (Command command = schedule.next_command();; command = schedule.next_command()) {
    machine.apply(command);
    if (command.kind == Command::Kind::end) return machine.counts();
  }
}

inline void check_counted(const Plan& plan, const Costs& costs, const ResumePoint& point) {
  const Counts counted = count(plan.schedule, point);
  CHECK(counted == plan.counts);
  CHECK(count(plan.schedule, point, true) == counted);
  Interpreter machine(point, costs.weights);
  Schedule schedule = plan.schedule;
  while (const auto action = schedule.next()) machine.apply(*action);
  CHECK(cost_of(machine, costs) == Catch::Approx(plan.cost).epsilon(1e-14));
  if (costs.weights.empty()) CHECK(cost_of(counted, costs) == plan.cost);
  CHECK(plan.lower_bound <= plan.cost);
  for (std::size_t i = 0; i < point.tiers.size(); ++i) {
    CHECK(counted.tiers[i].peak <= point.tiers[i].slots);
  }
  Step steps = 0;
  Step advances = 0;
  for (const RunCount& each : counted.runs) {
    steps += each.steps;
    advances += each.runs * each.steps;
  }
  if (!counted.runs.empty()) {
    CHECK(steps == point.end);
    CHECK(advances == counted.advances);
  }
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  Step below(Step bound) { return std::uniform_int_distribution<Step>(0, bound - 1)(engine_); }

  // Ordered tiers, the first with a slot; transfers may be free, and those of the last are dear.
  Costs costs(int tiers, Slot most_memory, Slot most_disk) {
    constexpr double more_each[] = {0, 0.5, 1, 2, 5, 20};
    Costs made;
    double write = below(3) == 0 ? static_cast<double>(below(3)) / 2 : 0;
    double read = below(3) == 0 ? static_cast<double>(below(3)) / 2 : 0;
    for (int i = 0; i < tiers; ++i) {
      const Slot slots = i == 0 ? 1 + below(most_memory) : below(most_disk + 1);
      made.tiers.push_back(
          {.name = "tier " + std::to_string(i), .slots = slots, .write = write, .read = read});
      write += more_each[below(6)];
      read += more_each[below(6)];
    }
    return made;
  }

  // Weights of n steps, whole multiples of 1/4, so that sums of few are exact; some are 0.
  std::vector<double> weights(Step n) {
    std::vector<double> made;
    const Step largest = below(2) == 0 ? 8 : 80;
    for (Step i = 0; i < n; ++i) {
      made.push_back(below(8) == 0 ? 0 : 0.25 * static_cast<double>(1 + below(largest)));
    }
    return made;
  }

  // x_0 is stored; states may be stored twice, or be useless.
  ResumePoint point(Step n, const Costs& costs) {
    ResumePoint made{.steps = n, .end = n, .tiers = rooms(costs)};
    made.turned = below(2) == 1;
    if (made.turned) made.end = 1 + below(n);
    std::vector<Slot> places;
    for (const TierSlots& tier : made.tiers) {
      for (Slot i = 0; i < tier.slots; ++i) places.push_back(static_cast<Slot>(places.size()));
    }
    std::shuffle(places.begin(), places.end(), engine_);
    const Slot stored = 1 + below(static_cast<Slot>(places.size()));
    for (Slot i = 0; i < stored; ++i) {
      made.stored.push_back({i == 0 ? 0 : below(n), places[static_cast<std::size_t>(i)]});
    }
    if (below(3) > 0) made.live = below(n + 1);
    return made;
  }

 private:
  std::mt19937 engine_;
};

inline double search(const ResumePoint& point, const Costs& costs) {
  support::PathStart start{static_cast<int>(point.live == unknown ? -1 : point.live),
                           static_cast<int>(point.end), support::Held(point.tiers.size(), 0)};
  std::vector<support::PathTier> path;
  Slot first = 0;
  for (std::size_t i = 0; i < point.tiers.size(); ++i) {
    const Slot slots = point.tiers[i].slots;
    path.push_back({static_cast<int>(slots), costs.tiers[i].write, costs.tiers[i].read});
    for (const Stored& each : point.stored) {
      if (each.slot >= first && each.slot < first + slots) start.held[i] |= 1U << each.at;
    }
    first += slots;
  }
  const std::vector<double> equal(static_cast<std::size_t>(point.steps), costs.step);
  return support::cheapest_from(start, costs.weights.empty() ? equal : costs.weights, path);
}

}  // namespace support
