// The work of petsc/lorenz.cpp by costate: all states kept. Prints "cold S" or "warm S", processor
// seconds of the whole gradient, and the gradient to compare. Usage: peer_costate_lorenz [steps]
// [repetitions]

#include <cstdio>
#include <cstdlib>

#include "costate/costate.hpp"
#include "support/lorenz.hpp"
#include "support/measure.hpp"

int main(int argc, char** argv) {
  using namespace costate::literals;
  const costate::Step steps = argc > 1 ? std::atoll(argv[1]) : 100'000;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 3;
  const auto objective = costate::terminal(
      [](const Eigen::Vector3d& y, const Eigen::Vector3d&) { return 0.5 * y.squaredNorm(); },
      [](const Eigen::Vector3d& y, const Eigen::Vector3d&, Eigen::Vector3d& y_bar,
         Eigen::Vector3d&) { y_bar += y; });
  costate::Workspace workspace;  // PETSc keeps its trajectory's memory, too
  for (int i = 0; i < repetitions; ++i) {
    const double start = bench::cpu_seconds();
    const auto result =
        costate::value_and_gradient(Lorenz{}, costate::RungeKutta4{.steps = steps}, objective,
                                    {.t0 = 0,
                                     .t1 = 1,
                                     .y0 = {1, 1.2, 20},
                                     .p = {10, 28, 8. / 3},
                                     .budget = {.memory = 1_GiB, .workspace = &workspace}});
    const double seconds = bench::cpu_seconds() - start;
    std::printf("%s %.6f  |g_y0|=%.12g g_p=%.12g\n", i == 0 ? "cold" : "warm", seconds,
                result.dy0.norm(), result.dp[0]);
  }
}
