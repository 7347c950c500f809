#pragma once

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"

namespace costate {

/// What n steps of equal cost u cost at least in c slots of the first tier and any number of slots
/// in the others, which are taken for one disk with the least write w and the least read r of any
/// of them; writes to the first tier are taken to be free. 0 if nothing is known.
[[nodiscard]] double open_disk_bound(const Costs& costs, Step n);

}  // namespace costate
