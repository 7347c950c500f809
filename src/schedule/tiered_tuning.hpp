#pragma once

#include "gap_costs.hpp"
#include "tiered_set.hpp"

namespace costate {

/// The best of some weights, found by trying them on the first few hundred steps. A pure function
/// that takes some tenths of a second at most.
[[nodiscard]] TieredWeights tuned(GapCosts& costs);

}  // namespace costate
