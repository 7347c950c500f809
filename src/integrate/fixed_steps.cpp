#include "costate/integrate/fixed_steps.hpp"

namespace costate {

StepControl fixed_steps(const char* method, double h, Step steps, const std::vector<double>& grid) {
  return {.method = method,
          .error_order = 0,
          .h = h,
          .steps = steps,
          .rtol = 0,
          .atol = 0,
          .grid = grid,
          .first_step = 0,
          .max_step = 0,
          .max_steps = 0,
          .safety = 0,
          .min_factor = 0,
          .max_factor = 0,
          .pi = 0,
          .pid = 0};
}

}  // namespace costate
