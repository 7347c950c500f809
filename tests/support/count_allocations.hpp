#pragma once

// Replaces the program's operator new by one that counts. Include in one file of a program only.

#include <atomic>
#include <cstdlib>
#include <new>

namespace costate::test {

/// Calls of operator new so far.
inline std::atomic<long> allocations = 0;

inline void* counted(std::size_t size) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}

}  // namespace costate::test

// Both plain and no-throw forms must be replaced, since what either returns goes to the same
// operator delete; which is not inlined, as GCC 12 takes an inlined free() for one that does not
// match.
void* operator new(std::size_t size) {
  if (void* const p = costate::test::counted(size)) return p;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) {
  return operator new(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return costate::test::counted(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return costate::test::counted(size);
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete[](void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept {
  std::free(p);
}
