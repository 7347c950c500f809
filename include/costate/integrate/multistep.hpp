#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/integrate/fixed_steps.hpp"
#include "costate/integrate/multistep_kernel.hpp"

/// @file
/// Explicit multistep methods: one evaluation of the right-hand side a step, and one `vjp` a step
/// in the adjoint. The coefficients are those for the actual step sizes, so that any grid will do:
/// with a last, shortened step, with steps placed on observations, graded at the start.
///
/// The history is part of the state: a checkpoint holds y, the vectors of the history and the sizes
/// of the last steps. The first steps, where there is less history, are ordinary steps of lower
/// order; a checkpoint among them is like any other.
///
/// Exactly one of `h`, `steps` and `grid` must be given, as for `ExplicitRungeKutta`.

namespace costate {

/// y⁺ = y + h ((1 + r/2) f_n - r/2 f_{n-1}), r = h_n / h_{n-1}; the first step is Euler's. Order 2.
struct AdamsBashforth2 {
  static constexpr const char* name = "Adams-Bashforth 2";
  static constexpr std::size_t history = 1;  // f_{n-1}
  static constexpr bool pushes_slope = true;
  template <class F, class Objective>
  using Kernel = MultistepKernel<F, AdamsBashforth2, Objective>;

  double h = 0;                   ///< step size, > 0 in either direction of time
  Step steps = 0;                 ///< number of equal steps
  std::vector<double> grid = {};  ///< the times, t0 first and t1 last

  [[nodiscard]] StepControl control() const { return fixed_steps(name, h, steps, grid); }
  [[nodiscard]] static MultistepCoefficients<1> coefficients(double h,
                                                             std::span<const double> before);
};

/// The integral of the parabola through the last three slopes; 23/12, -16/12, 5/12 on equal steps.
/// The first step is Euler's and the second one of Adams and Bashforth's second order. Order 3, but
/// for the error O(h_0²) of the first step: unless that is as small as h^(3/2), the result is only
/// of order 2.
struct AdamsBashforth3 {
  static constexpr const char* name = "Adams-Bashforth 3";
  static constexpr std::size_t history = 2;  // f_{n-1}, f_{n-2}
  static constexpr bool pushes_slope = true;
  template <class F, class Objective>
  using Kernel = MultistepKernel<F, AdamsBashforth3, Objective>;

  double h = 0;                   ///< step size, > 0 in either direction of time
  Step steps = 0;                 ///< number of equal steps
  std::vector<double> grid = {};  ///< the times, t0 first and t1 last

  [[nodiscard]] StepControl control() const { return fixed_steps(name, h, steps, grid); }
  [[nodiscard]] static MultistepCoefficients<2> coefficients(double h,
                                                             std::span<const double> before);
};

/// Leapfrog with the filter of Robert and Asselin against its computational mode: with z_{n-1} the
/// filtered state of the step before,
///
///     y⁺  = z_{n-1} + 2 h f(t_n, y_n)          on equal steps; for r = h_n / h_{n-1}
///     y⁺  = (1 - r²) y_n + r² z_{n-1} + h (1 + r) f(t_n, y_n)
///     z_n = y_n + filter (y⁺ - 2 y_n + z_{n-1})     (the second difference scaled by h_{n-1}²)
///
/// The first step is Euler's. Order 2 without a filter, 1 with one that does not depend on h.
/// R. Asselin, Mon. Weather Rev. 100 (1972) 487-490, eq. 4.
struct Leapfrog {
  static constexpr const char* name = "leapfrog";
  static constexpr std::size_t history = 1;  // z_{n-1}
  static constexpr bool pushes_slope = false;
  template <class F, class Objective>
  using Kernel = MultistepKernel<F, Leapfrog, Objective>;

  double filter = 0;              ///< 0 … 1/2; usual are 0.01 to 0.2
  double h = 0;                   ///< step size, > 0 in either direction of time
  Step steps = 0;                 ///< number of equal steps
  std::vector<double> grid = {};  ///< the times, t0 first and t1 last

  /// Besides the steps, what the result depends on.
  [[nodiscard]] std::string options() const;
  /// @throws InvalidArgument if the filter is out of its range
  [[nodiscard]] StepControl control() const;
  [[nodiscard]] MultistepCoefficients<1> coefficients(double h,
                                                      std::span<const double> before) const;
};

}  // namespace costate
