#pragma once

// The functions of Xxh3, compiled for the instruction set of the one source file that includes
// this. Nothing of the standard library may be used here or there: an inline function of it, made
// for that instruction set, could be the one that the linker keeps for the whole program.

#include "xxh3.hpp"

// Inlined, so that it is compiled with the file's flags: the distribution's library is a baseline
// build and 2 to 6 times slower.
#define XXH_INLINE_ALL
#include <xxhash.h>

static_assert(sizeof(XXH3_state_t) <= costate::detail::Xxh3::state_bytes);

namespace {

std::uint64_t whole(const void* bytes, std::size_t size, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, size, seed);
}
void begin(void* state) {
  XXH3_64bits_reset(static_cast<XXH3_state_t*>(state));
}
void add(void* state, const void* bytes, std::size_t size) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state), bytes, size);
}
std::uint64_t value(const void* state) {
  return XXH3_64bits_digest(static_cast<const XXH3_state_t*>(state));
}

}  // namespace
