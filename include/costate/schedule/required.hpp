#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"

/// @file
/// Schedules that have to store certain states: observation times, window edges, states that the
/// user pins. Each is stored when the first pass reaches it and kept until it is reversed.
///
/// Let 0 = q_1 < … < q_m be those states and g_i the gaps above them. In each gap j further states
/// may be stored on the first pass, so that with s slots free for the gap and all above it
///
///     D(i, s) = min over j of  g_i + U(g_i, s, j) + D(i+1, s-1-j),    D(m, s) = t(n - q_m, s),
///     U(g, s, j) = min of t(l_0, s) + … + t(l_j, s-j),   l_0 + … + l_j = g, all l > 0.
///
/// The functions t are convex with whole slopes, so U is found level by level: of length at slope
/// r, part i can take beta(s-i, r) - beta(s-i, r-1).

namespace costate {

/// The schedule with the fewest advances that stores these states.
/// @param costs      one tier; weights are not looked at
/// @param n          steps, at most 10^8
/// @param positions  indices in [0, n), in any order; x_{n-1}, which is reversed at once, is not
///                   stored
/// @throws InvalidArgument if the costs are not valid, there are more than 10^8 steps, a position
///         is not in range, or there are more than the slots, of which x_0 takes one
[[nodiscard]] Plan required(const Costs& costs, Step n, std::vector<Step> positions);

}  // namespace costate
