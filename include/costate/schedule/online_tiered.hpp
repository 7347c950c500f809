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
/// optimum a hundred times. With up to 16 slots in memory the states up to the 100th are decided by
/// a beam search over what can be done at each of them, for the least worst and mean ratio to the
/// optimum, when the memory is full. At the 100th state, and whenever the run has become twice as
/// long, some rules are tried on the steps to come, and the best is taken: weights as above, how
/// far apart states on disk have to be at least, or, with two slots in memory, to write each live
/// state that is so far from the last one there. With more than 64 slots in memory the disk is left
/// alone as long as `online` in memory alone has at most two repetitions, and later something is
/// done at every (slots / 64)th state only.
///
/// The ratio of the cost to `hierarchical` is in docs/online.md.
///
/// A guess of the number of steps can be given. The states that the best plan for that length keeps
/// on its way are then kept until the run proves longer, on disk nothing else is, and memory, which
/// costs nothing, holds the states that are best besides. A run of just the guessed length costs
/// what `hierarchical` does. One that ends before may cost more than without a guess; nothing that
/// is exact at the guess can avoid that (docs/online.md).
///
/// O(slots) time a step, some 65 µs with 8 slots in memory, besides what is tried: some tenths of a
/// second each time.

namespace costate {

struct OnlineTieredOptions {
  Step every = 1;  ///< something is done at every so many steps only, and nothing is tried out: for
                   ///< steps that cost less than a decision does
  Step guess = unknown;  ///< of the number of steps, >= 0; used up to 2·10⁶
};

/// With less than two slots in one of the tiers it is `online` over both as one.
/// @param costs  two tiers, the faster one first; weights, and what transfers to and from memory
///               cost, are not looked at
/// @throws InvalidArgument if the costs or the options are not valid, or the tiers not as described
[[nodiscard]] Schedule online_tiered(const Costs& costs, const OnlineTieredOptions& options = {});

}  // namespace costate
