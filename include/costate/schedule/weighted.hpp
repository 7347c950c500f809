#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"

/// @file
/// Schedules for steps of unequal cost, in one tier.
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
/// Beyond 4000 steps, or if (n - slots)² slots exceeds 2·10⁹ (some 10 s), two methods are tried and
/// the cheaper one is taken:
/// - top down, the split that is best if the rest cost as much as steps of the mean cost;
/// - the programme above on a coarser chain of blocks of equal length and weight, some thousand of
///   them if slots are few, 700 of them with 160 slots.
/// Intervals of up to 64 steps are then solved exactly. The ratio to the lower bound is in the
/// plan (`Plan::ratio`).
///
/// Of splits that cost the same up to rounding, the one with fewer writes is taken.

namespace costate {

/// @param costs  one tier; `weights` may be empty (all steps cost `step`)
/// @param n      steps
/// @throws InvalidArgument if the costs are not valid (see `check`), there is no slot for more than
///         one step, or more than one tier
[[nodiscard]] Plan weighted(const Costs& costs, Step n);

}  // namespace costate
