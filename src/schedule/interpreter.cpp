#include "costate/schedule/interpreter.hpp"

#include <algorithm>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/replan.hpp"

namespace costate {
namespace {

std::string index(const char* what, Step at) {
  return at == unknown ? std::string("no ") + what + " is live"
                       : std::string("the live ") + what + " is " + std::to_string(at);
}

}  // namespace

Interpreter::Interpreter(Step steps, std::vector<TierSlots> tiers, const InterpretOptions& options,
                         const std::vector<double>& weights)
    : tiers_(std::move(tiers)),
      tape_slots_(options.tape_slots),
      tape_has_next_(options.tape_has_next),
      taken_(tiers_.size(), 0) {
  for (const TierSlots& tier : tiers_) counts_.tiers.push_back({tier.name, tier.slots, 0, 0, 0});
  if (!weights.empty()) {
    prefix_.push_back(0);
    for (const double weight : weights) prefix_.push_back(prefix_.back() + weight);
  }
  counts_.steps = unknown;
  if (steps != unknown) set_steps(steps);
}

Interpreter::Interpreter(const ResumePoint& point, const std::vector<double>& weights)
    : Interpreter(point.steps, point.tiers, {}, weights) {
  for (const Stored& stored : point.stored) {
    const std::size_t tier = tier_of(stored.slot, stored.at);
    Held& here = room(stored.slot);
    if (here.at != unknown) {
      throw ScheduleError("slot #" + std::to_string(stored.slot) + " is said to hold two states",
                          stored.at);
    }
    here = {stored.at, Content::state};
    counts_.tiers[tier].peak = ++taken_[tier];
  }
  state_ = point.live;
  turned_ = point.turned;
  front_ = point.end;
}

void Interpreter::set_steps(Step n) {
  if (n < 0) throw InvalidArgument("a run of " + std::to_string(n) + " steps");
  counts_.steps = n;
  front_ = n;
}

void Interpreter::fail(const std::string& action, const std::string& why, Step step) const {
  throw ScheduleError("action " + std::to_string(number_) + " (" + action + "): " + why, step);
}

void Interpreter::apply(const Action& action) {
  if (const auto* a = std::get_if<Advance>(&action)) {
    advance(a->from, a->to);
  } else if (const auto* b = std::get_if<Save>(&action)) {
    save(b->at, b->slot, b->what);
  } else if (const auto* c = std::get_if<Load>(&action)) {
    load(c->at, c->slot);
  } else if (const auto* d = std::get_if<Drop>(&action)) {
    drop(d->slot);
  } else if (const auto* e = std::get_if<Record>(&action)) {
    record(e->step);
  } else if (const auto* f = std::get_if<Turn>(&action)) {
    turn(f->at);
  } else {
    reverse(std::get<Reverse>(action).step);
  }
}

void Interpreter::apply(const Command& command) {
  using Kind = Command::Kind;
  const Step from = command.from;
  switch (command.kind) {
    case Kind::advance:
      return advance(from, command.to);
    case Kind::save:
      return save(from, command.slot, command.what);
    case Kind::load:
      return load(from, command.slot);
    case Kind::drop:
      return drop(command.slot);
    case Kind::record:
      return record(from);
    case Kind::turn:
      return turn(from);
    case Kind::reverse:
      return reverse(from);
    case Kind::keep:
      for (Step k = from; k < command.to; ++k) {
        save(k, command.slot + (k - from), Content::state);
        advance(k, k + 1);
      }
      return;
    case Kind::unwind:
      for (Step k = command.to; k-- > from;) {
        const Slot slot = command.slot + (k - from);
        load(k, slot);
        drop(slot);
        record(k);
        reverse(k);
      }
      return;
    case Kind::end:
      return finish();
  }
}

void Interpreter::advance(Step from, Step to) {
  ++number_;
  const auto refuse = [&](const std::string& why) {
    fail(to_string(Advance{from, to}), why, from);
  };
  if (from < 0 || to <= from) refuse("it does not go forward");
  if (!available(from)) refuse(index("state", state_));
  if (counts_.steps != unknown && to > counts_.steps) {
    refuse("the run has " + std::to_string(counts_.steps) + " steps");
  }
  state_ = to;
  next_ = unknown;
  tape_ = unknown;
  counts_.advances = saturating_add(counts_.advances, to - from);
  if (prefix_.empty()) {
    weighted_ += static_cast<double>(to - from);
  } else {
    if (static_cast<std::size_t>(to) >= prefix_.size()) refuse("it passes the last weight");
    weighted_ += prefix_[static_cast<std::size_t>(to)] - prefix_[static_cast<std::size_t>(from)];
  }
  count_runs(from, to);
}

void Interpreter::count_runs(Step from, Step to) {
  // Of steps beyond the front the number of runs is settled.
  if (front_ != unknown) to = std::min(to, front_);
  if (from >= to) return;
  const auto change = [this](Step at, Step by) {
    const auto it = changes_.try_emplace(at, 0).first;
    it->second += by;
    runs_at_front_ += by;
    if (it->second == 0) changes_.erase(it);
  };
  change(from, 1);
  if (front_ == unknown || to < front_) change(to, -1);
}

std::size_t Interpreter::tier_of(Slot slot, Step at) const {
  Slot first = 0;
  for (std::size_t i = 0; slot >= 0 && i < tiers_.size(); ++i) {
    if (slot - first < tiers_[i].slots) return i;
    first += tiers_[i].slots;
  }
  throw ScheduleError(
      "action " + std::to_string(number_) + ": no tier has slot #" + std::to_string(slot), at);
}

// What the slot holds, to be written to. A slot far above all others takes no room for those below.
Interpreter::Held& Interpreter::room(Slot slot) {
  const auto i = static_cast<std::size_t>(slot);
  if (i < slots_.size()) return slots_[i];
  constexpr std::size_t small = 1 << 20;
  if (i >= std::max(small, 2 * slots_.size())) return far_[slot];
  slots_.resize(i + 1);
  for (auto it = far_.begin(); it != far_.end() && it->first <= slot; it = far_.erase(it)) {
    slots_[static_cast<std::size_t>(it->first)] = it->second;
  }
  return slots_[i];
}

Interpreter::Held Interpreter::held(Slot slot) const {
  const auto i = static_cast<std::size_t>(slot);
  if (i < slots_.size()) return slots_[i];
  const auto it = far_.find(slot);
  return it != far_.end() ? it->second : Held{};
}

void Interpreter::empty(Slot slot) {
  const auto i = static_cast<std::size_t>(slot);
  if (i < slots_.size()) {
    slots_[i] = {};
  } else {
    far_.erase(slot);
  }
}

void Interpreter::save(Step at, Slot slot, Content what) {
  ++number_;
  const auto refuse = [&](const std::string& why) {
    fail(to_string(Save{at, slot, what}), why, at);
  };
  if (what == Content::tape ? tape_ != at : !available(at)) {
    refuse(what == Content::tape ? index("tape", tape_) : index("state", state_));
  }
  const Slot takes = what == Content::tape ? tape_slots_ : 1;
  const std::size_t tier = tier_of(slot, at);
  if (takes > 1 && tier_of(slot + takes - 1, at) != tier) refuse("the tape lies in two tiers");
  for (Slot i = slot; i < slot + takes; ++i) {
    Held& here = room(i);
    if (here.at != unknown) {
      refuse("slot #" + std::to_string(i) + " holds " + std::to_string(here.at));
    }
    here = {at, what};
  }
  TierCounts& count = counts_.tiers[tier];
  count.writes = saturating_add(count.writes, 1);
  taken_[tier] += takes;
  count.peak = std::max(count.peak, taken_[tier]);
}

void Interpreter::load(Step at, Slot slot) {
  ++number_;
  const auto refuse = [&](const std::string& why) { fail(to_string(Load{at, slot}), why, at); };
  const std::size_t tier = tier_of(slot, at);
  const Held here = held(slot);
  if (here.at == unknown) refuse("the slot is empty");
  if (here.at != at) refuse("the slot holds " + std::to_string(here.at));
  if (here.what == Content::tape) {
    tape_ = at;
    state_ = unknown;
    next_ = tape_has_next_ ? at + 1 : unknown;
  } else {
    state_ = at;
    next_ = unknown;
    tape_ = unknown;
  }
  counts_.tiers[tier].reads = saturating_add(counts_.tiers[tier].reads, 1);
}

void Interpreter::drop(Slot slot) {
  ++number_;
  const std::size_t tier = tier_of(slot, unknown);
  const Held here = held(slot);
  if (here.at == unknown) fail(to_string(Drop{slot}), "the slot is empty", unknown);
  const Slot takes = here.what == Content::tape ? tape_slots_ : 1;
  for (Slot i = slot; i < slot + takes; ++i) {
    if (held(i).at != here.at) {
      fail(to_string(Drop{slot}), "the slot is not the first one of its tape", here.at);
    }
    empty(i);
  }
  taken_[tier] -= takes;
}

void Interpreter::record(Step step) {
  ++number_;
  if (!available(step)) fail(to_string(Record{step}), index("state", state_), step);
  if (counts_.steps != unknown && step >= counts_.steps) {
    fail(to_string(Record{step}), "the run has " + std::to_string(counts_.steps) + " steps", step);
  }
  state_ = step;
  next_ = step + 1;
  tape_ = step;
  counts_.records = saturating_add(counts_.records, 1);
}

void Interpreter::turn(Step at) {
  ++number_;
  const auto refuse = [&](const std::string& why) { fail(to_string(Turn{at}), why, at); };
  if (turned_) refuse("the run was turned before");
  if (counts_.steps == unknown) refuse("the end of the run is not known");
  if (at != counts_.steps) refuse("the run has " + std::to_string(counts_.steps) + " steps");
  if (!available(at)) refuse(index("state", state_));
  turned_ = true;
}

void Interpreter::reverse(Step step) {
  ++number_;
  const auto refuse = [&](const std::string& why) { fail(to_string(Reverse{step}), why, step); };
  if (!turned_) refuse("the run has not been turned");
  if (step != front_ - 1) refuse("the steps from " + std::to_string(front_) + " on are reversed");
  if (tape_ != step) refuse(index("tape", tape_));
  tape_ = unknown;
  next_ = unknown;
  for (auto last = changes_.end(); !changes_.empty(); last = changes_.end()) {
    --last;
    if (last->first <= step) break;
    runs_at_front_ -= last->second;
    changes_.erase(last);
  }
  ++runs_[runs_at_front_];
  counts_.max_runs = std::max(counts_.max_runs, runs_at_front_);
  front_ = step;
  if (step == 0 && runs_.size() <= static_cast<std::size_t>(most_run_counts)) {
    for (const auto& [runs, steps] : runs_) counts_.runs.push_back({runs, steps});
  }
}

void Interpreter::finish() const {
  if (counts_.steps == unknown || !turned_) {
    throw ScheduleError("the schedule ends before the end of the run is reached", state_);
  }
  if (front_ != 0) {
    throw ScheduleError(
        "the schedule ends with step " + std::to_string(front_ - 1) + " not reversed", front_ - 1);
  }
  const auto check = [](Slot slot, const Held& here) {
    if (here.at == unknown) return;
    throw ScheduleError("the schedule ends with " + std::to_string(here.at) + " left in slot #" +
                            std::to_string(slot),
                        here.at);
  };
  for (std::size_t i = 0; i < slots_.size(); ++i) check(static_cast<Slot>(i), slots_[i]);
  for (const auto& [slot, here] : far_) check(slot, here);
}

namespace {

// Runs an online schedule up to the end of the run, as a driver does, or any other to its end.
class Driver {
 public:
  Driver(Schedule& schedule, Interpreter& machine, const InterpretOptions& options)
      : schedule_(schedule),
        machine_(machine),
        steps_(options.steps),
        knows_(options.knows_last_step) {
    if (schedule.steps() == unknown) {
      if (steps_ < 0) {
        throw InvalidArgument("an online schedule is interpreted for a given number of steps");
      }
      // The index at which the simulation says that it has ended.
      stop_ = options.knows_last_step ? std::max<Step>(0, steps_ - 1) : steps_;
    }
  }

  void run_actions() {
    while (const auto action = schedule_.next()) {
      const auto* advance = std::get_if<Advance>(&*action);
      if (advance != nullptr && ends_at(advance->to)) {
        if (advance->from < stop_) machine_.apply(Action(Advance{advance->from, stop_}));
        end();
      } else {
        machine_.apply(*action);
      }
    }
    machine_.finish();
  }

  void run_commands() {
    using Kind = Command::Kind;
    for (;;) {
      Command command = schedule_.next_command();
      const bool forward = command.kind == Kind::advance || command.kind == Kind::keep;
      if (forward && command.from < command.to && ends_at(command.to)) {
        const bool keep = command.kind == Kind::keep && command.to > stop_;
        command.to = stop_;
        if (command.from < command.to) machine_.apply(command);
        if (keep) {  // the state at which a run is cut short is saved, too
          machine_.apply(Action(Save{stop_, command.slot + (stop_ - command.from)}));
        }
        end();
        continue;
      }
      machine_.apply(command);
      if (command.kind == Kind::end) return;
    }
  }

 private:
  // Whether the end is noticed in an advance to this index: on arrival, if the simulation knows
  // beforehand which step is its last one, else when it comes up short.
  [[nodiscard]] bool ends_at(Step to) const {
    return schedule_.steps() == unknown && (knows_ ? to >= stop_ : to > stop_);
  }
  void end() {
    machine_.set_steps(steps_);
    schedule_.end_at(steps_, stop_);
  }

  Schedule& schedule_;
  Interpreter& machine_;
  Step steps_;
  bool knows_;
  Step stop_ = unknown;
};

Interpreter run(Schedule& schedule, const InterpretOptions& options,
                const std::vector<double>& weights = {}) {
  Interpreter machine(schedule.steps(), schedule.tiers(), options, weights);
  Driver driver(schedule, machine, options);
  if (options.single_actions) {
    driver.run_actions();
  } else {
    driver.run_commands();
  }
  return machine;
}

double transfers(const Counts& counts, const Costs& costs) {
  if (counts.tiers.size() > costs.tiers.size()) {
    throw InvalidArgument("the schedule has " + std::to_string(counts.tiers.size()) +
                          " tiers, the costs only " + std::to_string(costs.tiers.size()));
  }
  double sum = 0;
  for (std::size_t i = 0; i < counts.tiers.size(); ++i) {
    sum += static_cast<double>(counts.tiers[i].writes) * costs.tiers[i].write +
           static_cast<double>(counts.tiers[i].reads) * costs.tiers[i].read;
  }
  return sum;
}

}  // namespace

Counts interpret(Schedule schedule, const InterpretOptions& options) {
  return run(schedule, options).counts();
}

std::map<Step, Step> interpret_runs(Schedule schedule, const InterpretOptions& options) {
  return run(schedule, options).runs();
}

double interpret_cost(Schedule schedule, const Costs& costs, const InterpretOptions& options) {
  return cost_of(run(schedule, options, costs.weights), costs);
}

double cost_of(const Interpreter& machine, const Costs& costs) {
  const double step = costs.weights.empty() ? costs.step : 1;
  return machine.weighted_advances() * step + transfers(machine.counts(), costs);
}

double cost_of(const Counts& counts, const Costs& costs) {
  return static_cast<double>(counts.advances) * costs.step + transfers(counts, costs);
}

}  // namespace costate
