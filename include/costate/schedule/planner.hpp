#pragma once

#include <string>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"

/// @file
/// The families of schedules by name, each as a plan.

namespace costate {

/// One family of schedules.
struct Family {
  std::string name;     ///< "revolve", …
  std::string purpose;  ///< one line
  bool online = false;  ///< need not be told the number of steps
};

/// All families, the plainest first.
[[nodiscard]] const std::vector<Family>& families();

/// Plans a run of `n` steps with one family. The plan of an online family is what it does if the
/// run turns out to have `n` steps.
/// @throws InvalidArgument if there is no such family, if it cannot serve these costs, or if the
///         costs are not valid (see `check`)
[[nodiscard]] Plan plan(const std::string& family, const Costs& costs, Step n);

}  // namespace costate
