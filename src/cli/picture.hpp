#pragma once

#include <string>
#include <vector>

#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"
#include "costate/schedule/planner.hpp"

namespace costate::cli {

/// A drawing of a schedule as an SVG document: steps across, time down. Advances are lines that
/// lean to the right, checkpoints are lines straight down for as long as they are held, in the
/// colour of their tier, reverse steps, with the taped step that belongs to them, are lines that
/// lean to the left. Everything takes the time that `costs` says.
/// @throws InvalidArgument if the schedule is too long to be drawn (more than 20000 actions)
std::string draw_schedule(const Plan& plan, const Costs& costs);

/// A drawing of cost against memory on logarithmic axes, with the classical schedules marked on it.
/// @throws InvalidArgument for fewer than two steps
std::string draw_frontier(const std::vector<FrontierPoint>& points,
                          const std::vector<FrontierPoint>& marks, const Costs& costs, Step n);

}  // namespace costate::cli
