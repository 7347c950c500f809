#pragma once

#include <vector>

#include "costate/core/step.hpp"

/// @file
/// What no schedule can beat.

namespace costate {

/// The least that the advances of any schedule cost. With w_2 >= w_3 >= … >= w_n the weights of all
/// steps but the last, and r(m, s) the `repetitions` of binomial.hpp, it is
///
///     sum over m of  w_m r(m, s),
///
/// because at most beta(s, r) steps, the last one among them, can be advanced at most r times:
/// leave all other steps out of any schedule, and what is left is a schedule for the remaining
/// chain in which no step is advanced more often than before. Equal weights give t(n, s).
/// O(n log n).
/// @param weights  cost of each step, in order, >= 0
/// @param slots    in all tiers together, >= 1
/// @throws InvalidArgument if there is no slot
[[nodiscard]] double least_advance_cost(std::vector<double> weights, Slot slots);

}  // namespace costate
