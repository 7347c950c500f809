#pragma once

#include <string>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/core/step.hpp"
#include "costate/schedule/plan.hpp"
#include "costate/storage/tier.hpp"
#include "costate/sweep/budget.hpp"

namespace costate {

/// What a sweep did, and what it had been expected to do.
struct Report {
  std::string schedule;  ///< name of the schedule
  std::string accuracy;  ///< of the gradient; empty: it is the derivative of the computed value
  Step steps = 0;        ///< n
  Step advances = 0;     ///< forward steps run untaped (docs/counting.md)
  Counts predicted;     ///< what the plan said; `predicted.steps` is `unknown` without a prediction
  Step reverses = 0;    ///< reverse steps, n
  Step back_steps = 0;  ///< steps undone by a simulation that can step back
  std::vector<TierUse> tiers;  ///< writes, reads, bytes and seconds of each

  Bytes memory_budget = 0;  ///< bytes of memory that could be used
  Bytes memory_peak = 0;    ///< the most that was: rows, spare row, hashes, buffers

  Step guard_checks = 0;  ///< replayed states that were compared with their first pass
  Step guard_steps = 0;   ///< steps run only for that, not among `advances`

  double setup_seconds = 0;    ///< plan, pools, files
  double forward_seconds = 0;  ///< first pass; where states are kept densely, storing them included
  double replay_seconds = 0;   ///< steps run again
  double reverse_seconds = 0;  ///< reverse steps and the objective
  double storage_seconds = 0;  ///< checkpoints written and read
  double guard_seconds = 0;    ///< hashing
  double total_seconds = 0;    ///< from call to return

  [[nodiscard]] Step forward_evaluations() const noexcept { return advances + reverses; }
};

/// What a transfer of the disk cost in this sweep, in steps: for the budget of the next one. As in
/// a new `TransferCosts` if the disk was not used or nothing took long enough to be measured.
[[nodiscard]] TransferCosts measured_costs(const Report& report);

/// Some lines for people.
[[nodiscard]] std::string to_string(const Report& report);

}  // namespace costate
