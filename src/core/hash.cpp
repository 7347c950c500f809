#include "costate/core/hash.hpp"

#include "xxh3.hpp"

namespace costate {

std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  return detail::xxh3().whole(bytes.data(), bytes.size(), seed);
}

}  // namespace costate
