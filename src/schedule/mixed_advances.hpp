#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"

namespace costate {

/// The longest run that `mixed` plans.
inline constexpr Step most_mixed_steps = 10'000'000;

/// What `mixed` takes in any number of slots.
struct MixedAdvances {
  std::vector<Step> by_slots;  ///< from 0 slots on, as far as they are computed
  Slot most = 0;               ///< more slots are of no use
  bool exact = false;          ///< no schedule takes fewer
};

/// By one run of the recursions for all numbers of slots.
/// @param costs  with the sizes of a state and of a tape
/// @param n      >= 1, at most `most_mixed_steps`
[[nodiscard]] MixedAdvances mixed_advances(const Costs& costs, Step n);

}  // namespace costate
