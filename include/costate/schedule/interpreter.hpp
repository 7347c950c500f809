#pragma once

#include <map>
#include <string>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/action.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"
#include "costate/schedule/schedule.hpp"

/// @file
/// Runs a schedule without a simulation: checks every rule, and counts. It is what a schedule is
/// measured by, and it knows nothing of how schedules are made.
///
/// The rules: an action finds what it needs live; a slot is free when it is saved to and belongs to
/// a tier; a load finds the index it names; `Turn` comes once, at the end of the run and before any
/// `Reverse`; every step is reversed once, from n-1 down to 0; at the end no slot holds anything.
/// Breaking one is a `ScheduleError` that names the action, its number from 1, and the step.

namespace costate {

/// How a schedule is to be run.
struct InterpretOptions {
  Step steps = unknown;         ///< how long an online run turns out to be; ignored otherwise
  bool knows_last_step = true;  ///< online: the end is noticed before the last step, not after it
  Slot tape_slots = 1;          ///< room that the tape of a step takes, in slots
  bool tape_has_next = false;   ///< a loaded tape of step k makes x_{k+1} available too
  bool single_actions = false;  ///< go through `Schedule::next`, not through `next_command`
};

struct ResumePoint;

/// Carries out actions symbolically. O(slots) memory for schedules that use their slots well: it
/// holds the slots and the steps at which the number of runs changes.
class Interpreter {
 public:
  /// @param steps    of the run, >= 0, or `unknown` until `set_steps`
  /// @param tiers    as in `Schedule::tiers`
  /// @param options  `tape_slots` and `tape_has_next` are used
  /// @param weights  cost of each step, for `weighted_advances`; empty: 1. Not copied.
  Interpreter(Step steps, std::vector<TierSlots> tiers, const InterpretOptions& options = {},
              const std::vector<double>& weights = {});
  /// Begins where a run stands (replan.hpp): counts what is done from there on, and of the steps
  /// below `end` how often they are run.
  /// @throws ScheduleError if no tier has a slot that is listed, or one is listed twice
  explicit Interpreter(const ResumePoint& point, const std::vector<double>& weights = {});

  /// @throws ScheduleError if the action breaks a rule
  void apply(const Action& action);
  /// The same for a whole run.
  void apply(const Command& command);
  /// The run turns out to have this many steps.
  void set_steps(Step n);
  /// Nothing follows.
  /// @throws ScheduleError if a step is not reversed or a slot still holds something
  void finish() const;

  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  /// How many steps have been advanced how often: runs -> number of steps, of the steps that are
  /// reversed.
  [[nodiscard]] const std::map<Step, Step>& runs() const noexcept { return runs_; }
  /// The sum of the weights of all advances; the number of advances if there are no weights.
  [[nodiscard]] double weighted_advances() const noexcept { return weighted_; }
  /// The index of the live state, `unknown` if none is.
  [[nodiscard]] Step live() const noexcept { return state_; }

 private:
  struct Held {
    Step at = unknown;
    Content what = Content::state;
  };

  void advance(Step from, Step to);
  void save(Step at, Slot slot, Content what);
  void load(Step at, Slot slot);
  void drop(Slot slot);
  void record(Step step);
  void turn(Step at);
  void reverse(Step step);

  Held& room(Slot slot);
  [[nodiscard]] Held held(Slot slot) const;
  void empty(Slot slot);
  void count_runs(Step from, Step to);
  std::size_t tier_of(Slot slot, Step at) const;
  [[nodiscard]] bool available(Step at) const noexcept { return state_ == at || next_ == at; }
  [[noreturn]] void fail(const std::string& action, const std::string& why, Step step) const;

  std::vector<TierSlots> tiers_;
  Slot tape_slots_;
  bool tape_has_next_;
  std::vector<double> prefix_;  // sums of the weights, empty without
  Counts counts_;
  std::map<Step, Step> runs_;
  double weighted_ = 0;

  Step number_ = 0;      // actions begun
  Step state_ = 0;       // the live state
  Step next_ = unknown;  // the state after a recorded step
  Step tape_ = unknown;  // the step whose tape is live
  bool turned_ = false;
  Step front_ = unknown;          // the steps from here on are reversed
  std::vector<Held> slots_;       // the lower slots, as far as ever used
  std::map<Slot, Held> far_;      // those far above that hold something
  std::vector<Slot> taken_;       // slots taken, by tier
  std::map<Step, Step> changes_;  // step -> by how much the number of runs changes there
  Step runs_at_front_ = 0;        // the sum of all changes
};

/// Runs a copy of the schedule from where it stands to its end. For an online schedule it plays the
/// driver: when an advance would pass the end it stops short and tells the length.
/// @throws ScheduleError if the schedule breaks a rule, InvalidArgument if an online schedule is
///         run without a number of steps
[[nodiscard]] Counts interpret(Schedule schedule, const InterpretOptions& options = {});

/// How many steps are advanced how often: runs -> number of steps.
[[nodiscard]] std::map<Step, Step> interpret_runs(Schedule schedule,
                                                  const InterpretOptions& options = {});

/// What the schedule costs, counted action by action: advances times `costs.step` or their weights,
/// writes and reads by tier.
/// @throws as `interpret`, InvalidArgument if there are fewer tiers in `costs` than in the schedule
[[nodiscard]] double interpret_cost(Schedule schedule, const Costs& costs,
                                    const InterpretOptions& options = {});

/// The same of what a machine has done that was made with the weights of these costs.
/// @throws InvalidArgument as the next
[[nodiscard]] double cost_of(const Interpreter& machine, const Costs& costs);

/// The same from counts, for steps of equal cost.
/// @throws InvalidArgument if there are fewer tiers in `costs` than in `counts`
[[nodiscard]] double cost_of(const Counts& counts, const Costs& costs);

}  // namespace costate
