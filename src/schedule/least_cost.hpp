#pragma once

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"

namespace costate {

/// What any schedule costs at least, whatever the tiers: the advances of the binomial one in all
/// slots together, a read before every reverse step but the first, and one write. With weights,
/// every step but the last at least once in place of the advances.
[[nodiscard]] double least_cost(const Costs& costs, Step n);

}  // namespace costate
