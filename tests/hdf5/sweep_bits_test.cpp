#include <algorithm>
#include <string>
#include <vector>

#include <hdf5.h>

#include "costate/core/error.hpp"
#include "costate/hdf5/disk.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/storage/memory_tier.hpp"
#include "costate/sweep/sweep.hpp"
#include "support/catch.hpp"
#include "support/map_stepper.hpp"
#include "support/temp_folder.hpp"

using namespace costate;
using costate::test::Ending;
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

}  // namespace

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

  for (const Slot memory : {0, 1, 2, 3, 5, 37}) {
    for (const Slot disk : {0, 1, 2, 3, 5, 37}) {
      if (memory + disk == 0) continue;
      for (const int threads : {0, 1, 2}) {
        if (disk == 0 && threads > 0) continue;
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
