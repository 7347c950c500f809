#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"
#include "costate/schedule/planner.hpp"

namespace costate::cli {

/// The actions of a plan in turn; an online schedule is told its end when it is reached.
void for_each_action(const Plan& plan, const std::function<void(const Action&)>& visit);

/// The plan for people, a few lines. `why` may be empty.
std::string text(const Plan& plan, const Costs& costs, const std::string& why);

/// The plan for programs, one JSON object. With `actions`, the actions are listed as strings; they
/// are written as they come, because there may be any number of them.
void print_json(const Plan& plan, const Costs& costs, bool actions, const std::string& why,
                std::FILE* out);

/// All plans of a comparison as a table, and as JSON.
std::string comparison_text(const Choice& choice);
std::string comparison_json(const Choice& choice, const Costs& costs);

/// Cost against memory as a table, and as JSON.
std::string frontier_text(const std::vector<FrontierPoint>& points,
                          const std::vector<FrontierPoint>& marks, Step n);
std::string frontier_json(const std::vector<FrontierPoint>& points,
                          const std::vector<FrontierPoint>& marks, Step n);

}  // namespace costate::cli
