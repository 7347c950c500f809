// Robertson's kinetics to T = 40, G = ∫ y3 dt: the error of dG/dp against the tolerance.

#include <array>
#include <cmath>
#include <cstdio>

#include <cvodes/cvodes.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#include "costate/costate.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/sundials/arkode.hpp"
#include "costate/sundials/cvodes.hpp"
#include "costate/sundials/vector.hpp"
#include "sundials/benchmarks.hpp"

namespace {

namespace cs = costate::sundials;
using State = Eigen::Vector3d;

// Of the continuous problem, from an independent computation at a tolerance of 1e-14.
const State reference(129.7764828616, -3.626383373e-4, 6.044293421e-8);
constexpr double end = 40;
const State rates(0.04, 1e4, 3e7);

double error_of(const State& dp) {
  return ((dp - reference).array() / reference.array()).abs().maxCoeff();
}

// ----- costate's problem -----

auto problem() {
  return costate::problem<State, State>(
      [](double, const State& y, const State& p, State& out) {
        out[0] = -p[0] * y[0] + p[1] * y[1] * y[2];
        out[2] = p[2] * y[1] * y[1];
        out[1] = -out[0] - out[2];
      },
      [](double, const State& y, const State& p, const State& w, State& y_bar, State& p_bar) {
        const double a = w[0] - w[1];
        const double b = w[2] - w[1];
        y_bar << -p[0] * a, p[1] * y[2] * a + 2 * p[2] * y[1] * b, p[1] * y[1] * a;
        p_bar += State(-y[0] * a, y[1] * y[2] * a, y[1] * y[1] * b);
      });
}
auto objective() {
  return costate::integral(
      [](double, const State& y, const State&) { return y[2]; },
      [](double, const State&, const State&, State& y_bar, State&) { y_bar[2] += 1; });
}

// ----- CVODES' problem -----

double* at(N_Vector v) {
  return N_VGetArrayPointer(v);
}
int rhs(double, N_Vector y, N_Vector out, void*) {
  at(out)[0] = -rates[0] * at(y)[0] + rates[1] * at(y)[1] * at(y)[2];
  at(out)[2] = rates[2] * at(y)[1] * at(y)[1];
  at(out)[1] = -at(out)[0] - at(out)[2];
  return 0;
}
int integrand(double, N_Vector y, N_Vector out, void*) {
  at(out)[0] = at(y)[2];
  return 0;
}
int adjoint_rhs(double, N_Vector y, N_Vector l, N_Vector out, void*) {
  const double a = at(l)[0] - at(l)[1];
  const double b = at(l)[2] - at(l)[1];
  at(out)[0] = rates[0] * a;
  at(out)[1] = -(rates[1] * at(y)[2] * a + 2 * rates[2] * at(y)[1] * b);
  at(out)[2] = -rates[1] * at(y)[1] * a - 1;
  return 0;
}
int parameter_rhs(double, N_Vector y, N_Vector l, N_Vector out, void*) {
  const double a = at(l)[0] - at(l)[1];
  const double b = at(l)[2] - at(l)[1];
  at(out)[0] = at(y)[0] * a;
  at(out)[1] = -at(y)[1] * at(y)[2] * a;
  at(out)[2] = -at(y)[1] * at(y)[1] * b;
  return 0;
}

struct Outcome {
  double error;
  long steps;
};

// CVODES in windows; in one window, so that it runs as CVODES alone does, if `window` is large.
Outcome by_cvodes(double rtol, costate::Step window) {
  const cs::Context context;
  std::array<double, 3> y0 = {1, 0, 0};
  const cs::Vector y = cs::wrap(y0, context);
  const cs::Matrix a(SUNDenseMatrix(3, 3, context));
  const cs::Matrix b(SUNDenseMatrix(3, 3, context));
  const cs::LinearSolver forward(SUNLinSol_Dense(y.get(), a.get(), context));
  const cs::LinearSolver backward(SUNLinSol_Dense(y.get(), b.get(), context));
  const cs::CvodesProblem problem{
      .context = context,
      .y0 = y.get(),
      .rhs = rhs,
      .rtol = rtol,
      .atol = rtol * 1e-6,
      .integrand = integrand,
      .configure =
          [&](void* cvodes) {
            cs::check(CVodeSetLinearSolver(cvodes, forward.get(), a.get()), "CVodeSetLinearSolver");
          },
      .adjoint_rhs = adjoint_rhs,
      .parameter_rhs = parameter_rhs,
      .parameters = 3,
      .adjoint_atol = rtol * 1e-2,
      .configure_adjoint =
          [&](void* cvodes, int which) {
            cs::check(CVodeSetLinearSolverB(cvodes, which, backward.get(), b.get()),
                      "CVodeSetLinearSolverB");
          }};
  cs::WindowStepper stepper(cs::cvodes_solver(problem, 0, window), 0, end, window, {}, {});
  costate::sweep(stepper);
  const auto dp = stepper.parameter_gradient();
  return {error_of({dp[0], dp[1], dp[2]}), stepper.solver_steps()};
}

}  // namespace

void robertson_table() {
  std::printf("Robertson to T = 40: largest relative error of the three dG/dp, and steps\n\n");
  std::printf(
      "| rtol | ARKODE's steps, costate's adjoint | CVODES alone | CVODES, windows of 100 |\n");
  std::printf("| --- | --- | --- | --- |\n");
  for (const double rtol : {1e-4, 1e-6, 1e-8}) {
    const auto exact =
        cs::value_and_gradient(problem(), costate::Esdirk43{.rtol = rtol, .atol = rtol * 1e-6},
                               objective(), {.t0 = 0, .t1 = end, .y0 = State(1, 0, 0), .p = rates});
    const auto alone = by_cvodes(rtol, 100'000);
    const auto windows = by_cvodes(rtol, 100);
    std::printf("| %.0e | %.1e in %lld steps | %.1e in %ld | %.1e in %ld |\n", rtol,
                error_of(exact.dp), static_cast<long long>(exact.report.steps), alone.error,
                alone.steps, windows.error, windows.steps);
  }
}
