#pragma once

#include <optional>
#include <vector>

#include "costate/schedule/replan.hpp"
#include "gap_tables.hpp"

namespace costate {

/// The cheapest continuation among those that first put the states in order, each step of the run
/// being a place where one may be kept, and then reverse the gaps between them from the top by
/// `GapTables`. Let V(b, m, f) be what remains if x_b is kept in the tiers m and f slots are free
/// above it, and r_m the read that a gap begins with, unless its start is live:
///
///     V(b, m, f) = min( r_m + G(m, N-b, f),
///                       min over p > b, m'  of  place(p, m') + V(p, m', f - m') + r_m + G(m, p-b,
///                       f) ),
///
/// where place(p, m') is nothing for a state stored in m', or in more; a read and the writes if it
/// is copied; the advances and a write if it is made from the live state, or, a read more, from a
/// stored one that is given up for it.
///
/// @param point  valid; what is stored is below `end`, no index twice in a tier; `live` is not
///               end-1, and if it is above, of no use
/// @returns every command that is left, or nothing if it takes more than `most` additions
[[nodiscard]] std::optional<std::vector<Command>> replan_exact(const ResumePoint& point,
                                                               const std::vector<GapTier>& tiers,
                                                               double step, double most);

}  // namespace costate
