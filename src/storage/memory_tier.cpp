#include "costate/storage/memory_tier.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "costate/core/error.hpp"

namespace costate {
namespace {

std::string slot_name(Slot slot) {
  return "slot #" + std::to_string(slot) + " of the memory";
}

// In the slots of a tape but the first one.
constexpr Step more_of_tape = std::numeric_limits<Step>::min();

std::string content_name(Step held) {
  if (held < 0) return "belongs to the tape of a step";
  return held == 0 ? "is empty" : "holds index " + std::to_string(held - 1);
}

}  // namespace

std::size_t MemoryTier::stride(std::size_t row_bytes) noexcept {
  const std::size_t unit = row_bytes < 1024 ? 8 : 64;
  return (row_bytes + unit - 1) / unit * unit;
}

Bytes MemoryTier::bytes_per_slot(std::size_t row_bytes, bool varying) noexcept {
  return stride(row_bytes) + sizeof(Step) + (varying ? sizeof(std::size_t) : 0);
}

MemoryTier::MemoryTier(const Options& options)
    : row_bytes_(options.row_bytes),
      stride_(stride(options.row_bytes)),
      varying_(options.varying),
      slot_bytes_(bytes_per_slot(options.row_bytes, options.varying)) {
  if (options.row_bytes == 0) throw InvalidArgument("a state of 0 bytes cannot be kept");
  if (options.slots < 0) {
    throw InvalidArgument("the number of slots is negative: " + std::to_string(options.slots));
  }
  const auto slots = static_cast<std::size_t>(options.slots);
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  if (options.row_bytes > most / 4 || slots > most / 2 / slot_bytes_) {
    throw StorageError(std::to_string(slots) + " slots of " + format_bytes(row_bytes_) +
                           " exceed the address space",
                       "memory");
  }
  use_.name = "memory";
  use_.slots = options.slots;
  use_.capacity = slots * slot_bytes_;
  rows_ = Pool(slots * stride_, options.workspace, Pool::Contents::any);
  indices_ = Pool(slots * sizeof(Step), options.workspace);
  // A fresh page is zero, and an array of trivial type may live in it.
  held_ = reinterpret_cast<Step*>(indices_.data());
  if (varying_) {
    sizes_ = Pool(slots * sizeof(std::size_t), options.workspace);
    size_of_ = reinterpret_cast<std::size_t*>(sizes_.data());
  }
  if (options.touch) {
    rows_.touch(rows_.size());
    indices_.touch(indices_.size());
    sizes_.touch(sizes_.size());
  }
}

void MemoryTier::check(Slot first, Slot count) const {
  if (first < 0 || count < 0 || count > use_.slots - first) {
    throw ScheduleError("the memory has " + std::to_string(use_.slots) + " slots, so no slot #" +
                            std::to_string(first + std::max<Slot>(count, 1) - 1),
                        unknown);
  }
}

void MemoryTier::take(Slot count) noexcept {
  use_.held += static_cast<Bytes>(count) * slot_bytes_;
  use_.peak = std::max(use_.peak, use_.held);
  use_.writes += count;
}

std::span<std::byte> MemoryTier::begin_write(Slot slot, Step at, std::size_t bytes) {
  check(slot, 1);
  if (held_[slot] != 0) {
    throw ScheduleError("cannot save index " + std::to_string(at) + ": " + slot_name(slot) + " " +
                            content_name(held_[slot]),
                        at);
  }
  if (bytes == 0 || bytes > row_bytes_ || (!varying_ && bytes != row_bytes_)) {
    throw StorageError("state " + std::to_string(at) + " has " + std::to_string(bytes) +
                           " bytes, but the rows were made for " +
                           (varying_ ? "1 to " : std::string()) + std::to_string(row_bytes_),
                       "memory", at);
  }
  if (varying_) size_of_[slot] = bytes;
  writing_ = slot;
  writing_at_ = at;
  return {row(slot), bytes};
}

void MemoryTier::commit(Slot slot) {
  if (slot != writing_) {
    throw ScheduleError(slot_name(slot) + " is committed, but not being written", unknown);
  }
  held_[slot] = writing_at_ + 1;
  writing_ = -1;
  take(1);
}

std::span<const std::byte> MemoryTier::read(Slot slot, Step at) {
  check(slot, 1);
  if (at < 0 || held_[slot] != at + 1) {
    throw ScheduleError("cannot load index " + std::to_string(at) + ": " + slot_name(slot) + " " +
                            content_name(held_[slot]),
                        at);
  }
  ++use_.reads;
  return peek(slot);
}

Step MemoryTier::index(Slot slot) const noexcept {
  return slot >= 0 && slot < use_.slots && held_[slot] > 0 ? held_[slot] - 1 : unknown;
}

std::span<const std::byte> MemoryTier::peek(Slot slot) const noexcept {
  return {row(slot), varying_ ? size_of_[slot] : row_bytes_};
}

void MemoryTier::drop(Slot slot) {
  check(slot, 1);
  if (held_[slot] <= 0) {
    throw ScheduleError("cannot drop: " + slot_name(slot) + " " + content_name(held_[slot]),
                        unknown);
  }
  held_[slot] = 0;
  use_.held -= slot_bytes_;
}

std::span<std::byte> MemoryTier::begin_tape(Slot first, Slot count, Step at) {
  check(first, count);
  for (Slot slot = first; slot < first + count; ++slot) {
    if (held_[slot] != 0) {
      throw ScheduleError("cannot save the tape of step " + std::to_string(at) + ": " +
                              slot_name(slot) + " " + content_name(held_[slot]),
                          at);
    }
  }
  return {row(first), static_cast<std::size_t>(count) * stride_};
}

void MemoryTier::commit_tape(Slot first, Slot count, Step at) {
  check(first, count);
  std::fill_n(held_ + first, count, more_of_tape);
  held_[first] = -(at + 1);
  take(count);
  use_.writes -= count - 1;
}

bool MemoryTier::holds_tape(Slot slot) const noexcept {
  return slot >= 0 && slot < use_.slots && held_[slot] < 0 && held_[slot] != more_of_tape;
}

std::span<const std::byte> MemoryTier::read_tape(Slot first, Slot count, Step at) {
  check(first, count);
  if (at < 0 || held_[first] != -(at + 1)) {
    throw ScheduleError("cannot load the tape of step " + std::to_string(at) + ": " +
                            slot_name(first) + " " + content_name(held_[first]),
                        at);
  }
  ++use_.reads;
  return {row(first), static_cast<std::size_t>(count) * stride_};
}

void MemoryTier::drop_tape(Slot first, Slot count) {
  check(first, count);
  if (!holds_tape(first)) {
    throw ScheduleError("cannot drop a tape: " + slot_name(first) + " holds none", unknown);
  }
  std::fill_n(held_ + first, count, Step{0});
  use_.held -= static_cast<Bytes>(count) * slot_bytes_;
}

Rows MemoryTier::begin_rows(Slot first, Slot count) {
  check(first, count);
  for (Slot slot = first; slot < first + count; ++slot) {
    if (held_[slot] != 0) {
      throw ScheduleError(
          "cannot save into " + slot_name(slot) + ": it " + content_name(held_[slot]), unknown);
    }
  }
  return {row(first), stride_, row_bytes_};
}

void MemoryTier::commit_rows(Slot first, Step from, Slot count) {
  check(first, count);
  for (Slot i = 0; i < count; ++i) held_[first + i] = from + i + 1;
  take(count);
}

Rows MemoryTier::read_rows(Slot first, Step from, Slot count) {
  check(first, count);
  for (Slot i = 0; i < count; ++i) {
    if (held_[first + i] != from + i + 1) {
      throw ScheduleError("cannot load index " + std::to_string(from + i) + ": " +
                              slot_name(first + i) + " " + content_name(held_[first + i]),
                          from + i);
    }
  }
  use_.reads += count;
  return {row(first), stride_, row_bytes_};
}

void MemoryTier::drop_rows(Slot first, Slot count) {
  check(first, count);
  for (Slot slot = first; slot < first + count; ++slot) {
    if (held_[slot] == 0) {
      throw ScheduleError("cannot drop: " + slot_name(slot) + " is empty", unknown);
    }
  }
  std::fill_n(held_ + first, count, Step{0});
  use_.held -= static_cast<Bytes>(count) * slot_bytes_;
}

}  // namespace costate
