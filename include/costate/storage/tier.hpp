#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/core/step.hpp"
#include "costate/storage/rows.hpp"

/// @file
/// A place for checkpoints: bytes in numbered slots. A tier knows how many bytes it may use, which
/// index each slot holds, and nothing about what the bytes mean.

namespace costate {

/// What a tier has done and holds.
struct TierUse {
  std::string name;    ///< "memory", "disk"
  Bytes capacity = 0;  ///< bytes it may hold
  Bytes held = 0;      ///< bytes it holds now
  Bytes peak = 0;      ///< the most it ever held
  Step writes = 0;     ///< checkpoints written
  Step reads = 0;      ///< checkpoints read
  Slot slots = 0;      ///< checkpoints it has room for
  Bytes unpacked = 0;  ///< bytes of the checkpoints that were compressed
  Bytes packed = 0;    ///< what they take
  double seconds = 0;  ///< in a report: the disk, time spent in saves and loads

  /// How many times smaller compression made the checkpoints; 1 without.
  [[nodiscard]] double ratio() const noexcept {
    return packed == 0 ? 1 : static_cast<double>(unpacked) / static_cast<double>(packed);
  }
};

/// One tier. Not synchronised.
class Tier {
 public:
  virtual ~Tier() = default;

  [[nodiscard]] virtual const TierUse& use() const noexcept = 0;
  [[nodiscard]] Slot slots() const noexcept { return use().slots; }
  /// Adds `use()` of every tier that this one consists of.
  virtual void report_to(std::vector<TierUse>& out) const { out.push_back(use()); }

  /// Begins to write index `at` to the empty slot: a place for `bytes` bytes, aligned to 8, valid
  /// until `commit`. Nothing counts as stored before `commit`.
  /// @throws ScheduleError if the slot is taken or does not exist
  /// @throws StorageError if there is no room
  virtual std::span<std::byte> begin_write(Slot slot, Step at, std::size_t bytes) = 0;
  virtual void commit(Slot slot) = 0;

  /// Between the two, for whose state lies in one piece of memory: copies it to the place.
  virtual void fill(std::span<std::byte> place, std::span<const std::byte> state);

  /// Between the two: the time of the state, for those who look at it with other programs. NaN: not
  /// known.
  virtual void label(double /*time*/) {}

  /// The checkpoint of index `at`; valid until the next call. The slot keeps it.
  /// @throws ScheduleError if the slot holds another index or none
  /// @throws StorageError if it cannot be read or fails its checksum
  virtual std::span<const std::byte> read(Slot slot, Step at) = 0;

  /// The same, copied to `state`. If it fails, what is there means nothing.
  /// @throws ScheduleError also if the sizes differ
  virtual void read_into(Slot slot, Step at, std::span<std::byte> state);

  /// Empties the slot.
  /// @throws ScheduleError if it is empty
  virtual void drop(Slot slot) = 0;

  /// Waits until everything written so far has arrived.
  /// @throws StorageError if something could not be written
  virtual void flush() {}

  /// A hint: index `at` will be read from the slot soon. Nothing happens if the slot does not hold
  /// it. Returns false if there is no room for it now.
  virtual bool prefetch(Slot /*slot*/, Step /*at*/) { return true; }

  /// How many hints the tier can follow at a time.
  [[nodiscard]] virtual int prefetch_depth() const noexcept { return 0; }

  // ----- Runs of slots, for tiers that lie in memory. The defaults throw Unsupported. -----

  /// Whether consecutive slots are rows at equal distances, and states all have one size.
  [[nodiscard]] virtual bool has_rows() const noexcept { return false; }

  /// Begins to write `count` consecutive empty slots.
  virtual Rows begin_rows(Slot first, Slot count);
  /// The first `count` of them now hold the indices from, from+1, …
  virtual void commit_rows(Slot first, Step from, Slot count);
  /// Consecutive slots that hold the indices from, from+1, …
  virtual Rows read_rows(Slot first, Step from, Slot count);
  /// Empties consecutive slots.
  virtual void drop_rows(Slot first, Slot count);

 protected:
  Tier() = default;
  Tier(const Tier&) = default;
  Tier& operator=(const Tier&) = default;
};

}  // namespace costate
