#include <vector>

#include "support/catch.hpp"
#include "support/ode_bits.hpp"

using namespace costate;

TEST_CASE("No budget changes a bit of any gradient, length known or not", "[ode][property]") {
  ode_bits::check_all([](const auto& y0) {
    std::vector<ode_bits::Room> rooms;
    for (const Slot slots : {1, 2, 3, 5, 40}) {
      const auto row = static_cast<std::size_t>(y0.size()) * sizeof(double);
      rooms.push_back({.budget = {.memory = memory_for(slots, row)}});
    }
    return rooms;
  });
}
