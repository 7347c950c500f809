// The work of petsc/burgers.cpp by costate: Crank-Nicolson, banded LU, in as much memory as it
// takes. Prints "forward S" of the plain steps, then "cold S" or "warm S" of the whole gradient,
// and "adjoint S" of its reverse sweep, processor seconds, and the gradient to compare. Usage:
// peer_costate_burgers [points] [steps] [repetitions]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numbers>

#include "costate/costate.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "support/burgers.hpp"
#include "support/measure.hpp"

int main(int argc, char** argv) {
  using namespace costate::literals;
  const Eigen::Index size = argc > 1 ? std::atol(argv[1]) : 1000;
  const costate::Step steps = argc > 2 ? std::atoll(argv[2]) : 200;
  const int repetitions = argc > 3 ? std::atoi(argv[3]) : 3;

  const Burgers model{.dx = 2 * std::numbers::pi / static_cast<double>(size)};
  const auto objective = costate::terminal(
      [](const Eigen::VectorXd& y, const Burgers::Parameters&) { return 0.5 * y.squaredNorm(); },
      [](const Eigen::VectorXd& y, const Burgers::Parameters&, Eigen::VectorXd& y_bar,
         Burgers::Parameters&) { y_bar += y; });
  const costate::CrankNicolson method{.steps = steps};
  costate::Workspace workspace;
  const costate::RunOf<Burgers> run{.t0 = 0,
                                    .t1 = 1e-3 * static_cast<double>(steps),
                                    .y0 = Burgers::initial(size),
                                    .p = Burgers::Parameters(0.005),
                                    .budget = {.memory = 1_GiB, .workspace = &workspace}};
  double plain = 1e300;
  for (int i = 0; i < repetitions; ++i) {
    const double start = bench::cpu_seconds();
    const auto result = costate::value(model, method, objective, run);
    plain = std::min(plain, bench::cpu_seconds() - start);
    if (i == 0) std::printf("J=%.15g\n", result.value);
  }
  std::printf("forward %.6f\n", plain);
  for (int i = 0; i < repetitions; ++i) {
    const double start = bench::cpu_seconds();
    const auto result = costate::value_and_gradient(model, method, objective, run);
    const double seconds = bench::cpu_seconds() - start;
    std::printf("%s %.6f  adjoint %.6f (%.2fx)  %s, %lld steps again  |g_y0|=%.12g g_p=%.12g\n",
                i == 0 ? "cold" : "warm", seconds, result.report.reverse_seconds,
                result.report.reverse_seconds / plain, result.report.schedule.c_str(),
                static_cast<long long>(result.report.advances + result.report.reverses - steps),
                result.dy0.norm(), result.dp[0]);
  }
}
