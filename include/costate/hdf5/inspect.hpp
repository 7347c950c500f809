#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/core/step.hpp"
#include "costate/storage/run_store.hpp"
#include "costate/storage/state_field.hpp"

/// @file
/// What lies in a run directory or in a file of checkpoints, without taking part: nothing is
/// written, no lock is taken, and a process may be working on it at the same time.

namespace costate {

/// Whether a payload has the checksum that its header says.
enum class Integrity : unsigned char { unchecked, whole, damaged };

/// A checkpoint.
struct InspectedState {
  Step step;
  double time;  ///< NaN: not known
  Bytes bytes;  ///< as it lies there
  bool packed;  ///< compressed (compression.hpp)
  Slot slot;
  Slot row;  ///< of `/states`
  Integrity integrity;
};

/// A record of how far the sweep has come (RunRecord).
struct InspectedRecord {
  RunRecord::Phase phase;
  Step step;
  Step steps;   ///< of the run; `unknown`
  double time;  ///< NaN: not known
  Bytes bytes;
  Slot row;  ///< of `/records`
  Integrity integrity;
};

/// What was found.
struct Inspection {
  enum class Kind : unsigned char {
    run,       ///< a directory of a run that is not finished
    finished,  ///< a directory of a run that is
    file       ///< a file of checkpoints
  };
  Kind kind = Kind::file;
  std::string path;
  std::string worker;    ///< who works on the run now: "process 1234 on node7"; empty: nobody
  std::string identity;  ///< of the problem
  std::string library;   ///< that made it
  std::string created;   ///< when, UTC
  std::vector<StateField> fields;  ///< what a state consists of, if known

  Bytes file_bytes = 0;    ///< of the checkpoints' file
  Bytes state_bytes = 0;   ///< the largest state
  Slot slots = 0;          ///< checkpoints that it has room for
  Bytes memory = 0;        ///< the run's memory budget
  Slot memory_slots = 0;   ///< states that it keeps in memory
  Bytes result_bytes = 0;  ///< of a finished run
  Step logged = 0;         ///< steps in the log

  std::vector<InspectedState> states;    ///< that count, or would, were they whole; by step
  std::vector<InspectedRecord> records;  ///< the newest first
  std::size_t current = 0;          ///< the record that a resume takes up; records.size(): none
  std::vector<std::string> damage;  ///< one line each, naming the file
};

struct InspectOptions {
  bool verify = false;  ///< read every checkpoint and record and compare its checksum
};

/// Looks at a run directory, or at a file of checkpoints.
///
/// While a process works on the run, a checkpoint may be half written; it is then left out.
/// @throws InvalidArgument if there is nothing there, or neither of the two
/// @throws StorageError    if a file of checkpoints cannot be read at all; in a run directory that
///                         is damage, and the rest is told
[[nodiscard]] Inspection inspect(const std::string& path, const InspectOptions& options = {});

}  // namespace costate
