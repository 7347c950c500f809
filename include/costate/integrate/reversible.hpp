#pragma once

#include <string>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/core/step.hpp"
#include "costate/integrate/fixed_point_kernel.hpp"
#include "costate/integrate/fixed_steps.hpp"

namespace costate {

/// Störmer's and Verlet's method in fixed-point numbers, for separable problems (separable.hpp).
/// It steps back to the last bit, so its sweep stores no state at all, whatever the number of
/// steps; it costs one more forward step for each. Order 2 until the error meets the resolution,
/// and the gradient is exact up to the resolution (fixed_point_kernel.hpp).
///
/// Exactly one of `h`, `steps` and `grid` must be given, as for `ExplicitRungeKutta`.
struct ReversibleVerlet {
  static constexpr const char* name = "reversible Verlet";
  template <class F, class Objective>
  using Kernel = FixedPointKernel<F, ReversibleVerlet, Objective>;

  int fraction_bits = 44;  ///< 0 … 60: the resolution is 2^-fraction_bits, and positions and
                           ///< momenta must stay below 2^(61 - fraction_bits) in size
  double h = 0;            ///< step size, > 0 in either direction of time
  Step steps = 0;          ///< number of equal steps
  std::vector<double> grid = {};  ///< the times, t0 first and t1 last

  /// Besides the steps, what the result depends on.
  [[nodiscard]] std::string options() const {
    return std::to_string(fraction_bits) + " fraction bits";
  }
  /// @throws InvalidArgument if `fraction_bits` is out of its range
  [[nodiscard]] StepControl control() const {
    if (fraction_bits < 0 || fraction_bits > 60) {
      throw InvalidArgument("reversible Verlet: .fraction_bits must be 0 to 60, not " +
                            std::to_string(fraction_bits));
    }
    return fixed_steps(name, h, steps, grid);
  }
};

}  // namespace costate
