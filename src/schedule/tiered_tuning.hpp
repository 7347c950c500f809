#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "gap_costs.hpp"
#include "tiered_set.hpp"

namespace costate {

/// The first live state that is not decided by `opening`.
inline constexpr Step opening_end = 100;

/// What to do at the live states from the first one on for which the memory has no room, up to
/// `opening_end`, in order: after those moves that only free a slot there is one more at the same
/// state. The best sequence that a beam search finds. A pure function that takes some tenths of a
/// second at most.
[[nodiscard]] std::vector<TieredMove> opening(const GapCosts& costs);

/// The weights that are best from the live state on until the run is three times as long, among
/// some that are tried. A pure function that takes some tenths of a second at most.
/// @param set  as it is before the decision at the live state
[[nodiscard]] TieredWeights tuned(const TieredSet& set, Step live);

}  // namespace costate
