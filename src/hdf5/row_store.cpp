#include "row_store.hpp"

#include "costate/core/error.hpp"
#include "costate/core/hash.hpp"

namespace costate::detail {
namespace {

// The system knows the path, not the step.
template <typename Work>
void naming(Step at, const Work& work) {
  try {
    work();
  } catch (const StorageError& error) {
    throw StorageError("checkpoint " + std::to_string(at) + ": " + error.what(), error.path, at);
  }
}

}  // namespace

RowStore::RowStore(FileSystem& files, const std::string& path, const Container& container,
                   Durability durability, double sync_seconds)
    : file_(files.open(path, FileSystem::Mode::update)),
      container_(container),
      durability_(durability),
      interval_(sync_seconds) {
  file_->reserve(container_.size);
}

std::uint64_t RowStore::put(Slot row, RowHeader header, std::span<const std::byte> payload) {
  header.sequence = sequence_.fetch_add(1, std::memory_order_relaxed);
  header.bytes = payload.size();
  header.payload_hash = hash_bytes(payload);
  header.seal();
  naming(header.step, [&] {
    const auto place = static_cast<Bytes>(row);
    file_->write(payload, container_.states + place * container_.stride);
    file_->write(std::as_bytes(std::span(&header, 1)),
                 container_.headers + place * sizeof(RowHeader));
    if (durability_ == Durability::every) {
      file_->sync();
    } else if (durability_ == Durability::interval) {
      const std::lock_guard lock(sync_lock_);
      const auto now = std::chrono::steady_clock::now();
      if (now - synced_ >= interval_) {
        file_->sync();
        synced_ = now;
      }
    }
  });
  return header.payload_hash;
}

void RowStore::get(Slot row, Step at, std::uint64_t hash, std::span<std::byte> payload) {
  naming(at, [&] {
    file_->read(payload, container_.states + static_cast<Bytes>(row) * container_.stride);
    if (hash_bytes(payload) != hash) {
      throw StorageError(
          "'" + path() + "' is damaged: the checksum of row " + std::to_string(row) + " is wrong",
          path(), at);
    }
  });
}

}  // namespace costate::detail
