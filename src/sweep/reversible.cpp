#include "reversible.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/core/hash.hpp"
#include "costate/storage/memory_tier.hpp"

namespace costate::detail {
namespace {

// Between two hashes of the sampled guard; the guard thins them as the run gets longer.
constexpr Step stretch = 128;

std::string number(Step k) {
  return std::to_string(k);
}

// Indices whose hashes the guard has room for.
Step room(Step n, const SweepOptions& options) {
  if (options.guard != ReplayGuard::every_step) return 0;
  if (n != unknown) return n;
  return least(options.team,
               static_cast<Step>(options.budget.memory / 4 / Guard::bytes_per_step()));
}

}  // namespace

ReversibleSweep::ReversibleSweep(Stepper& stepper, const SweepOptions& options)
    : stepper_(stepper),
      options_(options),
      n_(stepper.steps()),
      guard_(options.guard, room(n_, options)),
      watched_(most(options.team, options.progress ? 1 : 0) > 0) {
  Bytes least = 0;
  if (guard_.on()) {
    const std::size_t row = MemoryTier::stride(stepper.max_state_bytes());
    least = row + static_cast<Bytes>(room(n_, options)) * Guard::bytes_per_step();
    if (least > options.budget.memory) {
      throw BudgetError("a memory budget of " + format_bytes(options.budget.memory) +
                            " does not hold the replay guard of a run that stores no states; the "
                            "least is " +
                            number(static_cast<Step>(least)) + " bytes",
                        least);
    }
    row_ = Pool(row);
  }
  report_.schedule = "reversible";
  report_.accuracy = stepper.accuracy();
  report_.memory_budget = options.budget.memory;
  report_.memory_peak = least;
  report_.tiers.push_back({.name = "memory", .capacity = options.budget.memory});
}

Report ReversibleSweep::run() {
  report_.predicted.steps = n_;
  report_.predicted.records = n_ == unknown ? 0 : n_;
  report_.predicted.advances = n_ == unknown ? 0 : std::max<Step>(0, n_ - 1);
  report_.setup_seconds = seconds();
  forward();
  report_.steps = n_;
  report_.advances = std::max<Step>(0, n_ - 1);
  stepper_.turn(n_);
  backward();
  report_.total_seconds = seconds();
  return std::move(report_);
}

// Steps to be run without a look at the clock or a hash.
Step ReversibleSweep::piece() const noexcept {
  if (guard_.every_step()) return 1;
  return watched_ ? std::min(chunk_, stretch) : stretch;
}

void ReversibleSweep::forward() {
  for (Step at = 0; at != n_;) {
    if (guard_.on() && (guard_.every_step() || guard_.wants(at))) guard_.add(at, hash_live());
    const Step stop = n_ == unknown ? at + piece() : std::min(n_, at + piece());
    const double since = seconds();
    const Step got = stepper_.advance(at, stop, Pass::first);
    report_.forward_seconds += seconds() - since;
    if (got < at || got > stop) {
      throw ScheduleError("the stepper was to advance from " + number(at) + " to " + number(stop) +
                              " and says that it reached " + number(got),
                          at);
    }
    guard_.earn(got - at);
    if (got < stop) {
      const Step told = stepper_.steps();
      const Step end = told != unknown ? told : got;
      if (n_ != unknown || (end != got && end != got + 1)) {
        throw ScheduleError("the stepper stopped at step " + number(got) + " of a run of " +
                                number(n_ != unknown ? n_ : end) + " steps",
                            got);
      }
      n_ = end;
    }
    const Step made = got - at;
    at = got;
    worked(made, since, Progress::Phase::forward, at);
  }
}

void ReversibleSweep::backward() {
  right_ = n_;
  for (Step at = n_; at > 0;) {
    const Step begin = at;
    const Step end = std::max<Step>(0, at - piece());
    const double since = seconds();
    for (; at > end; --at) {
      const Step k = at - 1;
      stepper_.step_back(at, k);
      if (guard_.knows(k)) compare(k);
      stepper_.reverse(k);
      guard_.forget_from(k);
      ++report_.back_steps;
      ++report_.reverses;
    }
    report_.reverse_seconds += seconds() - since;
    worked(begin - at, since, Progress::Phase::reverse, at);
  }
}

std::uint64_t ReversibleSweep::hash_live() {
  const double since = seconds();
  const std::span<std::byte> out(row_.data(), stepper_.state_bytes());
  stepper_.save(out);
  const std::uint64_t hash = hash_bytes(out);
  report_.guard_seconds += seconds() - since;
  return hash;
}

void ReversibleSweep::compare(Step at) {
  ++report_.guard_checks;
  if (!guard_.same(at, hash_live())) {
    throw ReplayError("stepping back to index " + number(at) +
                          " gave another state than the first pass had there; state " +
                          number(right_) +
                          " was the last that is known to be right. A step back must undo the step "
                          "to the last bit",
                      at, right_);
  }
  right_ = at;
}

// So many steps were begun at `since` and have brought the run to index `at`.
void ReversibleSweep::worked(Step steps, double since, Progress::Phase phase, Step at) {
  if (!watched_) return;
  const double now = seconds();
  const double taken = most_seconds(options_.team, now - since);
  if (steps >= chunk_ && taken < options_.progress_interval / 8) chunk_ *= 2;
  if (taken > options_.progress_interval / 2) chunk_ = std::max<Step>(1, chunk_ / 2);
  if (!options_.progress || now - told_ < options_.progress_interval) return;
  told_ = now;
  // Until it is measured, a step back and its reverse are taken to cost as much as four steps.
  double left = std::numeric_limits<double>::quiet_NaN();
  if (n_ != unknown && at > 0) {
    const auto there = static_cast<double>(at);
    const auto rest = static_cast<double>(n_ - at);
    if (phase == Progress::Phase::forward) {
      left = report_.forward_seconds / there * (rest + 4 * static_cast<double>(n_));
    } else if (rest > 0) {
      left = report_.reverse_seconds / rest * there;
    }
  }
  if (phase == Progress::Phase::reverse && at == 0) left = 0;
  options_.progress({.phase = phase,
                     .step = at,
                     .steps = n_,
                     .tiers = report_.tiers,
                     .seconds = now,
                     .eta_seconds = left,
                     .fraction = now / (now + left)});
}

}  // namespace costate::detail
