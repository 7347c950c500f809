// Simulations that can step back: nothing is stored, and the way back is proved.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/revolve.hpp"
#include "costate/sweep/make_stepper.hpp"
#include "costate/sweep/sweep.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

// A reversible map of two integers. Its "adjoint" is a record of all states in the order in which
// they are reversed, so that one wrong state shows.
struct IntegerMap {
  Step n = 0;
  bool known = true;
  Step wrong_at = -1;  // stepping back to this index goes wrong
  std::array<std::uint64_t, 2> x = {12345, 678910};
  std::uint64_t adjoint = 0;
  Step turned = -1;

  static std::uint64_t mix(std::uint64_t a) { return (a * 0x9e3779b97f4a7c15U) >> 7U; }

  Step advance(Step from, Step to) {
    for (Step k = from; k < to; ++k) {
      if (k == n) return k;
      x[0] += mix(x[1]);
      x[1] += mix(x[0] + static_cast<std::uint64_t>(k));
    }
    return to;
  }
  void step_back(Step k) {
    x[1] -= mix(x[0] + static_cast<std::uint64_t>(k));
    x[0] -= mix(x[1]);
    if (k == wrong_at) ++x[0];
  }
  void turn(Step at) {
    turned = at;
    adjoint = x[0];
  }
  void reverse(Step k) {
    adjoint = 31 * adjoint + mix(x[0] ^ x[1]) + static_cast<std::uint64_t>(k);
  }
  [[nodiscard]] std::span<std::uint64_t> state() { return x; }
  [[nodiscard]] Step steps() const { return known ? n : unknown; }
};

std::uint64_t stored(Step n) {
  IntegerMap map{.n = n};
  auto stepper = make_stepper(map);
  sweep(stepper, {.schedule = revolve(n, 3)});
  return map.adjoint;
}

}  // namespace

TEST_CASE("A simulation that steps back gives the result of a stored one and stores nothing",
          "[sweep][property]") {
  for (const Step n : {1, 2, 3, 100, 1000, 20000}) {
    for (const bool known : {true, false}) {
      for (const ReplayGuard guard : {ReplayGuard::off, ReplayGuard::sampled}) {
        CAPTURE(n, known, static_cast<int>(guard));
        IntegerMap map{.n = n, .known = known};
        const auto start = map.x;
        auto stepper = make_stepper(map);
        const Report report = sweep(stepper, {.budget = {.memory = 64}, .guard = guard});

        CHECK(map.adjoint == stored(n));
        CHECK(map.turned == n);
        CHECK(map.x == start);
        CHECK(report.schedule == "reversible");
        CHECK(report.steps == n);
        CHECK(report.advances == n - 1);
        CHECK(report.back_steps == n);
        CHECK(report.reverses == n);
        CHECK(report.tiers.at(0).writes == 0);
        CHECK(report.memory_peak <= 64);
        CHECK((report.guard_checks > 0) == (guard == ReplayGuard::sampled));
      }
    }
  }
}

TEST_CASE("A run of no steps is turned and that is all", "[sweep][unit]") {
  IntegerMap map{.n = 0};
  auto stepper = make_stepper(map);
  const Report report = sweep(stepper, {.budget = {.memory = 64}});
  CHECK(map.turned == 0);
  CHECK(report.advances == 0);
  CHECK(report.back_steps == 0);
}

TEST_CASE("A step back that goes wrong is an error, wherever it is", "[sweep][fault]") {
  for (const Step wrong : {0, 1, 70, 500, 998, 999}) {
    CAPTURE(wrong);
    IntegerMap map{.n = 1000, .wrong_at = wrong};
    auto stepper = make_stepper(map);
    CHECK_THROWS_AS(sweep(stepper), ReplayError);
  }
}

TEST_CASE("At every step the guard says which step back went wrong", "[sweep][fault]") {
  for (const Step wrong : {0, 70, 999}) {
    IntegerMap map{.n = 1000, .wrong_at = wrong};
    auto stepper = make_stepper(map);
    try {
      sweep(stepper, {.guard = ReplayGuard::every_step});
      FAIL("nothing was noticed");
    } catch (const ReplayError& error) {
      CHECK(error.first == wrong);
      CHECK(error.step == wrong + 1);
    }
  }
}

TEST_CASE("The hashes of the guard are the budget that is needed", "[sweep][unit]") {
  IntegerMap map{.n = 1000};
  auto stepper = make_stepper(map);
  const SweepOptions tight{.budget = {.memory = 8000}, .guard = ReplayGuard::every_step};
  Bytes least = 0;
  try {
    sweep(stepper, tight);
    FAIL("it fitted");
  } catch (const BudgetError& error) {
    least = error.least;
  }
  const Report report =
      sweep(stepper, {.budget = {.memory = least}, .guard = ReplayGuard::every_step});
  CHECK(report.memory_peak == least);
  CHECK(report.guard_checks == 1000);
}

TEST_CASE("Progress is told in both directions", "[sweep][unit]") {
  IntegerMap map{.n = 5000};
  auto stepper = make_stepper(map);
  std::vector<Progress::Phase> phases;
  Step last = 0;
  sweep(stepper, {.progress =
                      [&](const Progress& progress) {
                        phases.push_back(progress.phase);
                        CHECK(progress.steps == 5000);
                        CHECK(progress.fraction <= 1);
                        last = progress.step;
                      },
                  .progress_interval = 0});
  REQUIRE(phases.size() > 2);
  CHECK(phases.front() == Progress::Phase::forward);
  CHECK(phases.back() == Progress::Phase::reverse);
  CHECK(last == 0);
}

TEST_CASE("A simulation that cannot step back says so", "[sweep][unit]") {
  struct OneWay {
    double x = 1;
    Step advance(Step, Step to) { return to; }
    void turn(Step) {}
    void reverse(Step) {}
    std::span<double> state() { return {&x, 1}; }
  };
  OneWay model;
  auto stepper = make_stepper(model);
  CHECK_FALSE(stepper.can_step_back());
  CHECK_THROWS_AS(stepper.step_back(1, 0), Unsupported);
}
