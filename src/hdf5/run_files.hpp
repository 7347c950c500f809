#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "costate/storage/file_system.hpp"

/// @file
/// What lies in a run directory besides checkpoints and log: the lock and the result.

namespace costate::detail {

[[nodiscard]] std::string states_path(const std::string& directory);
[[nodiscard]] std::string log_path(const std::string& directory);
[[nodiscard]] std::string result_path(const std::string& directory);
[[nodiscard]] std::string lock_path(const std::string& directory);

/// Whether there is something of that name.
/// @throws StorageError if that cannot be told
[[nodiscard]] bool exists(const std::string& path);

/// A lock that the system takes back when the process ends, however it ends. Its file tells the
/// process.
class DirectoryLock {
 public:
  /// @throws StorageError if another process has it
  explicit DirectoryLock(const std::string& directory);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  std::string path_;
  int fd_;
};

/// Who works on the run, as far as the lock tells: "process 1234 on node7". Empty: nobody. Takes no
/// lock.
[[nodiscard]] std::string worker_of(const std::string& directory);

/// A finished run.
struct Result {
  std::string identity;
  std::string library;  ///< that finished it
  std::vector<std::byte> bytes;
};

/// Written aside, synced and renamed.
void write_result(FileSystem& files, const std::string& directory, const std::string& identity,
                  const std::string& library, std::span<const std::byte> bytes);

/// Nothing if there is none.
/// @throws StorageError if it is damaged
[[nodiscard]] std::optional<Result> read_result(FileSystem& files, const std::string& directory);

}  // namespace costate::detail
