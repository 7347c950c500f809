#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "costate/core/hash.hpp"
#include "costate/core/step.hpp"

namespace costate::detail {

/// What is written beside each row when the row is complete: 64 bytes, so that it never lies across
/// two sectors. In the file it is a row of `/headers` (docs/storage.md); native byte order, which
/// an attribute of the file names.
struct RowHeader {
  static constexpr std::uint32_t magic_value = 0x32736f63U;  // "cos2"
  enum Kind : std::uint16_t { empty = 0, state = 1, record = 2, packed_state = 3 };

  std::uint32_t magic = 0;
  std::uint16_t kind = empty;
  std::uint16_t phase = 0;     ///< of a record: 0 forward, 1 reverse
  std::uint64_t sequence = 0;  ///< ascending: of two rows for one slot the later one counts
  std::int64_t slot = 0;
  std::int64_t step = 0;
  double time = std::numeric_limits<double>::quiet_NaN();  ///< at the step, if known
  std::uint64_t bytes = 0;                                 ///< length of what the row holds
  std::uint64_t payload_hash = 0;                          ///< of these bytes, see payload_hash.hpp
  std::uint64_t header_hash = 0;                           ///< XXH3-64 of the 56 bytes before

  void seal() noexcept {
    magic = magic_value;
    header_hash = own_hash();
  }
  [[nodiscard]] bool valid() const noexcept {
    return magic == magic_value && header_hash == own_hash();
  }
  [[nodiscard]] bool holds_state() const noexcept {
    return valid() && (kind == state || kind == packed_state);
  }

 private:
  [[nodiscard]] std::uint64_t own_hash() const noexcept {
    return hash_bytes(std::as_bytes(std::span(this, 1)).first(56));
  }
};
static_assert(sizeof(RowHeader) == 64 && std::is_trivially_copyable_v<RowHeader>);

}  // namespace costate::detail
