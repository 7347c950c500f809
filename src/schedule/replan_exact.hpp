#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "costate/schedule/costs.hpp"
#include "costate/schedule/replan.hpp"
#include "gap_tables.hpp"

namespace costate {

/// Every command that is left, and what they are reckoned to cost: a little more than they do, by
/// what `GapTables` adds to writes. If there was no room to put the states in order as planned,
/// other commands are given, which cost more.
struct ExactPlan {
  std::vector<Command> commands = {};
  double cost = std::numeric_limits<double>::infinity();
  /// What none of those that are looked at can beat. In one tier nothing can.
  [[nodiscard]] double least() const noexcept { return cost * (1 - 0x1p-28); }
};

/// The cheapest continuation among those that first put the states in order, each step of the run
/// being a place where one may be kept, and then reverse the gaps between them from the top by
/// `GapTables`. Let V(b, m, f) be what remains if x_b is kept in the tiers m and f slots are free
/// above it, N the end, and r_m the read that a gap begins with, unless its start is live:
///
///     V(b, m, f) = min( r_m + G(m, b, N, f),
///                       min over p > b, m'  of  place(p, m') + V(p, m', f - m')
///                                               + r_m + G(m, b, p, f) ),
///
/// where place(p, m') is nothing for a state stored in m', or in more; a read and the writes if it
/// is copied; the advances and a write if it is made from the live state, or, a read more, from a
/// stored one that is given up for it.
///
/// @param point     valid; what is stored is below `end`, no index twice in a tier; `live` is not
///                  end-1, and if it is above, of no use
/// @param tiers     what the point's tiers cost
/// @param costs     of steps, or their weights
/// @returns nothing if it takes more than `most` additions
[[nodiscard]] std::optional<ExactPlan> replan_exact(const ResumePoint& point,
                                                    const std::vector<GapTier>& tiers,
                                                    const Costs& costs, double most);

/// The same by any tables, where states are kept at some places only.
/// @param places  ascending: all stored states, the live one if it is below `end`, and end-1
[[nodiscard]] ExactPlan replan_at(const ResumePoint& point, const GapTables& tables,
                                  std::vector<Step> places);

}  // namespace costate
