#pragma once

#include <string>

#include "costate/core/bytes.hpp"
#include "costate/hdf5/disk.hpp"
#include "costate/storage/run_store.hpp"

/// @file
/// A directory in which a run survives being killed; for `run_or_resume` (sweep/run.hpp). In it:
///
///     lock         held while a process works on the run
///     states.h5    checkpoints and records
///     steps.log    what is recorded of each step
///     result       of a finished run
///
/// Other files in it are never touched.

namespace costate {

struct RunDirectoryOptions {
  std::string directory;                         ///< made if it is not there
  Bytes capacity = 10_GiB;                       ///< most that states.h5 may take
  bool keep = false;                             ///< keep states.h5 and steps.log of a finished run
  int io_threads = 1;                            ///< as in Hdf5Options
  int buffers = 4;                               ///< as in Hdf5Options
  Durability durability = Durability::interval;  ///< of checkpoints; what a power cut may take.
                                                 ///< Records are synced unless this is `none`
  double sync_seconds = 30;
  Compression compression{};    ///< as in Hdf5Options, with a ratio of 1; the same at each call
  FileSystem* files = nullptr;  ///< nullptr: the machine's own; must outlive the run
};

/// Where a run lives.
/// @throws InvalidArgument if an option is out of range
[[nodiscard]] RunSpec run_directory(const RunDirectoryOptions& options);

}  // namespace costate
