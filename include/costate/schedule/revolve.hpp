#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/plan.hpp"
#include "costate/schedule/schedule.hpp"

/// @file
/// The binomial schedule: the least advances for a known number of steps of equal cost, and of the
/// schedules with the least advances one with the fewest writes. See `binomial.hpp` for the counts
/// and the source.
///
/// Slots are used as a stack. The generator needs O(slots) memory and O(1) time per action. A
/// segment whose states all fit is emitted as runs (`Command`), so a run that fits in memory
/// recomputes nothing and costs next to nothing to schedule.

namespace costate {

/// @param n      steps, >= 0
/// @param slots  >= 1 (>= 0 if n <= 1); more than n-1 are never used, and not listed in `tiers()`
/// @throws InvalidArgument outside these ranges
[[nodiscard]] Schedule revolve(Step n, Slot slots);

/// The same over several tiers, fastest first: the bottom of the stack, which is touched least,
/// lies in the last tier, the top in the first. Optimal in advances, not in transfers.
/// @throws InvalidArgument if no tier is given, if one has a negative number of slots, or if there
///         is no slot for more than one step
[[nodiscard]] Schedule revolve(Step n, const std::vector<TierSlots>& tiers);

/// What `revolve(n, tiers)` does, without running through it.
/// @throws InvalidArgument as `revolve`
[[nodiscard]] Counts revolve_counts(Step n, const std::vector<TierSlots>& tiers);

/// Every state is kept: n-1 slots, no step run twice but for its record.
[[nodiscard]] Schedule store_all(Step n);

/// Only `x_0` is kept: n (n-1) / 2 advances.
[[nodiscard]] Schedule recompute_all(Step n);

}  // namespace costate
