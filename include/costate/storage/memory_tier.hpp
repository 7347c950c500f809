#pragma once

#include <cstddef>
#include <span>

#include "costate/core/bytes.hpp"
#include "costate/core/step.hpp"
#include "costate/storage/pool.hpp"
#include "costate/storage/rows.hpp"
#include "costate/storage/tier.hpp"

namespace costate {

/// Checkpoints in memory: one pool of rows of equal size. Allocates nothing after it is made; the
/// memory it really takes grows with the slots that are used, not with those asked for.
class MemoryTier final : public Tier {
 public:
  struct Options {
    std::size_t row_bytes = 0;  ///< the largest state, >= 1
    Slot slots = 0;             ///< >= 0
    bool varying = false;       ///< states differ in size: their sizes are recorded, 8 bytes a slot
    bool touch = false;         ///< make all pages exist now, so that the sweeps meet no page fault
    Workspace* workspace = nullptr;  ///< where the memory comes from, if anywhere
  };

  /// @throws InvalidArgument if a number is out of range
  /// @throws StorageError if the address space cannot be had
  explicit MemoryTier(const Options& options);

  /// The distance between two rows: the size rounded up to a multiple of 8 below 1 KiB, of 64 above
  /// (small states stay dense, large ones start at a cache line).
  [[nodiscard]] static std::size_t stride(std::size_t row_bytes) noexcept;

  /// What one slot takes of a budget: the row, its index and, if sizes vary, its size.
  [[nodiscard]] static Bytes bytes_per_slot(std::size_t row_bytes, bool varying = false) noexcept;

  [[nodiscard]] const TierUse& use() const noexcept override { return use_; }

  std::span<std::byte> begin_write(Slot slot, Step at, std::size_t bytes) override;
  void commit(Slot slot) override;
  std::span<const std::byte> read(Slot slot, Step at) override;
  void drop(Slot slot) override;

  /// The index that the slot holds, `unknown` if it is empty or there is no such slot.
  [[nodiscard]] Step index(Slot slot) const noexcept;
  /// Looks at a checkpoint without counting a read. The slot must hold one.
  [[nodiscard]] std::span<const std::byte> peek(Slot slot) const noexcept;

  // ----- Tapes of steps: larger than a state, they take `count` consecutive slots. -----

  /// A place for the tape of step `at` in empty slots: `count` rows without a gap.
  /// @throws ScheduleError if a slot is taken or does not exist
  std::span<std::byte> begin_tape(Slot first, Slot count, Step at);
  /// The slots now hold it.
  void commit_tape(Slot first, Slot count, Step at);
  /// Whether the slot is the first one of a tape.
  [[nodiscard]] bool holds_tape(Slot slot) const noexcept;
  /// @throws ScheduleError unless the slots hold the tape of step `at`
  std::span<const std::byte> read_tape(Slot first, Slot count, Step at);
  /// Empties the slots of a tape; its bytes stay until something is written there.
  void drop_tape(Slot first, Slot count);

  [[nodiscard]] bool has_rows() const noexcept override { return !varying_; }
  Rows begin_rows(Slot first, Slot count) override;
  void commit_rows(Slot first, Step from, Slot count) override;
  Rows read_rows(Slot first, Step from, Slot count) override;
  void drop_rows(Slot first, Slot count) override;

 private:
  [[nodiscard]] std::byte* row(Slot slot) const noexcept {
    return rows_.data() + static_cast<std::size_t>(slot) * stride_;
  }
  void check(Slot first, Slot count) const;
  void take(Slot count) noexcept;

  TierUse use_;
  std::size_t row_bytes_;
  std::size_t stride_;
  bool varying_;
  Bytes slot_bytes_;
  Pool rows_;
  Pool indices_;                    // Step + 1 of each slot, 0 if empty: what a fresh page holds;
                                    // of a tape the negative of that, in its first slot
  Pool sizes_;                      // only if varying_
  Step* held_ = nullptr;            // in indices_
  std::size_t* size_of_ = nullptr;  // in sizes_
  Slot writing_ = -1;               // between begin_write and commit
  Step writing_at_ = 0;
};

}  // namespace costate
