#include "costate/core/hash.hpp"

#include <array>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"

using namespace costate;

TEST_CASE("The hash is XXH3-64: the check value of the empty input", "[core][golden]") {
  CHECK(hash_bytes({}) == 0x2D06800538D394C2ULL);
}

TEST_CASE("Flipping any one bit changes the hash", "[core][property]") {
  for (const std::size_t size : {1U, 8U, 24U, 241U, 1025U}) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 37U + 11U);
    const auto whole = hash_bytes(bytes);
    for (std::size_t i = 0; i < size; ++i) {
      CAPTURE(size, i);
      bytes[i] ^= std::byte{1};
      CHECK(hash_bytes(bytes) != whole);
      bytes[i] ^= std::byte{1};
    }
    CHECK(hash_bytes(bytes) == whole);
    CHECK(hash_bytes(bytes, 1) != whole);
  }
}
