#include <cstddef>

#include "costate/storage/memory_tier.hpp"
#include "costate/storage/pool.hpp"
#include "support/catch.hpp"

using namespace costate;

TEST_CASE("A workspace hands the same memory out again, zeroed where that matters",
          "[storage][unit]") {
  Workspace workspace;
  const std::byte* first = nullptr;
  {
    Pool pool(100'000, &workspace);
    first = pool.data();
    pool.data()[77'777] = std::byte{1};
    CHECK(workspace.held() == 0);
  }
  CHECK(workspace.held() == 100'000);
  {
    Pool pool(90'000, &workspace);
    CHECK(pool.data() == first);
    CHECK(pool.size() == 90'000);
    CHECK(pool.data()[77'777] == std::byte{0});
    CHECK(workspace.held() == 0);
  }
  workspace.release();
  CHECK(workspace.held() == 0);
}

TEST_CASE("A workspace wastes no large block on a small pool and keeps few blocks",
          "[storage][unit]") {
  Workspace workspace;
  { const Pool large(1'000'000, &workspace); }
  {
    const Pool small(1'000, &workspace);
    CHECK(workspace.held() == 1'000'000);
  }
  for (std::size_t i = 1; i < 100; ++i) const Pool pool(i * i * 10'000, &workspace);
  CHECK(workspace.held() <= 8 * 99 * 99 * 10'000);
}

TEST_CASE("A tier in a used workspace starts empty", "[storage][unit]") {
  Workspace workspace;
  for (int round = 0; round < 3; ++round) {
    CAPTURE(round);
    MemoryTier tier({.row_bytes = 24, .slots = 5, .workspace = &workspace});
    for (Slot slot = 0; slot < 5; ++slot) {
      CHECK_THROWS(tier.read(slot, 3));
      CHECK(tier.begin_write(slot, 3, 24).size() == 24);
      tier.commit(slot);
    }
  }
}
