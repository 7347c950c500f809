#include "costate/sweep/sweep.hpp"

#include "driver.hpp"

namespace costate {

Report sweep(Stepper& stepper, const SweepOptions& options) {
  detail::Driver driver(stepper, options, detail::lay_out(stepper, stepper.steps(), options));
  driver.run();
  return driver.report();
}

}  // namespace costate
