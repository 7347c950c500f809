#pragma once

#include <string>

#include "costate/core/step.hpp"

namespace costate::cli {

/// The command line of `costate plan`, as it was given.
struct PlanOptions {
  Step steps = 0;
  std::string schedule = "revolve";
  Slot memory_slots = unknown;  ///< `unknown`: not given
  Slot disk_slots = unknown;
  bool json = false;
  bool actions = false;
  std::string svg;  ///< path, empty: no picture
};

}  // namespace costate::cli
