#pragma once

#include <optional>

#include "costate/core/step.hpp"
#include "costate/core/team.hpp"
#include "costate/schedule/schedule.hpp"
#include "costate/sweep/budget.hpp"
#include "costate/sweep/progress.hpp"
#include "costate/sweep/report.hpp"
#include "costate/sweep/stepper.hpp"

/// @file
/// The driver: reverses a run within a budget. It asks the stepper for the number of steps, plans,
/// and tells the stepper what to do; it keeps bytes and never looks into them.

namespace costate {

/// How replayed states are compared with those of the first pass. A step that is not a function of
/// its arguments (random numbers outside the state, uninitialised memory, a changed parameter)
/// would otherwise give a wrong gradient in silence.
enum class ReplayGuard : unsigned char {
  off,
  sampled,    ///< at the ends of replayed segments, as often as costs about 1 % at most; at least
              ///< once a sweep. Says between which two indices the difference lies
  every_step  ///< at every replayed step: 8 bytes a step, one hash a step; says which step it is
};

struct SweepOptions {
  Budget budget = {};
  ReplayGuard guard = ReplayGuard::sampled;
  ProgressFunction progress = {};
  double progress_interval = 0.5;                   ///< seconds between two calls, about
  std::optional<Schedule> schedule = std::nullopt;  ///< instead of the one the driver would choose;
                                                    ///< tier 0 is the memory, tier 1 the disk
  bool tapes = true;  ///< keep tapes of steps where that spares advances, if the stepper can
  Step expected_steps = unknown;  ///< a guess, about the length of the last run, if the stepper
                                  ///< does not know: see below
  Team* team = nullptr;           ///< the other processes of a parallel simulation, which call this
                                  ///< too; `mpi::sweep` sets it
};

/// Runs the stepper from x_0, which must be live, to its end and back: afterwards its adjoint is
/// that of x_0, and what it accumulates is complete.
///
/// If the number of steps is known, the schedule is the one with the fewest advances for the slots
/// that the budget holds, with a disk the cheapest by `Budget::disk_costs` (`choose_at_once`); a
/// run whose states all fit recomputes nothing. If it is not, states are kept online (`online`,
/// `online_tiered`) and the rest is planned when the end is reached; a run of just `expected_steps`
/// then costs as little as if its length had been known. The result does not depend on the budget
/// or the guess, bit for bit.
///
/// A stepper with tapes (`Stepper::tape_bytes`) is run with them in a schedule that keeps tapes in
/// the place of states (`tapes_at_once`), if that takes fewer advances: the number of steps must be
/// known, states be of one size, and no disk be needed. With room for the tapes of all steps but
/// one no step is run twice.
///
/// A simulation that can step back is run to its end and then back, one step at a time, and nothing
/// is stored; the guard compares states on the way back with hashes of the first pass, that of x_0
/// among them. A schedule in the options overrides this.
///
/// After an exception the stepper is where the exception left it; a new sweep may start once x_0 is
/// live again.
///
/// @throws InvalidArgument if the guess is negative; nothing has run
/// @throws BudgetError     if the budget does not hold the least that is needed; nothing has run
/// @throws ScheduleError   if the schedule, or what the stepper says about its length, is wrong
/// @throws ReplayError     if a replayed state differs from its first pass
/// @throws StorageError    if a checkpoint cannot be written or read
/// @throws Unsupported     if the schedule keeps tapes and the stepper does not, or keeps them on
///                         disk, or that of the last step
/// @throws whatever the stepper throws
Report sweep(Stepper& stepper, const SweepOptions& options = {});

}  // namespace costate
