#include "costate/sweep/progress.hpp"

#include <array>
#include <cmath>
#include <cstdio>

#include "costate/core/bytes.hpp"

namespace costate {

std::string to_string(const Progress& progress) {
  const bool forward = progress.phase == Progress::Phase::forward;
  std::string line = forward ? "forward " : "reverse ";
  line += std::to_string(progress.step);
  line += "/" + (progress.steps == unknown ? std::string("?") : std::to_string(progress.steps));
  line += " steps";
  for (const TierUse& tier : progress.tiers) {
    if (tier.held > 0) line += ", " + tier.name + " " + format_bytes(tier.held);
  }
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), ", %.1f s", progress.seconds);
  line += text.data();
  if (!std::isnan(progress.eta_seconds)) {
    std::snprintf(text.data(), text.size(), ", %.1f s to go", progress.eta_seconds);
    line += text.data();
  }
  return line;
}

}  // namespace costate
