#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"

namespace costate {

/// What `mixed` takes in any number of slots.
struct MixedAdvances {
  std::vector<Step> by_slots;  ///< from 0 slots on, as far as they are computed
  Slot most = 0;               ///< more slots are of no use
  bool exact = false;          ///< no schedule takes fewer
};

/// By one run of the recursions for all numbers of slots.
/// @param costs  with the sizes of a state and of a tape
/// @param n      >= 1
[[nodiscard]] MixedAdvances mixed_advances(const Costs& costs, Step n);

}  // namespace costate
