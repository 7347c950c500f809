#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace costate::detail {

/// Copies to where another core reads next, past the cache of this one. A plain copy has to take
/// each line back from the other core first, which is several times slower than the copy.
/// @param to  as long as `from`, aligned to 16
inline void copy_past_cache(std::span<const std::byte> from, std::byte* to) noexcept {
  std::size_t at = 0;
#ifdef __SSE2__
  constexpr std::size_t word = sizeof(__m128i);
  for (; at + word <= from.size(); at += word) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from.data() + at)));
  }
  _mm_sfence();
#endif
  std::memcpy(to + at, from.data() + at, from.size() - at);
}

}  // namespace costate::detail
