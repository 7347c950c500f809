#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/integrate/step_control.hpp"

namespace costate {

/// The step-size options of a method without an error estimate.
/// @param method  its name, for messages
/// @param h, steps, grid  of which exactly one is to be given; `check` says so
[[nodiscard]] StepControl fixed_steps(const char* method, double h, Step steps,
                                      const std::vector<double>& grid);

}  // namespace costate
