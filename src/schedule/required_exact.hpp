#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/replan.hpp"
#include "gap_tables.hpp"

namespace costate {

/// A state that the first pass stores, and how.
struct FirstStored {
  Step at;
  std::size_t tier;
  bool unread;  ///< nothing is ever reversed from it
};

/// What a first pass stores of the cheapest schedules that store required states and then reverse
/// the gaps between the stored ones from the top by `GapTables`. A required state need not be read:
/// from a slow tier, that may be dearer than to come from further below. With q(b, p) the number of
/// required states between b and p, which are then unread and all in one tier d, N the end, w and r
/// what a write and a read of a tier cost,
///
///     R(b, t, f) = min over d of
///         min( q(b, N) w_d + G({t}, b, N, f - q(b, N) e_d),
///              min over p, t' of  W(b, p) + q(b, p) w_d + w_t' + R(p, t', f' - e_t')
///                                 + r_t + G({t}, b, p, f') ),   f' = f - q(b, p) e_d.
///
/// An unread state gives its slot back when the reversal comes by, which is not counted on.
struct FirstPass {
  std::vector<FirstStored> stored;  ///< ascending
  double cost;                      ///< of the whole schedule, at most
};

/// @param required  ascending, 0 and states below n-1, no more than there are slots
/// @param places    where states may be stored, ascending: the required ones, or more
[[nodiscard]] FirstPass required_exact(const GapTables& tables, const std::vector<Step>& required,
                                       Step n, std::vector<Step> places);

/// Every command of the schedule.
/// @param point  the start of the run, nothing being stored
[[nodiscard]] std::vector<Command> carried_out(const FirstPass& pass, const ResumePoint& point,
                                               const GapTables& tables);

}  // namespace costate
