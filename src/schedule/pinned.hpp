#pragma once

#include "costate/core/step.hpp"
#include "online_set.hpp"

namespace costate {

/// @throws InvalidArgument if a guess of the number of steps is negative and not `unknown`
void check_guess(Step guess);

/// The states to pin for a guess of the number of steps, for `few_writes`: a best set for a run of
/// that length. There are many best sets. Some candidates are played for every length up to
/// 2 guess + 50, and the first is taken that is never worse than plain online rules are asked to be
/// (1.16, 1.08, 1.05, 1.04, 1.03, 1.02 times the offline optimum with 2, 4, 8, 16, 32, 64 slots),
/// otherwise the one whose worst is least. A pure function that takes some tenths of a second at
/// most: how much is played is bounded.
/// @param slots  >= 1
/// @param guess  >= 0, `unknown`: none
/// @returns nothing to be pinned if plain online rules are exact at the guess
[[nodiscard]] Pinned pin_for(Slot slots, Step guess);

}  // namespace costate
