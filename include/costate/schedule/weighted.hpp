#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"

/// @file
/// Schedules for steps of unequal cost, in one tier or several.
///
/// With W(i, k) the cost of the steps i … k-1, reversing [i, j) from a stored x_i in c slots costs
///
///     T_1(i, j) = sum of W(i, k) over i < k < j,
///     T_c(i, j) = min over i < k < j of  W(i, k) + T_{c-1}(k, j) + T_c(i, k),    T_c(i, i+1) = 0,
///
/// which is optimal among all schedules. Since W is additive and the weights are not negative, T_c
/// satisfies the quadrangle inequality, by induction over c and the length: W is modular and
/// W(i', k) <= W(i, k) for i <= i', T_c is superadditive, T_c <= T_{c-1}, and T_1 satisfies it
/// directly. Hence the best splits are monotone,
///
///     K_c(i, j-1) <= K_c(i, j) <= K_c(i+1, j)       (D. E. Knuth 1971, F. F. Yao 1980),
///
/// and all T_c take O(n² slots) operations. A constant cost of reads changes nothing, because each
/// schedule has n-1. With a cost of writes, which adds to T_{c-1}(k, j) if j - k > 1, the
/// inequality fails now and then: up to 200 steps all splits are tried, beyond that those within 16
/// of Knuth's bounds and k = j-1.
///
/// If writes cost nothing this is done for up to 4000 steps and any number of slots. Where it would
/// take more than a second, only intervals are looked at that a plan of at most a given cost can
/// have use for (src/schedule/bounded_programme.hpp): 4000 steps take 1 to 5 s, and 15 s at worst
/// in what was tried, in at most 2 GiB. If writes cost something, n³ - (n - slots)³ may be at most
/// some 10⁹.
///
/// Beyond, two methods are tried and the cheaper one is taken:
/// - top down, the split that is best if the rest cost as much as steps of the mean cost;
/// - the programme above on a coarser chain of blocks of equal length and weight, some thousand of
///   them if slots are few, 1000 of them with 160 slots.
/// Intervals of up to 64 steps are then solved exactly. The ratio to the lower bound is in the
/// plan (`Plan::ratio`).
///
/// Over several tiers the recursion is that of `hierarchical` with W(i, k) in the place of a number
/// of steps. All splits are tried as long as n³/6 times the slots beyond the first tier is at most
/// 1.5·10⁹ (800 steps with 16 slots on disk); up to some thousand steps those near the splits of
/// neighbouring intervals; beyond that the programme is solved for blocks of steps, and the blocks
/// themselves exactly where memory alone would not serve them well. If all steps costing the mean
/// leads to a better plan (`hierarchical`), or if there are more than 1024 slots, that one is
/// taken.
///
/// `Plan::lower_bound` is the cost where the plan is proven optimal: complete programmes, with
/// tiers that are ordered. Otherwise it comes from cutting the weights into layers of equal weight,
/// each of which is bounded like a run of equal steps.
///
/// Of splits that cost the same up to rounding, the one with fewer writes is taken.

namespace costate {

/// @param costs  `weights` may be empty (all steps cost `step`)
/// @param n      steps, at most 2·10⁷
/// @throws InvalidArgument if the costs are not valid (see `check`), there is no slot for more than
///         one step, or there are too many steps
[[nodiscard]] Plan weighted(const Costs& costs, Step n);

}  // namespace costate
