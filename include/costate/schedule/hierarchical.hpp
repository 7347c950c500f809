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
/// 2e9: 10^4 steps with 16 slots on disk take half a second. Longer runs are planned by a convex
/// relaxation, with the lower bound that it is and the ratio that follows from it; the time grows
/// with the slots, some 0.2 s for 1000 of them, and little with the steps, 2 s for 10^12. If more
/// than 64 slots of the slowest tier are more than are wanted, they count as one.
///
/// The schedule holds the tables it was planned with.
///
/// @param n  steps, >= 0; all of equal cost `costs.step`, weights are not looked at
/// @throws InvalidArgument if the costs are not valid or there is no slot for more than one step;
///         or if there are more than 20000 slots that states can be kept in at a cost (an unbounded
///         tier counts as one), or so few for so many steps that the relaxation takes too long (two
///         slots and 10^10 steps)
[[nodiscard]] Plan hierarchical(const Costs& costs, Step n);

}  // namespace costate
