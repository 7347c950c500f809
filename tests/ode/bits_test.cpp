#include "support/ode_bits.hpp"

using namespace costate;

TEST_CASE("No budget changes a bit of any gradient, length known or not", "[ode][property]") {
  ode_bits::check_all([](const auto& y0) {
    std::vector<Budget> budgets;
    for (const Slot slots : {1, 2, 3, 5, 40}) {
      const auto bytes = static_cast<std::size_t>(y0.size()) * sizeof(double);
      budgets.push_back({.memory = memory_for(slots, bytes)});
    }
    return budgets;
  });
}
