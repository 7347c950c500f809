#include "costate/core/hash.hpp"

// Inlined, so that it is compiled with this project's flags: the distribution's library is a
// baseline build and 2 to 6 times slower.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace costate {

std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace costate
