#include "row_store.hpp"

#include <algorithm>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/core/error.hpp"
#include "payload_hash.hpp"

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

template <typename Byte, typename Work>
void in_pieces(std::span<Byte> bytes, const Work& work) {
  for (std::size_t at = 0; at < bytes.size(); at += piece_bytes) {
    work(bytes.subspan(at, std::min(piece_bytes, bytes.size() - at)), static_cast<Bytes>(at));
  }
}

}  // namespace

RowStore::RowStore(FileSystem& files, const std::string& path, const Container& container,
                   Durability durability, double sync_seconds)
    : file_(files.open(path, FileSystem::Mode::update)),
      container_(container),
      durability_(durability),
      interval_(sync_seconds) {
  if (!container_.sparse) file_->reserve(container_.size);
}

RowStore::RowStore(FileSystem& files, const std::string& path, const Container& container)
    : file_(files.open(path, FileSystem::Mode::read)),
      container_(container),
      durability_(Durability::none),
      interval_(0) {}

void RowStore::write(Slot row, Step at, Bytes offset, std::span<const std::byte> piece) {
  naming(checkpoint, at, [&] { file_->write(piece, place(row) + offset); });
}

Stored RowStore::pack(Slot row, Step at, std::span<const std::byte> state, Packer& packer) {
  Stored stored;
  naming(checkpoint, at, [&] {
    PayloadHash hash;
    stored.bytes = packer.pack(state, *file_, place(row), hash);
    stored.hash = hash.value();
  });
  return stored;
}

void RowStore::write_header(Bytes place, RowHeader& header, const Stored& stored) {
  header.sequence = sequence_.fetch_add(1, std::memory_order_relaxed);
  header.bytes = stored.bytes;
  header.payload_hash = stored.hash;
  header.seal();
  file_->write(std::as_bytes(std::span(&header, 1)), place);
}

void RowStore::commit(Slot row, RowHeader header, const Stored& stored) {
  naming(checkpoint, header.step, [&] {
    write_header(header_place(row), header, stored);
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
}

void RowStore::read(Slot row, Step at, Bytes offset, std::span<std::byte> piece) {
  naming(checkpoint, at, [&] { file_->read(piece, place(row) + offset); });
}

void RowStore::damaged(const std::string& what, Step at) const {
  throw StorageError("'" + path() + "' is damaged: the checksum of " + what + " is wrong", path(),
                     at);
}

void RowStore::check(Slot row, Step at, const Stored& stored, std::uint64_t hash) const {
  naming(checkpoint, at, [&] {
    if (hash != stored.hash) damaged("row " + std::to_string(row), at);
  });
}

void RowStore::unpack(Slot row, Step at, const Stored& stored, std::span<std::byte> state,
                      Packer& packer) {
  PayloadHash hash;
  bool whole = false;
  naming(checkpoint, at,
         [&] { whole = packer.unpack(stored.bytes, state, *file_, place(row), hash); });
  check(row, at, stored, whole ? hash.value() : ~stored.hash);
}

std::uint64_t RowStore::put_record(Slot row, RowHeader header, std::span<const std::byte> payload) {
  PayloadHash hash;
  Stored stored{.bytes = payload.size()};
  naming(record, header.step, [&] {
    in_pieces(payload, [&](std::span<const std::byte> piece, Bytes offset) {
      hash.add(piece);
      file_->write(piece, record_place(row) + offset);
    });
    stored.hash = hash.value();
    write_header(record_header_place(row), header, stored);
  });
  return stored.hash;
}

void RowStore::get_record(Slot row, Step at, std::uint64_t hash, std::span<std::byte> payload) {
  naming(record, at, [&] {
    PayloadHash found;
    in_pieces(payload, [&](std::span<std::byte> piece, Bytes offset) {
      file_->read(piece, record_place(row) + offset);
      found.add(piece);
    });
    if (found.value() != hash) damaged("record " + std::to_string(row), at);
  });
}

Bytes RowStore::state_bytes(Slot row, const RowHeader& header) {
  if (header.kind != RowHeader::packed_state) return header.bytes;
  return Packer::unpacked_bytes(header.bytes, *file_, place(row));
}

RowHeader RowStore::read_header(Bytes place) {
  RowHeader header;
  file_->read(std::as_writable_bytes(std::span(&header, 1)), place);
  return header;
}

RowHeader RowStore::header(Slot row) {
  return read_header(header_place(row));
}

RowHeader RowStore::record_header(Slot row) {
  return read_header(record_header_place(row));
}

bool RowStore::matches(Bytes place, const RowHeader& header) {
  // Piece by piece, for rows may be larger than the memory at hand.
  std::vector<std::byte> piece(std::min<Bytes>(header.bytes, piece_bytes));
  PayloadHash hash;
  for (Bytes at = 0; at < header.bytes; at += piece_bytes) {
    const std::span<std::byte> part =
        std::span(piece).first(std::min<Bytes>(header.bytes - at, piece_bytes));
    file_->read(part, place + at);
    hash.add(part);
  }
  return hash.value() == header.payload_hash;
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
