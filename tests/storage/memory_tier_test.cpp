#include "costate/storage/memory_tier.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include "costate/core/error.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

void write(Tier& tier, Slot slot, Step at, std::size_t size) {
  const auto out = tier.begin_write(slot, at, size);
  REQUIRE(out.size() == size);
  REQUIRE(reinterpret_cast<std::uintptr_t>(out.data()) % 8 == 0);
  std::ranges::fill(out, static_cast<std::byte>(at));
  tier.commit(slot);
}

bool right(Tier& tier, Slot slot, Step at, std::size_t size) {
  const auto in = tier.read(slot, at);
  return in.size() == size &&
         std::ranges::all_of(in, [&](std::byte b) { return b == static_cast<std::byte>(at); });
}

#ifndef COSTATE_SANITIZED
long resident_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long all = 0;
  long resident = 0;
  const int read = std::fscanf(file, "%ld %ld", &all, &resident);
  std::fclose(file);
  return read == 2 ? resident * sysconf(_SC_PAGESIZE) : -1;
}
#endif

}  // namespace

TEST_CASE("Small rows are dense, large ones start at cache lines", "[storage][unit]") {
  CHECK(MemoryTier::stride(1) == 8);
  CHECK(MemoryTier::stride(24) == 24);
  CHECK(MemoryTier::stride(1023) == 1024);
  CHECK(MemoryTier::stride(1024) == 1024);
  CHECK(MemoryTier::stride(1025) == 1088);
  CHECK(MemoryTier::bytes_per_slot(24) == 32);
  CHECK(MemoryTier::bytes_per_slot(24, true) == 40);
}

TEST_CASE("Any order of saves, loads and drops keeps every checkpoint", "[storage][property]") {
  const bool varying = GENERATE(false, true);
  constexpr std::size_t most = 100;
  constexpr Slot slots = 6;
  MemoryTier tier({.row_bytes = most, .slots = slots, .varying = varying});
  std::map<Slot, std::pair<Step, std::size_t>> held;
  std::mt19937 random(1);
  Bytes peak = 0;
  for (Step k = 0; k < 5000; ++k) {
    const auto slot = static_cast<Slot>(random() % slots);
    const auto found = held.find(slot);
    if (found == held.end()) {
      const std::size_t size = varying ? 1 + random() % most : most;
      write(tier, slot, k, size);
      held[slot] = {k, size};
    } else if (random() % 3 == 0) {
      tier.drop(slot);
      held.erase(found);
    } else {
      REQUIRE(right(tier, slot, found->second.first, found->second.second));
    }
    const Bytes now = held.size() * MemoryTier::bytes_per_slot(most, varying);
    peak = std::max(peak, now);
    REQUIRE(tier.use().held == now);
  }
  CHECK(tier.use().peak == peak);
  CHECK(tier.use().peak <= tier.use().capacity);
}

TEST_CASE("Rows are the slots: written as one, read as the other", "[storage][unit]") {
  MemoryTier tier({.row_bytes = 24, .slots = 5});
  REQUIRE(tier.has_rows());
  const Rows rows = tier.begin_rows(1, 4);
  for (Step i = 0; i < 4; ++i) std::ranges::fill(rows[i], static_cast<std::byte>(7 + i));
  tier.commit_rows(1, 7, 3);  // the fourth was not reached

  CHECK(right(tier, 2, 8, 24));
  CHECK(tier.index(0) == unknown);
  CHECK(tier.index(3) == 9);
  CHECK(tier.index(4) == unknown);
  CHECK(tier.read_rows(1, 7, 3)[2][0] == std::byte{9});
  CHECK_THROWS_AS(tier.read_rows(1, 7, 4), ScheduleError);
  CHECK_THROWS_AS(tier.read_rows(1, 8, 2), ScheduleError);
  CHECK_THROWS_AS(tier.begin_rows(0, 2), ScheduleError);
  CHECK_THROWS_AS(tier.begin_rows(4, 2), ScheduleError);
  CHECK_THROWS_AS(tier.drop_rows(0, 2), ScheduleError);
  tier.drop_rows(1, 3);
  CHECK(tier.use().held == 0);
  CHECK(tier.use().writes == 3);
  CHECK(tier.use().reads == 4);
}

TEST_CASE("A slot that is taken, empty, or not there is refused with its name", "[storage][unit]") {
  MemoryTier tier({.row_bytes = 16, .slots = 2});
  write(tier, 0, 5, 16);
  CHECK_THROWS_WITH(tier.begin_write(0, 6, 16),
                    "cannot save index 6: slot #0 of the memory holds index 5");
  CHECK_THROWS_WITH(tier.read(0, 6), "cannot load index 6: slot #0 of the memory holds index 5");
  CHECK_THROWS_WITH(tier.read(1, 6), "cannot load index 6: slot #1 of the memory is empty");
  CHECK_THROWS_WITH(tier.drop(1), "cannot drop: slot #1 of the memory is empty");
  CHECK_THROWS_WITH(tier.read(2, 6), "the memory has 2 slots, so no slot #2");
  CHECK_THROWS_AS(tier.begin_write(-1, 6, 16), ScheduleError);
  CHECK_THROWS_AS(tier.begin_write(1, 6, 17), StorageError);
  CHECK_THROWS_AS(tier.begin_write(1, 6, 15), StorageError);
  CHECK_THROWS_AS(tier.commit(1), ScheduleError);
  CHECK_THROWS_AS(MemoryTier({.row_bytes = 0, .slots = 1}), InvalidArgument);
  CHECK_THROWS_AS(MemoryTier({.row_bytes = 8, .slots = -1}), InvalidArgument);
  CHECK_THROWS_AS(MemoryTier({.row_bytes = std::size_t{1} << 40U, .slots = Slot{1} << 40}),
                  StorageError);
}

#ifndef COSTATE_SANITIZED  // sanitizers keep books of the memory in memory
TEST_CASE("C15: memory grows with the slots that are used, not with those asked for",
          "[storage][golden]") {
  const long before = resident_bytes();
  MemoryTier tier({.row_bytes = 1'000'000, .slots = 1000});  // 1 GB asked for
  for (Slot slot = 0; slot < 4; ++slot) write(tier, slot, slot, 1'000'000);
  const long used = resident_bytes() - before;
  CHECK(used >= 3'500'000);
  // Four rows, rounded up to huge pages, and some pages of indices.
  CHECK(used <= 12'000'000);
}
#endif
