#include "costate/sweep/sweep.hpp"

#include "driver.hpp"
#include "reversible.hpp"

namespace costate {

Report sweep(Stepper& stepper, const SweepOptions& options) {
  if (stepper.can_step_back() && !options.schedule) {
    return detail::ReversibleSweep(stepper, options).run();
  }
  detail::Driver driver(stepper, options, detail::lay_out(stepper, stepper.steps(), options));
  driver.run();
  return driver.report();
}

}  // namespace costate
