#pragma once

#include <memory>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/schedule.hpp"
#include "set_reversal.hpp"

namespace costate {

/// One decision of a plan that is a tree of splits. A plan is the list of its decisions in the
/// order in which they are needed.
///
/// The state at the left end of an interval [i, j) is live, or stored on some tier. An interval of
/// one step is reversed at once. Of a longer one whose left end is not stored the first decision is
/// to store it (`store`); then it is either split at k, so that first [k, j) is reversed, to which
/// the same applies, and then [i, k), or its left end is stored on another tier once more, for the
/// whole of what is left of it (`store` again).
struct Decision {
  Step split = unknown;  ///< k, or `unknown`: store the left end
  std::size_t tier = 0;  ///< where to store it
  static Decision store(std::size_t on_tier) { return {unknown, on_tier}; }
  static Decision cut(Step at) { return {at, 0}; }
  friend bool operator==(const Decision&, const Decision&) = default;
};

/// Carries out a plan for n steps. Memory O(slots) beside the plan, O(1) time per command.
[[nodiscard]] std::unique_ptr<Generator> carry_out(Step n, std::vector<Decision> plan,
                                                   const std::vector<TierSlots>& tiers);

}  // namespace costate
