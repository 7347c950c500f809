#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/integrate/bdf_kernel.hpp"
#include "costate/integrate/fixed_steps.hpp"

/// @file
/// Backward differentiation formulas of orders 2 to 5; that of order 1 is `BackwardEuler`.

namespace costate {

/// The formula through as many points as there are, `count` at most, besides the new one.
/// @param h       size of the step
/// @param before  sizes of the steps before, the latest first; 0 for those that were not made
/// @param a       coefficients of y_n, y_{n-1} …; one more than `before`; set
/// @returns β
double bdf_coefficients(double h, std::span<const double> before, std::span<double> a);

/// The derivative at t⁺ of the polynomial through y⁺ and the last Q states equals f(t⁺, y⁺), for
/// the actual step sizes, so that any grid will do. Q = 2 is stable as long as steps do not grow by
/// more than a factor of 1 + √2 again and again; higher orders bear less growth (R. D. Grigorieff,
/// Numer. Math. 42 (1983) 359-377).
///
/// The first Q-1 steps are those of orders 1 … Q-1. The first one has an error of O(h_0²), so the
/// result is of order 2 unless the solution starts smoothly or the grid with small steps.
///
/// Exactly one of `h`, `steps` and `grid` must be given, as for `ExplicitRungeKutta`. Jacobian,
/// mass matrix and solver of the problem: implicit_problem.hpp.
template <std::size_t Q>
struct Bdf {
  static_assert(Q >= 2 && Q <= 5, "formulas of orders 2 to 5; order 1 is BackwardEuler");
  static constexpr std::array<const char*, 4> names = {"BDF2", "BDF3", "BDF4", "BDF5"};
  static constexpr const char* name = names[Q - 2];
  static constexpr std::size_t history = Q - 1;
  template <class F, class Objective>
  using Kernel = BdfKernel<F, Bdf, Objective>;

  double h = 0;                   ///< step size, > 0 in either direction of time
  Step steps = 0;                 ///< number of equal steps
  std::vector<double> grid = {};  ///< the times, t0 first and t1 last

  [[nodiscard]] StepControl control() const { return fixed_steps(name, h, steps, grid); }
  [[nodiscard]] static BdfCoefficients<Q - 1> coefficients(double h,
                                                           std::span<const double> before) {
    BdfCoefficients<Q - 1> c;
    c.slope = bdf_coefficients(h, before, c.y);
    return c;
  }
};

using Bdf2 = Bdf<2>;
using Bdf3 = Bdf<3>;
using Bdf4 = Bdf<4>;
using Bdf5 = Bdf<5>;

}  // namespace costate
