#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/core/team.hpp"
#include "costate/storage/disk_spec.hpp"
#include "costate/storage/tier.hpp"

/// @file
/// What survives a run that is killed: checkpoints, the log of the steps, and records of how far
/// the sweep has come.

namespace costate {

/// How far a sweep has come. Forward: the state `x_step` and what was accumulated on the way to it.
/// Reverse: the adjoint at `step` and what was accumulated; the states come from the checkpoints.
struct RunRecord {
  enum class Phase : unsigned char { forward, reverse };
  Phase phase = Phase::forward;
  Step step = 0;
  Step steps = unknown;                                    ///< of the run, if known
  std::size_t bytes = 0;                                   ///< of the record
  double time = std::numeric_limits<double>::quiet_NaN();  ///< at `step`, if known
};

/// A durable checkpoint.
struct RunCheckpoint {
  Step at;
  Slot slot;
};

/// A run on disk, opened by one process. `tier()` is a tier as any other, but that a checkpoint
/// dropped after the turn keeps its place until a reverse record at or below it is durable, or
/// another one has its slot: here, and nowhere else, is the rule enforced that makes every moment
/// one from which the run can go on.
class RunStore {
 public:
  virtual ~RunStore() = default;

  virtual Tier& tier() = 0;
  /// Checkpoints that it has room for.
  [[nodiscard]] virtual Slot slots() const noexcept = 0;

  // ----- What was found when it was opened. -----

  /// The result of a finished run.
  [[nodiscard]] virtual std::optional<std::vector<std::byte>> result() const = 0;
  /// The newest record that is whole and whose steps are all in the log.
  [[nodiscard]] virtual std::optional<RunRecord> record() const = 0;
  /// Its bytes.
  virtual void read_record(std::span<std::byte> out) = 0;
  /// The checkpoints, one an index.
  [[nodiscard]] virtual std::vector<RunCheckpoint> checkpoints() const = 0;
  /// The logs of the steps [0, to).
  virtual void read_log(Step to, std::span<std::byte> out) = 0;
  /// What was skipped because it was torn or damaged, one line each.
  [[nodiscard]] virtual const std::vector<std::string>& damage() const = 0;

  // ----- While it runs. -----

  /// Appends the logs of the steps [from, to).
  virtual void append_log(Step from, Step to, std::span<const std::byte> logs) = 0;
  /// A place for a record; then `commit_record`, which returns when the record is as durable as the
  /// options ask. The older one stays until then.
  virtual std::span<std::byte> begin_record(std::size_t bytes) = 0;
  virtual void commit_record(const RunRecord& record) = 0;
  /// From now on dropped checkpoints keep their place, as after the turn. `need_record` is called
  /// when a place is needed that only a record makes free.
  virtual void retain(std::function<void()> need_record) = 0;
  /// Keeps the result, and removes everything else unless the options say otherwise.
  virtual void finish(std::span<const std::byte> result) = 0;

 protected:
  RunStore() = default;
  RunStore(const RunStore&) = default;
  RunStore& operator=(const RunStore&) = default;
};

/// What a run needs of its store.
struct RunRequest {
  std::string identity;          ///< of the problem; a store of another one is refused
  std::size_t row_bytes = 0;     ///< the largest state
  std::size_t record_bytes = 0;  ///< the largest record
  std::size_t log_bytes = 0;     ///< what is logged of each step
  Slot slots = 0;                ///< checkpoints, if the run is new
  Team* team = nullptr;  ///< those that keep the other parts of the run: what is found in the
                         ///< store is what all of them have
  // For those who look at the run from outside:
  std::vector<StateField> fields = {};  ///< what a state consists of, if known
  Bytes memory = 0;                     ///< the budget
  Slot memory_slots = 0;                ///< states kept in memory
};

/// Opens or makes a run on disk.
class RunFactory : public TierFactory {
 public:
  /// The same store, its capacity less the room for records of that size.
  [[nodiscard]] virtual std::shared_ptr<const RunFactory> with_records(
      std::size_t record_bytes) const = 0;
  /// The directory, for messages.
  [[nodiscard]] virtual std::string where() const = 0;
  [[nodiscard]] virtual std::unique_ptr<RunStore> open(const RunRequest& request) const = 0;
};

/// A place for a run; what `costate::run_directory({...})` returns. Copies share the immutable
/// factory.
class RunSpec {
 public:
  explicit RunSpec(std::shared_ptr<const RunFactory> factory) : factory_(std::move(factory)) {}
  [[nodiscard]] const RunFactory& operator*() const noexcept { return *factory_; }
  [[nodiscard]] const RunFactory* operator->() const noexcept { return factory_.get(); }
  /// The store as a disk for checkpoints, beside records of that size.
  [[nodiscard]] DiskSpec disk(std::size_t record_bytes) const {
    return DiskSpec(factory_->with_records(record_bytes));
  }

 private:
  std::shared_ptr<const RunFactory> factory_;
};

}  // namespace costate
