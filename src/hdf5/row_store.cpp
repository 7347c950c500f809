#include "row_store.hpp"

#include <vector>

#include "costate/core/error.hpp"
#include "costate/core/hash.hpp"

namespace costate::detail {
namespace {

constexpr const char* checkpoint = "checkpoint ";
constexpr const char* record = "record of step ";

// The system knows the path, not the step.
template <typename Work>
void naming(const char* what, Step at, const Work& work) {
  try {
    work();
  } catch (const StorageError& error) {
    throw StorageError(what + std::to_string(at) + ": " + error.what(), error.path, at);
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

RowStore::RowStore(FileSystem& files, const std::string& path, const Container& container)
    : file_(files.open(path, FileSystem::Mode::read)),
      container_(container),
      durability_(Durability::none),
      interval_(0) {}

std::uint64_t RowStore::write(const char* what, Bytes payload_place, Bytes header_place,
                              RowHeader& header, std::span<const std::byte> payload) {
  header.sequence = sequence_.fetch_add(1, std::memory_order_relaxed);
  header.bytes = payload.size();
  header.payload_hash = hash_bytes(payload);
  header.seal();
  naming(what, header.step, [&] {
    file_->write(payload, payload_place);
    file_->write(std::as_bytes(std::span(&header, 1)), header_place);
  });
  return header.payload_hash;
}

std::uint64_t RowStore::put(Slot row, RowHeader header, std::span<const std::byte> payload) {
  const Bytes header_place = container_.headers + static_cast<Bytes>(row) * sizeof(RowHeader);
  const std::uint64_t hash = write(checkpoint, place(row), header_place, header, payload);
  naming(checkpoint, header.step, [&] {
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
  return hash;
}

std::uint64_t RowStore::put_record(Slot row, RowHeader header, std::span<const std::byte> payload) {
  const Bytes header_place =
      container_.record_headers + static_cast<Bytes>(row) * sizeof(RowHeader);
  return write(record, record_place(row), header_place, header, payload);
}

void RowStore::get(Slot row, Step at, std::uint64_t hash, std::span<std::byte> payload) {
  naming(checkpoint, at, [&] {
    file_->read(payload, place(row));
    if (hash_bytes(payload) != hash) {
      throw StorageError(
          "'" + path() + "' is damaged: the checksum of row " + std::to_string(row) + " is wrong",
          path(), at);
    }
  });
}

void RowStore::get_record(Slot row, Step at, std::uint64_t hash, std::span<std::byte> payload) {
  naming(record, at, [&] {
    file_->read(payload, record_place(row));
    if (hash_bytes(payload) != hash) {
      throw StorageError("'" + path() + "' is damaged: the checksum of record " +
                             std::to_string(row) + " is wrong",
                         path(), at);
    }
  });
}

RowHeader RowStore::read_header(Bytes place) {
  RowHeader header;
  file_->read(std::as_writable_bytes(std::span(&header, 1)), place);
  return header;
}

RowHeader RowStore::header(Slot row) {
  return read_header(container_.headers + static_cast<Bytes>(row) * sizeof(RowHeader));
}

RowHeader RowStore::record_header(Slot row) {
  return read_header(container_.record_headers + static_cast<Bytes>(row) * sizeof(RowHeader));
}

bool RowStore::matches(Bytes place, const RowHeader& header) {
  std::vector<std::byte> payload(header.bytes);
  file_->read(payload, place);
  return hash_bytes(payload) == header.payload_hash;
}

bool RowStore::holds(Slot row, const RowHeader& header) {
  return matches(place(row), header);
}

bool RowStore::holds_record(Slot row, const RowHeader& header) {
  return matches(record_place(row), header);
}

void RowStore::seen(std::uint64_t sequence) noexcept {
  if (sequence >= sequence_.load()) sequence_.store(sequence + 1);
}

}  // namespace costate::detail
