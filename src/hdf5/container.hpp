#pragma once

#include <cstddef>
#include <string>

#include "costate/core/bytes.hpp"
#include "costate/core/step.hpp"

namespace costate::detail {

/// An HDF5 file of rows of equal size, each with a header (row_header.hpp):
///
///     /states          bytes, (rows, stride)      /headers         RowHeader, (rows or more)
///     /records         bytes, (2, record_stride)  /record_headers  RowHeader, (64)
///
/// Everything is allocated when the file is made and HDF5's part of it never changes again. So HDF5
/// is needed only to make it and to find where the datasets lie; rows and headers are then read and
/// written at their place in the file. That is why no HDF5 object stays open, why a killed process
/// leaves a file that opens, and why a small read never waits for a large write behind HDF5's lock.
struct Container {
  Slot rows = 0;
  std::size_t row_bytes = 0;     ///< most that a row holds
  std::size_t stride = 0;        ///< distance of two rows
  std::size_t record_bytes = 0;  ///< most that a record holds; 0: there are no records
  std::size_t record_stride = 0;
  std::string identity;  ///< whose file it is; free text

  // Places in the file.
  Bytes states = 0;
  Bytes headers = 0;
  Bytes records = 0;
  Bytes record_headers = 0;
  Bytes size = 0;  ///< of the file

  /// Distance of two rows that hold that many bytes: whole pages for large ones.
  [[nodiscard]] static std::size_t stride_for(std::size_t row_bytes) noexcept;
};

/// Makes the file, which must not exist.
/// @param wanted  rows, row_bytes, record_bytes, identity
Container create_container(const std::string& path, const Container& wanted);

/// Finds the way in a file that `create_container` made.
/// @throws StorageError if it is none, or of another version or byte order
Container open_container(const std::string& path);

}  // namespace costate::detail
