#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/stream_hash.hpp"
#include "costate/core/bytes.hpp"
#include "costate/core/hash.hpp"

/// @file
/// The checksum of what a row holds: XXH3-64 of the XXH3-64s of its pieces, in their order and in
/// native byte order. So several threads can each hash a piece while it is in the cache.

namespace costate::detail {

/// Large enough for a call that moves it to cost nothing, small enough for a cache of the second
/// level. The last piece of a payload is what is left.
inline constexpr std::size_t piece_bytes = 512_KiB;

[[nodiscard]] constexpr std::size_t pieces_of(Bytes bytes) noexcept {
  return static_cast<std::size_t>((bytes + piece_bytes - 1) / piece_bytes);
}

/// Of all pieces' hashes, by `hash_bytes`.
[[nodiscard]] inline std::uint64_t payload_hash(std::span<const std::uint64_t> pieces) noexcept {
  return hash_bytes(std::as_bytes(pieces));
}

/// The same of a payload that comes in parts of any size.
class PayloadHash {
 public:
  void add(std::span<const std::byte> part) noexcept {
    while (!part.empty()) {
      if (filled_ == piece_bytes) close();
      const auto now = part.first(std::min(part.size(), piece_bytes - filled_));
      if (filled_ == 0) piece_.emplace();
      piece_->add(now);
      filled_ += now.size();
      part = part.subspan(now.size());
    }
  }
  /// Ends the payload.
  [[nodiscard]] std::uint64_t value() noexcept {
    if (filled_ > 0) close();
    return all_.value();
  }

 private:
  void close() noexcept {
    const std::uint64_t hash = piece_->value();
    all_.add(std::as_bytes(std::span(&hash, 1)));
    filled_ = 0;
  }

  std::optional<StreamHash> piece_;
  std::size_t filled_ = 0;
  StreamHash all_;
};

}  // namespace costate::detail
