#pragma once

#include <cstdint>
#include <string>

/// @file
/// Sizes in bytes, and the literals to write them with: `64_MiB`.

namespace costate {

/// A number of bytes. Always 64 bits: states pass 4 GiB.
using Bytes = std::uint64_t;

inline namespace literals {

// NOLINTBEGIN(google-runtime-int): the standard fixes the type of a literal operator's argument.
consteval Bytes operator""_B(unsigned long long n) {
  return n;
}
consteval Bytes operator""_KiB(unsigned long long n) {
  return n << 10U;
}
consteval Bytes operator""_MiB(unsigned long long n) {
  return n << 20U;
}
consteval Bytes operator""_GiB(unsigned long long n) {
  return n << 30U;
}
consteval Bytes operator""_TiB(unsigned long long n) {
  return n << 40U;
}
// NOLINTEND(google-runtime-int)

}  // namespace literals

/// `n` for people: "24 B", "1.5 MiB". Powers of 1024, three digits.
[[nodiscard]] std::string format_bytes(Bytes n);

/// Reads "24", "24B", "1.5MiB", "64 MB" (powers of 1000), "2GiB".
/// @throws InvalidArgument if the text is not a size
[[nodiscard]] Bytes parse_bytes(const std::string& text);

}  // namespace costate
