#pragma once

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"

namespace costate {

/// What any schedule for n steps costs at least, by the bounds of plans that are made quickly: in
/// some tenths of a second, with weights up to a second. 0 if there is no slot.
[[nodiscard]] double whole_bound(const Costs& costs, Step n);

}  // namespace costate
