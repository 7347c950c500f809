#pragma once

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"

/// @file
/// Schedules that keep tapes for runs of any length: in stretches.
///
/// The states at the beginnings of c stretches are kept on the way forward, and the tapes of all
/// steps of the last stretch but its last step; then one stretch after the other is run again, from
/// its state and with tapes, in all slots that are free by then. No step is advanced more than
/// once, those of the last stretch never. With M slots and sigma = ceil(tape_bytes / state_bytes)
/// the stretches may have 1 + floor((M - i + 1) / sigma) steps, i = 1 … c, and the last one 1 +
/// floor((M - c) / sigma); c is the least with which they hold n steps. With M >= (n-1) sigma that
/// is 0, and nothing is advanced at all.
///
/// A tape that contains the next state takes the place of such a state: the step before a stretch
/// is taped on the way forward, the stretch begun again from its tape, and the step never advanced.
/// Of c such tapes above those of a states, stretch i is left 1 + floor((M - a) / sigma) - i steps,
/// and whatever c is, n - 1 - floor((M - a) / sigma) steps are advanced: as few as can be with
/// a = 0, because no more than floor(M / sigma) tapes are kept when the end is reached. First a,
/// then c is the least with which n steps have room.

namespace costate {

/// The schedule above. It is to be interpreted with `tape_slots` = sigma and the `tape_has_next` of
/// the costs. Planned in O(a + c).
/// @param costs  one tier; `state_bytes` and `tape_bytes` > 0; weights are not looked at
/// @param n      steps
/// @throws InvalidArgument if the costs are not valid, if there are too few slots to run every step
///         at most twice, or if it would take more than 10^6 stretches
[[nodiscard]] Plan taped(const Costs& costs, Step n);

/// `taped`, or, if that has too few slots, `mixed` where it is planned in some ten milliseconds.
/// @throws InvalidArgument if the costs are not valid or neither applies
[[nodiscard]] Plan tapes_at_once(const Costs& costs, Step n);

}  // namespace costate
