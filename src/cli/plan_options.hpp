#pragma once

#include <string>

#include "costate/core/step.hpp"

namespace costate::cli {

/// The command line of `costate plan`, as it was given; empty texts were not given.
struct PlanOptions {
  Step steps = 0;
  std::string schedule = "auto";
  bool online = false;
  Step guess = unknown;
  std::string memory_slots;  ///< a number or "unlimited"
  std::string memory;        ///< bytes, "64MiB"
  std::string disk_slots;
  std::string disk;
  std::string state;
  std::string tape;
  bool tape_has_next = false;
  double disk_write = 0;  ///< in steps
  double disk_read = 0;
  std::string weights;  ///< path
  bool frontier = false;
  bool compare = false;
  bool json = false;
  bool actions = false;
  std::string svg;  ///< path
};

}  // namespace costate::cli
