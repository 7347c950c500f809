// The tiers against the machine: how much of the speed of a copy, of a plain write and read, is
// left, and how much of the time of writing and reading a sweep hides behind its steps.
//
// Usage: storage [directory]      Everything is a ratio of two times of this one run.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "costate/hdf5/disk.hpp"
#include "costate/storage/memory_tier.hpp"
#include "costate/storage/pool.hpp"
#include "costate/sweep/sweep.hpp"

using costate::Bytes;
using costate::Slot;
using costate::Step;
using namespace costate::literals;

namespace {

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

void disk(const std::string& directory, std::size_t bytes) {
  const Slot slots = static_cast<Slot>(std::clamp<std::size_t>(256_MiB / bytes, 2, 64));
  const auto tier =
      costate::hdf5({.directory = directory, .io_threads = 0, .buffers = 1})->make(bytes, slots);
  const std::string path = directory + "/raw";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || ::unlink(path.c_str()) != 0 ||
      ::posix_fallocate(fd, 0, static_cast<off_t>(bytes) * slots) != 0) {
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
        std::memcpy(tier->begin_write(s, s, bytes).data(), state.data(), bytes);
        tier->commit(s);
      } else {
        std::memcpy(state.data(), tier->read(s, s).data(), bytes);
      }
    }
    full = true;
  };
  for (const bool in : {true, false}) {
    const auto [plain, tiered] = best_of(
        5, [&] { raw(in); }, [&] { ours(in); });
    const double rate = static_cast<double>(bytes) * static_cast<double>(slots) / tiered / 1e9;
    std::printf("disk   %-9s %-5s  %.2f of p%s  (%.2f GB/s, copy and checksum included)%s\n",
                costate::format_bytes(bytes).c_str(), in ? "write" : "read", plain / tiered,
                in ? "write" : "read", rate, whole ? "" : "  FAILED");
  }
  ::close(fd);
}

// Diffusion on a square by as many sweeps over it as make a step: its cost can be chosen.
class Diffusion final : public costate::Stepper {
 public:
  Diffusion(std::size_t m, int work, Step n) : m_(m), work_(work), n_(n), u_(m * m), v_(m * m) {
    for (std::size_t i = 0; i < u_.size(); ++i) u_[i] = std::sin(static_cast<double>(i));
  }
  Step advance(Step from, Step to, costate::Pass) override {
    for (Step k = from; k < to; ++k) apply();
    return to;
  }
  void turn(Step) override {}
  void reverse(Step) override {
    apply();
    apply();
  }
  [[nodiscard]] std::size_t state_bytes() const override { return 8 * u_.size(); }
  void save(std::span<std::byte> out) const override {
    std::memcpy(out.data(), u_.data(), out.size());
  }
  void load(std::span<const std::byte> in) override {
    std::memcpy(u_.data(), in.data(), in.size());
  }
  [[nodiscard]] Step steps() const override { return n_; }

 private:
  void apply() {
    for (int w = 0; w < work_; ++w) {
      for (std::size_t i = 1; i + 1 < m_; ++i) {
        for (std::size_t j = 1; j + 1 < m_; ++j) {
          const std::size_t at = i * m_ + j;
          v_[at] =
              u_[at] + 0.2 * (u_[at - 1] + u_[at + 1] + u_[at - m_] + u_[at + m_] - 4 * u_[at]);
        }
      }
      std::swap(u_, v_);
    }
  }
  std::size_t m_;
  int work_;
  Step n_;
  std::vector<double> u_, v_;
};

// All checkpoints on disk. Hidden: the share of the time that I/O adds to the synchronous sweep
// which the asynchronous one does not show.
void hiding(const std::string& directory, std::size_t m, int work) {
  constexpr Step n = 40;
  const auto sweep_with = [&](int threads, bool on_disk) {
    Diffusion model(m, work, n);
    const std::size_t bytes = model.state_bytes();
    costate::SweepOptions options{.guard = costate::ReplayGuard::off};
    options.budget.memory = costate::memory_for(n, bytes);
    if (on_disk) {
      options.budget.disk = costate::hdf5(
          {.directory = directory, .capacity = 8_GiB, .io_threads = threads, .buffers = 6});
      options.budget.memory =
          costate::memory_for(0, bytes) + options.budget.disk->memory_bytes(bytes, n);
    }
    const costate::Report report = costate::sweep(model, options);
    return report.total_seconds - report.setup_seconds;
  };
  double none = 1e300;
  double waiting = 1e300;
  double behind = 1e300;
  for (int round = 0; round < 3; ++round) {
    none = std::min(none, sweep_with(0, false));
    waiting = std::min(waiting, sweep_with(0, true));
    behind = std::min(behind, sweep_with(1, true));
  }
  std::printf(
      "hiding %-9s x %d work  memory %.3f s, disk waiting %.3f s, behind %.3f s: %.0f %% hidden\n",
      costate::format_bytes(8 * m * m).c_str(), work, none, waiting, behind,
      100 * (waiting - behind) / std::max(waiting - none, 1e-9));
}

}  // namespace

int main(int argc, char** argv) try {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string directory = argc > 1 ? argv[1] : ".";
  for (const std::size_t bytes : {24_B, 4_KiB, 1_MiB, 64_MiB}) memory(bytes);
  for (const std::size_t bytes : {1_MiB, 16_MiB, 256_MiB}) disk(directory, bytes);
  for (const int work : {2, 8}) hiding(directory, 1024, work);
  return EXIT_SUCCESS;
} catch (const std::exception& error) {
  std::fprintf(stderr, "storage: %s\n", error.what());
  return EXIT_FAILURE;
}
