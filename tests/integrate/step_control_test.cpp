#include "costate/integrate/step_control.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/integrate/explicit_runge_kutta.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

StepControl adaptive() {
  return Dopri5{.rtol = 1e-6, .atol = 1e-6}.control();
}

// Steps to the end with errors that a smooth problem would give; returns the sizes.
std::vector<double> walk(double t0, double t1, const std::vector<double>& stops) {
  StepController controller(adaptive(), t0, t1, stops);
  controller.start(0.01);
  std::vector<double> sizes;
  double t = t0;
  for (Step k = 0; t != t1;) {
    const Interval s = controller.trial(k, t);
    if (controller.accept(std::pow(std::abs(s.h) / 0.1, 5))) {
      sizes.push_back(std::abs(s.h));
      t = s.t_next;
      ++k;
    }
  }
  return sizes;
}

}  // namespace

TEST_CASE("Exactly one way of choosing the steps is accepted", "[integrate][unit]") {
  CHECK_NOTHROW(check(RungeKutta4{.h = 0.1}.control(), 0, 1, {}));
  CHECK_NOTHROW(check(RungeKutta4{.steps = 3}.control(), 0, 1, {}));
  CHECK_NOTHROW(check(RungeKutta4{.grid = {0, 1}}.control(), 0, 1, {}));
  CHECK_NOTHROW(check(Dopri5{.rtol = 1e-3}.control(), 0, 1, {}));
  CHECK_THROWS_AS(check(RungeKutta4{}.control(), 0, 1, {}), InvalidArgument);
  CHECK_THROWS_AS(check(Dopri5{.h = 0.1, .rtol = 1e-3}.control(), 0, 1, {}), InvalidArgument);
  CHECK_THROWS_AS(check(Dopri5{.rtol = -1e-3}.control(), 0, 1, {}), InvalidArgument);
  CHECK_THROWS_AS(
      check(Dopri5{.rtol = std::numeric_limits<double>::quiet_NaN()}.control(), 0, 1, {}),
      InvalidArgument);
  CHECK_THROWS_WITH(check(RungeKutta4{.rtol = 1e-3}.control(), 0, 1, {}),
                    "RK4: has no embedded solution, so no adaptive steps; give .h or .steps");
  CHECK_THROWS_WITH(check(RungeKutta4{.h = 0.1}.control(), 0, 1, std::vector<double>{1.5}),
                    "RK4: the observation time 1.5 is outside of [0, 1]");
  CHECK_THROWS_AS(check(RungeKutta4{.h = 0.1}.control(), 0, 1,
                        std::vector<double>{std::numeric_limits<double>::quiet_NaN()}),
                  InvalidArgument);
}

TEST_CASE("A listed grid must match the interval and hold the stops", "[integrate][unit]") {
  const StepControl control = RungeKutta4{.grid = {0, 0.5, 1}}.control();
  CHECK(fixed_grid(control, 0, 1, std::vector<double>{0.5}).steps() == 2);
  CHECK_THROWS_AS(fixed_grid(control, 0, 2, {}), InvalidArgument);
  CHECK_THROWS_WITH(fixed_grid(control, 0, 1, std::vector<double>{0.25}),
                    "RK4: the observation time 0.25 is not on the grid");
}

TEST_CASE("Adaptive steps land on every stop and on t1, the same in both directions (C19)",
          "[integrate][property]") {
  const std::vector<double> stops{0.5, 0.1, 0.5, 1.0, 0.0, 0.5 * (1 + 1e-16)};
  std::vector<double> mirrored;
  for (const double t : stops) mirrored.push_back(-t);

  StepController controller(adaptive(), 0, 1, stops);
  controller.start(0.01);
  std::vector<double> times{0};
  while (times.back() != 1) {
    const Interval s = controller.trial(static_cast<Step>(times.size()), times.back());
    CHECK(s.t == times.back());
    CHECK(s.h == s.t_next - s.t);
    if (controller.accept(0.1)) times.push_back(s.t_next);
  }
  for (const double t : {0.1, 0.5, 1.0}) {
    CHECK(std::count(times.begin(), times.end(), t) == 1);
  }
  CHECK(walk(0, 1, stops) == walk(0, -1, mirrored));
}

TEST_CASE("Rejections end: a step that vanishes is an error (C26, C29)", "[integrate][unit]") {
  // NaN, infinity, and an error just above the tolerance, with which steps shrink slowest.
  const double error = GENERATE(std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity(), 1.0001);
  CAPTURE(error);
  StepController controller(adaptive(), 1, 2, {});
  controller.start(0.5);
  double size = 1;
  bool vanished = false;
  for (int i = 0; i < 1000 && !vanished; ++i) {
    try {
      const Interval s = controller.trial(7, 1);
      REQUIRE(std::abs(s.h) <= size);
      size = std::abs(s.h);
      REQUIRE_FALSE(controller.accept(error));
    } catch (const IntegrationError& thrown) {
      CHECK(thrown.step == 7);
      CHECK(thrown.t == 1);
      vanished = true;
    }
  }
  CHECK(vanished);
  CHECK(size == std::numeric_limits<double>::epsilon());
}

TEST_CASE("A step that vanishes tells how the trials before have failed (C29)",
          "[integrate][unit]") {
  const auto message_after = [](double error) -> std::string {
    StepController controller(adaptive(), 1, 2, {});
    controller.start(0.5);
    try {
      for (int i = 0; i < 1000; ++i) {
        static_cast<void>(controller.trial(7, 1));
        controller.accept(error);
      }
    } catch (const IntegrationError& thrown) {
      return thrown.what();
    }
    return "no error";
  };
  // From 0.5 each rejection takes a fifth of the size: 22 of them to less than half of 2^-52.
  const auto tells = [](const std::string& message, const std::string& part) {
    INFO(message);
    return message.find(part) != std::string::npos;
  };
  const std::string message = message_after(std::numeric_limits<double>::quiet_NaN());
  CHECK(tells(message, "Dormand-Prince 5(4): the step size has sunk to "));
  // From 0.5 each rejection leaves a fifth of the size: 23 of them to less than half of 2^-52.
  CHECK(tells(message,
              " at t = 1, after step 7, 23 trials rejected in a row, the last with values that are "
              "not finite: a singularity, or tolerances below rounding"));
  CHECK(tells(message_after(1e9),
              "23 trials rejected in a row, the last with an error of 1e+09 "
              "times the tolerance"));
}

TEST_CASE("The third term of a PID controller answers a change of the error's trend",
          "[integrate][unit]") {
  const auto size_after = [](double pid, const std::vector<double>& errors) {
    StepControl control = adaptive();
    control.pid = pid;
    StepController controller(control, 0, 1e6, {});
    controller.start(1);
    double t = 0;
    double size = 0;
    Step k = 0;
    for (const double error : errors) {
      const Interval s = controller.trial(k++, t);
      size = s.h;
      controller.accept(error);
      t = s.t_next;
    }
    return controller.trial(k, t).h / size;
  };
  // D = e e_before / e_last², the order of the estimate is 5.
  const double changed = 0.8 * 0.2 / (0.4 * 0.4);
  const double pi = size_after(0, {0.2, 0.4, 0.8});
  CHECK(std::abs(size_after(0.3, {0.2, 0.4, 0.8}) / pi - std::pow(changed, -0.3 / 5)) < 1e-12);
  const double bent = 0.8 * 0.2 / (0.3 * 0.3);
  CHECK(std::abs(size_after(0.3, {0.2, 0.3, 0.8}) / size_after(0, {0.2, 0.3, 0.8}) -
                 std::pow(bent, -0.3 / 5)) < 1e-12);
  // There is no trend before the third step.
  CHECK(size_after(0.3, {0.2, 0.8}) == size_after(0, {0.2, 0.8}));
  StepControl control = adaptive();
  control.pid = 1;
  CHECK_THROWS_AS(check(control, 0, 1, {}), InvalidArgument);
}

TEST_CASE("The number of steps is limited", "[integrate][unit]") {
  StepControl control = adaptive();
  control.max_steps = 5;
  StepController controller(control, 0, 1, {});
  controller.start(0.01);
  CHECK_NOTHROW(controller.trial(4, 0.1));
  CHECK_THROWS_AS(controller.trial(5, 0.1), IntegrationError);
}

TEST_CASE("A step cut short by a stop does not slow down what follows", "[integrate][unit]") {
  StepController controller(adaptive(), 0, 1, std::vector<double>{1e-6});
  controller.start(0.05);
  CHECK(controller.trial(0, 0).t_next == 1e-6);
  CHECK(controller.accept(1e-12));
  CHECK(std::abs(controller.trial(1, 1e-6).h) >= 0.05 * (1 - 1e-12));
}

TEST_CASE("The first step size survives zero norms and stays within its limit (C10, C23)",
          "[integrate][unit]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double d0 : {0.0, 1.0, 1e20}) {
    for (const double d1 : {0.0, 1.0, 1e20}) {
      for (const double limit : {1e-12, 1e-3, 1e9}) {
        CAPTURE(d0, d1, limit);
        const double h0 = initial_probe(d0, d1, limit);
        CHECK(h0 > 0);
        CHECK(h0 <= limit);
        for (const double d2 : {0.0, 1.0, 1e20, nan}) {
          const double h = initial_step(h0, d1, d2, 5, limit);
          CHECK(h > 0);
          CHECK(h <= limit);
        }
      }
    }
  }
}
