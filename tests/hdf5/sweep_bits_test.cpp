#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <hdf5.h>

#include "costate/core/error.hpp"
#include "costate/hdf5/disk.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/storage/memory_tier.hpp"
#include "costate/sweep/sweep.hpp"
#include "support/catch.hpp"
#include "support/faulty_files.hpp"
#include "support/map_stepper.hpp"
#include "support/temp_folder.hpp"

using namespace costate;
using costate::test::Ending;
using costate::test::FaultyFiles;
using costate::test::MapOptions;
using costate::test::MapStepper;
using costate::test::TempFolder;

namespace {

// What the disk itself needs of the memory.
Budget budget_for(Slot memory_slots, Slot disk_slots, const Hdf5Options& options, std::size_t bytes,
                  bool varying = false) {
  const Bytes memory = MemoryTier::stride(bytes) + static_cast<Bytes>(memory_slots) *
                                                       MemoryTier::bytes_per_slot(bytes, varying);
  if (disk_slots == 0) return {.memory = memory};
  const DiskSpec disk = hdf5(options);
  return {.memory = memory + disk->memory_bytes(bytes, disk_slots), .disk = disk};
}

// y_{k+1} = y_k + 0.6 sin y_k, J = y_n; the state is y_k 1000 times over, or 500, 1000 or 1500
// times. It knows its states and counts how often it was to use something else.
class Piece final : public Stepper {
 public:
  static constexpr Step n = 30;
  double y_bar = 0;
  bool varying = false;
  std::size_t excess = 0;  // bytes that its memory is longer than the state
  mutable int misused = 0;

  Piece() {
    double y = 1;
    for (Step k = 0; k <= n; ++k, y = next(y)) states_.push_back(y);
  }

  Step advance(Step from, Step to, Pass /*pass*/) override {
    for (Step k = from; k < to; ++k) {
      look(k);
      y_.assign(varying ? 500 * (1 + static_cast<std::size_t>(k % 3)) : 1000, next(y_.front()));
    }
    return to;
  }
  void turn(Step /*n*/) override { y_bar = 1; }
  void reverse(Step k) override {
    look(k);
    y_bar *= 1 + 0.6 * std::cos(y_.front());
  }
  [[nodiscard]] std::size_t state_bytes() const override { return 8 * y_.size(); }
  [[nodiscard]] std::size_t max_state_bytes() const override { return varying ? 12'000 : 8000; }
  [[nodiscard]] bool state_size_varies() const override { return varying; }
  void save(std::span<std::byte> out) const override {
    std::memcpy(out.data(), y_.data(), out.size());
  }
  void load(std::span<const std::byte> in) override {
    if (in.data() == state_memory().data()) return;
    y_.resize(in.size() / 8);
    std::memcpy(y_.data(), in.data(), in.size());
  }
  [[nodiscard]] std::span<std::byte> state_memory() override {
    return {reinterpret_cast<std::byte*>(y_.data()), state_bytes() + excess};
  }
  [[nodiscard]] Step steps() const override { return n; }

 private:
  static double next(double y) { return y + 0.6 * std::sin(y); }
  void look(Step k) const {
    const double right = states_[static_cast<std::size_t>(k)];
    if (std::ranges::any_of(y_, [&](double y) { return y != right; })) ++misused;
  }

  std::vector<double> states_;
  std::vector<double> y_ = std::vector<double>(1000, 1.0);
};

// A model without a state.
class Nothing final : public Stepper {
 public:
  int calls = 0;
  Step advance(Step /*from*/, Step to, Pass /*pass*/) override {
    ++calls;
    return to;
  }
  void turn(Step /*n*/) override { ++calls; }
  void reverse(Step /*k*/) override { ++calls; }
  [[nodiscard]] std::size_t state_bytes() const override { return 0; }
  void save(std::span<std::byte> /*out*/) const override {}
  void load(std::span<const std::byte> /*in*/) override { ++calls; }
  [[nodiscard]] Step steps() const override { return 5; }
};

}  // namespace

TEST_CASE("A state of 0 bytes is an error before anything runs", "[hdf5][sweep][unit]") {
  const TempFolder folder;
  const bool on_disk = GENERATE(false, true);
  const DiskSpec disk = on_disk ? hdf5({.directory = folder.path()}) : DiskSpec();
  Nothing nothing;
  CHECK_THROWS_AS(sweep(nothing, {.budget = {.disk = disk}}), InvalidArgument);
  CHECK(nothing.calls == 0);
  CHECK(folder.files().empty());
}

TEST_CASE("A state in one piece of memory may vary in size", "[hdf5][sweep][property]") {
  const int threads = GENERATE(0, 2);
  const TempFolder folder;
  const Hdf5Options options{.directory = folder.path(), .io_threads = threads};
  Piece whole;
  sweep(whole);

  Piece piece;
  piece.varying = true;
  const Report report =
      sweep(piece, {.budget = budget_for(1, 3, options, piece.max_state_bytes(), true)});

  CHECK(report.tiers.at(1).reads > 0);
  CHECK(piece.misused == 0);
  CHECK(piece.y_bar == whole.y_bar);
}

TEST_CASE("A memory that is not as long as the state is refused", "[hdf5][sweep][unit]") {
  const TempFolder folder;
  Piece piece;
  piece.excess = 8;
  const Budget budget = budget_for(1, 3, {.directory = folder.path()}, piece.max_state_bytes());
  try {
    sweep(piece, {.budget = budget});
    FAIL_CHECK("a memory of another size was taken");
  } catch (const ScheduleError& error) {
    CHECK(std::string(error.what()).find("the state has 8000 bytes, its memory 8008") !=
          std::string::npos);
  }
}

TEST_CASE("What could not be read, or has another checksum, is never used",
          "[hdf5][sweep][fault]") {
  const auto fault = GENERATE(FaultyFiles::Fault::error, FaultyFiles::Fault::flip_on_read);
  const int threads = GENERATE(0, 2);
  const TempFolder folder;
  FaultyFiles files;
  // Four slots, so that states are used before they are dropped, and so few buffers that most loads
  // read the file.
  const Hdf5Options options{.directory = folder.path(),
                            .capacity = 32_KiB + 5 * (8192 + 64),
                            .io_threads = threads,
                            .buffers = threads == 0 ? 1 : 2,
                            .files = &files};
  const auto run = [&] {
    Piece piece;
    files.operations = 0;
    try {
      sweep(piece, {.budget = budget_for(1, 4, options, piece.max_state_bytes())});
    } catch (const StorageError&) {
      piece.y_bar = 0;
    }
    CHECK(piece.misused == 0);
    return piece.y_bar;
  };
  const double right = run();
  const long operations = files.operations;
  int refused = 0;
  files.fault = fault;
  for (files.at = 0; files.at < operations; ++files.at) {
    CAPTURE(static_cast<int>(fault), threads, files.at.load());
    const double found = run();
    CHECK((found == 0 || found == right));
    if (found == 0) ++refused;
  }
  // With threads all that is hit may have been read for a prefetch that was given up.
  CHECK((refused > 0 || (threads > 0 && fault == FaultyFiles::Fault::flip_on_read)));
}

TEST_CASE("Slots, tiers, threads, known length or not: the same bits", "[hdf5][sweep][property]") {
  const Ending ending = GENERATE(Ending::known, Ending::before_last, Ending::after_last);
  const std::size_t padding = GENERATE(0U, 5000U);
  const std::size_t varying = GENERATE(0U, 999U);
  constexpr Step n = 37;
  const MapOptions map{.steps = n, .ending = ending, .padding = padding, .varying = varying};
  MapOptions plain = map;
  plain.ending = Ending::known;
  MapStepper whole(plain);
  sweep(whole);
  const std::size_t bytes = whole.max_state_bytes();

#ifdef COSTATE_SANITIZED
  const std::vector<Slot> counts = {0, 1, 3, n};
#else
  const std::vector<Slot> counts = {0, 1, 2, 3, 5, n};
#endif
  for (const Slot memory : counts) {
    for (const Slot disk : counts) {
      if (memory + disk == 0) continue;
      for (const int threads : {0, 1, 2}) {
        if (disk == 0 && threads > 0) continue;
#ifdef COSTATE_SANITIZED
        if (threads > 0 && threads != 1 + (memory + disk) % 2) continue;
#endif
        CAPTURE(static_cast<int>(ending), padding, varying, memory, disk, threads);
        const TempFolder folder;
        const Bytes row = bytes < 4096 ? (bytes + 63) / 64 * 64 : (bytes + 4095) / 4096 * 4096;
        const Hdf5Options options{.directory = folder.path(),
                                  .capacity = 32_KiB + static_cast<Bytes>(disk + 1) * (row + 64),
                                  .io_threads = threads};
        MapStepper stepper(map);

        Budget budget = budget_for(memory, disk, options, bytes, varying > 0);
        budget.disk_costs = threads == 0   ? TransferCosts{0, 0}
                            : threads == 1 ? TransferCosts{}
                                           : TransferCosts{.write = 30, .read = 10};

        const Report report = sweep(stepper, {.budget = budget});

        CHECK(stepper.bits() == whole.bits());
        CHECK(report.steps == n);
        CHECK(report.memory_peak <= report.memory_budget);
        CHECK(folder.files().empty());
        if (ending == Ending::known) {
          CHECK(report.advances == report.predicted.advances);
          const Step least = binomial_advances(n, memory + disk);
          CHECK((threads == 0 ? report.advances == least : report.advances >= least));
        }
      }
    }
  }
  CHECK(H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL) == 0);
}

TEST_CASE("C51: a run of one step touches no disk", "[hdf5][sweep][golden]") {
  const TempFolder folder;
  const Hdf5Options options{.directory = folder.path() + "/none"};
  for (const Slot memory : {0, 1}) {
    MapStepper stepper({.steps = 1});

    const Report report = sweep(stepper, {.budget = budget_for(memory, 5, options, 16)});

    CHECK(stepper.value == Catch::Approx(2.2646716123479614376).epsilon(1e-13));
    CHECK(stepper.y_bar == Catch::Approx(3.9854750224684888792).epsilon(1e-13));
    CHECK(stepper.p_bar == Catch::Approx(1.2663150357720392228).epsilon(1e-13));
    CHECK(report.advances == 0);
    for (const TierUse& tier : report.tiers) {
      CHECK(tier.writes == 0);
      CHECK(tier.reads == 0);
    }
    CHECK(folder.files().empty());
  }
}

TEST_CASE("A step that fails leaves no file, and the stepper can be used again",
          "[hdf5][sweep][fault]") {
  const TempFolder folder;
  const Hdf5Options options{.directory = folder.path()};
  MapStepper stepper({.steps = 50});
  const SweepOptions sweeping{.budget = budget_for(2, 10, options, 16)};
  stepper.throw_at = 30;
  CHECK_THROWS_WITH(sweep(stepper, sweeping), "the step failed");
  CHECK(folder.files().empty());

  stepper.throw_at = -1;
  stepper.start();
  sweep(stepper, sweeping);
  MapStepper whole({.steps = 50});
  sweep(whole);
  CHECK(stepper.bits() == whole.bits());
}
