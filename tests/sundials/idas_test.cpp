#include "costate/sundials/idas.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#include "costate/costate.hpp"
#include "costate/sundials/vector.hpp"
#include "support/catch.hpp"

using costate::Step;
using costate::sundials::Borders;
using costate::sundials::Context;
using costate::sundials::IdasProblem;
using costate::sundials::LinearSolver;
using costate::sundials::Matrix;
using costate::sundials::Vector;
using costate::sundials::WindowStepper;

namespace {

double* at(N_Vector v) {
  return N_VGetArrayPointer(v);
}

// Robertson's kinetics with the third equation as a constraint: y1 + y2 + y3 = 1.
struct Rates {
  std::array<double, 3> p = {0.04, 1e4, 3e7};
};
int residual(double, N_Vector y, N_Vector yp, N_Vector out, void* user) {
  const auto& p = static_cast<Rates*>(user)->p;
  const double* u = at(y);
  at(out)[0] = at(yp)[0] + p[0] * u[0] - p[1] * u[1] * u[2];
  at(out)[1] = at(yp)[1] - p[0] * u[0] + p[1] * u[1] * u[2] + p[2] * u[1] * u[1];
  at(out)[2] = u[0] + u[1] + u[2] - 1;
  return 0;
}
int integrand(double, N_Vector y, N_Vector, N_Vector out, void*) {
  at(out)[0] = at(y)[2];
  return 0;
}
int adjoint_residual(double, N_Vector y, N_Vector, N_Vector l, N_Vector lp, N_Vector out,
                     void* user) {
  const auto& p = static_cast<Rates*>(user)->p;
  const double* u = at(y);
  const double* m = at(l);
  at(out)[0] = at(lp)[0] - (p[0] * (m[0] - m[1]) + m[2]);
  at(out)[1] = at(lp)[1] - (p[1] * u[2] * (m[1] - m[0]) + 2 * p[2] * u[1] * m[1] + m[2]);
  at(out)[2] = -(p[1] * u[1] * (m[1] - m[0]) + m[2]) + 1;
  return 0;
}
int parameter_rhs(double, N_Vector y, N_Vector, N_Vector l, N_Vector, N_Vector out, void*) {
  const double* u = at(y);
  const double* m = at(l);
  at(out)[0] = u[0] * (m[0] - m[1]);
  at(out)[1] = u[1] * u[2] * (m[1] - m[0]);
  at(out)[2] = u[1] * u[1] * m[1];
  return 0;
}

struct Result {
  double value = 0;
  std::vector<double> dy0;
  std::vector<double> dp;
  Step advances = 0;
  Step windows = 0;
};

Result robertson(double t1, Step window_steps, costate::Bytes memory, double kick = 0,
                 std::array<double, 3> rates = {0.04, 1e4, 3e7},
                 const costate::sundials::Terminal& terminal = {}, Step fewer = 0) {
  const Context context;
  Rates data{rates};
  std::vector<double> y0 = {1, 0, 0};
  std::vector<double> yp0 = {-rates[0], rates[0], 0};
  std::vector<double> id = {1, 1, 0};
  const Vector y = costate::sundials::wrap(y0, context);
  const Vector yp = costate::sundials::wrap(yp0, context);
  const Vector differential = costate::sundials::wrap(id, context);
  const Matrix forward_matrix(SUNDenseMatrix(3, 3, context));
  const Matrix backward_matrix(SUNDenseMatrix(3, 3, context));
  const LinearSolver forward(SUNLinSol_Dense(y.get(), forward_matrix.get(), context));
  const LinearSolver backward(SUNLinSol_Dense(y.get(), backward_matrix.get(), context));
  const IdasProblem problem{
      .context = context,
      .y0 = y.get(),
      .yp0 = yp.get(),
      .differential = differential.get(),
      .user_data = &data,
      .residual = residual,
      .rtol = 1e-9,
      .atol = 1e-14,
      .integrand = integrand,
      .configure =
          [&](void* idas) {
            costate::sundials::check(IDASetLinearSolver(idas, forward.get(), forward_matrix.get()),
                                     "IDASetLinearSolver");
          },
      .adjoint_residual = adjoint_residual,
      .parameter_rhs = parameter_rhs,
      .parameters = 3,
      .adjoint_rtol = 1e-8,
      .adjoint_atol = 1e-10,
      .configure_adjoint =
          [&](void* idas, int which) {
            costate::sundials::check(
                IDASetLinearSolverB(idas, which, backward.get(), backward_matrix.get()),
                "IDASetLinearSolverB");
          }};
  Borders borders;
  if (kick != 0) {
    // At t = 10 some of the first species is taken away: the third follows from the constraint.
    borders = {.times = {10},
               .jump = [=](std::size_t, double, N_Vector v) { at(v)[0] *= 1 - kick; },
               .jump_adjoint = [=](std::size_t, double, N_Vector, N_Vector y_bar,
                                   std::span<double>) { at(y_bar)[0] *= 1 - kick; }};
  }
  WindowStepper stepper(costate::sundials::idas_solver(problem, 0, window_steps - fewer), 0, t1,
                        window_steps, borders, terminal);
  const auto report = costate::sweep(stepper, {.budget = {.memory = memory}});
  Result out;
  out.value = stepper.value();
  const auto dy0 = costate::sundials::entries(stepper.adjoint());
  out.dy0.assign(dy0.begin(), dy0.end());
  const auto dp = stepper.parameter_gradient();
  out.dp.assign(dp.begin(), dp.end());
  out.advances = report.advances;
  out.windows = report.steps;
  return out;
}

constexpr costate::Bytes plenty = costate::Bytes{1} << 20;

}  // namespace

TEST_CASE("Robertson as a constrained system by IDAS in windows", "[reference]") {
  const auto near = [](const Result& result, std::array<double, 3> right, double tolerance) {
    for (std::size_t i = 0; i < 3; ++i) {
      INFO(i << ": " << result.dp[i] << " " << right[i]);
      CHECK(std::abs(result.dp[i] / right[i] - 1) < tolerance);
    }
  };
  const auto at40 = robertson(40, 60, plenty);
  CHECK(std::abs(at40.value / 7.9885858622949 - 1) < 1e-6);
  near(at40, {129.7764828616, -3.626383373e-4, 6.044293421e-8}, 1e-4);
  const auto at50 = robertson(50, 60, plenty);
  near(at50, {173.4140891450, -5.059191406e-4, 8.432346465e-8}, 1e-4);
}

TEST_CASE("Windows of IDAS give the same bits in every budget", "[bits]") {
  const auto whole = robertson(4, 30, plenty);
  CHECK(whole.windows > 5);
  for (const costate::Slot slots : {2, 3, 5}) {
    const auto bounded = robertson(4, 30, costate::memory_for(slots, 6 * sizeof(double)));
    INFO(slots);
    CHECK(bounded.advances > whole.advances);
    CHECK(bounded.value == whole.value);
    CHECK(bounded.dy0 == whole.dy0);
    CHECK(bounded.dp == whole.dp);
  }
}

TEST_CASE("A jump of a constrained system", "[oracle]") {
  const auto result = robertson(40, 60, plenty, 0.3);
  const auto bounded = robertson(40, 60, costate::memory_for(3, 48), 0.3);
  CHECK(bounded.dp == result.dp);
  CHECK(std::abs(result.value / robertson(40, 60, plenty).value - 1) > 0.01);
  // Central differences of values good to about 1e-8.
  for (std::size_t i = 0; i < 3; ++i) {
    std::array<double, 3> p = {0.04, 1e4, 3e7};
    const double e = 1e-3 * p[i];
    p[i] += e;
    const double above = robertson(40, 60, plenty, 0.3, p).value;
    p[i] -= 2 * e;
    const double below = robertson(40, 60, plenty, 0.3, p).value;
    INFO(i);
    CHECK(std::abs((above - below) / (2 * e) / result.dp[i] - 1) < 1e-4);
  }
}

TEST_CASE("An objective of an algebraic entry at a moment is refused, not forgotten") {
  const auto of_entry = [](std::size_t i) {
    return costate::sundials::Terminal{
        .value = [=](N_Vector v) { return at(v)[i]; },
        .gradient = [=](N_Vector, N_Vector y_bar, std::span<double>) { at(y_bar)[i] += 1; }};
  };
  CHECK_THROWS_AS(robertson(4, 60, plenty, 0, {0.04, 1e4, 3e7}, of_entry(2)),
                  costate::InvalidArgument);
  CHECK_NOTHROW(robertson(4, 60, plenty, 0, {0.04, 1e4, 3e7}, of_entry(0)));
}

TEST_CASE("A window of IDAS of more steps than planned is an error of costate's") {
  CHECK_THROWS_AS(robertson(4, 30, plenty, 0, {0.04, 1e4, 3e7}, {}, 10),
                  costate::sundials::SundialsError);
}

TEST_CASE("What is wrong with a problem for IDAS is refused") {
  const Context context;
  std::vector<double> y0 = {1, 0, 0};
  const Vector y = costate::sundials::wrap(y0, context);
  IdasProblem problem{.context = context, .y0 = y.get(), .yp0 = y.get(), .residual = residual};
  CHECK_THROWS_AS(costate::sundials::idas_solver(problem, 0, 10), costate::InvalidArgument);
  problem.adjoint_residual = adjoint_residual;
  problem.parameters = 3;
  CHECK_THROWS_AS(costate::sundials::idas_solver(problem, 0, 10), costate::InvalidArgument);
}
