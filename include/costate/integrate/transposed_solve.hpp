#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include <Eigen/Core>

#include "costate/core/error.hpp"
#include "costate/integrate/magnitude.hpp"
#include "costate/integrate/time_grid.hpp"

/// @file
/// The linear solves of an adjoint, corrected until their residual has vanished.

namespace costate {

/// Solves Wᵀ u = rhs by u ← u + W̃⁻ᵀ r with some W̃ near W, where the residual
/// r = rhs - Wᵀ u is formed without W.
///
/// Whoever calls it sums up u, or the products of u it wants, in `apply`, which is called with each
/// correction (never if rhs = 0).
///
/// @param r        in: rhs; out: what is left of it
/// @param d        work space
/// @param correct  (d), d ← W̃⁻ᵀ d
/// @param apply    (d, r): r ← r - Wᵀ d; returns the largest magnitude among the terms that Wᵀ d is
///                 made of, or that and the one of what is left, as `Remainder`
/// @param refresh  () -> bool: makes W̃ = W as exactly as it can; false if that is impossible
/// @param cost     of `refresh`, in corrections: when it pays
/// @returns the residual relative to the terms it is made of, in the maximum norm; at most
///          `adjoint_tolerance` if it has been solved
template <class V, class Correct, class Apply, class Refresh>
double solve_transposed(V& r, V& d, const Correct& correct, const Apply& apply,
                        const Refresh& refresh, double cost = 3) {
  using Scalar = typename V::Scalar;
  constexpr auto epsilon = static_cast<double>(std::numeric_limits<Scalar>::epsilon());
  constexpr int most_corrections = 60;
  const auto start = static_cast<double>(copy_magnitude(r, d));
  if (start == 0) return 0;
  // Adjoints of dissipative problems vanish: below this, rounding is absolute.
  double scale = static_cast<double>(std::numeric_limits<Scalar>::min()) / epsilon;
  scale = std::max(scale, start);
  double last = 1;
  bool fresh = false;
  for (int i = 0; i < most_corrections; ++i) {
    if (i > 0) d = r;
    correct(d);
    const Remainder<Scalar> remainder = remainder_of(apply(d, r), r);
    scale = std::max(scale, static_cast<double>(remainder.term));
    const double left = static_cast<double>(remainder.left) / scale;
    if (!std::isfinite(left) || left <= 8 * epsilon) return left;
    const double rate = left / last;
    last = left;
    if (fresh && rate > 0.5) return left;
    // The corrections that are left at this rate against a new matrix and two with that.
    const double corrections = std::log(left / (8 * epsilon)) / -std::log(rate);
    if (fresh || (rate < 1 && corrections <= cost + 2)) continue;
    if (!refresh()) return left;
    fresh = true;
    last = 1 / epsilon;  // the first correction with it is not judged by the last one without
  }
  return last;
}

/// A larger residual of a transposed solve is an error.
template <class Scalar>
inline constexpr double adjoint_tolerance =
    1e5 * static_cast<double>(std::numeric_limits<Scalar>::epsilon());

/// @throws AdjointResidualError if `residual` is NaN or above the tolerance
template <class Scalar>
void check_adjoint_residual(double residual, const char* method, const Interval& s) {
  if (residual <= adjoint_tolerance<Scalar>) return;
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.3g", residual);
  throw AdjointResidualError(std::string(method) + ": the adjoint of step " + std::to_string(s.k) +
                                 " leaves the relative residual " + digits.data(),
                             s.k, residual);
}

}  // namespace costate
