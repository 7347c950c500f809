#pragma once

#include <optional>

#include "costate/schedule/costs.hpp"
#include "costate/schedule/replan.hpp"
#include "set_reversal.hpp"

namespace costate {

/// What `resume_from(costs, point)` does if there are too many steps or slots for
/// `replan_exact`: of the stored states some are dropped, above the highest one a new one may be
/// placed, and the gaps are reversed as `SetReversal` does with a rule for both tiers. Which, is
/// decided by `GapCosts`, which takes transfers to and from the first tier for free, so that the
/// states to be dropped are found together: with V(i, a, b) what remains if state i is kept and a
/// and b slots are free above it,
///
///     V(i, a, b) = r_i + min( K(N - p_i, a, b),
///                             min over j > i of  K(p_j - p_i, a, b) + V(j, a', b'),
///                             min over new k of  (k - q) u + U(N - k, a, b) + K(k - p_i, a, b) ).
///
/// The tiers below the first are taken for one, at the cost of the second.
///
/// @param point  valid; x_0 is stored; no index twice, and all below `end`
/// @returns nothing if the first tier or all others have no slot, or a rule would take too long
struct LongReversal {
  SetReversal reversal;
  double cost;  ///< as it is reckoned
};
[[nodiscard]] std::optional<LongReversal> replan_long(const Costs& costs, ResumePoint point);

}  // namespace costate
