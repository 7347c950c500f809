// No allocation inside the sweeps, memory flat from sweep to sweep.

#include <cstdio>
#include <cstring>

#include <unistd.h>

#include "costate/sweep/sweep.hpp"
#include "support/catch.hpp"
#include "support/count_allocations.hpp"

using namespace costate;
using costate::test::allocations;

namespace {

// Watches the count from its first step to its last reverse step.
class Watching final : public Stepper {
 public:
  explicit Watching(Step n) : n_(n) {}
  long allocated = 0;

  Step advance(Step from, Step to, Pass) override {
    if (from == 0 && allocated == 0) allocated = -allocations;
    for (Step k = from; k < to; ++k) x_[0] = 0.9 * x_[0] + 0.01;
    return to;
  }
  void turn(Step) override {}
  void reverse(Step k) override {
    if (k == 0) allocated += allocations;
  }
  [[nodiscard]] std::size_t state_bytes() const override { return sizeof x_; }
  void save(std::span<std::byte> out) const override { std::memcpy(out.data(), x_, sizeof x_); }
  void load(std::span<const std::byte> in) override { std::memcpy(x_, in.data(), sizeof x_); }
  [[nodiscard]] Step steps() const override { return n_; }

 private:
  Step n_;
  double x_[3] = {1, 2, 3};
};

}  // namespace

TEST_CASE("Nothing is allocated between the first step and the last reverse step",
          "[sweep][unit]") {
  const Slot slots = GENERATE(1, 2, 7, 50, 5000);
  const ReplayGuard guard = GENERATE(ReplayGuard::off, ReplayGuard::sampled);
  const bool watched = GENERATE(false, true);
  CAPTURE(slots, static_cast<int>(guard), watched);
  Watching stepper(slots == 1 ? 300 : 3000);
  SweepOptions options{.budget = {.memory = memory_for(slots, 24)}, .guard = guard};
  int told = 0;
  if (watched) options.progress = [&](const Progress&) { ++told; };
  options.progress_interval = 0;

  sweep(stepper, options);

  CHECK(stepper.allocated == 0);
  CHECK((told > 0) == watched);
}

#ifndef COSTATE_SANITIZED  // sanitizers keep freed memory back
namespace {

long resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long all = 0;
  long resident = 0;
  const int read = std::fscanf(file, "%ld %ld", &all, &resident);
  std::fclose(file);
  return read == 2 ? resident * sysconf(_SC_PAGESIZE) : -1;
}

}  // namespace

TEST_CASE("A hundred sweeps leave the memory as one does", "[sweep][unit]") {
  // Each sweep has a pool of some 15 MiB: if one in ten were lost, 150 MiB would be.
  const auto some = [](int sweeps) {
    for (int i = 0; i < sweeps; ++i) {
      Watching stepper(500'000);
      sweep(stepper);
    }
  };
  some(3);
  const long before = resident_bytes();
  some(100);
  REQUIRE(before > 0);
  CHECK(resident_bytes() - before < 15'000'000);
}
#endif
