#pragma once

#include <string>

#include "costate/core/bytes.hpp"
#include "costate/hdf5/compression.hpp"
#include "costate/storage/disk_spec.hpp"
#include "costate/storage/file_system.hpp"

/// @file
/// The disk as a tier: checkpoints in one HDF5 file of fixed rows (docs/storage.md). The component
/// `costate::hdf5`.

namespace costate {

/// When a checkpoint is forced onto the device. A killed process loses nothing in any mode; what is
/// decided here is what a power cut may take.
enum class Durability : unsigned char {
  none,      ///< the system writes when it likes
  interval,  ///< all that was written since the last time, every `sync_seconds`
  every      ///< each checkpoint before it counts
};

struct Hdf5Options {
  std::string directory = ".";  ///< where the file is made; made itself if it is not there
  Bytes capacity = 10_GiB;      ///< most that the file may take
  bool keep = false;   ///< leave the file when the run is over. Otherwise it loses its name at once
                       ///< and its space when the run ends, however it ends
  int io_threads = 1;  ///< 0: reading and writing wait. Changes nothing in the result
  int buffers = 4;     ///< of the size of one state, in memory, >= 2 with threads, >= 1 without
  Durability durability = Durability::none;
  double sync_seconds = 30;     ///< for Durability::interval
  Compression compression{};    ///< lossless; off unless asked for
  FileSystem* files = nullptr;  ///< nullptr: the machine's own; must outlive the sweep
};

/// What to write into `Budget::disk`.
/// @throws InvalidArgument if a number is out of range
[[nodiscard]] DiskSpec hdf5(const Hdf5Options& options);

}  // namespace costate
