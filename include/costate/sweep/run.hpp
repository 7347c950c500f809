#pragma once

#include <functional>
#include <string>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/core/team.hpp"
#include "costate/storage/run_store.hpp"
#include "costate/sweep/sweep.hpp"

/// @file
/// Sweeps that survive being interrupted. The run lives in a directory; when the process ends, in
/// whatever way, the same call in a new process goes on, and the result has the same bits.

namespace costate {

struct RunOptions {
  RunSpec store;         ///< `costate::run_directory({.directory = ...})`
  std::string identity;  ///< of the problem: everything that the result depends on (method, sizes,
                         ///< parameters, tolerances). A directory of another one is refused
  Bytes memory = 1_GiB;  ///< as Budget::memory
  TransferCosts disk_costs = {};  ///< as Budget::disk_costs
  ReplayGuard guard = ReplayGuard::sampled;
  double safety_every = 60;  ///< seconds between two records: about what a kill can cost at most,
                             ///< besides recomputing the states that were in memory
  std::function<bool()> stop_when = {};  ///< asked between steps, often; when it says true, a
                                         ///< record is written and the call returns unfinished
  Step expected_steps = unknown;         ///< as SweepOptions::expected_steps
  ProgressFunction progress = {};
  double progress_interval = 0.5;
  Team* team = nullptr;  ///< as SweepOptions::team; `mpi::run_or_resume` sets it
};

/// How a call of `run_or_resume` went.
struct RunResult {
  bool finished = false;  ///< false: `stop_when` said so; call again
  bool resumed = false;   ///< the run was not begun by this call
  RunRecord::Phase resumed_phase = RunRecord::Phase::forward;
  Step resumed_step = 0;            ///< where this call took up
  std::vector<std::string> damage;  ///< what was found torn or damaged, and was not needed
  Report report;                    ///< of this call
};

/// Begins the run, or goes on with it, or recognises that it is finished; in each case the stepper
/// then holds what `sweep` would have left in it. x_0 must be live at the call. The stepper must be
/// able to save its progress (Stepper::progress_bytes).
///
/// @throws Unsupported   if it is not
/// @throws StorageError  if the directory belongs to another problem, version or process, or cannot
///                       be used; the cause gone, the run can go on
/// @throws as `sweep`
RunResult run_or_resume(Stepper& stepper, const RunOptions& options);

}  // namespace costate
