#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "container.hpp"
#include "costate/hdf5/disk.hpp"
#include "costate/storage/file_system.hpp"
#include "packer.hpp"
#include "row_header.hpp"

namespace costate::detail {

/// What a row holds, as it lies there.
struct Stored {
  Bytes bytes = 0;
  std::uint64_t hash = 0;
};

/// Rows of one container, written and read at their place in the file. Different rows may be used
/// from different threads at the same time.
class RowStore {
 public:
  /// Opens the file that `container` was made in.
  RowStore(FileSystem& files, const std::string& path, const Container& container,
           Durability durability, double sync_seconds);
  /// Only to look at it.
  RowStore(FileSystem& files, const std::string& path, const Container& container);

  [[nodiscard]] const Container& container() const noexcept { return container_; }
  [[nodiscard]] const std::string& path() const noexcept { return file_->path(); }

  /// The commit protocol: the payload, piece by piece or packed, then its header, then, as
  /// durability asks, the device. Until the header is there the row counts as what it was before,
  /// or, with another payload already in it, as nothing: its checksum fails.
  void write(Slot row, Step at, Bytes offset, std::span<const std::byte> piece);
  Stored pack(Slot row, Step at, std::span<const std::byte> state, Packer& packer);
  /// @param header  kind, slot, step, time; the rest is filled in
  void commit(Slot row, RowHeader header, const Stored& stored);

  /// Reads a row. What is read piece by piece counts only after `check`.
  void read(Slot row, Step at, Bytes offset, std::span<std::byte> piece);
  /// @throws StorageError if `hash`, of what was read, is not the one of the row
  void check(Slot row, Step at, const Stored& stored, std::uint64_t hash) const;
  /// @throws StorageError if the row is damaged
  void unpack(Slot row, Step at, const Stored& stored, std::span<std::byte> state, Packer& packer);

  /// The length of the state that a row was found to hold.
  [[nodiscard]] Bytes state_bytes(Slot row, const RowHeader& header);

  /// A row's contents do not matter any more; false if its place cannot be given back.
  bool release(Slot row) { return file_->release(place(row), container_.stride); }

  /// The same for the two records.
  std::uint64_t put_record(Slot row, RowHeader header, std::span<const std::byte> payload);
  void get_record(Slot row, Step at, std::uint64_t hash, std::span<std::byte> payload);

  // What is there, when the file is opened again.
  [[nodiscard]] RowHeader header(Slot row);
  [[nodiscard]] RowHeader record_header(Slot row);
  /// Whether the payload is the one that the header describes.
  [[nodiscard]] bool holds(Slot row, const RowHeader& header);
  [[nodiscard]] bool holds_record(Slot row, const RowHeader& header);
  /// Later sequence numbers will be larger.
  void seen(std::uint64_t sequence) noexcept;

  void sync() { file_->sync(); }
  [[nodiscard]] Durability durability() const noexcept { return durability_; }
  [[nodiscard]] bool has_name() { return file_->has_name(); }

 private:
  void write_header(Bytes place, RowHeader& header, const Stored& stored);
  [[noreturn]] void damaged(const std::string& what, Step at) const;
  [[nodiscard]] RowHeader read_header(Bytes place);
  [[nodiscard]] bool matches(Bytes place, const RowHeader& header);
  [[nodiscard]] Bytes place(Slot row) const noexcept {
    return container_.states + static_cast<Bytes>(row) * container_.stride;
  }
  [[nodiscard]] Bytes header_place(Slot row) const noexcept {
    return container_.headers + static_cast<Bytes>(row) * sizeof(RowHeader);
  }
  [[nodiscard]] Bytes record_header_place(Slot row) const noexcept {
    return container_.record_headers + static_cast<Bytes>(row) * sizeof(RowHeader);
  }
  [[nodiscard]] Bytes record_place(Slot row) const noexcept {
    return container_.records + static_cast<Bytes>(row) * container_.record_stride;
  }

  std::unique_ptr<File> file_;
  Container container_;
  Durability durability_;
  std::chrono::duration<double> interval_;
  std::atomic<std::uint64_t> sequence_ = 1;
  std::mutex sync_lock_;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};

}  // namespace costate::detail
