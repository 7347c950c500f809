#pragma once

#include <string>

#include "costate/mpi/ranks.hpp"
#include "costate/sweep/report.hpp"
#include "costate/sweep/run.hpp"
#include "costate/sweep/stepper.hpp"
#include "costate/sweep/sweep.hpp"

/// @file
/// Sweeps of a simulation that is spread over the ranks of a communicator. Every rank has a stepper
/// for its part of the state and keeps that part in tiers of its own; what is done next is decided
/// by numbers that all have agreed on. Component `costate::mpi`; docs/mpi.md.

namespace costate::mpi {

/// `costate::sweep` on all ranks at a time; each calls it with its own part.
///
/// Agreed on are: the slots of each tier (the least that a rank's budget holds of its own states),
/// the costs of transfers (the largest), the guard, the guess of the length, measured times. A
/// schedule in the options must be the same on all ranks, and so must be what the steppers decide:
/// the number of steps, and where `advance` stops. If it is not, all ranks say so.
///
/// The ranks meet before each range of steps that is advanced or reversed, and before the turn: one
/// small all-reduce each. If one has failed by then, in its own steps or in keeping checkpoints,
/// the others leave with its message.
///
/// @throws RankError  if another rank has failed
/// @throws as `costate::sweep`, on the rank concerned
Report sweep(Stepper& stepper, const SweepOptions& options, Ranks& ranks);

/// `costate::run_or_resume` on all ranks at a time. Each needs a directory of its own
/// (`own_directory`). However the ranks were interrupted, they go on together: from the newest
/// record that all of them have, with the checkpoints that all of them have. `stop_when` stops all
/// if it says so on one. A directory of another rank or another number of ranks is refused.
///
/// @throws RankError  if another rank has failed
/// @throws as `costate::run_or_resume`, on the rank concerned
RunResult run_or_resume(Stepper& stepper, const RunOptions& options, Ranks& ranks);

/// The directory of this rank in one for all: "run/rank-3".
[[nodiscard]] std::string own_directory(const std::string& base, const Ranks& ranks);

}  // namespace costate::mpi
