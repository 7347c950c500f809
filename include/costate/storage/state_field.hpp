#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace costate {

/// A named part of a saved state, for those who look at checkpoints with other programs
/// (docs/storage.md). A tier still moves bytes.
struct StateField {
  enum class Type : unsigned char { float32, float64, int32, int64, bytes };

  std::string name;
  Type type = Type::float64;
  std::vector<std::size_t> shape = {};  ///< last index fastest; empty: one number

  friend bool operator==(const StateField&, const StateField&) = default;
};

/// Bytes of one number.
[[nodiscard]] std::size_t bytes_of(StateField::Type type) noexcept;
/// Bytes of the field.
[[nodiscard]] std::size_t bytes_of(const StateField& field) noexcept;
/// "y float64 (512, 512)".
[[nodiscard]] std::string to_string(const StateField& field);

}  // namespace costate
