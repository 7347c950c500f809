#include <vector>

#include "costate/schedule/binomial.hpp"
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

TEST_CASE("A guess of the number of adaptive steps changes no bit and saves advances",
          "[ode][property]") {
  RunOf<problems::LotkaVolterra> run{
      .t0 = 0, .t1 = 20, .y0 = {1.2, 0.7}, .p = {1.5, 1.1, 2.7, 0.9}};
  const auto target = ode_bits::objective<Eigen::Vector2d, Eigen::Vector4d>(run.t0, run.t1);
  const DormandPrince54 method{.rtol = 1e-7, .atol = 1e-7};
  const auto all = value_and_gradient(problems::LotkaVolterra{}, method, target, run);
  const Step n = all.report.steps;
  REQUIRE(n > 100);
  for (const Slot slots : {1, 2, 4, 9}) {
    run.budget = {.memory = memory_for(slots, sizeof(Eigen::Vector2d))};
    for (const Step guess : {unknown, Step{0}, n - 30, n - 1, n, n + 1, n + 50}) {
      CAPTURE(slots, guess);
      run.expected_steps = guess;
      const auto r = value_and_gradient(problems::LotkaVolterra{}, method, target, run);
      CHECK(ode_bits::same_bits(r, all));
      if (guess == n) CHECK(r.report.advances == binomial_advances(n, slots));
    }
  }
}
