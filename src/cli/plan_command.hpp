#pragma once

#include <cstdio>

#include "plan_options.hpp"

namespace costate::cli {

/// Carries out `costate plan`, printing to `out`.
/// @throws Error if the options cannot be served
void run_plan(const PlanOptions& options, std::FILE* out);

}  // namespace costate::cli
