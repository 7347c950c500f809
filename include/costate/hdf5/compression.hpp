#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace costate {

/// Lossless compression of checkpoints on disk: the bytes of the numbers are regrouped (first bytes
/// together, second bytes together, …) and packed by zstd. What is read back are the bits that were
/// written. It pays where the disk is slow or short: states of smooth fields shrink by a factor of
/// 1.2 to 1.7, at the price of about a millisecond a mebibyte.
struct Compression {
  enum class Codec : std::uint8_t { none, zstd };
  Codec codec = Codec::none;
  int level = 1;          ///< of zstd: -7 (fastest) to 19
  int element_bytes = 8;  ///< size of one number: 8 double, 4 float, 1 no regrouping
  /// How many times smaller states are taken to become when slots are counted, at least 1. At 1 the
  /// place for whole states is reserved. Above, the file is sparse, and a state for which the
  /// capacity does not suffice is an error: take a little less than `TierUse::ratio()` of a run.
  double ratio = 1;

  [[nodiscard]] bool on() const noexcept { return codec != Codec::none; }
};

/// From a name: "none", "zstd", "zstd:LEVEL".
/// @throws Unsupported for a codec that loses bits (docs/storage.md says why), by name
/// @throws InvalidArgument for a name that is none
[[nodiscard]] Compression compression(std::string_view name);

}  // namespace costate
