#pragma once

#include <utility>
#include <vector>

#include "binomial_table.hpp"
#include "costate/core/step.hpp"
#include "costate/schedule/replan.hpp"
#include "set_reversal.hpp"

namespace costate {

/// What `resume_from` decides: which stored states to keep, and which new ones to place first.
struct Replanned {
  std::vector<StoredRun> kept;  ///< ascending
  std::vector<Slot> drops;
  std::vector<Placement> placements;
  Step advances = 0;  ///< for the steps [0, end), with the last of them
};

/// @param stored  ascending indices, all below `end`
/// @param live    index of the live state if it is of use, that is below `end`; else `unknown`
/// @param slots   all slots there are
[[nodiscard]] Replanned replan(const std::vector<Stored>& stored, Step end, Step live, Slot slots,
                               BinomialTable& table, bool exhaustive);

}  // namespace costate
