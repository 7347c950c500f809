#include "costate/schedule/schedule.hpp"

#include <algorithm>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/costs.hpp"

namespace costate {

void Generator::end_at(Step n, Step /*live*/, Step /*saved_end*/) {
  throw ScheduleError("the length of this schedule was fixed when it was made", n);
}

bool Generator::made_as(const Generator& /*other*/) const {
  return false;
}

Schedule::Schedule(std::string name, Step steps, std::vector<TierSlots> tiers,
                   std::unique_ptr<Generator> generator)
    : name_(std::move(name)),
      steps_(steps),
      online_(steps == unknown),
      tiers_(std::move(tiers)),
      generator_(std::move(generator)) {}

Schedule::Schedule(const Schedule& other)
    : name_(other.name_),
      steps_(other.steps_),
      online_(other.online_),
      tiers_(other.tiers_),
      generator_(other.generator_->clone()),
      asked_(other.asked_),
      run_(other.run_),
      done_(other.done_),
      part_(other.part_),
      expanding_(other.expanding_) {}

Schedule& Schedule::operator=(const Schedule& other) {
  if (this != &other) *this = Schedule(other);
  return *this;
}

Schedule Schedule::renamed(std::string name) const {
  Schedule copy(*this);
  copy.name_ = std::move(name);
  return copy;
}

Command Schedule::next_command() {
  if (expanding_) {
    throw ScheduleError("next_command() in the middle of a run of actions", run_.from);
  }
  run_ = generator_->next();
  ++asked_;
  return run_;
}

std::optional<Action> Schedule::next() {
  using Kind = Command::Kind;
  if (!expanding_) {
    run_ = generator_->next();
    ++asked_;
    switch (run_.kind) {
      case Kind::advance:
        return Advance{run_.from, run_.to};
      case Kind::save:
        return Save{run_.from, run_.slot, run_.what};
      case Kind::load:
        return Load{run_.from, run_.slot};
      case Kind::drop:
        return Drop{run_.slot};
      case Kind::record:
        return Record{run_.from};
      case Kind::turn:
        return Turn{run_.from};
      case Kind::reverse:
        return Reverse{run_.from};
      case Kind::end:
        return std::nullopt;
      case Kind::keep:
      case Kind::unwind:
        if (run_.from >= run_.to) return next();  // an empty run
        expanding_ = true;
        done_ = 0;
        part_ = 0;
    }
  }
  const bool keep = run_.kind == Kind::keep;
  const Step k = keep ? run_.from + done_ : run_.to - 1 - done_;
  const Slot slot = run_.slot + (k - run_.from);
  const int part = part_++;
  if (part == (keep ? 1 : 3)) {
    part_ = 0;
    expanding_ = ++done_ < run_.to - run_.from;
  }
  if (keep) return part == 0 ? Action(Save{k, slot}) : Action(Advance{k, k + 1});
  switch (part) {
    case 0:
      return Load{k, slot};
    case 1:
      return Drop{slot};
    case 2:
      return Record{k};
    default:
      return Reverse{k};
  }
}

void Schedule::end_at(Step n, Step live) {
  if (!online_) throw ScheduleError("end_at() is for online schedules", n);
  if (steps_ != unknown) throw ScheduleError("the end of this run was told before", n);
  if (n < 0 || live < 0 || (live != n && live != n - 1)) {
    throw ScheduleError("a run of " + std::to_string(n) + " steps cannot end with state " +
                            std::to_string(live) + " live",
                        n);
  }
  // A driver that carries out whole runs has saved the state at which a run was cut short; one that
  // asks for single actions has saved what it was told to.
  Step saved_end = std::min(live + 1, run_.to);
  if (run_.kind == Command::Kind::keep && expanding_) {
    saved_end = run_.from + done_ + (part_ > 0 ? 1 : 0);
  }
  expanding_ = false;
  generator_->end_at(n, live, saved_end);
  steps_ = n;
}

Slot Schedule::slots() const noexcept {
  Slot all = 0;
  for (const TierSlots& tier : tiers_) all = saturating_add(all, tier.slots);
  return all;
}

std::size_t Schedule::tier_of(Slot slot) const {
  Slot first = 0;
  for (std::size_t i = 0; slot >= 0 && i < tiers_.size(); ++i) {
    if (slot - first < tiers_[i].slots) return i;
    first += tiers_[i].slots;
  }
  throw ScheduleError("no tier has slot #" + std::to_string(slot), unknown);
}

bool operator==(const Schedule& a, const Schedule& b) {
  if (a.steps_ == unknown || b.steps_ == unknown) {
    return a.steps_ == b.steps_ && a.tiers_ == b.tiers_ && a.asked_ == b.asked_ &&
           a.expanding_ == b.expanding_ && a.done_ == b.done_ && a.part_ == b.part_ &&
           a.generator_->made_as(*b.generator_);
  }
  Schedule left(a);
  Schedule right(b);
  for (;;) {
    const auto x = left.next();
    const auto y = right.next();
    if (x != y) return false;
    if (!x) return true;
  }
}

std::string to_string(const Schedule& schedule) {
  const Step n = schedule.steps();
  std::string out = schedule.name() + (n == unknown ? ", steps unknown"
                                       : n == 1     ? ", 1 step"
                                                    : ", " + std::to_string(n) + " steps");
  for (const TierSlots& tier : schedule.tiers()) {
    const bool open = tier.slots >= most_steps;  // more than any run has states
    out += ", " + tier.name + " " + (open ? "unbounded" : std::to_string(tier.slots));
  }
  return out;
}

}  // namespace costate
