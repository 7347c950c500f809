#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

namespace costate {

/// min over i < n of a[i] + b[i]. Eight running minima, so that the additions do not wait for each
/// other and go two at a time.
inline double least_sum(const double* a, const double* b, std::size_t n) {
  constexpr std::size_t width = 8;
  double least[width];
  std::fill(least, least + width, std::numeric_limits<double>::infinity());
  std::size_t i = 0;
  for (; i + width <= n; i += width) {
    for (std::size_t u = 0; u < width; ++u) {
      const double sum = a[i + u] + b[i + u];
      least[u] = sum < least[u] ? sum : least[u];
    }
  }
  for (; i < n; ++i) least[0] = std::min(least[0], a[i] + b[i]);
  return *std::min_element(least, least + width);
}

}  // namespace costate
