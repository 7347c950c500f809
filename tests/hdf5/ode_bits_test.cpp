#include "support/ode_bits.hpp"

#include <vector>

#include "costate/hdf5/disk.hpp"
#include "support/catch.hpp"

using namespace costate;

TEST_CASE("The disk changes no bit of any gradient, length known or not", "[ode][property]") {
  ode_bits::check_all([](const auto&) {
    const DiskSpec disk = hdf5({.directory = ".", .capacity = 4_MiB});
    std::vector<ode_bits::Room> rooms;
    for (const Slot slots : {1, 2, 3, 5}) {
      rooms.push_back(
          {.budget = {.memory = 1_MiB, .disk = disk}, .memory = slots, .disk = slots + 1});
    }
    rooms.push_back({.budget = {.memory = 1_MiB, .disk = disk}, .memory = 1, .disk = 200});
    return rooms;
  });
}
