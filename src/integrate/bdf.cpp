#include "costate/integrate/bdf.hpp"

// Compiled once, so that a replay and an adjoint use the bits of the first pass (one_instance.hpp).

namespace costate {

// With s_i = t⁺ - t_{n+1-i} > 0 in the direction of time, the derivatives at t⁺ of Lagrange's
// polynomials are d_0 = sum_{i>=1} 1/s_i for y⁺ and, for y_{n+1-j},
// d_j = -1/s_j prod_{i>=1, i≠j} s_i / (s_i - s_j). Then a_{j-1} = -d_j / d_0 and β = 1 / d_0.
double bdf_coefficients(double h, std::span<const double> before, std::span<double> a) {
  std::size_t points = 1;
  while (points <= before.size() && before[points - 1] != 0) ++points;
  std::array<double, 5> s{};
  s[0] = h;
  for (std::size_t i = 1; i < points; ++i) s[i] = s[i - 1] + before[i - 1];
  double d0 = 0;
  for (std::size_t i = 0; i < points; ++i) d0 += 1 / s[i];
  for (std::size_t j = 0; j < a.size(); ++j) {
    if (j >= points) {
      a[j] = 0;
      continue;
    }
    double d = 1 / s[j];
    for (std::size_t i = 0; i < points; ++i) {
      if (i != j) d *= s[i] / (s[i] - s[j]);
    }
    a[j] = d / d0;
  }
  return 1 / d0;
}

}  // namespace costate
