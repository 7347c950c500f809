#pragma once

#include <string>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/plan.hpp"

/// @file
/// All families of schedules by name, and the choice among them.

namespace costate {

/// One family of schedules.
struct Family {
  std::string name;     ///< "revolve", …
  std::string purpose;  ///< one line
  bool online = false;  ///< need not be told the number of steps
};

/// All families; where two cost the same, the earlier is the plainer.
[[nodiscard]] const std::vector<Family>& families();

/// Plans a run of `n` steps with one family. Families that know nothing of weights plan with the
/// mean weight; what they cost is counted with the weights. Families that keep tapes do so in the
/// first tier and leave the others alone. The plan of an online family is what it does if the run
/// turns out to have `n` steps; it is counted by running through it.
/// @throws InvalidArgument if there is no such family, if it cannot serve these costs, or if the
///         costs are not valid (see `check`)
[[nodiscard]] Plan plan(const std::string& family, const Costs& costs, Step n);

/// What the family "online-tiered" in two tiers, otherwise "online", does with a guess of the
/// number of steps if the run turns out to have `n` of them; counted by running through it.
/// @param guess  >= 0, or `unknown`: none
/// @throws InvalidArgument as `plan`, or if the guess is negative
[[nodiscard]] Plan plan_guessed(const Costs& costs, Step n, Step guess);

/// How a schedule that was planned with these costs is to be interpreted: a tape takes as many
/// slots as states of its size.
[[nodiscard]] InterpretOptions options_for(const Schedule& schedule, const Costs& costs, Step n);

/// A family that does not apply.
struct Unfit {
  std::string family;
  std::string why;
};

/// The outcome of a comparison.
struct Choice {
  std::vector<Plan> plans;   ///< of all families that apply, at least one; the best first: least
                             ///< cost, then fewest writes, then plainest. Their lower bounds are
                             ///< the best that any of them proves.
  std::vector<Unfit> unfit;  ///< the families that do not apply
  std::string why;           ///< one sentence on the first plan
  [[nodiscard]] const Plan& best() const { return plans.front(); }
};

/// Plans with every family that applies and compares.
/// @param online  only families that need not be told the number of steps, or only those that do
/// @throws InvalidArgument if the costs are not valid or no family applies
[[nodiscard]] Choice choose(const Costs& costs, Step n, bool online = false);

/// The cheapest plan that can be made at once, in one or two tenths of a second (in some more above
/// 10^9 steps, or in one slot of each tier; in two seconds at most): of revolve, multistage,
/// periodic-disk and hierarchical, the last with shorter complete tables. The steps cost the same
/// (weights are not looked at). What a sweep starts with; a pure function of its arguments.
/// @throws InvalidArgument if the costs are not valid, or there is no slot for more than one step
[[nodiscard]] Plan choose_at_once(const Costs& costs, Step n);

/// What a run costs with so much memory.
struct FrontierPoint {
  Slot slots = 0;          ///< of the first tier
  Bytes bytes = 0;         ///< the same in bytes, 0 if the size of a state is not known
  double cost = 0;         ///< of the best plan
  double lower_bound = 0;  ///< no schedule costs less
  std::string schedule;    ///< its family
};

/// The cost of `n` steps against the room in the first tier, whose own room in `costs` is left out
/// of account: from one slot to n-1, each about a quarter more than the one before. The other tiers
/// stay as they are. If tapes can be kept and transfers of the first tier are free, they are taken
/// into account in that tier, up to the room for the tapes of all steps. With weights on one tier
/// the cost is that of `weighted` made with less work.
/// @throws InvalidArgument if the costs are not valid or there are more than 10^12 steps
[[nodiscard]] std::vector<FrontierPoint> frontier(const Costs& costs, Step n);

/// Where the classical schedules lie in the same plane: recompute-all, halving, periodic and
/// store-all, in the first tier alone, with the slots that they use.
/// @throws InvalidArgument as `frontier`
[[nodiscard]] std::vector<FrontierPoint> classical(const Costs& costs, Step n);

}  // namespace costate
