#pragma once

#include <string>

#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"

namespace costate::cli {

/// A drawing of a schedule as an SVG document: steps across, time down. Advances are lines that
/// lean to the right, checkpoints are lines straight down for as long as they are held, in the
/// colour of their tier, reverse steps are lines that lean to the left. A reverse step takes the
/// time of a step, writing and reading what `costs` says.
/// @throws InvalidArgument if the schedule is too long to be drawn (more than 20000 actions)
std::string draw_schedule(const Plan& plan, const Costs& costs);

}  // namespace costate::cli
