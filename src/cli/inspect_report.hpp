#pragma once

#include <optional>
#include <string>

#include "costate/hdf5/inspect.hpp"
#include "costate/sweep/budget.hpp"

namespace costate::cli {

/// What the next call of `run_or_resume` would do with what was found.
struct Outlook {
  enum class Act : unsigned char { start, forward, reverse, done };
  Act act = Act::start;
  Step step = 0;                 ///< where it takes up
  Step steps = unknown;          ///< of the run
  std::optional<Step> advances;  ///< forward steps that it would make; not known before n is
  bool counted = false;          ///< or they are the fewest, and costs may ask for more
};

/// @param disk  `Budget::disk_costs` of that call
[[nodiscard]] Outlook outlook(const Inspection& found, TransferCosts disk);

/// For people.
[[nodiscard]] std::string text(const Inspection& found, TransferCosts disk);
/// One JSON object.
[[nodiscard]] std::string json(const Inspection& found, TransferCosts disk);

}  // namespace costate::cli
