// Case C88: several runs at the same time, each with its own file.

#include <thread>
#include <vector>

#include <hdf5.h>

#include "costate/hdf5/disk.hpp"
#include "costate/sweep/sweep.hpp"
#include "support/catch.hpp"
#include "support/temp_folder.hpp"
#include "support/work_w1.hpp"

using namespace costate;
using costate::test::TempFolder;
using costate::test::W1;

TEST_CASE("C88: eight threads with a run each give the bits of a serial run",
          "[hdf5][sweep][golden]") {
#ifdef COSTATE_SOAK
  constexpr int rounds = 20;
#else
  constexpr int rounds = 2;
#endif
  constexpr std::size_t size = 35 * 200;
  constexpr int threads = 8;
  const TempFolder folder;
  const auto gradient = [&](int thread) {
    W1 model(size, 0.9 + 0.01 * thread);
    const DiskSpec disk =
        hdf5({.directory = folder.path() + "/" + std::to_string(thread), .capacity = 10_MiB});
    const Report report = sweep(
        model, {.budget = {.memory = memory_for(1, 8 * size) + disk->memory_bytes(8 * size, 6),
                           .disk = disk}});
    REQUIRE(report.tiers.size() == 2);
    return model.bits();
  };

  W1 table(size);
  sweep(table);
  CHECK(table.value == Catch::Approx(0.13140032194074357407).epsilon(1e-12));
  CHECK(table.kappa_bar() == Catch::Approx(-0.22433912127044403711).epsilon(1e-11));
  CHECK(table.scaled_y_bar(0) == Catch::Approx(0.079084373727217007493).epsilon(1e-11));
  CHECK(table.scaled_y_bar(1) == Catch::Approx(0.050768334916829917).epsilon(1e-11));
  CHECK(table.scaled_y_bar(34) == Catch::Approx(0.010449246496909730525).epsilon(1e-11));
  CHECK(table.scaled_y_bar(35) == table.scaled_y_bar(0));

  std::vector<std::vector<std::uint64_t>> serial;
  for (int i = 0; i < threads; ++i) {
    W1 model(size, 0.9 + 0.01 * i);
    sweep(model);
    serial.push_back(model.bits());
  }
  CHECK(serial[0] == table.bits());
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::vector<std::uint64_t>> parallel(threads);
    std::vector<std::thread> team;
    for (int i = 0; i < threads; ++i) {
      team.emplace_back([&, i] { parallel[static_cast<std::size_t>(i)] = gradient(i); });
    }
    for (std::thread& thread : team) thread.join();
    CHECK(parallel == serial);
  }
  CHECK(H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL) == 0);
}
