#pragma once

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"

namespace costate {

/// What any schedule costs at least, whatever the tiers: the advances of the binomial one in all
/// slots together (with weights `least_advance_cost`), a read before every reverse step but the
/// first, and one write.
[[nodiscard]] double least_cost(const Costs& costs, Step n);

}  // namespace costate
