#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "costate/core/step.hpp"
#include "costate/storage/file_system.hpp"

namespace costate::detail {

/// What was recorded of each step, appended block by block. A block is a header of 40 bytes (magic,
/// from, to, hash of the payload, hash of the header before) and the payload; the hashes are seeded
/// with that of the run's identity, so that the log of another run is none. Reading stops at the
/// first block that is torn or out of order; the next append goes there.
class StepLog {
 public:
  /// @param file  of any contents
  StepLog(std::unique_ptr<File> file, std::size_t step_bytes, std::string_view identity);

  /// Logs of the steps [0, steps()) are there.
  [[nodiscard]] Step steps() const noexcept { return steps_; }
  /// Bytes after them, of a block that is torn.
  [[nodiscard]] Bytes left_over() { return file_->size() - end_; }
  void append(Step from, Step to, std::span<const std::byte> logs);
  /// The logs of [0, to).
  void read(Step to, std::span<std::byte> out);
  void sync() { file_->sync(); }

 private:
  template <typename Visit>
  void scan(Visit visit);

  std::unique_ptr<File> file_;
  std::size_t step_bytes_;
  std::uint64_t seed_;
  Bytes end_ = 0;
  Step steps_ = 0;
};

}  // namespace costate::detail
