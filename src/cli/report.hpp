#pragma once

#include <string>

#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"

namespace costate::cli {

/// The plan for people, a few lines.
std::string text(const Plan& plan, const Costs& costs);

/// The plan for programs, one JSON object. With `actions`, the actions are listed as strings.
std::string json(const Plan& plan, const Costs& costs, bool actions);

}  // namespace costate::cli
