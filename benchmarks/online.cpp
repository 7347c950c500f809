// How far online schedules are from knowing the number of steps: worst and mean ratio of advances
// over all n up to 100000 and writes per step, one tier; the same with right and wrong guesses of
// n; ratio of costs to the hierarchical plan over n up to 3000, memory and disk, without and with
// guesses. Whole numbers are counted, so the figures have no noise.
//
// Usage: online [plain | guess | tiered | tiered-guess | times]      one part of it; else all

#include "costate/schedule/online.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/online_tiered.hpp"

namespace {

using namespace costate;

struct OneTier {
  double worst = 1;
  Step worst_n = 0;
  double mean = 0;
  double at_guess = 0;
  Step writes = 0;
};

// Ratios of advances to the offline optimum over n = 2 … longest.
OneTier one_tier(Schedule schedule, Slot slots, Step longest, Step guess) {
  std::map<Step, Slot> set;  // index -> slot
  Step live = 0;
  OneTier result;
  double sum = 0;
  for (Step n = 2; n <= longest; ++n) {
    while (live < n - 1) {
      const auto action = schedule.next();
      if (const auto* save = std::get_if<Save>(&*action)) {
        set[save->at] = save->slot;
        ++result.writes;
      } else if (const auto* drop = std::get_if<Drop>(&*action)) {
        for (auto it = set.begin(); it != set.end(); ++it) {
          if (it->second == drop->slot) {
            set.erase(it);
            break;
          }
        }
      } else if (const auto* advance = std::get_if<Advance>(&*action)) {
        live = advance->to;
      }
    }
    Step advances = n - 1;
    Slot left = slots;
    for (auto it = set.begin(); it != set.end() && it->first < n - 1; ++it) {
      const auto above = std::next(it);
      const Step end = above == set.end() ? n - 1 : std::min(above->first, n - 1);
      advances += binomial_advances(end - it->first, left--);
    }
    const double ratio =
        static_cast<double>(advances) / static_cast<double>(binomial_advances(n, slots));
    sum += ratio;
    if (n == guess) result.at_guess = ratio;
    if (ratio > result.worst) {
      result.worst = ratio;
      result.worst_n = n;
    }
  }
  result.mean = sum / static_cast<double>(longest - 1);
  return result;
}

void without_guess(Slot slots, OnlineRule rule) {
  constexpr Step longest = 100'000;
  const OneTier r = one_tier(online(slots, rule), slots, longest, unknown);
  std::printf("%-16s %5lld %9.4f %9lld %9.5f %11.4f\n",
              rule == OnlineRule::few_writes ? "few_writes" : "fewest_advances",
              static_cast<long long>(slots), r.worst, static_cast<long long>(r.worst_n), r.mean,
              static_cast<double>(r.writes) / static_cast<double>(longest));
}

// Guesses from beta(c, 2) + 1 on, each about 3 % above the one before, n up to 2 guess + 50.
void with_guess(Slot slots) {
  constexpr Step longest = 30'000;
  double right = 1;
  double near = 1;
  double worst = 1;
  Step worst_guess = 0;
  double mean = 0;
  double slowest = 0;
  int guesses = 0;
  for (Step guess = beta(slots, 2) + 1; guess <= longest; guess += 1 + guess / 32) {
    const OneTier r = one_tier(online(slots, guess), slots, 2 * guess + 50, guess);
    right = std::max(right, r.at_guess);
    mean += r.mean;
    ++guesses;
    if (r.worst > worst) {
      worst = r.worst;
      worst_guess = guess;
    }
    // Within 10 % of the guess, by running through the whole schedule.
    for (const Step n :
         {guess - guess / 10, guess - guess / 20, guess + guess / 20, guess + guess / 10}) {
      const auto advances =
          static_cast<double>(interpret(online(slots, guess), {.steps = n}).advances);
      near = std::max(near, advances / static_cast<double>(binomial_advances(n, slots)));
    }
    // The choice among the best sets is made when the slots are full.
    Schedule schedule = online(slots, guess);
    schedule.next_command();
    const auto start = std::chrono::steady_clock::now();
    schedule.next_command();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    slowest = std::max(slowest, time.count());
  }
  std::printf("%5lld %9d %9.4f %9.4f %9.4f %9lld %9.4f %12.1f\n", static_cast<long long>(slots),
              guesses, right, near, worst, static_cast<long long>(worst_guess), mean / guesses,
              1000 * slowest);
  std::fflush(stdout);
}

// What every number of steps costs that is known beforehand: the recursion of hierarchical.hpp.
std::vector<double> offline(Slot memory, Slot disk, double cost, Step longest) {
  const auto size = static_cast<std::size_t>(longest) + 1;
  std::vector<double> below(size, 0);
  for (std::size_t l = 2; l < size; ++l) {
    below[l] = static_cast<double>(binomial_advances(static_cast<Step>(l), memory));
  }
  std::vector<double> right = below;  // start not kept, one slot on disk less
  const Slot columns = disk == unbounded ? 1 : disk;
  for (Slot s = 1; s <= columns; ++s) {
    std::vector<double> left(size, 0);
    std::vector<double> out(size, 0);
    for (std::size_t l = 2; l < size; ++l) {
      const std::vector<double>& above = disk == unbounded ? out : right;
      double least = below[l];
      for (std::size_t j = 1; j < l; ++j) {
        least = std::min(least, static_cast<double>(j) + cost + left[j] + above[l - j]);
      }
      left[l] = least;
      out[l] = std::min(below[l], cost + least);
    }
    right = out;
  }
  return right;
}

// Follows the first pass of a schedule; its copies end it at any number of steps.
class FirstPass {
 public:
  explicit FirstPass(Schedule schedule)
      : schedule_(std::move(schedule)), counted_(unknown, schedule_.tiers()) {}

  // What the run counts if it has n steps. To be asked with growing n.
  Counts end_at(Step n) {
    while (live_ < n - 1) {
      if (!pending_) {
        const auto action = schedule_.next();
        if (const auto* advance = std::get_if<Advance>(&*action)) {
          pending_ = *advance;
        } else {
          counted_.apply(*action);
          continue;
        }
      }
      if (pending_->to > n - 1) {  // it is cut short
        Interpreter counted = counted_;
        counted.apply(Advance{pending_->from, n - 1});
        return finish(schedule_, std::move(counted), n);
      }
      counted_.apply(*pending_);
      live_ = std::max(live_, pending_->to);
      pending_.reset();
    }
    return finish(schedule_, counted_, n);
  }

 private:
  static Counts finish(Schedule schedule, Interpreter counted, Step n) {
    counted.set_steps(n);
    schedule.end_at(n, n - 1);
    for (Command command = schedule.next_command(); command.kind != Command::Kind::end;
         command = schedule.next_command()) {
      counted.apply(command);
    }
    counted.finish();
    return counted.counts();
  }

  Schedule schedule_;
  Interpreter counted_;
  std::optional<Advance> pending_;  // given out and not carried out
  Step live_ = 0;
};

void two_tiers(Slot memory, Slot disk, double cost) {
  Costs costs;
  costs.tiers = {{.name = "memory", .slots = memory},
                 {.name = "disk", .slots = disk, .write = cost, .read = cost}};
  FirstPass pass(online_tiered(costs));
  double worst = 1;
  double sum = 0;
  int count = 0;
  constexpr Step longest = 3000;
  const std::vector<double> least = offline(memory, disk, cost, longest);
  for (Step n = 2; n <= longest; ++n) {
    const double ratio = cost_of(pass.end_at(n), costs) / least[static_cast<std::size_t>(n)];
    worst = std::max(worst, ratio);
    sum += ratio;
    ++count;
  }
  std::printf("%6lld %9s %6.1f %9.3f %9.3f\n", static_cast<long long>(memory),
              disk == unbounded ? "unbounded" : std::to_string(disk).c_str(), cost, worst,
              sum / count);
  std::fflush(stdout);
}

// Guesses; ratios at the guess, within 10 % of it, from half to twice of it, and for shorter runs.
void two_tiers_with_guess(Slot memory, Slot disk, double cost) {
  Costs costs;
  costs.tiers = {{.name = "memory", .slots = memory},
                 {.name = "disk", .slots = disk, .write = cost, .read = cost}};
  const std::vector<double> least = offline(memory, disk, cost, 3000);
  double right = 1;
  double near = 1;
  double half = 1;
  double shorter = 1;
  for (const Step guess : {60, 200, 600, 1500}) {
    FirstPass pass(online_tiered(costs, {.guess = guess}));
    for (Step n = 2; n <= 2 * guess; n += n < 100 || n == guess - 1 || n == guess ? 1 : 7) {
      if (n < guess && n + 7 > guess) n = guess;
      const double ratio = cost_of(pass.end_at(n), costs) / least[static_cast<std::size_t>(n)];
      if (n == guess) right = std::max(right, ratio);
      double& most = 10 * std::abs(n - guess) <= guess ? near : 2 * n >= guess ? half : shorter;
      most = std::max(most, ratio);
    }
  }
  std::printf("%6lld %9s %6.1f %9.4f %9.3f %9.3f %9.3f\n", static_cast<long long>(memory),
              disk == unbounded ? "unbounded" : std::to_string(disk).c_str(), cost, right, near,
              half, shorter);
  std::fflush(stdout);
}

class Empty final : public Generator {
 public:
  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<Empty>(*this);
  }
  Command next() override {
    const Step from = live_++;
    return {Command::Kind::advance, Content::state, from, live_, 0};
  }

 private:
  Step live_ = 0;
};

// Nanoseconds a step that a schedule takes for the first pass of so many steps.
double pass_time(Schedule schedule, Step steps) {
  const auto start = std::chrono::steady_clock::now();
  for (Step live = 0; live < steps;) {
    const Command command = schedule.next_command();
    if (command.kind == Command::Kind::advance || command.kind == Command::Kind::keep) {
      live = std::max(live, command.to);
    }
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return time.count() * 1e9 / static_cast<double>(steps);
}

void times() {
  constexpr Step steps = 1'000'000;
  const Schedule empty("empty", unknown, {{"memory", 1}}, std::make_unique<Empty>());
  std::printf("\nfirst pass of %lld steps, ns a step; single advances and nothing else: %.1f\n",
              static_cast<long long>(steps), pass_time(empty, steps));
  std::printf("slots  few_writes  fewest_advances\n");
  for (const Slot slots : {8, 32, 127, 1000}) {
    std::printf("%5lld %11.1f %16.1f\n", static_cast<long long>(slots),
                pass_time(online(slots, OnlineRule::few_writes), steps),
                pass_time(online(slots, OnlineRule::fewest_advances), steps));
  }
  Costs costs;
  costs.tiers = {{.name = "memory", .slots = 8}, {.name = "disk", .slots = 16}};
  costs.tiers[1].write = costs.tiers[1].read = 5;
  std::printf("8 + 16 slots, first pass of 10000 steps, with all tables: %.0f ns a step\n",
              pass_time(online_tiered(costs), 10'000));
}

void plain() {
  std::printf("rule             slots     worst      at n      mean writes/step\n");
  for (const OnlineRule rule : {OnlineRule::few_writes, OnlineRule::fewest_advances}) {
    for (const Slot slots : {2, 4, 8, 16, 32, 64}) without_guess(slots, rule);
  }
}

void guess() {
  std::printf("\nwith a guess; near: n within 10 %%; worst: n up to 2 guess + 50\n");
  std::printf("slots   guesses     right      near     worst  at guess      mean   choosing/ms\n");
  for (const Slot slots : {2, 3, 4, 6, 8, 16, 32, 64}) with_guess(slots);
}

void tiered() {
  std::printf("\nmemory      disk    w=r     worst      mean\n");
  for (const Slot memory : {2, 3, 4, 8}) {
    for (const Slot disk : {Slot{4}, Slot{16}, Slot{64}, unbounded}) {
      for (const double cost : {0.3, 1.0, 5.0, 10.0}) two_tiers(memory, disk, cost);
    }
  }
}

void tiered_guess() {
  std::printf("\nwith a guess: at it, within 10 %%, from half to twice of it, shorter\n");
  std::printf("memory      disk    w=r     right      near      half   shorter\n");
  for (const Slot memory : {2, 4, 8}) {
    for (const Slot disk : {Slot{4}, Slot{16}, unbounded}) {
      for (const double cost : {1.0, 5.0}) two_tiers_with_guess(memory, disk, cost);
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string part = argc > 1 ? argv[1] : "";
  const std::pair<const char*, void (*)()> parts[] = {{"plain", plain},
                                                      {"guess", guess},
                                                      {"tiered", tiered},
                                                      {"tiered-guess", tiered_guess},
                                                      {"times", times}};
  for (const auto& [name, print] : parts) {
    if (part.empty() || part == name) print();
  }
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "online: %s\n", error.what());
  return EXIT_FAILURE;
}
