#pragma once

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"

/// @file
/// The schedules that are easily written by hand, to compare with.

namespace costate {

/// Recursive halving: keep the state in the middle, reverse the second half, then the first. About
/// n log2(n) / 2 advances in log2(n) slots, rounded up; `revolve` needs fewer in as many.
/// @throws InvalidArgument if the costs are not valid or no tier has the slots
[[nodiscard]] Plan halving(const Costs& costs, Step n);

/// Every p-th state is kept, p about the square root of n, and each stretch between is kept whole
/// while it is reversed: about two advances of each step, and 2 sqrt(n) slots. The kept states lie
/// in the slowest tiers.
/// @throws InvalidArgument if the costs are not valid or the tiers together have too few slots
[[nodiscard]] Plan periodic(const Costs& costs, Step n);

}  // namespace costate
