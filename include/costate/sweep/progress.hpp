#pragma once

#include <functional>
#include <span>
#include <string>

#include "costate/core/step.hpp"
#include "costate/storage/tier.hpp"

namespace costate {

/// Where a sweep is.
struct Progress {
  enum class Phase : unsigned char { forward, reverse };
  Phase phase;
  Step step;   ///< forward: the index reached; reverse: the index that the adjoint has reached
  Step steps;  ///< n, or `unknown`
  std::span<const TierUse> tiers;  ///< bytes held by each
  double seconds;                  ///< since the start
  double eta_seconds;  ///< until the end, from the work left and the speed so far; NaN: not known
  double fraction;     ///< of the predicted work that is done, 0 to 1; NaN: not known
};

/// Called between steps, in the thread of the sweep. An exception it throws ends the sweep.
using ProgressFunction = std::function<void(const Progress&)>;

/// One line: "forward 1200/4000 steps, memory 24.0 MiB, 12.3 s, 41.0 s to go".
[[nodiscard]] std::string to_string(const Progress& progress);

}  // namespace costate
