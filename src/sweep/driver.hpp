#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/replan.hpp"
#include "costate/schedule/schedule.hpp"
#include "costate/storage/memory_tier.hpp"
#include "costate/storage/pool.hpp"
#include "costate/storage/run_store.hpp"
#include "costate/storage/tier.hpp"
#include "costate/sweep/stepper.hpp"
#include "costate/sweep/sweep.hpp"
#include "guard.hpp"
#include "layout.hpp"
#include "look_ahead.hpp"
#include "meter.hpp"

namespace costate::detail {

/// A run that is kept on disk (run.hpp).
struct RunContext {
  RunStore& store;
  double safety_every;
  const std::function<bool()>& stop_when;
};

/// `stop_when` said so, and a record has been written.
struct Stopped {};

/// Carries out one schedule with one stepper: a machine of few registers, each command checked
/// against them before it is obeyed.
class Driver {
 public:
  Driver(Stepper& stepper, const SweepOptions& options, const Layout& layout,
         const RunContext* run = nullptr);

  /// @throws Stopped in a run that is kept on disk
  void run();
  /// What has been done up to now.
  Report report();

  /// The bytes of a record, at most.
  static std::size_t record_bytes(const Stepper& stepper);

 private:
  // The commands.
  void obey(const Command& command);
  void advance(Step from, Step to);
  void save(Step at, Slot slot);
  void load(Step at, Slot slot);
  void drop(Slot slot);
  void record(Step step);
  void turn(Step at);
  void reverse(Step step);
  void keep(Step from, Step to, Slot slot);
  void unwind(Step from, Step to, Slot slot);
  void save_tape(Step at, Slot slot);
  void load_tape(Step at, Slot slot);

  // Their parts.
  bool make_live(Step at) { return at == live_ || revive(at); }
  bool revive(Step at);
  Step run_steps(Step from, Step to, Pass pass);
  bool keep_rows(Tier& tier, Step from, Step to, Slot slot);
  bool keep_singly(Step from, Step to, Slot slot);
  void unwind_rows(Tier& tier, Step from, Step to, Slot slot);
  void ended();
  void arrived();
  void finish() const;

  // The guard.
  std::uint64_t hash_live();
  void look(Step at, bool mark);
  void compare(Step at, std::uint64_t hash);
  void probe(Step at, std::span<const std::byte> state);

  // The run on disk.
  void set_up_tiers();
  void begin();
  void resume(const RunRecord& record, Step limit);
  Slot keep_start(ResumePoint& point);
  void write_record();
  void write_record_at(Step at);
  void safe_point();

  // Bookkeeping.
  struct Place {
    Tier* tier;
    Slot slot;
    Slot left;  // slots of the tier from here on
  };
  Place place(Slot slot);
  [[nodiscard]] bool holds_tape(const Place& where) const noexcept {
    return layout_.tape_slots > 0 && where.tier == &memory_ && memory_.holds_tape(where.slot);
  }
  [[nodiscard]] Slot disk_start(std::size_t i) const;
  [[nodiscard]] Meter::Clock::time_point disk_begin(const Tier& tier) const;
  [[nodiscard]] std::span<std::byte> memory_of_state(const Tier& tier) const;
  void disk_end(const Tier& tier, Meter::Clock::time_point begun);
  void look_ahead();
  Tier& tier(std::size_t i);
  [[nodiscard]] Pass pass_at(Step from) const noexcept {
    return from < furthest_ ? Pass::replay : Pass::first;
  }
  [[nodiscard]] std::span<std::byte> spare(std::size_t bytes) const noexcept {
    return {spare_.data(), bytes};
  }
  // Where states are hashed: the last spare row.
  [[nodiscard]] std::span<std::byte> scratch(std::size_t bytes) const noexcept {
    const std::size_t row = MemoryTier::stride(layout_.row_bytes);
    return {spare_.data() + spare_.size() - row, bytes};
  }
  void chunk_done(Step steps, double seconds);
  void tell();

  Stepper& stepper_;
  const SweepOptions& options_;
  Meter::Clock::time_point start_ = Meter::Clock::now();
  Step n_;  // steps of the run
  Layout layout_;
  const RunContext* run_;
  Counts predicted_;
  Schedule schedule_;
  LookAhead ahead_;
  bool looking_ = false;
  Guard guard_;
  Meter meter_;
  Pool spare_;  // x_{n-1} during the turn, and a place to hash a state in: with tapes a second row
  MemoryTier memory_;
  std::unique_ptr<Tier> disk_;     // comes into being when it is used
  std::vector<Tier*> tiers_;       // memory and perhaps disk; null until it is there
  std::vector<TierUse> snapshot_;  // for the progress callback

  Step live_ = 0;                    // the index of the stepper's state; unknown: it holds none
  Step furthest_ = 0;                // the first pass has got here
  Step front_ = unknown;             // the adjoint's index; unknown before the turn
  Step recorded_ = unknown;          // the step that may be reversed now
  Step stored_ = unknown;            // the index last saved or loaded
  Step right_ = 0;                   // the index last known to be as in the first pass
  Step taped_ = unknown;             // the step whose tape is live, in tape_
  std::span<const std::byte> tape_;  // where it lies in the memory
  bool tape_dropped_ = false;        // nothing may be written before it is used
  bool spare_full_ = false;          // the spare row holds x_{n-1}
  std::size_t spare_bytes_ = 0;

  Step probe_at_ = unknown;  // index of probe_hash_: the last state hashed before the turn
  std::uint64_t probe_hash_ = 0;

  Step logged_ = 0;  // the steps below are in the log of the run
  bool watched_;     // somebody wants to know of progress, or a record may be due
  Step chunk_ = 1;   // steps that are run without looking at the clock, if watched
  Meter::Clock::time_point told_ = start_;
  Meter::Clock::time_point turned_ = start_;
  double disk_seconds_ = 0;                 // for saves to the disk and loads from it
  Meter::Clock::time_point safe_ = start_;  // when the last record was written
  Report report_;
};

}  // namespace costate::detail
