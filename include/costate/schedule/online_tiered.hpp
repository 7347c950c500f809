#pragma once

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/schedule.hpp"

/// @file
/// A schedule for a run of unknown length with memory and disk.
///
/// As long as the memory has room every state is kept there. Then, at each live state, one of these
/// is done: nothing; the live state is saved, in memory in place of another one, on disk, or on
/// both; the lowest state in memory moves to disk, for the price of the write, while the live state
/// is saved in memory in place of another one, waits on disk, or is recomputed, whichever is
/// cheapest. A full disk gives up the state whose loss costs least.
///
/// Which one is decided by what the run would cost in all if it ended with the next step, or 2, 3,
/// 5, 9, … steps later up to twice the present length, the rest of it then being planned as if its
/// length were known; the next step counts several times, and beyond a certain ratio to the offline
/// optimum a hundred times. These weights are the best of some that are tried on the first few
/// hundred steps, once, when the memory is full. With more than 64 slots in memory the disk is left
/// alone as long as `online` in memory alone has at most two repetitions, and later something is
/// done at every (slots / 64)th state only.
///
/// The ratio of the cost to `hierarchical` is in docs/online.md: for n <= 3000 at most 1.10, in the
/// mean 1.02, with 4 slots in memory or more. With two no method can have less than 1.13 to 1.16
/// (schedule_online_tiered_test searches all of them); here it is up to 1.2.
///
/// O(slots) time a step, some 50 µs with 8 slots in memory.

namespace costate {

/// With less than two slots in one of the tiers it is `online` over both as one.
/// @param costs  two tiers, the faster one first; weights, and what transfers to and from memory
///               cost, are not looked at
/// @param every  something is done at every so many steps only, and nothing is tried out: for steps
///               that cost less than a decision does
/// @throws InvalidArgument if the costs are not valid, or the tiers not as described
[[nodiscard]] Schedule online_tiered(const Costs& costs, Step every = 1);

}  // namespace costate
