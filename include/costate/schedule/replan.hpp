#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"
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
  std::vector<TierSlots> tiers = {};  ///< those after an unbounded one have no slots left
};

/// The continuation with the fewest advances, and of those with the fewest writes. It may drop
/// stored states, and store new ones, before it turns back.
///
/// With s slots for a state x that is kept and all above it, and q(y) the highest state up to y
/// that is stored, or live, what is left to be reversed above x takes
///
///     V(x, s) = min( t(N - x, s),
///                    min over y > x of  y - q(y) + V(y, s-1) + t(y - x, s) )
///
/// advances, N = `end`: the next state y that is kept is stored, or is made from q(y) and takes its
/// place. All y are considered, whatever N: V is linear between a few corners (`bases.hpp` in src).
/// It is the optimum for up to 1000 stored states. Of more it is the better one of two plans: one
/// drops up to 250 000 divided by their number, and at least 16; the other the narrowest gaps, so
/// that 1000 remain, and any of these. With several tiers a slot counts as a slot: the bottom of
/// the stack then goes to the slowest tier with room.
///
/// Takes some 10 ms for 100 stored states and one or two s for 1000, for 10⁹ steps. Memory O(slots)
/// and what is stored; while it plans, some 100 bytes times the square of that, up to 100 MB.
/// @throws InvalidArgument if `end` cannot be reached from what is stored, or indices and slots are
///         contradictory
[[nodiscard]] Schedule resume_from(const ResumePoint& point);

/// The number of advances that `resume_from(point)` makes.
/// @throws InvalidArgument as `resume_from`
[[nodiscard]] Step resume_advances(const ResumePoint& point);

/// The most steps that are left in a continuation whose cost is counted.
inline constexpr Step most_resumed = 10'000'000;

/// The cheapest continuation, by what steps, writes and reads cost in each tier.
///
/// Where n² times the combinations of free slots is at most some 2·10⁸ (1200 steps with 8 slots in
/// memory and 14 on disk, 470 with 8 and 100), the cheapest of all that first put the states in
/// order (drop, move or copy them, make new ones, from the live state or in place of a stored one,
/// anywhere) and then reverse the gaps between them from the top, each with the slots that are free
/// by then and with its start moving between tiers as pays. A search over everything that a machine
/// can do finds a cheaper one in one of 500 short runs at most, up to a tenth cheaper, and none
/// with one tier.
///
/// The same with a weight for each step, as long as n³/12 times the combinations of free slots, and
/// of tiers that a state may be in, is at most 3·10⁸ (200 steps with 8 slots in memory and 14 on
/// disk, 700 with 8 in one tier; 1600 in one tier whose writes cost nothing). There a search finds
/// one that is up to a fifth cheaper now and then, and again none with one tier. Longer ones of up
/// to 2·10⁵ steps, in one tier or two (of more, those after the first are one, at the cost of the
/// first of them that has slots) of up to 5000 slots, are decided by what as many equal steps of
/// the mean weight cost, on some hundred places all over the run, and short gaps are reversed
/// exactly: against the exact plan for 60 to 320 steps in the mean 3 % more, 20 % at worst. To take
/// all steps to cost the mean costs 12 % more there, and that is what is done with the longest
/// ones.
///
/// Beyond that, and for comparison, for equal steps in up to six tiers, each gap is reckoned to
/// cost what a hierarchical plan with the slots does that are free above its start (within 0.1 % of
/// what it will), or one that begins in a slower tier. Which stored states are kept where, and
/// whether one is made above all others, is found by a programme over all of them; then single
/// states are moved up, taken in and left out as long as that helps. Against the exact plan for 60
/// to 180 steps it costs less in the mean, and 1.1 times as much at worst (two tiers and three,
/// states at random); an interrupted plan for thousands of steps is gone on with at its own cost,
/// up to 0.1 %. With more than some 20 stored states only so many at a time are dropped, and with
/// more than some hundred fewer are moved, as can be looked at in a second or two.
///
/// `lower_bound` is one for everything that a machine can do, by what a whole run costs at least,
/// and by `resume_advances` for up to 1000 stored states, or, with weights, by the plan for one
/// tier with all slots. `counts.runs` are those of the steps below `end`. Planning takes up to a
/// second or two, and beyond what is exact runs through the plan, some 0.2 s for 10^6 steps.
/// With weights it takes up to 3 s for 10^5, 7 s for 10^6.
///
/// @param costs  `weights` may be empty; otherwise they are those of all `steps`
/// @param point  `tiers` may be empty: those of the costs. Otherwise as many, whose slots count
/// @throws InvalidArgument as the other, if the costs are not valid or not for as many tiers, or
///         more than `most_resumed` steps are left
[[nodiscard]] Plan resume_from(const Costs& costs, const ResumePoint& point);

/// The schedule of `resume_from(costs, point)`, and with more than `most_resumed` steps left the
/// one that is reckoned to be the cheapest, without running through it: as described above in up to
/// six tiers, otherwise that with the fewest advances. Takes some 0.2 s for each 10^6 steps up to
/// `most_resumed`, and a second or two for 10^12.
/// @throws InvalidArgument as `resume_from`, but for the number of steps
[[nodiscard]] Schedule continuation(const Costs& costs, const ResumePoint& point);

}  // namespace costate
