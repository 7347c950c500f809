#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/hdf5/compression.hpp"
#include "costate/storage/file_system.hpp"
#include "costate/storage/pool.hpp"
#include "payload_hash.hpp"

namespace costate::detail {

/// Packs and unpacks states, piece by piece, so that it needs memory for a piece only. One for each
/// thread. A packed state is (native byte order):
///
///     the packed pieces, one after the other
///     a uint32 for each: its length; the highest bit is set if it is stored as it was
///     uint64 length of the state, uint32 codec, uint32 bytes of one number
class Packer {
 public:
  static constexpr std::size_t piece = piece_bytes;

  /// @param row_bytes  the largest state
  Packer(const Compression& compression, std::size_t row_bytes);
  ~Packer();
  Packer(Packer&&) noexcept;
  Packer(const Packer&) = delete;
  Packer& operator=(const Packer&) = delete;

  /// What a packed state takes at most.
  static std::size_t bound(std::size_t bytes) noexcept;
  /// What a packer takes.
  static Bytes memory_bytes(const Compression& compression, std::size_t row_bytes);

  /// Writes the packed state to its place. Returns its length; `hash` has seen all of it.
  Bytes pack(std::span<const std::byte> state, File& file, Bytes place, PayloadHash& hash);

  /// Reads it again; `hash` has seen all of it. False if it is no packed state of that length: then
  /// the contents of `state` mean nothing.
  [[nodiscard]] bool unpack(Bytes packed, std::span<std::byte> state, File& file, Bytes place,
                            PayloadHash& hash);

  /// The length of the state in a packed one, which may be damaged.
  static Bytes unpacked_bytes(Bytes packed, File& file, Bytes place);

 private:
  struct Contexts;
  std::unique_ptr<Contexts> contexts_;
  Compression compression_;
  Pool regrouped_;
  Pool packed_;
  std::vector<std::uint32_t> lengths_;
};

}  // namespace costate::detail
