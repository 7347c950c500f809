#pragma once

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/schedule.hpp"

/// @file
/// A schedule for a run of unknown length with memory and disk.
///
/// Checkpoints D on disk lie below checkpoints Q in memory. With c_0 and c_1 slots, t of
/// binomial.hpp and P, r_1 of hierarchical.hpp, a set is worth
///
///     sum over the gaps above Q of t(gap, c_0 - i) + sum over those above D of r_1 + P(gap, c_1 -
///     i),
///
/// i checkpoints of the tier lying below. In memory checkpoints are kept, then given up, as
/// `OnlineRule::few_writes` does. Besides, the lowest one in memory may move to disk, for the price
/// of the write, and if the disk is full one there is given up; at each step the cheapest of doing
/// nothing, giving up and moving is done. Loading the lowest one costs the live state, which is
/// saved in place of one in memory, waits on disk, or is recomputed, whichever is cheapest.
///
/// The ratio of the cost to `hierarchical` is in docs/online.md: for n <= 3000 and w = r >= 5 steps
/// at most 1.06 with 8 slots in memory, 1.12 with 4, 1.17 with 2. A disk that is cheap against a
/// step and large is used too late, up to 1.3 times the optimum: a run that can, should be given a
/// guess of its length, or use the periodic schedule.

namespace costate {

/// @param costs  two tiers, the faster one, with at least two slots, first; weights are not looked
/// at
/// @throws InvalidArgument if the costs are not valid, or the tiers not as described
[[nodiscard]] Schedule online_tiered(const Costs& costs);

}  // namespace costate
