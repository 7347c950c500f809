#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace costate {

/// XXH3-64 of the bytes (Y. Collet, xxHash 0.8). About as fast as reading them; 64 bits, so it
/// finds accidents, not forgeries. The value is the same on every machine and may be stored.
[[nodiscard]] std::uint64_t hash_bytes(std::span<const std::byte> bytes,
                                       std::uint64_t seed = 0) noexcept;

}  // namespace costate
