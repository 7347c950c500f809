#pragma once

#include <cstddef>
#include <span>

#include "costate/core/step.hpp"

namespace costate {

/// Contiguous room for the states of consecutive steps: row `i` starts `stride` bytes after row
/// `i-1`. A row holds one saved state.
class Rows {
 public:
  Rows(std::byte* first, std::size_t stride, std::size_t bytes) noexcept
      : first_(first), stride_(stride), bytes_(bytes) {}
  [[nodiscard]] std::span<std::byte> operator[](Step i) const noexcept {
    return {first_ + static_cast<std::size_t>(i) * stride_, bytes_};
  }

 private:
  std::byte* first_;
  std::size_t stride_;
  std::size_t bytes_;
};

}  // namespace costate
