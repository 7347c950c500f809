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
#include "row_header.hpp"

namespace costate::detail {

/// Rows of one container, written and read at their place in the file. Different rows may be used
/// from different threads at the same time.
class RowStore {
 public:
  /// Opens the file that `container` was made in.
  RowStore(FileSystem& files, const std::string& path, const Container& container,
           Durability durability, double sync_seconds);

  [[nodiscard]] const Container& container() const noexcept { return container_; }
  [[nodiscard]] const std::string& path() const noexcept { return file_->path(); }

  /// The commit protocol: the payload, then its header, then, as durability asks, the device. Until
  /// the header is there the row counts as what it was before, or, with another payload already
  /// in it, as nothing: its checksum fails.
  /// @param header  kind, slot, step; the rest is filled in
  /// @return the payload's hash
  std::uint64_t put(Slot row, RowHeader header, std::span<const std::byte> payload);

  /// Reads a row and compares it with its hash.
  /// @throws StorageError if they differ
  void get(Slot row, Step at, std::uint64_t hash, std::span<std::byte> payload);

  void sync() { file_->sync(); }

 private:
  std::unique_ptr<File> file_;
  Container container_;
  Durability durability_;
  std::chrono::duration<double> interval_;
  std::atomic<std::uint64_t> sequence_ = 1;
  std::mutex sync_lock_;
  std::chrono::steady_clock::time_point synced_ = std::chrono::steady_clock::now();
};

}  // namespace costate::detail
