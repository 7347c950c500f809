#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/schedule.hpp"

/// @file
/// Schedules for a run whose number of steps is not known before it ends, in one tier.
///
/// While slots are empty every state is kept. Then one checkpoint has to go for each new one, and
/// the rules differ in which and when. They think of a set of checkpoints 0 = p_1 < … < p_c below
/// the live index N in terms of what the reversal would cost if the run ended here,
///
///     K(S, N) = sum over i of t(p_{i+1} - p_i, c - i + 1),    p_{c+1} = N,
///
/// with t of binomial.hpp. Because t is convex with slope r, S is the best there is if and only if
/// all gaps have the same number of repetitions, beta(j, r-1) <= gap_j <= beta(j, r), j being the
/// number of slots left for the gap; then p_2 = beta(c, r), p_3 = p_2 + beta(c-1, r), … are the
/// indices where such a set ends up when it has grown to the full length beta(c+1, r-1) + …. Call
/// them the final positions of level r.
///
/// At level 1 (n <= beta(c, 2) = (c+1)(c+2)/2) both rules act only if the last gap would become too
/// long or at a final position, and then give up the lowest checkpoint that is not in a final
/// position. Whenever the run ends, the set is the best there is: as good as if n had been known.
/// This is the most any method can do for every n. Beyond,
///
/// - `fewest_advances` gives up the checkpoint whose loss costs least in K(S, N+1) among those that
///   stand in no final position of the level and leave a gap of at most beta(j, r); it does so when
///   this is better than doing nothing, when N is a final position, or when the last gap exceeds
///   r + 1; when nothing can be given up, the level rises;
/// - `few_writes` gives up the checkpoint whose loss costs least, if this is better than doing
///   nothing (V. Heuveline and A. Walther, Online checkpointing for parallel adjoint computation in
///   PDEs, Euro-Par 2006, doi:10.1007/11823285_72).
///
/// When the run ends, the best way back from the set is planned anew (replan.hpp).
///
/// Worst ratio of advances to the offline optimum over all n <= 10⁵, and writes per step:
///
///     slots              2      4      8      16     32     64
///     fewest_advances  1.122  1.067  1.026  1.0034 1.0009 1.0002     0.005 … 0.29
///     few_writes       1.150  1.068  1.049  1.039  1.026  1.010      0.002 … 0.22
///
/// That no method can have less than 1.108, 1.033 with 2, 4 slots is known by exhaustive search.
/// These figures hold if the driver learns that step n-1 is the last one when it arrives at
/// x_{n-1}, before it asks for the next action. If it learns it only when the step fails to happen,
/// or after the step, up to as many more advances are made as a step is repeated.
///
/// A guess of the number of steps (an optimiser calls again and again) can be given. Where the
/// rules are not exact anyway, the checkpoints of an optimal schedule for the guess are then kept
/// whatever the rule says, until the run proves longer; the others follow `few_writes`. A run of
/// just the guessed length costs the offline optimum. There are many optimal schedules; one is
/// taken of which it has been tried out, when the slots are full, that wrong guesses cost at
/// most 1.16, 1.08, 1.05, 1.04, 1.03, 1.02 times the optimum with 2, 4, 8, 16, 32, 64 slots.
/// Guesses too long to try it (above 10⁶, or above some 10⁴ with more than 64 slots) are the
/// exception: docs/online.md.

namespace costate {

/// Which checkpoint is given up, and when.
enum class OnlineRule : unsigned char {
  few_writes,      ///< for stores that are real copies
  fewest_advances  ///< the least recomputation; a write must be cheap against a step
};

/// @param slots  >= 1, `unbounded` keeps everything
/// @throws InvalidArgument if there is no slot
[[nodiscard]] Schedule online(Slot slots, OnlineRule rule = OnlineRule::few_writes);

/// With a guess of the number of steps and the rule `few_writes`.
/// @param guess  >= 0, or `unknown`: none
/// @throws InvalidArgument if there is no slot, or the guess is negative
[[nodiscard]] Schedule online(Slot slots, Step guess);

/// The same over several tiers, fastest first, whatever they cost: the lowest states lie in the
/// fastest. For a tier too small for `online_tiered`, and for comparison.
/// @param rule   where the guess is not used
/// @throws InvalidArgument if there is no slot, or the guess is negative
[[nodiscard]] Schedule online(std::vector<TierSlots> tiers,
                              OnlineRule rule = OnlineRule::few_writes, Step guess = unknown);

/// The same with the rule chosen by the cost of a write: `fewest_advances` up to a tenth of a step.
/// @param costs  exactly one tier
/// @throws InvalidArgument if there is no slot, or not one tier, or a cost or the guess is negative
///         or NaN
[[nodiscard]] Schedule online(const Costs& costs, Step guess = unknown);

}  // namespace costate
