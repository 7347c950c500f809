#include "costate/sweep/run.hpp"

#include <vector>

#include "costate/core/error.hpp"
#include "driver.hpp"

namespace costate {

RunResult run_or_resume(Stepper& stepper, const RunOptions& options) {
  if (stepper.progress_bytes() == 0) {
    throw Unsupported("this stepper does not save its progress, so its run cannot be resumed");
  }
  if (!(options.safety_every >= 0)) throw InvalidArgument("safety_every is negative");
  const SweepOptions sweeping{.budget = {.memory = options.memory, .disk = options.store.disk()},
                              .guard = options.guard,
                              .progress = options.progress,
                              .progress_interval = options.progress_interval};
  const std::size_t record_bytes = detail::Driver::record_bytes(stepper);
  detail::Layout layout = detail::lay_out(stepper, stepper.steps(), sweeping, record_bytes);
  const auto store = options.store->open({.identity = options.identity,
                                          .row_bytes = layout.row_bytes,
                                          .record_bytes = record_bytes,
                                          .log_bytes = stepper.step_log_bytes(),
                                          .slots = layout.disk_slots});
  RunResult out;
  if (const auto result = store->result()) {
    stepper.load_progress(*result);
    out.finished = out.resumed = true;
    out.resumed_phase = RunRecord::Phase::reverse;
    out.damage = store->damage();
    return out;
  }
  layout.disk_slots = store->slots();
  if (const auto record = store->record()) {
    out.resumed = true;
    out.resumed_phase = record->phase;
    out.resumed_step = record->step;
  }
  out.damage = store->damage();

  const detail::RunContext run{*store, options.safety_every, options.stop_when};
  detail::Driver driver(stepper, sweeping, layout, &run);
  try {
    driver.run();
    std::vector<std::byte> result(stepper.progress_bytes());
    stepper.save_progress(result);
    out.report = driver.report();
    store->finish(result);
    out.finished = true;
  } catch (const detail::Stopped&) {
    out.report = driver.report();
  }
  return out;
}

}  // namespace costate
