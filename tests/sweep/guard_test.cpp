// The replay guard: what it must find, what it must not, and what it may cost.

#include <string>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/sweep/sweep.hpp"
#include "support/catch.hpp"
#include "support/map_stepper.hpp"

using namespace costate;
using costate::test::Ending;
using costate::test::MapOptions;
using costate::test::MapStepper;

namespace {

// A step that depends on something that changes after so many calls.
class Drifting final : public Stepper {
 public:
  Drifting(Step n, Step good_calls) : n_(n), left_(good_calls) {}
  Step advance(Step from, Step to, Pass) override {
    for (Step k = from; k < to; ++k) {
      x_ = x_ * 0.9 + 0.1 + (left_-- > 0 ? 0.0 : 1e-14);
    }
    return to;
  }
  void turn(Step) override {}
  void reverse(Step) override {}
  [[nodiscard]] std::size_t state_bytes() const override { return sizeof x_; }
  void save(std::span<std::byte> out) const override { std::memcpy(out.data(), &x_, sizeof x_); }
  void load(std::span<const std::byte> in) override { std::memcpy(&x_, in.data(), sizeof x_); }
  [[nodiscard]] Step steps() const override { return n_; }

 private:
  Step n_;
  Step left_;
  double x_ = 0.5;
};

}  // namespace

TEST_CASE("C75: random numbers that belong to the state are replayed", "[sweep][golden]") {
  const Ending ending = GENERATE(Ending::known, Ending::before_last, Ending::after_last);
  std::vector<std::vector<std::uint64_t>> all;
  for (const Slot slots : {1, 3, 20}) {
    MapStepper stepper({.steps = 20, .ending = ending, .h = 0.1, .noise = true});
    const Report report = sweep(stepper, {.budget = {.memory = memory_for(slots, 16)}});
    CHECK(report.guard_checks > 0);
    CHECK(stepper.value == Catch::Approx(3.3187604997885043873).epsilon(1e-12));
    CHECK(stepper.y_bar == Catch::Approx(0.57921289714588809576).epsilon(1e-11));
    CHECK(stepper.p_bar == Catch::Approx(0.93610043724040217618).epsilon(1e-11));
    all.push_back(stepper.bits());
  }
  CHECK(all[0] == all[1]);
  CHECK(all[0] == all[2]);
}

TEST_CASE("C75: random numbers outside the state are refused", "[sweep][fault]") {
  const Ending ending = GENERATE(Ending::known, Ending::before_last, Ending::after_last);
  const ReplayGuard guard = GENERATE(ReplayGuard::sampled, ReplayGuard::every_step);
  for (const Slot slots : {1, 2, 3, 5, 19, 20, 100}) {
    for (const std::size_t padding : {0U, 100000U}) {
      CAPTURE(static_cast<int>(ending), static_cast<int>(guard), slots, padding);
      MapStepper stepper({.steps = 20,
                          .ending = ending,
                          .h = 0.1,
                          .padding = padding,
                          .noise = true,
                          .noise_in_state = false});
      const Bytes hashes = guard == ReplayGuard::every_step ? 1_MiB : 0;
      try {
        sweep(stepper,
              {.budget = {.memory = memory_for(slots, 16 + padding) + hashes}, .guard = guard});
        FAIL_CHECK("not noticed");
      } catch (const ReplayError& error) {
        CHECK(error.first >= 0);
        CHECK(error.first < error.step);
        CHECK(error.step <= 20);
      }
    }
  }
}

TEST_CASE("Every step: the guard names the first step that differs", "[sweep][fault]") {
  // 40 steps in one slot: the first pass makes 39 advances and the last step, the first replay 38.
  for (const Step wrong : {0, 1, 17, 37}) {
    CAPTURE(wrong);
    Drifting stepper(40, 40 + wrong);
    try {
      sweep(stepper,
            {.budget = {.memory = memory_for(1, 8) + 40 * 8}, .guard = ReplayGuard::every_step});
      FAIL_CHECK("not noticed");
    } catch (const ReplayError& error) {
      CHECK(error.step == wrong + 1);
      CHECK(error.first == wrong);
      const std::string message = error.what();
      CHECK(message.find("step " + std::to_string(wrong)) != std::string::npos);
    }
  }
}

TEST_CASE("Sampled: the difference lies between the two indices that are named", "[sweep][fault]") {
  const Slot slots = GENERATE(1, 2, 4);
  for (Step good = 60; good < 100; good += 3) {
    CAPTURE(slots, good);
    Drifting stepper(60, good);
    try {
      const Report report = sweep(stepper, {.budget = {.memory = memory_for(slots, 8)}});
      // Nothing was replayed after the change that is not also hidden in a reverse step.
      CHECK(report.guard_checks > 0);
    } catch (const ReplayError& error) {
      CHECK(error.first < error.step);
    }
  }
}

TEST_CASE("Off: nothing is compared, no step is added", "[sweep][unit]") {
  MapStepper stepper({.steps = 20});
  const Report report = sweep(stepper, {.guard = ReplayGuard::off});
  CHECK(report.guard_checks == 0);
  CHECK(report.guard_steps == 0);
  CHECK(stepper.first_steps == 20);
  CHECK(stepper.replay_steps == 0);
}

TEST_CASE("A run that keeps everything is probed with one step", "[sweep][unit]") {
  MapStepper stepper({.steps = 20});
  const Report report = sweep(stepper);
  CHECK(report.guard_checks == 1);
  CHECK(report.guard_steps == 1);
  CHECK(stepper.replay_steps == 1);
  CHECK(report.advances == 19);
}

TEST_CASE("Large states: the guard takes at most one hash for 128 steps", "[sweep][unit]") {
  // A hash kept and compared costs 1.3 steps of the cheapest kind; 1.3 / 128 is 1 %.
  MapStepper stepper({.steps = 600, .padding = 5000});
  const Report report = sweep(stepper, {.budget = {.memory = memory_for(5, 5016)}});
  const Step work = report.advances + 3 * report.reverses;
  CHECK(report.guard_checks >= 1);
  CHECK(report.guard_checks <= 1 + work / 128);
}

TEST_CASE("Every step: the hashes count against the budget", "[sweep][unit]") {
  MapStepper stepper({.steps = 100});
  try {
    sweep(stepper, {.budget = {.memory = memory_for(1, 16)}, .guard = ReplayGuard::every_step});
    FAIL_CHECK("100 hashes went nowhere");
  } catch (const BudgetError& error) {
    CHECK(error.least == memory_for(1, 16) + 100 * 8);
    const Report report =
        sweep(stepper, {.budget = {.memory = error.least}, .guard = ReplayGuard::every_step});
    CHECK(report.memory_peak == error.least);
  }
}
