// The part of the driver that keeps a run on disk and takes it up again.

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "costate/core/error.hpp"
#include "driver.hpp"
#include "resume.hpp"

namespace costate::detail {
namespace {

std::size_t rounded(std::size_t bytes) {
  return (bytes + 7) / 8 * 8;
}

}  // namespace

// A record: the size of the state (0 in the reverse sweep), the state, what was accumulated.
std::size_t Driver::record_bytes(const Stepper& stepper) {
  return sizeof(std::uint64_t) + rounded(stepper.max_state_bytes()) + stepper.progress_bytes();
}

void Driver::begin() {
  RunStore& store = run_->store;
  const std::optional<RunRecord> record = store.record();
  // Forward, a checkpoint beyond the record is one whose steps are to be run again for the first
  // time; reverse, one whose step is reversed.
  Step limit = 0;
  if (record) {
    limit = record->phase == RunRecord::Phase::forward ? record->step + 1 : record->step;
  }
  for (const RunCheckpoint& checkpoint : store.checkpoints()) {
    if (checkpoint.at >= limit) store.tier().drop(checkpoint.slot);
  }
  if (record) resume(*record, limit);
}

void Driver::resume(const RunRecord& record, Step limit) {
  RunStore& store = run_->store;
  const bool forward = record.phase == RunRecord::Phase::forward;
  if (record.steps != unknown) {
    if (n_ != unknown && n_ != record.steps) {
      throw ScheduleError("the interrupted run has " + std::to_string(record.steps) +
                              " steps, this one " + std::to_string(n_),
                          n_);
    }
    n_ = record.steps;
  }

  ResumePoint point;
  point.tiers = tiers_of(layout_, options_);
  for (const RunCheckpoint& checkpoint : store.checkpoints()) {
    if (checkpoint.at < limit) {
      point.stored.push_back({checkpoint.at, layout_.memory_slots + checkpoint.slot});
    }
  }
  const Slot in_memory = record.step > 0 ? keep_start(point) : 0;

  if (const std::size_t log_bytes = stepper_.step_log_bytes(); log_bytes > 0) {
    logged_ = forward ? record.step : n_;
    std::vector<std::byte> logs(static_cast<std::size_t>(logged_) * log_bytes);
    store.read_log(logged_, logs);
    stepper_.load_step_log(0, logged_, logs);
  }
  const std::span<std::byte> bytes = store.begin_record(record.bytes);  // free as yet
  store.read_record(bytes);
  std::uint64_t state_bytes = 0;
  std::memcpy(&state_bytes, bytes.data(), sizeof state_bytes);
  const std::span<const std::byte> all = bytes.subspan(sizeof state_bytes);
  if (forward) stepper_.load(all.first(state_bytes));
  stepper_.load_progress(all.subspan(rounded(state_bytes)));

  predicted_ = {};
  predicted_.steps = unknown;
  stored_ = unknown;
  if (forward) {
    live_ = furthest_ = right_ = record.step;
    point.live = record.step;
  } else {
    front_ = record.step;
    furthest_ = n_;
    live_ = unknown;
    store.retain([this] { write_record(); });
  }
  if (n_ != unknown) {
    point.steps = n_;
    point.end = forward ? n_ : record.step;
    point.turned = !forward;
    schedule_ = continuation(costs_of(layout_, options_), point);
  } else {
    if (layout_.memory_slots <= in_memory) {
      const Bytes slot = MemoryTier::bytes_per_slot(layout_.row_bytes, layout_.varying);
      throw BudgetError("a run of unknown length can go on only with two states in memory",
                        layout_.fixed + 2 * slot);
    }
    schedule_ = continue_online(record.step, in_memory, layout_.memory_slots - in_memory,
                                costs_of(layout_, options_), point, options_.expected_steps);
  }
}

// The way back to x_0 has to stay open: it is live now, and is kept if no checkpoint holds it.
// Returns the slots of the memory that it takes.
Slot Driver::keep_start(ResumePoint& point) {
  const auto is_start = [](const Stored& stored) { return stored.at == 0; };
  if (std::any_of(point.stored.begin(), point.stored.end(), is_start)) return 0;
  Slot slot = 0;
  if (layout_.memory_slots == 0) {
    const auto taken = [&](const Stored& stored) { return stored.slot == slot; };
    while (std::any_of(point.stored.begin(), point.stored.end(), taken)) ++slot;
  }
  if (slot >= layout_.memory_slots + layout_.disk_slots()) {
    // All slots are taken: the highest checkpoint makes room.
    const auto highest =
        std::max_element(point.stored.begin(), point.stored.end(),
                         [](const Stored& a, const Stored& b) { return a.at < b.at; });
    slot = highest->slot;
    run_->store.tier().drop(slot - layout_.memory_slots);
    point.stored.erase(highest);
  }
  Tier& tier = layout_.memory_slots > 0 ? memory_ : run_->store.tier();
  const Slot inside = layout_.memory_slots > 0 ? slot : slot - layout_.memory_slots;
  stepper_.save(tier.begin_write(inside, 0, stepper_.state_bytes()));
  tier.commit(inside);
  point.stored.push_back({0, slot});
  return layout_.memory_slots > 0 ? 1 : 0;
}

void Driver::write_record() {
  const Step at = front_ == unknown ? live_ : front_;
  try {
    write_record_at(at);
  } catch (const StorageError& error) {
    if (error.step != unknown) throw;
    throw StorageError("record of step " + std::to_string(at) + ": " + error.what(), error.path,
                       at);
  }
}

void Driver::write_record_at(Step at) {
  RunStore& store = run_->store;
  const bool forward = front_ == unknown;
  if (const std::size_t bytes = stepper_.step_log_bytes(); bytes > 0 && logged_ < furthest_) {
    std::vector<std::byte> logs(static_cast<std::size_t>(furthest_ - logged_) * bytes);
    stepper_.save_step_log(logged_, furthest_, logs);
    store.append_log(logged_, furthest_, logs);
    logged_ = furthest_;
  }
  const std::uint64_t state_bytes = forward ? stepper_.state_bytes() : 0;
  const std::size_t progress = stepper_.progress_bytes();
  const std::size_t head = sizeof state_bytes + rounded(state_bytes);
  const std::span<std::byte> out = store.begin_record(head + progress);
  std::memcpy(out.data(), &state_bytes, sizeof state_bytes);
  if (forward) stepper_.save(out.subspan(sizeof state_bytes, state_bytes));
  stepper_.save_progress(out.subspan(head, progress));
  store.commit_record({.phase = forward ? RunRecord::Phase::forward : RunRecord::Phase::reverse,
                       .step = at,
                       .steps = n_,
                       .bytes = out.size(),
                       .time = stepper_.time(at)});
  safe_ = Meter::Clock::now();
}

// Between two commands, or two pieces of one: a record may be written here.
void Driver::safe_point() {
  // Not while the last step is half done, nor while a replay interrupts the first pass.
  if (spare_full_ || (front_ == unknown && live_ != furthest_)) return;
  const bool stop = run_->stop_when && run_->stop_when();
  const double since = std::chrono::duration<double>(meter_.now() - safe_).count();
  const bool due = since >= run_->safety_every;
  const std::int64_t wanted = most(options_.team, stop ? 2 : due ? 1 : 0);
  if (wanted > 0) write_record();
  if (wanted == 2) throw Stopped{};
}

}  // namespace costate::detail
