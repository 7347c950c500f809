#pragma once

#include <limits>
#include <string>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/core/step.hpp"
#include "costate/schedule/schedule.hpp"

/// @file
/// What things cost: the input of everything that plans. All costs are in one unit of the caller's
/// choice, seconds or forward steps.

namespace costate {

/// A tier with room for every checkpoint of any run.
inline constexpr Slot unbounded = std::numeric_limits<Slot>::max();

/// One tier: its room and what moving one state costs.
struct TierCosts {
  std::string name = "memory";
  Slot slots = 0;    ///< room in states; `unbounded` is allowed. 0: given by `bytes`
  Bytes bytes = 0;   ///< room in bytes, divided by `Costs::state_bytes`; not used if `slots` is set
  double write = 0;  ///< cost of writing one state, >= 0
  double read = 0;   ///< cost of reading one state, >= 0
  friend bool operator==(const TierCosts&, const TierCosts&) = default;
};

/// The cost model. Taped steps and adjoints happen exactly once each whatever the schedule, so
/// `record` and `reverse` change no plan; they belong to the total (`Plan::fixed_cost`).
struct Costs {
  double step = 1;               ///< one forward step, > 0
  std::vector<double> weights;   ///< cost of each step, shape (n); empty: every step costs `step`
  double record = 1;             ///< one taped step
  double reverse = 0;            ///< the adjoint of one step
  Bytes state_bytes = 0;         ///< size of a state; needed only if a tier is given in bytes
  Bytes tape_bytes = 0;          ///< size of the tape of one step; 0: no tape can be kept
  bool tape_has_next = false;    ///< the tape of step k contains x_{k+1}: it can be restarted from
  std::vector<TierCosts> tiers;  ///< fastest first, at least one
};

/// The tiers with their room in states, bytes divided by the size of a state.
/// @throws InvalidArgument if there is no tier, a room is negative, or bytes are given without
///         `state_bytes`
[[nodiscard]] std::vector<TierSlots> rooms(const Costs& costs);

/// The longest run that is planned.
inline constexpr Step most_steps = 1'000'000'000'000'000'000;

/// The dearest thing and the cheapest step that are planned with: sums of costs and costs in steps
/// then fit a double.
inline constexpr double most_cost = 1e150;
inline constexpr double least_step = 1e-100;

/// @throws InvalidArgument unless the costs can be planned with for `n` steps: costs finite, not
///         negative and at most `most_cost`, a step at least `least_step`, one weight for each step
///         or none, `n` not negative and at most `most_steps`
void check(const Costs& costs, Step n);

}  // namespace costate
