#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/schedule.hpp"

/// @file
/// The best continuation from whatever is stored: used when an online run learns its length, and
/// after an interruption, when some tiers may have lost their checkpoints.

namespace costate {

/// A state that a slot holds.
struct Stored {
  Step at;
  Slot slot;
  friend bool operator==(const Stored&, const Stored&) = default;
};

/// Where a run stands.
struct ResumePoint {
  Step steps = 0;       ///< of the run, n
  Step end = 0;         ///< the steps [0, end) are still to be reversed; n before `Turn`
  bool turned = false;  ///< `Turn` is over: the adjoint at `end` is there
  Step live = unknown;  ///< index of the live state, `unknown` if there is none
  std::vector<Stored> stored =
      {};  ///< in any order; x_0 among them unless `live` is 0 or `end` is 0
  std::vector<TierSlots> tiers = {};
};

/// The continuation with the fewest advances, and of those with the fewest writes. It may drop
/// stored states, and store new ones, before it turns back.
///
/// Let p_1 < … < p_m be the stored indices below `end` = N. With s slots for p_i and all above it,
///
///     V(i, s) = min( t(N - p_i, s),
///                    min over j > i of      V(j, s-1) + t(p_j - p_i, s),
///                    min over new k > p_i   (k - q) + V(k, s-1) + t(k - p_i, s) ),
///
/// where q is the highest state stored, or live, up to k: the lowest state above p_i that is kept
/// is either stored already or reached from q. Evaluated for every k if end² slots <= 2·10⁶; beyond
/// that for the k above all stored states, where the optimum lies but for rare cases (found by
/// bisection, the sum being convex in k), and with at most 16 stored states dropped. With several
/// tiers a slot counts as a slot: the bottom of the stack then goes to the slowest tier with room.
///
/// Memory O(slots) and what is stored; time at most some 10⁷ operations.
/// @throws InvalidArgument if `end` cannot be reached from what is stored, or indices and slots are
///         contradictory
[[nodiscard]] Schedule resume_from(const ResumePoint& point);

/// The number of advances that `resume_from(point)` makes.
/// @throws InvalidArgument as `resume_from`
[[nodiscard]] Step resume_advances(const ResumePoint& point);

}  // namespace costate
