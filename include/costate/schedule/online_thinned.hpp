#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/schedule.hpp"

/// @file
/// The plainest schedule for a run whose number of steps is not known: keep every state as long as
/// there is room; whenever the slots are full, keep every other one of those kept and double the
/// stride. When the run has ended, reverse gap after gap, each binomially with the slots that are
/// free by then. A baseline: the schedules of `online.hpp` recompute less.

namespace costate {

/// @param slots  >= 1
/// @throws InvalidArgument if there is no slot
[[nodiscard]] Schedule online_thinned(Slot slots);

/// The same over several tiers, fastest first; a faster tier is filled before a slower one.
/// @throws InvalidArgument if there is no slot or a tier has a negative number of slots
[[nodiscard]] Schedule online_thinned(const std::vector<TierSlots>& tiers);

}  // namespace costate
