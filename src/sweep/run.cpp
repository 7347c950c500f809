#include "costate/sweep/run.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "costate/core/error.hpp"
#include "driver.hpp"

namespace costate {
namespace {

// What is left of a finished run: the size of the progress, the progress, the logs of all steps.
std::vector<std::byte> result_of(const Stepper& stepper, Step n) {
  const std::uint64_t progress = stepper.progress_bytes();
  std::vector<std::byte> out(sizeof progress + progress +
                             static_cast<std::size_t>(n) * stepper.step_log_bytes());
  const std::span<std::byte> rest = std::span(out).subspan(sizeof progress);
  std::memcpy(out.data(), &progress, sizeof progress);
  stepper.save_progress(rest.first(progress));
  if (stepper.step_log_bytes() > 0) stepper.save_step_log(0, n, rest.subspan(progress));
  return out;
}

void take_result(Stepper& stepper, std::span<const std::byte> result, const RunFactory& store) {
  std::uint64_t progress = 0;
  if (result.size() >= sizeof progress) std::memcpy(&progress, result.data(), sizeof progress);
  const std::size_t log = stepper.step_log_bytes();
  const std::size_t rest = result.size() - std::min(result.size(), sizeof progress);
  if (progress > rest || (log == 0 ? progress != rest : (rest - progress) % log != 0)) {
    throw StorageError("the result that '" + store.where() + "' holds is of another stepper",
                       store.where());
  }
  const std::span<const std::byte> body = result.subspan(sizeof progress);
  if (log > 0) {
    stepper.load_step_log(0, static_cast<Step>((rest - progress) / log), body.subspan(progress));
  }
  stepper.load_progress(body.first(progress));
}

}  // namespace

RunResult run_or_resume(Stepper& stepper, const RunOptions& options) {
  if (stepper.progress_bytes() == 0) {
    throw Unsupported("this stepper does not save its progress, so its run cannot be resumed");
  }
  if (!(options.safety_every >= 0)) throw InvalidArgument("safety_every is negative");
  const std::size_t record_bytes = detail::Driver::record_bytes(stepper);
  const SweepOptions sweeping{.budget = {.memory = options.memory,
                                         .disk = options.store.disk(record_bytes),
                                         .disk_costs = options.disk_costs},
                              .guard = options.guard,
                              .progress = options.progress,
                              .progress_interval = options.progress_interval,
                              .expected_steps = options.expected_steps,
                              .team = options.team};
  detail::Layout layout = detail::lay_out(stepper, stepper.steps(), sweeping, record_bytes);
  const auto store =
      options.store->open({.identity = options.identity,
                           .row_bytes = layout.row_bytes,
                           .record_bytes = record_bytes,
                           .log_bytes = stepper.step_log_bytes(),
                           .slots = layout.disk_slots(),
                           .team = options.team,
                           .fields = layout.varying ? std::vector<StateField>{} : stepper.fields(),
                           .memory = options.memory,
                           .memory_slots = layout.memory_slots});
  RunResult out;
  if (const auto result = store->result()) {
    take_result(stepper, *result, *options.store);
    out.finished = out.resumed = true;
    out.resumed_phase = RunRecord::Phase::reverse;
    out.damage = store->damage();
    return out;
  }
  layout.disks.clear();
  if (store->slots() > 0) layout.disks.push_back(store->slots());
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
    out.report = driver.report();
    store->finish(result_of(stepper, out.report.steps));
    out.finished = true;
  } catch (const detail::Stopped&) {
    out.report = driver.report();
  }
  return out;
}

}  // namespace costate
