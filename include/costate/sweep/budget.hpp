#pragma once

#include <cstddef>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/core/step.hpp"
#include "costate/storage/disk_spec.hpp"
#include "costate/storage/pool.hpp"

namespace costate {

/// What moving one state to or from the disk costs, in forward steps. It decides how much is
/// recomputed instead, never the result. `measured_costs` (report.hpp) has it of a sweep that is
/// over; without one a transfer is taken to cost as much as a step.
struct TransferCosts {
  double write = 1;
  double read = 1;
  friend bool operator==(const TransferCosts&, const TransferCosts&) = default;
};

/// What a sweep may use for checkpoints. The live state and the adjoint are the stepper's own and
/// not counted; everything that the driver keeps is: rows, their indices, one spare row, the
/// guard's hashes, the buffers of the disk.
struct Budget {
  Bytes memory = 1_GiB;
  DiskSpec disk = {};             ///< used only if the memory does not hold all states of the run
  TransferCosts disk_costs = {};  ///< what planning for the disk reckons with
  std::vector<TransferCosts> lower_costs = {};  ///< the same of the disks below the first, if it is
                                                ///< `stacked`; by default the first one's
  Workspace* workspace = nullptr;  ///< memory to use again from sweep to sweep; see pool.hpp
};

/// The memory with which a run keeps `slots` states (x_0's included) of `state_bytes` bytes.
[[nodiscard]] Bytes memory_for(Slot slots, std::size_t state_bytes);

}  // namespace costate
