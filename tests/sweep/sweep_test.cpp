#include "costate/sweep/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/revolve.hpp"
#include "support/catch.hpp"
#include "support/map_stepper.hpp"

using namespace costate;
using costate::test::Ending;
using costate::test::MapOptions;
using costate::test::MapStepper;

namespace {

struct Run {
  std::vector<std::uint64_t> bits;
  Report report;
};

Run run(const MapOptions& map, Slot slots, ReplayGuard guard = ReplayGuard::sampled) {
  MapStepper stepper(map);
  const Report report =
      sweep(stepper,
            {.budget = {.memory = memory_for(slots, stepper.max_state_bytes())}, .guard = guard});
  return {stepper.bits(), report};
}

}  // namespace

TEST_CASE("C15: as many slots as steps, or more, recompute nothing", "[sweep][golden]") {
  for (const Slot slots : {4, 5, 8, 1000}) {
    CAPTURE(slots);
    MapStepper stepper({.steps = 4});
    const Report report = sweep(stepper, {.budget = {.memory = memory_for(slots, 16)}});

    CHECK(stepper.value == Catch::Approx(8.5214796356736526365).epsilon(1e-12));
    CHECK(stepper.y_bar == Catch::Approx(2.6800032453671789663).epsilon(1e-12));
    CHECK(stepper.p_bar == Catch::Approx(4.4824610096150141576).epsilon(1e-12));
    CHECK(report.advances == 3);
    CHECK(report.predicted.advances == 3);
    CHECK(report.tiers.at(0).writes == 3);
    CHECK(report.tiers.at(0).slots == 3);
    CHECK(report.memory_peak <= memory_for(3, 16));
  }
}

TEST_CASE("The driver runs as many advances as theory says, and the same bits come out",
          "[sweep][property]") {
  for (const Step n : {1, 2, 3, 4, 5, 7, 10, 16, 33, 100}) {
    const auto whole = run({.steps = n}, n).bits;
    for (Slot slots = 1; slots <= std::min<Slot>(n, 12); ++slots) {
      CAPTURE(n, slots);
      const Run some = run({.steps = n}, slots);
      CHECK(some.bits == whole);
      CHECK(some.report.advances == binomial_advances(n, slots));
      CHECK(some.report.advances == some.report.predicted.advances);
      CHECK(some.report.reverses == n);
      CHECK(some.report.memory_peak <= memory_for(slots, 16));
      CHECK(some.report.tiers.at(0).writes == some.report.predicted.tiers.at(0).writes);
      CHECK(some.report.tiers.at(0).held == 0);
    }
  }
}

TEST_CASE("Costs of transfers that are no costs are refused, needed or not", "[sweep][unit]") {
  for (const double wrong : {-1.0, std::nan(""), HUGE_VAL}) {
    CAPTURE(wrong);
    MapStepper stepper({.steps = 5});
    CHECK_THROWS_AS(sweep(stepper, {.budget = {.disk_costs = {.write = wrong}}}), InvalidArgument);
    CHECK_THROWS_AS(sweep(stepper, {.budget = {.disk_costs = {.read = wrong}}}), InvalidArgument);
    CHECK_THROWS_AS(sweep(stepper, {.budget = {.lower_costs = {{.write = wrong}}}}),
                    InvalidArgument);
  }
}

TEST_CASE("What the disk cost is measured in steps", "[sweep][unit]") {
  Report report;
  CHECK(measured_costs(report) == TransferCosts{});
  report.advances = 10;
  report.forward_seconds = 4;
  report.replay_seconds = 1;
  report.tiers.resize(2);
  CHECK(measured_costs(report) == TransferCosts{});
  report.tiers[1].writes = 3;
  report.tiers[1].reads = 5;
  report.tiers[1].seconds = 8;
  CHECK(measured_costs(report) == TransferCosts{.write = 2, .read = 2});
}
