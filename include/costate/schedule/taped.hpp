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

namespace costate {

/// The schedule above. It is to be interpreted with `tape_slots` = sigma. Planned in O(c).
/// @param costs  one tier; `state_bytes` and `tape_bytes` > 0; weights are not looked at
/// @param n      steps
/// @throws InvalidArgument if the costs are not valid, if there are too few slots to run every step
///         at most twice, or if it would take more than 10^6 stretches
[[nodiscard]] Plan taped(const Costs& costs, Step n);

/// The better one of `taped` and, where it is planned in some ten milliseconds, `mixed`.
/// @throws InvalidArgument if the costs are not valid or neither applies
[[nodiscard]] Plan tapes_at_once(const Costs& costs, Step n);

}  // namespace costate
