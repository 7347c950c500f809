#pragma once

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"

namespace costate {

/// The binomial schedule over the slots of all tiers together, with the checkpoints of most traffic
/// in the fastest tier. The advances are the least possible, the transfers the least for this
/// schedule; whether more advances would save dearer transfers is not asked (`hierarchical` does).
/// Good if moving a state costs less than about 0.3 steps.
///
/// Memory O(slots). Source: P. Stumm, A. Walther, "Multistage approaches for optimal offline
/// checkpointing", SIAM J. Sci. Comput. 31(3), 2009, doi:10.1137/080718036.
/// @throws InvalidArgument if the costs are not valid, if there is no slot for more than one step,
///         or if more than 10^7 slots would be used
[[nodiscard]] Plan multistage(const Costs& costs, Step n);

}  // namespace costate
