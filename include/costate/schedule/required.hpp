#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"

/// @file
/// Schedules that have to store certain states: observation times, window edges, states that the
/// user pins. Each is stored when the first pass reaches it and kept, in some tier, until it is
/// reversed.
///
/// With one tier and steps alike, let 0 = q_1 < … < q_m be those states and g_i the gaps above
/// them. In each gap j further states may be stored on the first pass, so that with s slots free
/// for the gap and all above it
///
///     D(i, s) = min over j of  g_i + U(g_i, s, j) + D(i+1, s-1-j),    D(m, s) = t(n - q_m, s),
///     U(g, s, j) = min of t(l_0, s) + … + t(l_j, s-j),   l_0 + … + l_j = g, all l > 0.
///
/// The functions t are convex with whole slopes, so U is found level by level: of length at slope
/// r, part i can take beta(s-i, r) - beta(s-i, r-1).
///
/// Otherwise what is stored on the first pass, and where, follows from what the gaps between cost
/// to reverse in each combination of free slots (src/schedule/required_exact.hpp). A required state
/// on a slow tier need not be read if it is cheaper to come from below; those of one gap that are
/// not are on the same tier.

namespace costate {

/// The cheapest schedule that stores these states.
///
/// With one tier whose writes cost nothing and steps alike that is the one with the fewest
/// advances, and proven. With several tiers, writes that cost something, or weights it is planned
/// by costs where `resume_from(costs, point)` is exact: up to 1200 steps with 8 slots in memory and
/// 14 on disk, 200 with weights. A search over everything that a machine can do finds nothing
/// cheaper with one tier; with two or three, in one of 1000 short runs, where a read costs as much
/// as twenty steps up to 2.5 times cheaper. Longer runs of up to 2·10⁵ steps, in one tier or two
/// (of more, those after the first are one), are decided by what equal steps cost, on some hundred
/// places, against the exact plan for 80 to 600 steps in the mean 3 % and at worst 10 % dearer. The
/// longest get the schedule with the fewest advances if a slot is a slot, the lower states on the
/// slower tiers. Planning takes up to two seconds, with weights 8 s for 10^6 steps.
///
/// `lower_bound` is one for all schedules that store these states: that of the whole run, or of its
/// parts between required states, each with the slots that those below leave.
///
/// @param costs      `weights` may be empty
/// @param n          steps, at most 10^8
/// @param positions  indices in [0, n), in any order; x_{n-1}, which is reversed at once, is not
///                   stored
/// @throws InvalidArgument if the costs are not valid, there are more than 10^8 steps, a position
///         is not in range, or there are more than the slots, of which x_0 takes one
[[nodiscard]] Plan required(const Costs& costs, Step n, std::vector<Step> positions);

}  // namespace costate
