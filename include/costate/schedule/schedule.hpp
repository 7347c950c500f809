#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/action.hpp"

/// @file
/// A schedule is a stream of actions that reverses a run:
///
/// @code
///   for (auto schedule = costate::revolve(n, slots); auto action = schedule.next();) { ... }
/// @endcode
///
/// Slots are numbered from 0; tier `i` owns the contiguous range of slots that follows those of the
/// tiers before it, so which tier a slot belongs to is a static map.

namespace costate {

/// One tier as a schedule sees it.
struct TierSlots {
  std::string name;  ///< "memory", "disk", …
  Slot slots;        ///< how many checkpoints it can hold
  friend bool operator==(const TierSlots&, const TierSlots&) = default;
};

/// What a generator emits: one action, or one of two runs of actions that the dense parts of a
/// schedule, where every state is kept, consist of. Runs exist for speed only: with states of a few
/// numbers, seven actions a step would cost more than the step.
///
///     keep   {from, to, slot}:  for k = from … to-1:  Save{k, slot+k-from}, Advance{k, k+1}
///     unwind {from, to, slot}:  for k = to-1 … from:  Load{k, slot+k-from}, Drop{slot+k-from},
///                                                     Record{k}, Reverse{k}
struct Command {
  enum class Kind : unsigned char {
    advance,  ///< from, to
    save,     ///< from, slot, what
    load,     ///< from, slot
    drop,     ///< slot
    record,   ///< from
    turn,     ///< from
    reverse,  ///< from
    keep,     ///< from, to, slot
    unwind,   ///< from, to, slot
    end       ///< nothing is left
  };
  Kind kind = Kind::end;
  Content what = Content::state;
  Step from = 0;
  Step to = 0;
  Slot slot = 0;
  friend bool operator==(const Command&, const Command&) = default;
};

/// What a family of schedules implements. A value: `clone` copies it with its position.
class Generator {
 public:
  virtual ~Generator() = default;
  [[nodiscard]] virtual std::unique_ptr<Generator> clone() const = 0;

  /// The next command, `Kind::end` after the last.
  virtual Command next() = 0;

  /// Online only: the run turns out to have `n` steps. `live` is the live index, `n-1` or `n`. Of a
  /// last command `keep{from, to, …}` the states below `saved_end` have been saved.
  /// @throws ScheduleError unless the schedule is online and has not ended
  virtual void end_at(Step n, Step live, Step saved_end);

  /// Online only: whether the other one was made in the same way, so that the two, asked as often,
  /// say the same as long as the length is unknown. By default they are not.
  [[nodiscard]] virtual bool made_as(const Generator& other) const;

 protected:
  Generator() = default;
  Generator(const Generator&) = default;
  Generator& operator=(const Generator&) = default;
};

/// A stream of actions. A value: copies run on independently (which is how a driver looks ahead).
/// Not synchronised; distinct objects may be used from distinct threads.
class Schedule {
 public:
  /// @param name   of the family, for reports
  /// @param steps  of the run, or `unknown` (an online schedule)
  /// @param tiers  at least one
  Schedule(std::string name, Step steps, std::vector<TierSlots> tiers,
           std::unique_ptr<Generator> generator);
  Schedule(const Schedule& other);
  Schedule& operator=(const Schedule& other);
  Schedule(Schedule&&) noexcept = default;
  Schedule& operator=(Schedule&&) noexcept = default;
  ~Schedule() = default;

  /// The next action, or nothing after the last one.
  std::optional<Action> next();

  /// The same stream with runs of actions left whole. Must not be called in the middle of a run
  /// that `next` has begun.
  Command next_command();

  /// Online schedules: tells that the run has `n` steps, at a moment when `x_live` is live and the
  /// last `Advance` is over (perhaps cut short). `live` is `n-1`, if it is known by then that step
  /// `n-1` is the last one, which saves a step, or `n`.
  /// @throws ScheduleError if the length was known or told before, or live is neither n-1 nor n
  void end_at(Step n, Step live);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The same stream under another name.
  [[nodiscard]] Schedule renamed(std::string name) const;
  /// The number of steps, `unknown` as long as an online run has not ended.
  [[nodiscard]] Step steps() const noexcept { return steps_; }
  [[nodiscard]] bool online() const noexcept { return online_; }
  [[nodiscard]] const std::vector<TierSlots>& tiers() const noexcept { return tiers_; }
  /// All slots of all tiers.
  [[nodiscard]] Slot slots() const noexcept;
  /// The tier that owns the slot, an index into `tiers()`.
  [[nodiscard]] std::size_t tier_of(Slot slot) const;

  /// Whether the two emit the same actions from here on. Runs copies of both to the end. Streams of
  /// unknown length, which have none, are the same if the two were made in the same way (`online`
  /// with the same slots, rule and guess, for example) and asked equally often.
  friend bool operator==(const Schedule& a, const Schedule& b);

 private:
  std::string name_;
  Step steps_;
  bool online_;
  std::vector<TierSlots> tiers_;
  std::unique_ptr<Generator> generator_;
  std::int64_t asked_ = 0;  // commands given out
  Command run_{};           // the command being expanded, or the last one given out
  Step done_ = 0;           // steps of run_ that `next` has expanded
  int part_ = 0;            // actions of the current step of run_ that have been given out
  bool expanding_ = false;  // run_ is being expanded by `next`
};

/// One line: "revolve, 10 steps, memory 3", the tiers with their slots; of an online schedule whose
/// length is not known "online, steps unknown, memory 4, disk unbounded".
[[nodiscard]] std::string to_string(const Schedule& schedule);

}  // namespace costate
