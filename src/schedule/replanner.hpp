#pragma once

#include <cstddef>
#include <memory>
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

/// Whether so few states are stored that `resume_from(point)` is the optimum.
[[nodiscard]] bool is_exact(std::size_t stored);

/// @param stored  ascending indices, all below `end`
/// @param live    index of the live state if it is of use, that is below `end`; else `unknown`
/// @param slots   all slots there are
/// @param quick   in O(stored), with few states dropped
[[nodiscard]] Replanned replan(const std::vector<Stored>& stored, Step end, Step live, Slot slots,
                               BinomialTable& table, bool quick);

/// The best way back from a set of an online run that has ended: fills in what is kept, dropped and
/// placed. States from `end` on are useless: one that was saved at the end, or was to be.
/// @param slots  in memory; all of them may be used
void keep_best(std::vector<Stored> stored, Slot slots, Step end, SetReversal::Start& start);

/// Emits these commands, and then those of the reversal.
[[nodiscard]] std::unique_ptr<Generator> listed(std::vector<Command> first, SetReversal rest = {});

}  // namespace costate
