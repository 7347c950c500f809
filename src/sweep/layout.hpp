#pragma once

#include <cstddef>
#include <numeric>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/schedule.hpp"
#include "costate/sweep/stepper.hpp"
#include "costate/sweep/sweep.hpp"

namespace costate::detail {

/// How a budget is divided.
struct Layout {
  std::size_t row_bytes = 0;  ///< the largest state
  std::size_t largest = 0;    ///< the same in a team: of any member
  bool varying = false;       ///< states differ in size
  Slot memory_slots = 0;      ///< tier 0
  std::vector<Slot> disks;    ///< slots of the tiers below, empty if none is needed
  bool spare_row = false;     ///< room for x_{n-1} at the turn, and for hashing
  Slot tape_slots = 0;        ///< what a tape takes in the schedule; 0: it keeps none. Then hashing
                              ///< has a second spare row
  Step hashes = 0;            ///< indices that the every_step guard has room for
  Bytes fixed = 0;            ///< spare row, hashes and buffers

  [[nodiscard]] Slot disk_slots() const noexcept {
    return std::accumulate(disks.begin(), disks.end(), Slot{0});
  }
};

/// Divides the budget. Memory first: of a run of known length only as many slots as it can use.
/// @param n      steps, or unknown
/// @param extra  memory that is needed besides
/// @throws BudgetError if the least does not fit
Layout lay_out(const Stepper& stepper, Step n, const SweepOptions& options, Bytes extra = 0);

/// Slots that the tape of a step takes; 0 if none can be kept.
Slot tape_slots(const Stepper& stepper, const Layout& layout);

/// The tiers that a schedule for this layout has.
std::vector<TierSlots> tiers_of(const Layout& layout, const SweepOptions& options);
/// What planning for them reckons with, in steps.
Costs costs_of(const Layout& layout, const SweepOptions& options);

}  // namespace costate::detail
