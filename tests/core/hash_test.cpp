#include "costate/core/hash.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/stream_hash.hpp"
#include "core/xxh3.hpp"
#include "support/catch.hpp"

using namespace costate;

TEST_CASE("The hash is XXH3-64: the check value of the empty input", "[core][golden]") {
  CHECK(hash_bytes({}) == 0x2D06800538D394C2ULL);
}

TEST_CASE("Every instruction set gives the same hash, in one piece or in several",
          "[core][property]") {
  std::vector<std::byte> bytes(300'000);
  std::uint64_t x = 1;
  for (std::byte& b : bytes) b = static_cast<std::byte>((x = x * 6364136223846793005U + 1) >> 56U);
  const std::span<const std::byte> all(bytes);
  for (const std::size_t size : {0U, 1U, 16U, 128U, 240U, 241U, 1024U, 65'536U, 300'000U}) {
    CAPTURE(size);
    const std::uint64_t expected = detail::xxh3_baseline.whole(all.data(), size, 0);
    CHECK(hash_bytes(all.first(size)) == expected);
    for (const std::size_t piece : {7U, 256U, 1000U, 131'072U}) {
      CAPTURE(piece);
      detail::StreamHash hash;
      for (std::size_t at = 0; at < size; at += piece) {
        hash.add(all.subspan(at, std::min(piece, size - at)));
      }
      CHECK(hash.value() == expected);
    }
  }
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
