#pragma once

// Runs in a directory with so many slots, and processes that die at a chosen step.

#include <csignal>
#include <cstddef>
#include <stdexcept>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "costate/hdf5/run_directory.hpp"
#include "costate/sweep/run.hpp"
#include "support/catch.hpp"

namespace costate::test {

struct Setting {
  std::string directory;
  Slot memory_slots = 3;
  Slot disk_slots = 4;
  int threads = 1;
  double safety_every = 0;
  FileSystem* files = nullptr;
  std::string identity = "test";
  bool packed = false;
};

// Room for so many slots, some spare rows, two records, and what HDF5 needs.
template <typename Model>
Bytes capacity_for(const Setting& s, const Model& model) {
  const auto pages = [](std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; };
  const std::size_t state = model.state_bytes();
  return 36_KiB + static_cast<Bytes>(s.disk_slots + 3) * (pages(state) + 64) +
         2 * pages(8 + (state + 7) / 8 * 8 + model.progress_bytes());
}

template <typename Model>
RunOptions options_for(const Setting& s, const Model& model) {
  const std::size_t bytes = model.state_bytes();
  const int buffers = s.threads == 0 ? 1 : 4;
  const RunSpec store = run_directory(
      {.directory = s.directory,
       .capacity = capacity_for(s, model),
       .io_threads = s.threads,
       .buffers = buffers,
       .durability = Durability::none,
       .compression = {.codec = s.packed ? Compression::Codec::zstd : Compression::Codec::none},
       .files = s.files});
  const std::size_t record = 8 + (bytes + 7) / 8 * 8 + model.progress_bytes();
  return {.store = store,
          .identity = s.identity,
          .memory =
              memory_for(s.memory_slots, bytes) + record + store->memory_bytes(bytes, s.disk_slots),
          .safety_every = s.safety_every};
}

// Dies at the count-th step that it runs or reverses.
template <typename Model>
class Mortal final : public Model {
 public:
  using Model::Model;
  long dies_at = -1;
  bool throws = false;
  long calls = 0;
  void at(Step, bool) override {
    if (calls++ != dies_at) return;
    if (throws) throw std::runtime_error("interrupted");
    ::kill(::getpid(), SIGKILL);
  }
};

// Runs in a child process. Returns whether it was killed.
template <typename Work>
bool in_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      work();
      ::_exit(0);
    } catch (...) {
      ::_exit(3);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE((WIFSIGNALED(status) || WEXITSTATUS(status) == 0));
  return WIFSIGNALED(status);
}

}  // namespace costate::test
