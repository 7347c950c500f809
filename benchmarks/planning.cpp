// How fast schedules are planned and emitted.
//
// 1. Actions: revolve against a generator that always says the same, through the same interface, in
//    alternating rounds; the best round of each counts. Wanted: at most 10 ns an action more, and
//    exit status 1 if it is.
// 2. Planning: time, and cost against the lower bound. The yardstick is a plain double loop over
//    all splits, as many additions as the complete tables need.
// 3. Continuations of a hierarchical run that stopped half way back and lost its memory: the same,
//    and what the one with the fewest advances costs instead.
//
// Usage: planning [actions, default 100000000]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "costate/schedule/disk.hpp"
#include "costate/schedule/hierarchical.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/mixed.hpp"
#include "costate/schedule/multistage.hpp"
#include "costate/schedule/replan.hpp"
#include "costate/schedule/revolve.hpp"
#include "costate/schedule/weighted.hpp"

using namespace costate;

namespace {

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class Nothing final : public Generator {
 public:
  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<Nothing>(*this);
  }
  // Kept, because a command that is put together on the spot takes longer to be read again.
  Command next() override { return command_; }

 private:
  Command command_{Command::Kind::advance, Content::state, 0, 1, 0};
};

// Nanoseconds an action, over at most `most` actions. What is drawn is used, so that it is drawn.
double nanoseconds_an_action(Schedule schedule, std::int64_t most) {
  std::int64_t actions = 0;
  std::size_t kinds = 0;
  const Stopwatch watch;
  for (; actions < most; ++actions) {
    const auto action = schedule.next();
    if (!action) break;
    kinds += action->index();
  }
  const double time = watch.seconds();
  if (kinds == 1) std::puts("");
  return 1e9 * time / static_cast<double>(actions);
}

// Returns whether revolve is fast enough.
bool emit(Step n, Slot slots, std::int64_t most) {
  double revolve_best = 1e9;
  double nothing_best = 1e9;
  for (int round = 0; round < 3; ++round) {
    revolve_best = std::min(revolve_best, nanoseconds_an_action(revolve(n, slots), most));
    const Schedule nothing("nothing", 0, {{"memory", 1}}, std::make_unique<Nothing>());
    nothing_best = std::min(
        nothing_best, nanoseconds_an_action(nothing, std::min<std::int64_t>(most, 20'000'000)));
  }
  std::printf("%12lld %6lld %12.2f %12.2f %12.2f %14.3g\n", static_cast<long long>(n),
              static_cast<long long>(slots), revolve_best, nothing_best,
              revolve_best - nothing_best, 1e9 / revolve_best);
  return revolve_best - nothing_best <= 10;
}

// Seconds for n²/2 times `columns` additions and comparisons in a plain double loop.
double double_loop(Step n, double columns) {
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> left(size, 1.0);
  std::vector<double> right(size, 2.0);
  const Stopwatch watch;
  double least = 0;
  for (std::size_t l = 1; l < size; ++l) {
    double best = 1e300;
    for (std::size_t j = 0; j < l; ++j) best = std::min(best, left[j] + right[l - j - 1]);
    least += best;
  }
  if (least < 0) std::puts("");
  return columns * watch.seconds();
}

void report(const char* name, Step n, const char* tiers, const Plan& plan) {
  std::printf("%-14s %9lld  %-36s %9.3f %9.5f\n", name, static_cast<long long>(n), tiers,
              plan.planning_seconds, plan.ratio());
  std::fflush(stdout);
}

void report_continuation(const Costs& costs, Step n, const char* tiers) {
  Schedule whole = hierarchical(costs, n).schedule;
  ResumePoint point{.steps = n, .turned = true, .tiers = rooms(costs)};
  std::map<Slot, Step> held;
  const Slot in_memory = whole.tiers().front().slots;
  for (point.end = n; point.end > n / 2;) {
    const auto action = whole.next();
    if (const auto* save = std::get_if<Save>(&*action)) held[save->slot] = save->at;
    if (const auto* drop = std::get_if<Drop>(&*action)) held.erase(drop->slot);
    if (const auto* reverse = std::get_if<Reverse>(&*action)) point.end = reverse->step;
  }
  for (const auto& [slot, at] : held) {
    if (slot >= in_memory) {
      point.stored.push_back({at, slot - in_memory + point.tiers.front().slots});
    }
  }
  const Plan plan = resume_from(costs, point);
  Interpreter fewest(point);
  Schedule other = resume_from(point);
  while (const auto action = other.next()) fewest.apply(*action);
  std::printf("%-14s %9lld  %-36s %9.3f %9.5f  fewest advances: %.2f times as much\n", "resume",
              static_cast<long long>(n), tiers, plan.planning_seconds, plan.ratio(),
              cost_of(fewest.counts(), costs) / plan.cost);
  std::fflush(stdout);
}

// The fewest advances from so many states at random, all slots taken.
void report_crowd(Step n, Slot count) {
  ResumePoint point{.steps = n, .end = n, .tiers = {{"memory", count}}};
  std::mt19937_64 random(1);
  std::uniform_int_distribution<Step> at(1, n - 1);
  for (Slot i = 0; i < count; ++i) point.stored.push_back({i == 0 ? 0 : at(random), i});
  const Stopwatch watch;
  const Step advances = resume_advances(point);
  std::printf("%-14s %9lld  %-36lld %9.3f  %.3f advances a step\n", "fewest",
              static_cast<long long>(n), static_cast<long long>(count), watch.seconds(),
              static_cast<double>(advances) / static_cast<double>(n));
  std::fflush(stdout);
}

bool run(std::int64_t most) {
  std::printf("%12s %6s %12s %12s %12s %14s\n", "steps", "slots", "ns revolve", "ns empty",
              "difference", "actions/s");
  bool fast = true;
  for (const Step n : {1'000'000, 1'000'000'000}) {
    for (const Slot slots : {10, 30, 1000}) fast = emit(n, slots, most) && fast;
  }

  std::printf("\n%-14s %9s  %-36s %9s %9s\n", "schedule", "steps", "tiers (cost of a transfer)",
              "seconds", "ratio");
  const auto costs = [](Slot memory, Slot disk, double transfer) {
    Costs two;
    two.tiers = {{.slots = memory},
                 {.name = "disk", .slots = disk, .write = transfer, .read = transfer}};
    return two;
  };
  std::printf("%-14s %9d  %-36s %9.3f\n", "double loop", 10'000, "10000² / 2 · 16 additions",
              double_loop(10'000, 16));
  for (const Step n : {10'000, 100'000, 1'000'000}) {
    report("hierarchical", n, "16 + 16 (5)", hierarchical(costs(16, 16, 5), n));
    report("hierarchical", n, "4 + 8 (20)", hierarchical(costs(4, 8, 20), n));
    report("disk-revolve", n, "4 + unlimited (5)", disk_revolve(costs(4, unbounded, 5), n));
  }
  report("hierarchical", 100'000, "16 + 64 (5)", hierarchical(costs(16, 64, 5), 100'000));
  for (const double transfer : {5.0, 20.0}) {
    const std::string tiers = "16 + 1000 (" + std::to_string(static_cast<int>(transfer)) + ")";
    report("hierarchical", 100'000, tiers.c_str(),
           hierarchical(costs(16, 1000, transfer), 100'000));
  }
  report("hierarchical", 1'000'000, "16 + 1000 (5)", hierarchical(costs(16, 1000, 5), 1'000'000));
  // Periodic disk against the optimum for the same costs.
  for (const Step n : {10'000, 1'000'000}) {
    Plan periodic = periodic_disk(costs(8, unbounded, 5), n);
    periodic.lower_bound = disk_revolve(costs(8, unbounded, 5), n).lower_bound;
    report("periodic-disk", n, "8 + unlimited (5)", periodic);
  }
  Plan staged = multistage(costs(16, 16, 0.25), 10'000);
  staged.lower_bound = hierarchical(costs(16, 16, 0.25), 10'000).lower_bound;
  report("multistage", 10'000, "16 + 16 (0.25)", staged);

  Costs tapes;
  tapes.state_bytes = 1;
  tapes.tape_bytes = 3;
  tapes.tiers = {{.slots = 20}};
  for (const Step n : {1'000, 10'000}) report("mixed", n, "20, tapes of 3 states", mixed(tapes, n));

  for (const bool spiky : {false, true}) {
    for (const Step n : {1'000, 4'000, 100'000}) {
      std::mt19937 random(1);
      std::uniform_real_distribution<double> even(1, 100);
      std::vector<double> weights;
      for (Step k = 0; k < n; ++k) {
        weights.push_back(!spiky ? even(random) : random() % 100 == 0 ? 1000 : 1);
      }
      const std::string kind = spiky ? "1 % of weight 1000" : "weights from 1 to 100";
      Costs one;
      one.weights = weights;
      one.tiers = {{.slots = 16}};
      report("weighted", n, ("16, " + kind).c_str(), weighted(one, n));
      Costs two = costs(16, 16, 50);
      two.weights = weights;
      report("weighted", n, ("16 + 16 (50), " + kind).c_str(), weighted(two, n));
    }
  }

  // Half of these steps are the most that are planned exactly.
  report_continuation(costs(8, 14, 5), 2400, "8 + 14 (5)");
  report_continuation(costs(8, 100, 1), 930, "8 + 100 (1)");
  for (const Step n : {200, 10'000, 100'000, 1'000'000}) {
    report_continuation(costs(16, 16, 5), n, "16 + 16 (5)");
    report_continuation(costs(8, 100, 1), n, "8 + 100 (1)");
  }
  // Too long to be counted: the time alone, with states on disk at ten places.
  for (const Step n : {100'000'000, 1'000'000'000}) {
    for (const Slot disk : {16, 1000}) {
      ResumePoint point{.steps = n, .end = n, .turned = true, .tiers = rooms(costs(8, disk, 5))};
      for (Step i = 0; i < 10; ++i) point.stored.push_back({i * (n / 10), 8 + i});
      const Stopwatch watch;
      const Schedule rest = continuation(costs(8, disk, 5), point);
      std::printf("%-14s %9lld  8 + %-32lld %9.3f\n", "resume", static_cast<long long>(n),
                  static_cast<long long>(disk), watch.seconds());
    }
  }
  for (const Slot count : {100, 1000, 10'000}) report_crowd(1'000'000'000, count);
  return fast;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? std::atoll(argv[1]) : 100'000'000) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "planning: %s\n", error.what());
    return 1;
  }
}
