#include "costate/storage/state_field.hpp"

namespace costate {

std::size_t bytes_of(StateField::Type type) noexcept {
  switch (type) {
    case StateField::Type::float32:
    case StateField::Type::int32:
      return 4;
    case StateField::Type::float64:
    case StateField::Type::int64:
      return 8;
    case StateField::Type::bytes:
      return 1;
  }
  return 1;
}

std::size_t bytes_of(const StateField& field) noexcept {
  std::size_t bytes = bytes_of(field.type);
  for (const std::size_t length : field.shape) bytes *= length;
  return bytes;
}

std::string to_string(const StateField& field) {
  std::string out = field.name;
  switch (field.type) {
    case StateField::Type::float32:
      out += " float32";
      break;
    case StateField::Type::float64:
      out += " float64";
      break;
    case StateField::Type::int32:
      out += " int32";
      break;
    case StateField::Type::int64:
      out += " int64";
      break;
    case StateField::Type::bytes:
      out += " bytes";
      break;
  }
  if (field.shape.empty()) return out;
  const char* separator = " (";
  for (const std::size_t length : field.shape) {
    out += separator + std::to_string(length);
    separator = ", ";
  }
  return out + ")";
}

}  // namespace costate
