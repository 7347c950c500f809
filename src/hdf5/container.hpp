#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/core/step.hpp"
#include "costate/storage/file_system.hpp"
#include "costate/storage/state_field.hpp"

namespace costate::detail {

/// An HDF5 file of rows of equal size, each with a header (row_header.hpp):
///
///     /states          of `fields`, (rows), or    /headers         RowHeader, (rows or more)
///                      bytes, (rows, stride)
///     /records         bytes, (2, record_stride)  /record_headers  RowHeader, (64)
///
/// Everything is allocated when the file is made and HDF5's part of it never changes again. So HDF5
/// is needed only to make it and to find where the datasets lie; rows and headers are then read and
/// written at their place in the file. That is why no HDF5 object stays open, why a killed process
/// leaves a file that opens, and why a small read never waits for a large write behind HDF5's lock.
///
/// In front of HDF5's part lies a block of 4 KiB (an HDF5 user block) with a checksum of all that
/// HDF5 itself has written. It is compared before HDF5 sees the file: HDF5 1.10 does not survive
/// every damage to its own structures.
struct Container {
  Slot rows = 0;
  std::size_t row_bytes = 0;     ///< most that a row holds
  std::size_t stride = 0;        ///< distance of two rows
  std::size_t record_bytes = 0;  ///< most that a record holds; 0: there are no records
  std::size_t record_stride = 0;
  bool sparse = false;               ///< the place for rows is not reserved
  std::string identity;              ///< whose file it is; free text
  std::vector<StateField> fields;    ///< what a state consists of, if known
  std::uint64_t log_bytes = 0;       ///< of a run: what is logged of each step
  std::uint64_t memory = 0;          ///< of a run: its memory budget
  std::uint64_t memory_slots = 0;    ///< of a run: states that it keeps in memory
  std::string library = own_name();  ///< who made it: "costate 0.1.0"
  std::string created;               ///< when, UTC

  // Places in the file.
  Bytes states = 0;
  Bytes headers = 0;
  Bytes records = 0;
  Bytes record_headers = 0;
  Bytes size = 0;  ///< of the file

  /// What the two records and their headers take of the file.
  [[nodiscard]] static Bytes records_size(std::size_t record_bytes) noexcept;
  /// Name and version of this library.
  [[nodiscard]] static std::string own_name();

  /// Distance of two rows that hold that many bytes: whole pages for large ones.
  [[nodiscard]] static std::size_t stride_for(std::size_t row_bytes) noexcept;
};

/// Makes the file, which must not exist.
/// @param wanted  rows, row_bytes, record_bytes, sparse and the descriptions
Container create_container(FileSystem& files, const std::string& path, const Container& wanted);

/// Finds the way in a file that `create_container` made.
/// @throws StorageError if it is none, damaged, cut off, or of another version or byte order
Container open_container(FileSystem& files, const std::string& path);

}  // namespace costate::detail
