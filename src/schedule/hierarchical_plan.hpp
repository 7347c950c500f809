#pragma once

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"

namespace costate {

/// `hierarchical` with less work: complete tables are for runs so much shorter that they take
/// `effort` times as long, and so many fewer slots are planned with.
/// @throws InvalidArgument as `hierarchical`, or because of that
[[nodiscard]] Plan hierarchical_plan(const Costs& costs, Step n, double effort);

}  // namespace costate
