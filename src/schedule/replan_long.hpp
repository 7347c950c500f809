#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "costate/schedule/costs.hpp"
#include "costate/schedule/replan.hpp"
#include "ruled_reversal.hpp"

namespace costate {

/// What `resume_from(costs, point)` does if there are too many steps or slots for `replan_exact`.
/// Which of the stored states are kept, in which tiers, is decided by
///
///     V(i, t, f) = min( r_t + G(t, N - p_i, f),
///                       min over j > i, t'  of  place(j, t') + V(j, t', f - e_t') + r_t
///                                               + G(t, p_j - p_i, f),
///                       min over new k, t'  of  (k - q) u + w_t' + G(t', N - k, f - e_t') + r_t
///                                               + G(t, k - p_i, f) ),
///
/// V being what remains if state i is kept in tier t with f slots free above it, G the cost of a
/// gap (`GapRules`), place(j, t') what a move to another tier costs, and q the highest state, or
/// the live one. Then states are moved up, others taken in and left out, as long as that helps.
///
/// @param point  valid; no index twice in a tier, and all below `end`
struct LongReversal {
  std::vector<Command> first;  ///< puts the stored states in order
  RuledReversal reversal;
  double cost = 0;  ///< as it is reckoned
};
/// @param near  longer gaps are reversed by rules, if not shorter ones, too
/// @returns nothing if there are more than `GapRules::most_tiers` tiers, or it would take too long
[[nodiscard]] std::optional<LongReversal> replan_long(const Costs& costs, const ResumePoint& point,
                                                      Step near = 4096);

}  // namespace costate
