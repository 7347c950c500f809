// More than one disk: each is a tier with its own room and costs, and none changes a bit.

#include "costate/storage/stacked.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/hdf5/disk.hpp"
#include "costate/hdf5/inspect.hpp"
#include "costate/schedule/hierarchical.hpp"
#include "costate/storage/memory_tier.hpp"
#include "costate/sweep/sweep.hpp"
#include "support/catch.hpp"
#include "support/faulty_files.hpp"
#include "support/map_stepper.hpp"
#include "support/temp_folder.hpp"

using namespace costate;
using costate::test::Ending;
using costate::test::FaultyFiles;
using costate::test::MapStepper;
using costate::test::TempFolder;

namespace {

constexpr std::size_t padding = 5000;

Bytes capacity_of(Slot slots, std::size_t bytes) {
  return 32_KiB + static_cast<Bytes>(slots + 1) * ((bytes + 4095) / 4096 * 4096 + 64);
}

// Room for `memory` states beside what the disks need.
Budget budget_of(Slot memory, const DiskSpec& disk, std::size_t bytes) {
  return {.memory = MemoryTier::stride(bytes) +
                    static_cast<Bytes>(memory) * MemoryTier::bytes_per_slot(bytes) +
                    disk->memory_bytes(bytes, disk->slots(bytes)),
          .disk = disk};
}

const TierUse* find(const Report& report, const std::string& name) {
  const auto found = std::ranges::find(report.tiers, name, &TierUse::name);
  return found == report.tiers.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("Several disks, with and without threads, known length or not: the same bits",
          "[hdf5][sweep][property]") {
  const Ending ending = GENERATE(Ending::known, Ending::before_last, Ending::after_last);
  const Step n = 60;
  MapStepper whole({.steps = n, .padding = padding});
  sweep(whole);
  const std::size_t bytes = whole.max_state_bytes();
  bool lower_used = false;
  for (const Slot memory : {0, 1, 3}) {
    for (const int threads : {0, 1}) {
      for (const Slot upper : {1, 4}) {
        for (const Slot lower : {1, 5, 60}) {
          for (const double dear : {0.0, 8.0}) {
            CAPTURE(static_cast<int>(ending), memory, threads, upper, lower, dear);
            const TempFolder fast;
            const TempFolder slow;
            const DiskSpec disk = stacked({hdf5({.directory = fast.path(),
                                                 .capacity = capacity_of(upper, bytes),
                                                 .io_threads = threads}),
                                           hdf5({.directory = slow.path(),
                                                 .capacity = capacity_of(lower, bytes),
                                                 .io_threads = threads})});
            CHECK(disk->slots(bytes) == upper + lower);
            Budget budget = budget_of(memory, disk, bytes);
            budget.disk_costs = {.write = dear / 8, .read = dear / 8};
            budget.lower_costs = {{.write = dear, .read = dear}};
            MapStepper stepper({.steps = n, .ending = ending, .padding = padding});

            const Report report = sweep(stepper, {.budget = budget});

            CHECK(stepper.bits() == whole.bits());
            CHECK(report.memory_peak <= report.memory_budget);
            if (ending == Ending::known) CHECK(report.advances == report.predicted.advances);
            for (const TierUse& tier : report.tiers) CHECK(tier.peak <= tier.capacity);
            if (const TierUse* second = find(report, "disk 2")) {
              CHECK(second->slots <= lower);
              lower_used = lower_used || second->writes > 0;
            }
            CHECK(fast.files().empty());
            CHECK(slow.files().empty());
          }
        }
      }
    }
  }
  CHECK(lower_used);
}

TEST_CASE("A plan for three tiers puts its states where it says", "[hdf5][sweep][oracle]") {
  const Step n = 50;
  MapStepper whole({.steps = n, .padding = padding});
  sweep(whole);
  const std::size_t bytes = whole.max_state_bytes();
  const TempFolder folder;
  const DiskSpec disk =
      stacked({hdf5({.directory = folder.path(), .capacity = capacity_of(6, bytes)}),
               hdf5({.directory = folder.path(), .capacity = capacity_of(9, bytes)})});
  Costs costs;
  costs.tiers = {{.name = "memory", .slots = 2},
                 {.name = "disk", .slots = 3, .write = 0.5, .read = 0.5},
                 {.name = "disk 2", .slots = 5, .write = 1, .read = 1}};
  const Plan plan = hierarchical(costs, n);
  Budget budget = budget_of(2, disk, bytes);
  MapStepper stepper({.steps = n, .padding = padding});

  const Report report = sweep(stepper, {.budget = budget, .schedule = plan.schedule});

  CHECK(stepper.bits() == whole.bits());
  REQUIRE(report.tiers.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(report.tiers[i].name == costs.tiers[i].name);
    CHECK(report.tiers[i].writes == plan.counts.tiers[i].writes);
    CHECK(report.tiers[i].reads == plan.counts.tiers[i].reads);
  }
  CHECK(report.tiers[2].writes > 0);
}

TEST_CASE("A stack moves states and their times as its parts do", "[hdf5][unit]") {
  const TempFolder fast;
  const TempFolder slow;
  const std::vector<std::byte> state(padding, std::byte{7});
  {
    std::vector<std::unique_ptr<Tier>> parts;
    for (const TempFolder* folder : {&fast, &slow}) {
      parts.push_back(hdf5({.directory = folder->path(), .keep = true})->make(padding, 2));
    }
    StackedTier tier(std::move(parts));
    for (Slot slot = 1; slot < 3; ++slot) {
      tier.fill(tier.begin_write(slot, slot, padding), state);
      tier.label(0.25 * static_cast<double>(slot));
      tier.commit(slot);
      std::vector<std::byte> back(padding);
      tier.read_into(slot, slot, back);
      CHECK(back == state);
    }
    CHECK(tier.use().reads == 2);
  }
  CHECK(inspect(fast.files().at(0)).states.at(0).time == 0.25);
  CHECK(inspect(slow.files().at(0)).states.at(0).time == 0.5);
}

TEST_CASE("A fault of a lower disk names its file and step", "[hdf5][sweep][fault]") {
  const TempFolder fast;
  const TempFolder slow;
  MapStepper stepper({.steps = 60, .padding = padding});
  const std::size_t bytes = stepper.max_state_bytes();
  FaultyFiles files;
  files.fault = FaultyFiles::Fault::error;
  const DiskSpec disk = stacked(
      {hdf5({.directory = fast.path(), .capacity = capacity_of(2, bytes)}),
       hdf5({.directory = slow.path(), .capacity = capacity_of(60, bytes), .files = &files})});
  Budget budget = budget_of(1, disk, bytes);
  budget.disk_costs = {0, 0};
  bool failed = false;
  for (long at = 2; at < 60 && !failed; at += 7) {
    files.operations = 0;
    files.at = at;
    try {
      sweep(stepper, {.budget = budget});
    } catch (const StorageError& error) {
      CHECK(error.path.find(slow.path()) == 0);
      failed = error.step != unknown;  // not one of the file's making
    }
    stepper = MapStepper({.steps = 60, .padding = padding});
  }
  CHECK(failed);
}

TEST_CASE("A stack needs disks", "[hdf5][unit]") {
  CHECK_THROWS_AS(stacked({}), InvalidArgument);
  CHECK_THROWS_AS(stacked({hdf5({}), DiskSpec()}), InvalidArgument);
}
