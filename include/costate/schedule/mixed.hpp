#pragma once

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"

/// @file
/// Schedules that keep states or tapes. A kept tape (the stage values of a step, say) spares the
/// step its second run; it takes sigma = ceil(tape_bytes / state_bytes) slots where a state takes
/// one.
///
/// Counting all forward steps, taped ones included, l steps with M slots free cost
///
///     A(l, M)  left state live:           min( B(l, M-1),                      store it
///                                              1 + A(l-1, M-sigma) )           tape the step
///     B(l, M)  left state stored, live:   min( 1 + A(l-1, M+1-sigma),          give its slot back
///                                              min over k of k + A(l-k, M) + B(k, M) )
///
/// with A(0, M) = 0, A(1, M) = B(1, M) = 1. A tape that contains the next state (stiffly accurate
/// and FSAL methods) can be restarted from: then A(l-1, ·) above becomes C(l, ·),
///
///     C(l, M)  tape of the first step stored: min( A(l-1, M),
///                                                  min over k > 1 of k-1 + A(l-k, M) + C(k, M) ),
///
/// C(1, M) = 0. This is the optimum among all schedules; for sigma = 1 it is J. R. Maddison's (On
/// the implementation of checkpointing with high-level algorithmic differentiation, 2024), and it
/// is never worse than CAMS (H. Zhang, E. Constantinescu, 2023), which does not give back the slot
/// of a state when it is used for the last time.
///
/// All k are tried as long as n² M <= 4·10⁹. Beyond, those within 32 of the k for l-1: time and
/// memory O(n M); it found the optimum in all of 390 cases with up to 700 steps. Where n M exceeds
/// 2·10⁷ the tables are made for shorter runs, and longer ones are split as by `revolve`; or for
/// 2·10⁷ / n slots, if that takes fewer advances. Then the lower bound is t(n, M) - n advances: a
/// state in the place of each tape makes it a schedule without tapes, with one more advance for
/// each. In no case are there more advances than without tapes.

namespace costate {

/// The schedule with the fewest advances, and of those with the fewest writes. It is to be
/// interpreted with `tape_slots` = sigma.
/// @param costs          one tier; `state_bytes` and `tape_bytes` > 0; weights are not looked at
/// @param n              steps, at most 10^7
/// @param tape_has_next  the tape of step k contains x_{k+1}
/// @throws InvalidArgument if the costs are not valid, there is no slot for more than one step, or
///         there are too many steps
[[nodiscard]] Plan mixed(const Costs& costs, Step n, bool tape_has_next = false);

}  // namespace costate
