#include "row_store.hpp"

#include <algorithm>
#include <vector>

#include "core/stream_hash.hpp"
#include "costate/core/bytes.hpp"
#include "costate/core/error.hpp"

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

constexpr std::size_t piece_bytes = 512_KiB;

// Bytes are hashed while the write or read has them in the cache. A piece is large enough for the
// calls to cost nothing, and small enough for a cache of the second level.
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

Stored RowStore::write(const char* what, Bytes payload_place, Bytes header_place, RowHeader& header,
                       std::span<const std::byte> payload, Packer* packer) {
  header.sequence = sequence_.fetch_add(1, std::memory_order_relaxed);
  naming(what, header.step, [&] {
    StreamHash hash;
    if (packer != nullptr) {
      header.bytes = packer->pack(payload, *file_, payload_place, hash);
    } else {
      in_pieces(payload, [&](std::span<const std::byte> piece, Bytes offset) {
        hash.add(piece);
        file_->write(piece, payload_place + offset);
      });
      header.bytes = payload.size();
    }
    header.payload_hash = hash.value();
    header.seal();
    file_->write(std::as_bytes(std::span(&header, 1)), header_place);
  });
  return {header.bytes, header.payload_hash};
}

Stored RowStore::put(Slot row, RowHeader header, std::span<const std::byte> state, Packer* packer) {
  header.kind = packer != nullptr ? RowHeader::packed_state : RowHeader::state;
  const Bytes header_place = container_.headers + static_cast<Bytes>(row) * sizeof(RowHeader);
  const Stored stored = write(checkpoint, place(row), header_place, header, state, packer);
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
  return stored;
}

std::uint64_t RowStore::put_record(Slot row, RowHeader header, std::span<const std::byte> payload) {
  const Bytes header_place =
      container_.record_headers + static_cast<Bytes>(row) * sizeof(RowHeader);
  return write(record, record_place(row), header_place, header, payload, nullptr).hash;
}

std::uint64_t RowStore::read(Bytes place, std::span<std::byte> payload) {
  StreamHash hash;
  in_pieces(payload, [&](std::span<std::byte> piece, Bytes offset) {
    file_->read(piece, place + offset);
    hash.add(piece);
  });
  return hash.value();
}

void RowStore::damaged(const std::string& what, Step at) const {
  throw StorageError("'" + path() + "' is damaged: the checksum of " + what + " is wrong", path(),
                     at);
}

void RowStore::get(Slot row, Step at, const Stored& stored, std::span<std::byte> state,
                   Packer* packer) {
  naming(checkpoint, at, [&] {
    bool whole = true;
    std::uint64_t hash = 0;
    if (packer != nullptr) {
      StreamHash stream;
      whole = packer->unpack(stored.bytes, state, *file_, place(row), stream);
      hash = stream.value();
    } else {
      hash = read(place(row), state);
    }
    if (!whole || hash != stored.hash) damaged("row " + std::to_string(row), at);
  });
}

Bytes RowStore::state_bytes(Slot row, const RowHeader& header) {
  if (header.kind != RowHeader::packed_state) return header.bytes;
  return Packer::unpacked_bytes(header.bytes, *file_, place(row));
}

void RowStore::get_record(Slot row, Step at, std::uint64_t hash, std::span<std::byte> payload) {
  naming(record, at, [&] {
    if (read(record_place(row), payload) != hash) damaged("record " + std::to_string(row), at);
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
  // Piece by piece, for rows may be larger than the memory at hand.
  std::vector<std::byte> piece(std::min<Bytes>(header.bytes, piece_bytes));
  StreamHash hash;
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
