// The tiers against the machine: how much of the speed of a copy, of a plain write and read, is
// left, and how much of the time of writing and reading a sweep hides behind its steps.
//
// Usage: storage [directory [memory|disk|compression|hiding]]
// Everything is a ratio of two times of this one run.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "costate/costate.hpp"
#include "costate/hdf5/disk.hpp"
#include "costate/storage/memory_tier.hpp"
#include "costate/storage/pool.hpp"
#include "costate/sweep/sweep.hpp"
#include "support/gray_scott.hpp"
#include "support/measure.hpp"

using costate::Bytes;
using costate::Slot;
using costate::Step;
using namespace costate::literals;

namespace {

// Of the clock on the wall: waiting counts.
double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The best of some rounds, the two in turn, so that both meet the same machine.
std::pair<double, double> best_of(int rounds, const std::function<void()>& a,
                                  const std::function<void()>& b) {
  double best_a = 1e300;
  double best_b = 1e300;
  for (int i = 0; i < rounds; ++i) {
    best_a = std::min(best_a, seconds_of(a));
    best_b = std::min(best_b, seconds_of(b));
  }
  return {best_a, best_b};
}

void memory(std::size_t bytes) {
  const Slot slots = static_cast<Slot>(std::clamp<std::size_t>(128_MiB / bytes, 2, 100'000));
  costate::MemoryTier tier({.row_bytes = bytes, .slots = slots, .touch = true});
  const std::size_t stride = costate::MemoryTier::stride(bytes);
  costate::Pool pool(stride * static_cast<std::size_t>(slots));
  pool.touch(pool.size());
  std::vector<std::byte> state(bytes, std::byte{1});
  const auto plain = [&](bool in) {
    for (Slot s = 0; s < slots; ++s) {
      std::byte* const row = pool.data() + stride * static_cast<std::size_t>(s);
      std::memcpy(in ? row : state.data(), in ? state.data() : row, bytes);
    }
  };
  const auto ours = [&](bool in) {
    for (Slot s = 0; s < slots; ++s) {
      if (in) {
        if (tier.index(s) >= 0) tier.drop(s);
        std::memcpy(tier.begin_write(s, s, bytes).data(), state.data(), bytes);
        tier.commit(s);
      } else {
        std::memcpy(state.data(), tier.read(s, s).data(), bytes);
      }
    }
  };
  for (const bool in : {true, false}) {
    const auto [copy, tiered] = best_of(
        7, [&] { plain(in); }, [&] { ours(in); });
    const double each = tiered / static_cast<double>(slots);
    std::printf("memory %-9s %-5s  %.2f of memcpy  (%.3g us)\n",
                costate::format_bytes(bytes).c_str(), in ? "write" : "read", copy / tiered,
                each * 1e6);
  }
}

// Writes the file's pages to the device and forgets them. Returns the seconds it took.
double forget(const std::string& directory) {
  return seconds_of([&] {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      const int fd = ::open(entry.path().c_str(), O_RDONLY);
      if (fd < 0) continue;
      ::fdatasync(fd);
      ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
      ::close(fd);
    }
  });
}

// A checkpoint on disk is copied into a buffer of the tier and out of it, and has a checksum; a
// thread of the tier does the rest while the next is copied. A plain call moves the bytes from and
// to where they are. Cold: the page cache has forgotten the file before it is read.
void disk(const std::string& directory, std::size_t bytes, int threads) {
  const Slot slots = static_cast<Slot>(std::clamp<std::size_t>(1_GiB / bytes, 8, 256));
  const std::string folder = directory + "/disk";
  const auto tier = costate::hdf5({.directory = folder,
                                   .keep = true,
                                   .io_threads = threads,
                                   .buffers = threads > 0 ? 4 : 1})
                        ->make(bytes, slots);
  const std::string path = folder + "/raw";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || ::posix_fallocate(fd, 0, static_cast<off_t>(bytes) * slots) != 0) {
    throw std::runtime_error("cannot make " + path);
  }
  std::vector<std::byte> state(bytes, std::byte{1});
  bool whole = true;
  const auto raw = [&](bool in) {
    for (Slot s = 0; s < slots; ++s) {
      const off_t place = static_cast<off_t>(bytes) * s;
      const ssize_t moved =
          in ? ::pwrite(fd, state.data(), bytes, place) : ::pread(fd, state.data(), bytes, place);
      whole = whole && moved == static_cast<ssize_t>(bytes);
    }
  };
  bool full = false;
  const auto ours = [&](bool in) {
    for (Slot s = 0; s < slots; ++s) {
      if (in) {
        if (full) tier->drop(s);
        tier->fill(tier->begin_write(s, s, bytes), state);
        tier->commit(s);
      } else {
        // As a sweep does: the next ones are asked for before this one is used.
        for (Slot next = s; next < std::min(slots, s + 1 + tier->prefetch_depth()); ++next) {
          if (!tier->prefetch(next, next)) break;
        }
        tier->read_into(s, s, state);
      }
    }
    tier->flush();
    full = true;
  };
  const auto measure = [&](const char* what, bool in, bool cold) {
    std::vector<double> ratios;
    double best = 1e300;
    for (int round = 0; round < (cold ? 3 : 7); ++round) {
      if (cold) forget(folder);
      if (in) ::sync();
      const double plain = seconds_of([&] { raw(in); });
      if (cold) forget(folder);
      if (in) ::sync();
      const double tiered = seconds_of([&] { ours(in); });
      if (round > 0 || cold) ratios.push_back(plain / tiered);
      best = std::min(best, tiered);
    }
    const double rate = static_cast<double>(bytes) * static_cast<double>(slots) / best / 1e9;
    std::printf("disk   %-9s %-10s %.2f of p%-5s  (%.2f GB/s, copy and checksum included, %s)%s\n",
                costate::format_bytes(bytes).c_str(), what, bench::median(ratios),
                in ? "write" : "read", rate, threads > 0 ? "behind the sweep" : "waiting",
                whole ? "" : "  FAILED");
  };
  measure("write", true, false);
  measure("read", false, false);
  measure("read cold", false, true);
  ::close(fd);
  std::filesystem::remove_all(folder);
}

// The state of Gray-Scott after some steps, compressed and not.
void compressed(const std::string& directory, std::ptrdiff_t size, int steps) {
  const GrayScott model{.size = size};
  auto objective = costate::terminal([](const auto&, const auto&) { return 0.0; },
                                     [](const auto&, const auto&, auto&, auto&) {});
  costate::OdeStepper<GrayScott, costate::RungeKutta4, decltype(objective)> stepper(
      model, costate::RungeKutta4{.steps = steps}, objective, 0, 0.35 * steps, initial_fields(size),
      Eigen::Vector2d(0.024, 0.06));
  stepper.advance(0, steps, costate::Pass::first);
  std::vector<std::byte> state(stepper.state_bytes());
  stepper.save(state);
  for (const char* name : {"none", "zstd:-5", "zstd", "zstd:5"}) {
    const auto tier = costate::hdf5({.directory = directory,
                                     .io_threads = 0,
                                     .buffers = 1,
                                     .compression = costate::compression(name)})
                          ->make(state.size(), 8);
    const auto work = [&](bool in) {
      for (Slot s = 0; s < 8; ++s) {
        if (in) {
          std::memcpy(tier->begin_write(s, s, state.size()).data(), state.data(), state.size());
          tier->commit(s);
        } else {
          (void)tier->read(s, s);
        }
      }
      if (!in) {
        for (Slot s = 0; s < 8; ++s) tier->drop(s);
      }
    };
    double write = 1e300;
    double read = 1e300;
    for (int round = 0; round < 5; ++round) {
      write = std::min(write, seconds_of([&] { work(true); }));
      read = std::min(read, seconds_of([&] { work(false); }));
    }
    const double mib = 8 * static_cast<double>(state.size()) / 1048576;
    std::printf(
        "compression %-8s of Gray-Scott %td^2, step %-6d %.2f times smaller; "
        "%.2f ms a MiB to write, %.2f to read\n",
        name, size, steps, tier->use().ratio(), 1e3 * write / mib, 1e3 * read / mib);
  }
}

// Gray-Scott with all checkpoints on disk. Hidden: the share of the time that I/O adds to the
// synchronous sweep which the asynchronous one does not show; and the share of the time in saves
// and loads that it does not spend there, which scatters less. Cold: between the two sweeps the
// page cache forgets the file, so that every read goes to the device.
void hiding(const std::string& directory, std::ptrdiff_t size, bool cold) {
  constexpr Step n = 32;
  const GrayScott model{.size = size};
  const Eigen::VectorXd y0 = initial_fields(size);
  auto objective =
      costate::terminal([](const auto& y, const auto&) { return 0.5 * y.squaredNorm(); },
                        [](const auto& y, const auto&, auto& y_bar, auto&) { y_bar += y; });
  const std::string folder = directory + "/hiding";
  costate::Workspace workspace;
  using Stepper = costate::OdeStepper<GrayScott, costate::RungeKutta4, decltype(objective)>;
  const auto sweep_with = [&](int threads, bool on_disk) {
    Stepper stepper(model, costate::RungeKutta4{.steps = n}, objective, 0, 0.05 * n, y0,
                    Eigen::Vector2d(0.024, 0.06));
    const std::size_t bytes = stepper.state_bytes();
    costate::SweepOptions options{.guard = costate::ReplayGuard::off};
    options.budget.memory = costate::memory_for(n, bytes);
    options.budget.workspace = &workspace;
    double forgetting = 0;
    if (on_disk) {
      options.budget.disk = costate::hdf5({.directory = folder,
                                           .capacity = 8_GiB,
                                           .keep = true,
                                           .io_threads = threads,
                                           .buffers = 6});
      options.budget.memory =
          costate::memory_for(0, bytes) + options.budget.disk->memory_bytes(bytes, n);
      options.progress_interval = 0;
      bool forgotten = !cold;
      options.progress = [&, forgotten](const costate::Progress& progress) mutable {
        if (forgotten || progress.phase != costate::Progress::Phase::reverse) return;
        forgotten = true;
        forgetting = forget(folder);
      };
    }
    const costate::Report report = costate::sweep(stepper, options);
    std::filesystem::remove_all(folder);
    return std::array{report.total_seconds - report.setup_seconds - forgetting,
                      report.storage_seconds};
  };
  std::vector<double> none;
  std::vector<double> waiting;
  std::vector<double> behind;
  std::vector<double> calls;
  for (int round = 0; round < 10; ++round) {
    const auto [memory, in_memory] = sweep_with(0, false);
    const auto [slow, slow_io] = sweep_with(0, true);
    const auto [fast, fast_io] = sweep_with(1, true);
    if (round == 0) continue;
    none.push_back(memory);
    waiting.push_back(slow);
    behind.push_back(fast);
    calls.push_back(100 * (slow_io - fast_io) / slow_io);
  }
  const double slow = bench::median(waiting);
  const double fast = bench::median(behind);
  std::printf(
      "hiding, Gray-Scott %td^2, page cache %s: memory %.3f s, disk waiting %.3f s, behind "
      "%.3f s: %.0f %% hidden; of saves and loads %.0f %%\n",
      size, cold ? "cold" : "warm", bench::median(none), slow, fast,
      100 * (slow - fast) / (slow - bench::median(none)), bench::median(calls));
}

}  // namespace

int main(int argc, char** argv) try {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string directory = argc > 1 ? argv[1] : ".";
  const std::string only = argc > 2 ? argv[2] : "";
  const auto wanted = [&](const char* part) { return only.empty() || only == part; };
  if (wanted("memory")) {
    for (const std::size_t bytes : {24_B, 4_KiB, 1_MiB, 64_MiB}) memory(bytes);
  }
  if (wanted("disk")) {
    for (const std::size_t bytes : {1_MiB, 16_MiB, 256_MiB}) {
      for (const int threads : {0, 1}) disk(directory, bytes, threads);
    }
  }
  if (wanted("compression")) {
    for (const int steps : {1500, 10000}) compressed(directory, 256, steps);
  }
  if (wanted("hiding")) {
    for (const bool cold : {false, true}) hiding(directory, 1024, cold);
  }
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "storage: %s\n", error.what());
  return EXIT_FAILURE;
}
