#pragma once

#include <cstddef>
#include <cstdint>

namespace costate::detail {

/// XXH3-64 as one instruction set computes it. All give the same value.
struct Xxh3 {
  std::uint64_t (*whole)(const void* bytes, std::size_t size, std::uint64_t seed);
  // In pieces, with a state of `state_bytes` bytes at a multiple of 64.
  void (*begin)(void* state);
  void (*add)(void* state, const void* bytes, std::size_t size);
  std::uint64_t (*value)(const void* state);

  static constexpr std::size_t state_bytes = 640;
};

extern const Xxh3 xxh3_baseline;
#ifdef COSTATE_AVX2
extern const Xxh3 xxh3_avx2;
#endif

/// The fastest that this processor can carry out.
const Xxh3& xxh3() noexcept;

}  // namespace costate::detail
