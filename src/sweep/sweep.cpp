#include "costate/sweep/sweep.hpp"

#include "driver.hpp"

namespace costate {

Report sweep(Stepper& stepper, const SweepOptions& options) {
  return detail::Driver(stepper, options).run();
}

}  // namespace costate
