#include "costate/integrate/multistep.hpp"

#include <array>
#include <cstdio>
#include <string>

#include "costate/core/error.hpp"

// Compiled once, so that a replay and an adjoint use the bits of the first pass (one_instance.hpp).

namespace costate {

MultistepCoefficients<1> AdamsBashforth2::coefficients(double h, std::span<const double> before) {
  if (before[0] == 0) return {.y = {1, 0}, .y_slope = h, .pushed = {}, .pushed_slope = 1};
  const double r = h / before[0];
  return {.y = {1, -h * (r / 2)}, .y_slope = h * (1 + r / 2), .pushed = {}, .pushed_slope = 1};
}

// With s = t - t_n, the parabola is f_n + s [n, n-1] + s (s + h_1) [n, n-1, n-2] in divided
// differences, and its integral over the step h f_n + h²/2 [n, n-1] + (h³/3 + h_1 h²/2) [n, n-1,
// n-2].
MultistepCoefficients<2> AdamsBashforth3::coefficients(double h, std::span<const double> before) {
  if (before[1] == 0) {
    const MultistepCoefficients<1> c = AdamsBashforth2::coefficients(h, before.first(1));
    return {.y = {c.y[0], c.y[1], 0}, .y_slope = c.y_slope, .pushed = {}, .pushed_slope = 1};
  }
  const double h1 = before[0];
  const double h2 = before[1];
  const double first = h * h / 2 / h1;
  const double second = h * h * (h / 3 + h1 / 2) / (h1 + h2);
  return {.y = {1, -first - second / h1 - second / h2, second / h2},
          .y_slope = h + first + second / h1,
          .pushed = {},
          .pushed_slope = 1};
}

std::string Leapfrog::options() const {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "filter %.17g", filter);
  return text.data();
}

StepControl Leapfrog::control() const {
  if (!(filter >= 0 && filter <= 0.5)) {
    throw InvalidArgument("leapfrog: .filter must be 0 to 0.5, not " + std::to_string(filter));
  }
  return fixed_steps(name, h, steps, grid);
}

// The second difference 2/(1+r) ((y⁺ - y_n)/r - (y_n - z)) is -2 y_n + 2 z + 2 h_{n-1} f.
MultistepCoefficients<1> Leapfrog::coefficients(double size, std::span<const double> before) const {
  if (before[0] == 0) return {.y = {1, 0}, .y_slope = size, .pushed = {1, 0}, .pushed_slope = 0};
  const double r = size / before[0];
  return {.y = {1 - r * r, r * r},
          .y_slope = size * (1 + r),
          .pushed = {1 - 2 * filter, 2 * filter},
          .pushed_slope = 2 * filter * before[0]};
}

}  // namespace costate
