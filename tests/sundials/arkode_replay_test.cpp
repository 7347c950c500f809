#include "costate/sundials/arkode_replay.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <arkode/arkode_arkstep.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_dense.h>

#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/imex.hpp"
#include "costate/sundials/vector.hpp"
#include "sundials/broken.hpp"
#include "sundials/robertson.hpp"
#include "support/catch.hpp"

namespace arkode = costate::sundials;

namespace {

template <class V>
double largest_relative_error(const V& x, const V& right) {
  return ((x - right).array() / right.array()).abs().maxCoeff();
}

// A user's linear solver and what its functions are handed.
struct UserSolver {
  arkode::Context context;
  arkode::Matrix matrix{SUNDenseMatrix(3, 3, context)};
  arkode::LinearSolver solver;
  costate::Step jacobians = 0;

  static int jacobian(double, N_Vector y, N_Vector, SUNMatrix j, void* user, N_Vector, N_Vector,
                      N_Vector) {
    ++static_cast<UserSolver*>(user)->jacobians;
    const auto p = robertson::rates();
    const auto v = arkode::entries(y);
    const double rows[3][3] = {{-p[0], p[1] * v[2], p[1] * v[1]},
                               {p[0], -p[1] * v[2] - 2 * p[2] * v[1], -p[1] * v[1]},
                               {0, 2 * p[2] * v[1], 0}};
    for (int i = 0; i < 3; ++i) {
      for (int k = 0; k < 3; ++k) SM_ELEMENT_D(j, i, k) = rows[i][k];
    }
    return 0;
  }

  arkode::ArkodeOptions options() {
    return {.configure =
                [this](void* memory, N_Vector like) {
                  solver.reset(SUNLinSol_Dense(like, matrix.get(), context));
#if SUNDIALS_VERSION_MAJOR >= 7
                  arkode::check(ARKodeSetLinearSolver(memory, solver.get(), matrix.get()),
                                "solver");
                  arkode::check(ARKodeSetJacFn(memory, jacobian), "jacobian");
#else
                  arkode::check(ARKStepSetLinearSolver(memory, solver.get(), matrix.get()),
                                "solver");
                  arkode::check(ARKStepSetJacFn(memory, jacobian), "jacobian");
#endif
                },
            .user_data = this};
  }
};

}  // namespace

TEST_CASE("ARKODE's own steps with the user's solver: costate's gradient, and equal bits",
          "[bits][oracle]") {
  const auto problem = robertson::problem();
  const auto objective = robertson::objective();
  costate::RunOf<decltype(problem)> run{
      .t0 = 0, .t1 = 40, .y0 = robertson::initial(), .p = robertson::rates()};
  const costate::Esdirk43 method{.rtol = 1e-6, .atol = 1e-12};
  const auto grid = arkode::arkode_steps(problem, method, objective, run).times;
  const auto ours =
      costate::value_and_gradient(problem, costate::Esdirk43{.grid = grid}, objective, run);

  UserSolver solver;
  const arkode::ArkodeReplay<costate::Esdirk43> theirs{
      .grid = grid, .rtol = 1e-12, .atol = 1e-18, .options = solver.options()};
  const auto whole = costate::value_and_gradient(problem, theirs, objective, run);
  CHECK(solver.jacobians > whole.report.steps);
  CHECK(to_string(whole.report).find("accurate to what ARKODE's iterations leave") !=
        std::string::npos);
  CHECK(ours.report.accuracy.empty());
  // The stages are known to a hundredth of the tolerance, and nothing of them is amplified.
  CHECK(std::abs(whole.value / ours.value - 1) < 1e-10);
  CHECK(largest_relative_error(whole.dp, ours.dp) < 1e-9);
  CHECK(largest_relative_error(whole.dy0, ours.dy0) < 1e-9);
  CHECK(whole.value != ours.value);  // another engine

  for (const bool tapes : {false, true}) {
    for (const costate::Slot slots : {3, 20}) {
      run.tapes = tapes;
      run.budget.memory = costate::memory_for(slots, sizeof(robertson::State));
      const auto bounded = costate::value_and_gradient(problem, theirs, objective, run);
      INFO(bounded.report.schedule);
      CHECK(bounded.report.advances > bounded.report.steps);
      CHECK(bounded.value == whole.value);
      CHECK(bounded.dy0 == whole.dy0);
      CHECK(bounded.dp == whole.dp);
    }
  }
}

TEST_CASE("The gradient of ARKODE's own steps is the derivative of their value", "[oracle]") {
  const auto problem = robertson::problem();
  const auto objective = robertson::objective();
  costate::RunOf<decltype(problem)> run{
      .t0 = 0, .t1 = 40, .y0 = robertson::initial(), .p = robertson::rates()};
  const auto check_one = [&](auto kind) {
    using Method = decltype(kind);
    // A coarse grid: the continuous gradient is far off, that of the steps is not.
    const arkode::ArkodeReplay<Method> method{
        .grid =
            arkode::arkode_steps(problem, Method{.rtol = 1e-2, .atol = 1e-8}, objective, run).times,
        .rtol = 1e-12,
        .atol = 1e-18};
    const auto result = costate::value_and_gradient(problem, method, objective, run);
    for (int i = 0; i < 3; ++i) {
      const double d = 1e-4 * run.p[i];
      const auto value = [&](double by) {
        auto moved = run;
        moved.p[i] += by * d;
        return costate::value_and_gradient(problem, method, objective, moved).value;
      };
      const double right = (8 * (value(1) - value(-1)) - (value(2) - value(-2))) / (12 * d);
      // Of the quotient: rounding of the value by 1/1e-4, and fourth order.
      CHECK(std::abs(result.dp[i] / right - 1) < 1e-8);
    }
  };
  check_one(costate::Esdirk43{});
  check_one(costate::Sdirk43{});
}

TEST_CASE("ARKODE's own IMEX steps", "[oracle]") {
  using Two = Eigen::Vector2d;
  using One = Eigen::Matrix<double, 1, 1>;
  const auto stiff = costate::problem<Two, One>(
      [](double, const Two& y, const One&, Two& out) { out << 0, -200 * (y[1] - y[0] * y[0]); },
      [](double, const Two& y, const One&, const Two& w, Two& y_bar, One&) {
        y_bar << 400 * y[0] * w[1], -200 * w[1];
      });
  const auto rest = costate::problem<Two, One>(
      [](double t, const Two& y, const One& p, Two& out) { out << p[0] * std::sin(t) - y[1], 0; },
      [](double t, const Two&, const One&, const Two& w, Two& y_bar, One& p_bar) {
        y_bar << 0, -w[0];
        p_bar[0] += std::sin(t) * w[0];
      });
  const auto problem = costate::split(stiff, rest);
  const auto objective = costate::terminal(
      [](const Two& y, const One&) { return y[0] * y[1]; },
      [](const Two& y, const One&, Two& y_bar, One&) { y_bar += Two(y[1], y[0]); });
  const costate::RunOf<decltype(problem)> run{
      .t0 = 0, .t1 = 2, .y0 = Two(0.5, 0.25), .p = One(1.3)};
  const auto grid =
      arkode::arkode_steps(problem, costate::Ark43{.rtol = 1e-4, .atol = 1e-7}, objective, run)
          .times;
  const auto ours =
      costate::value_and_gradient(problem, costate::Ark43{.grid = grid}, objective, run);
  const auto theirs = costate::value_and_gradient(
      problem, arkode::ArkodeReplay<costate::Ark43>{.grid = grid, .rtol = 1e-13, .atol = 1e-15},
      objective, run);
  CHECK(std::abs(theirs.value / ours.value - 1) < 1e-12);
  CHECK(largest_relative_error(theirs.dy0, ours.dy0) < 1e-11);
  CHECK(std::abs(theirs.dp[0] / ours.dp[0] - 1) < 1e-11);
}

TEST_CASE("What goes wrong in ARKODE's own steps is said by step and time") {
  const auto problem = robertson::problem();
  const auto objective = robertson::objective();
  const costate::RunOf<decltype(problem)> run{
      .t0 = 0, .t1 = 40, .y0 = robertson::initial(), .p = robertson::rates()};
  using Method = arkode::ArkodeReplay<costate::Esdirk43>;
  CHECK_THROWS_AS(costate::value_and_gradient(problem, Method{.grid = {0, 1, 40}}, objective, run),
                  costate::InvalidArgument);

  // A linear solver of the user's that gives up in the third step.
  const auto bad = broken::decay([](broken::One& dydt) { dydt[0] = std::nan(""); });
  try {
    costate::value_and_gradient(bad,
                                Method{.grid = {0, 0.2, 0.4, 0.6, 1}, .rtol = 1e-9, .atol = 1e-12},
                                broken::last_value(), broken::run());
    FAIL("no error");
  } catch (const costate::IntegrationError& error) {
    CHECK(error.step == 2);
    CHECK(error.t == 0.4);
  }
  // Its own exception arrives.
  struct Mine {};
  CHECK_THROWS_AS(
      costate::value_and_gradient(broken::decay([](broken::One&) { throw Mine{}; }),
                                  Method{.grid = {0, 0.4, 1}, .rtol = 1e-9, .atol = 1e-12},
                                  broken::last_value(), broken::run()),
      Mine);
}
