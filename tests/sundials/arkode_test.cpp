#include "costate/sundials/arkode.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/imex.hpp"
#include "sundials/broken.hpp"
#include "sundials/robertson.hpp"
#include "support/catch.hpp"

namespace arkode = costate::sundials;

namespace {

double largest_relative_error(const Eigen::VectorXd& x, const Eigen::VectorXd& right) {
  return ((x - right).array() / right.array()).abs().maxCoeff();
}

// y' = λ(t) (y - cos t) - sin t with a parameter in it, solved by y = cos t for p = 0.
using broken::One;
auto relaxation() {
  return costate::problem<One, One>(
      [](double t, const One& y, const One& p, One& dydt) {
        dydt[0] = -50 * (y[0] - std::cos(t)) - std::sin(t) + p[0] * y[0];
      },
      [](double, const One& y, const One& p, const One& w, One& y_bar, One& p_bar) {
        y_bar[0] = (-50 + p[0]) * w[0];
        p_bar[0] += y[0] * w[0];
      });
}
using broken::last_value;

}  // namespace

TEST_CASE("Robertson with ARKODE's steps: rates to the accuracy of the reference", "[reference]") {
  const auto problem = robertson::problem();
  const auto objective = robertson::objective();
  const auto gradient = [&](double t1, double rtol) {
    return arkode::value_and_gradient(
        problem, costate::Esdirk43{.rtol = rtol, .atol = rtol * 1e-6}, objective,
        {.t0 = 0, .t1 = t1, .y0 = robertson::initial(), .p = robertson::rates()});
  };
  // shared values: G and dG/dp of the continuous problem.
  {
    const auto result = gradient(40, 1e-8);
    CHECK(std::abs(result.value / 7.9885858622949 - 1) < 1e-8);
    CHECK(largest_relative_error(
              result.dp, Eigen::Vector3d(129.7764828616, -3.626383373e-4, 6.044293421e-8)) < 1e-7);
  }
  {
    const auto result = gradient(50, 1e-8);
    CHECK(std::abs(result.value / 10.948648480575 - 1) < 1e-8);
    CHECK(largest_relative_error(
              result.dp, Eigen::Vector3d(173.4140891450, -5.059191406e-4, 8.432346465e-8)) < 1e-7);
  }
  {
    const auto result = gradient(4e7, 1e-8);
    CHECK(largest_relative_error(
              result.dp, Eigen::Vector3d(7.68377326602e5, -3.06892092, 5.11488997882e-4)) < 1e-6);
  }
}

TEST_CASE("The gradient on ARKODE's steps is that of the same fixed grid, to the bit", "[bits]") {
  const auto problem = robertson::problem();
  const auto objective = robertson::objective();
  const costate::Esdirk43 method{.rtol = 1e-6, .atol = 1e-12};
  const costate::RunOf<decltype(problem)> run{
      .t0 = 0, .t1 = 40, .y0 = robertson::initial(), .p = robertson::rates()};
  const auto whole = arkode::value_and_gradient(problem, method, objective, run);
  auto small = run;
  small.budget = {.memory = costate::memory_for(6, sizeof(robertson::State))};
  const auto bounded = arkode::value_and_gradient(problem, method, objective, small);
  CHECK(bounded.report.advances > bounded.report.steps);
  CHECK(bounded.value == whole.value);
  CHECK(bounded.dy0 == whole.dy0);
  CHECK(bounded.dp == whole.dp);
  const auto again = costate::value_and_gradient(problem, costate::Esdirk43{.grid = whole.times()},
                                                 objective, run);
  CHECK(again.dp == whole.dp);

  const auto steps = arkode::arkode_steps(problem, method, objective, run);
  CHECK(steps.times == whole.times());
  CHECK(steps.attempts >= static_cast<costate::Step>(steps.times.size()) - 1);
  CHECK(steps.rhs_evaluations > steps.attempts);
}

TEST_CASE("Explicit, implicit and IMEX methods take ARKODE's steps", "[oracle]") {
  const auto problem = relaxation();
  const auto objective = last_value();
  const costate::RunOf<decltype(problem)> run{.t0 = 0, .t1 = 2, .y0 = One(1.), .p = One(0.)};
  // d y(2) / dp of the linear problem: ∫ exp(-50 (2 - t)) cos t dt.
  const double e = std::exp(-100.);
  const double right = (50 * std::cos(2.) + std::sin(2.) - 50 * e) / 2501;
  const auto check_one = [&](const auto& f, const auto& method, double tolerance) {
    const auto result = arkode::value_and_gradient(f, method, objective, run);
    CHECK(std::abs(result.value - std::cos(2.)) < tolerance);
    CHECK(std::abs(result.dp[0] / right - 1) < tolerance);
    CHECK(std::abs(result.dy0[0]) < tolerance);
    CHECK(result.grid.steps() > 5);
  };
  check_one(problem, costate::Dopri5{.rtol = 1e-8, .atol = 1e-10}, 1e-6);
  check_one(problem, costate::BogackiShampine32{.rtol = 1e-7, .atol = 1e-9}, 1e-5);
  check_one(problem, costate::Esdirk43{.rtol = 1e-8, .atol = 1e-10}, 1e-6);
  check_one(problem, costate::Sdirk43{.rtol = 1e-8, .atol = 1e-10}, 1e-6);
  const auto stiff = costate::problem<One, One>(
      [](double, const One& y, const One&, One& out) { out[0] = -50 * y[0]; },
      [](double, const One&, const One&, const One& w, One& y_bar, One&) {
        y_bar[0] = -50 * w[0];
      });
  const auto rest = costate::problem<One, One>(
      [](double t, const One& y, const One& p, One& out) {
        out[0] = 50 * std::cos(t) - std::sin(t) + p[0] * y[0];
      },
      [](double, const One& y, const One& p, const One& w, One& y_bar, One& p_bar) {
        y_bar[0] = p[0] * w[0];
        p_bar[0] += y[0] * w[0];
      });
  check_one(costate::split(stiff, rest), costate::Ark43{.rtol = 1e-8, .atol = 1e-10}, 1e-6);
}

TEST_CASE("ARKODE's steps land on the observations, in both directions of time") {
  const auto problem = relaxation();
  const std::vector<double> times = {1.5, 0.25, 0.25, 2};
  const auto objective = costate::observations(
      times, [](std::size_t, const One& y, const One&) { return y[0]; },
      [](std::size_t, const One&, const One&, One& y_bar, One&) { y_bar[0] += 1; });
  const auto result =
      arkode::value_and_gradient(problem, costate::Esdirk43{.rtol = 1e-6, .atol = 1e-9}, objective,
                                 {.t0 = 0, .t1 = 2, .y0 = One(1.), .p = One(0.)});
  for (const double t : times) CHECK(result.grid.index_of(t) != costate::unknown);
  CHECK(std::abs(result.value - (std::cos(1.5) + 2 * std::cos(0.25) + std::cos(2.))) < 1e-4);

  // Backward in time the problem grows by exp(50 |t|): a short interval.
  const auto back = arkode::value_and_gradient(
      problem, costate::Dopri5{.rtol = 1e-10, .atol = 1e-12}, last_value(),
      {.t0 = 0.1, .t1 = 0, .y0 = One(std::cos(0.1)), .p = One(0.)});
  CHECK(std::abs(back.value - 1) < 1e-5);
  CHECK(std::abs(back.dy0[0] / std::exp(5.) - 1) < 1e-5);
  // The size of the first step has no sign.
  const auto first = arkode::arkode_steps(
      problem, costate::Dopri5{.rtol = 1e-8, .atol = 1e-10, .first_step = 1e-5}, last_value(),
      {.t0 = 0.1, .t1 = 0, .y0 = One(std::cos(0.1)), .p = One(0.)});
  CHECK(std::abs(first.times[1] - (0.1 - 1e-5)) < 1e-15);
}

TEST_CASE("What goes wrong with ARKODE's steps is said by step and time") {
  const auto problem = robertson::problem();
  const auto objective = robertson::objective();
  const costate::RunOf<decltype(problem)> run{
      .t0 = 0, .t1 = 40, .y0 = robertson::initial(), .p = robertson::rates()};
  CHECK_THROWS_AS(arkode::arkode_steps(problem, costate::Esdirk43{.steps = 10}, objective, run),
                  costate::InvalidArgument);
  try {
    arkode::arkode_steps(problem, costate::Esdirk43{.rtol = 1e-6, .atol = 1e-12, .max_steps = 5},
                         objective, run);
    FAIL("no error");
  } catch (const costate::IntegrationError& error) {
    CHECK(error.step == 5);
    CHECK(error.t > 0);
  }
  // A right-hand side that throws: its own exception arrives.
  struct Mine {};
  CHECK_THROWS_AS(arkode::arkode_steps(broken::decay([](One&) { throw Mine{}; }),
                                       costate::Dopri5{.rtol = 1e-6, .atol = 1e-9},
                                       broken::last_value(), broken::run()),
                  Mine);
  // A solution that blows up.
  const auto blows_up = costate::problem<One, One>(
      [](double, const One& y, const One&, One& out) { out[0] = y[0] * y[0]; },
      [](double, const One& y, const One&, const One& w, One& y_bar, One&) {
        y_bar[0] = 2 * y[0] * w[0];
      });
  CHECK_THROWS_AS(
      arkode::arkode_steps(blows_up, costate::Dopri5{.rtol = 1e-6, .atol = 1e-9}, last_value(),
                           {.t0 = 0, .t1 = 2, .y0 = One(1.), .p = One(0.)}),
      costate::IntegrationError);
}

TEST_CASE("A run of no length takes no step of ARKODE") {
  const auto problem = relaxation();
  const auto result =
      arkode::value_and_gradient(problem, costate::Dopri5{.rtol = 1e-8, .atol = 1e-10},
                                 last_value(), {.t0 = 1, .t1 = 1, .y0 = One(0.25), .p = One(0.)});
  CHECK(result.value == 0.25);
  CHECK(result.dy0[0] == 1);
  CHECK(result.grid.steps() == 0);
}

TEST_CASE("The user's settings reach ARKODE") {
  const auto problem = robertson::problem();
  const auto objective = robertson::objective();
  const costate::RunOf<decltype(problem)> run{
      .t0 = 0, .t1 = 40, .y0 = robertson::initial(), .p = robertson::rates()};
  bool called = false;
  const auto steps =
      arkode::arkode_steps(problem, costate::Esdirk43{.rtol = 1e-6, .atol = 1e-12, .max_step = 1},
                           objective, run, {.configure = [&](void* arkode, N_Vector like) {
                             called = arkode != nullptr && N_VGetLength(like) == 3;
                           }});
  CHECK(called);
  for (std::size_t i = 1; i < steps.times.size(); ++i) {
    CHECK(steps.times[i] - steps.times[i - 1] <= 1 + 1e-12);
  }
}
