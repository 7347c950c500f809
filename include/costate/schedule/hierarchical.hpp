#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"

/// @file
/// Schedules over several tiers that differ in room and in the costs of writing and reading.

namespace costate {

/// The optimal schedule for any number of tiers with any room (H-Revolve), the last of which may be
/// `unbounded` (Disk-Revolve, without its restriction to one read). Ties go to the fewest writes.
///
/// Proven optimal, `ratio() == 1` up to rounding, if the tiers can be ordered so that none is both
/// slower to write and faster to read than the next, and n^2 times the number of slots is at most
/// 2e9: 10^4 steps with 16 slots on disk take half a second. Longer runs are planned in time
/// O(n slots), with a lower bound from a convex relaxation and the ratio that follows from it. If
/// more than 64 slots of the slowest tier are more than are wanted, they count as one.
/// Beyond 2·10⁷ steps states go to the slower tiers only at whole multiples of a number of steps,
/// which is short against the distances wanted; then the bound is the general one.
///
/// The schedule holds the tables it was planned with.
///
/// @param n  steps, >= 0; all of equal cost `costs.step`, weights are not looked at
/// @throws InvalidArgument if the costs are not valid or there is no slot for more than one step;
///         if there are more than 2·10⁷ steps and the first tier is not free to write or
///         the last is unbounded (`periodic_disk` is for that)
[[nodiscard]] Plan hierarchical(const Costs& costs, Step n);

}  // namespace costate
