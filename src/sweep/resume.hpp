#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/replan.hpp"
#include "costate/schedule/schedule.hpp"

namespace costate::detail {

/// The continuation of a run whose length is not known, from x_p, which is live. The steps from p
/// on are planned online, in the slots [first, first + count); what is stored below p is left as it
/// is until they are reversed, and then taken up.
/// @param costs  what they are taken up with
/// @param point  the stored states and the tiers
/// @param guess  of the number of steps of the whole run, or `unknown`
Schedule continue_online(Step p, Slot first, Slot count, const Costs& costs,
                         const ResumePoint& point, Step guess);

}  // namespace costate::detail
