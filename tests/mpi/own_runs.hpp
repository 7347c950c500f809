#pragma once

// Runs on disk of which every rank keeps its part.

#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>

#include <unistd.h>

#include "costate/hdf5/run_directory.hpp"
#include "costate/mpi/sweep.hpp"
#include "costate/sweep/budget.hpp"

namespace costate::test {

/// A new folder for all ranks, gone at the end of the scope.
class SharedFolder {
 public:
  explicit SharedFolder(mpi::Ranks& ranks) : ranks_(ranks) {
    const auto process = static_cast<std::int64_t>(::getpid());
    static int count = 0;
    path_ = std::filesystem::temp_directory_path().string() + "/costate-mpi-" +
            std::to_string(ranks.most(process)) + "-" + std::to_string(count++);
  }
  ~SharedFolder() {
    try {
      ranks_.meet("remove the folder");
      std::error_code ignored;
      if (ranks_.rank() == 0) std::filesystem::remove_all(path_, ignored);
    } catch (const Error&) {
      // A test has failed on another rank, which says so.
    }
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  mpi::Ranks& ranks_;
  std::string path_;
};

/// So many slots in memory, and on disk about so many; a record wherever there can be one.
inline RunOptions own_run(const mpi::Ranks& ranks, const std::string& folder,
                          const Stepper& stepper, Slot memory_slots, Slot disk_slots,
                          FileSystem* files = nullptr) {
  const std::size_t bytes = stepper.state_bytes();
  const std::size_t record = 8 + (bytes + 7) / 8 * 8 + stepper.progress_bytes();
  const auto pages = [](std::size_t n) { return (n + 4095) / 4096 * 4096; };
  const RunSpec store =
      run_directory({.directory = mpi::own_directory(folder, ranks),
                     .capacity = 36_KiB + static_cast<Bytes>(disk_slots + 3) * (pages(bytes) + 64) +
                                 2 * pages(record),
                     .io_threads = ranks.rank() % 2,
                     .buffers = 2,
                     .durability = Durability::none,
                     .files = files});
  return {
      .store = store,
      .identity = "burgers",
      .memory = memory_for(memory_slots, bytes) + record + store->memory_bytes(bytes, disk_slots),
      .safety_every = 0,
      .progress_interval = 1e-9};
}

}  // namespace costate::test
