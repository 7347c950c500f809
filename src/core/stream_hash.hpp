#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "xxh3.hpp"

namespace costate::detail {

/// The hash of bytes that come in pieces, so that each is hashed while it is in the cache.
class StreamHash {
 public:
  StreamHash() noexcept { xxh3_.begin(state_.data()); }
  void add(std::span<const std::byte> piece) noexcept {
    xxh3_.add(state_.data(), piece.data(), piece.size());
  }
  /// As `hash_bytes` of all pieces in one.
  [[nodiscard]] std::uint64_t value() const noexcept { return xxh3_.value(state_.data()); }

 private:
  const Xxh3& xxh3_ = xxh3();
  alignas(64) std::array<std::byte, Xxh3::state_bytes> state_;
};

}  // namespace costate::detail
