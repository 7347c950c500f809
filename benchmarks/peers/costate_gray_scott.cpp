// The work of petsc/gray_scott.cpp by costate: all states kept. Prints "cold S" or "warm S",
// processor seconds of the whole gradient, and the gradient to compare. Usage:
// peer_costate_gray_scott [points in each direction] [steps] [repetitions]

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <malloc.h>

#include "costate/costate.hpp"
#include "support/gray_scott.hpp"
#include "support/measure.hpp"

int main(int argc, char** argv) {
  using namespace costate::literals;
  const std::ptrdiff_t size = argc > 1 ? std::atol(argv[1]) : 256;
  const costate::Step steps = argc > 2 ? std::atoll(argv[2]) : 60;
  const int repetitions = argc > 3 ? std::atoi(argv[3]) : 3;
  const double dt = std::min(1.0, std::pow(128.0 / static_cast<double>(size), 2));

  const std::ptrdiff_t points = size * size;
  Eigen::VectorXd y0(2 * points);
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    for (std::ptrdiff_t j = 0; j < size; ++j) {
      const double x = 2.5 * static_cast<double>(j) / static_cast<double>(size);
      const double z = 2.5 * static_cast<double>(i) / static_cast<double>(size);
      const double r = (x - 1.1) * (x - 1.1) + 1.3 * (z - 1.3) * (z - 1.3);
      const double q = (x - 1.8) * (x - 1.8) + (z - 0.6) * (z - 0.6);
      const double b = std::exp(-20 * r) * (1 + 0.2 * std::sin(9 * x) * std::cos(7 * z)) +
                       0.8 * std::exp(-30 * q);
      y0[i * size + j] = 1 - 0.7 * b;
      y0[points + i * size + j] = 0.45 * b;
    }
  }
  const auto objective = costate::terminal(
      [](const Eigen::VectorXd& y, const Eigen::Vector2d&) { return 0.5 * y.squaredNorm(); },
      [](const Eigen::VectorXd& y, const Eigen::Vector2d&, Eigen::VectorXd& y_bar,
         Eigen::Vector2d&) { y_bar += y; });
  const GrayScott model{.size = size};
  // Warm means for both that memory is there: PETSc keeps its trajectory and its vectors from one
  // repetition to the next. Here the workspace keeps the checkpoints, and malloc the vectors.
  costate::Workspace workspace;
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  for (int i = 0; i < repetitions; ++i) {
    const double start = bench::cpu_seconds();
    const auto result =
        costate::value_and_gradient(model, costate::RungeKutta4{.steps = steps}, objective,
                                    {.t0 = 0,
                                     .t1 = dt * static_cast<double>(steps),
                                     .y0 = y0,
                                     .p = {0.024, 0.06},
                                     .budget = {.memory = 1_GiB, .workspace = &workspace}});
    const double seconds = bench::cpu_seconds() - start;
    std::printf("%s %.6f  |g_y0|=%.12g g_p=%.12g %.12g\n", i == 0 ? "cold" : "warm", seconds,
                result.dy0.norm(), result.dp[0], result.dp[1]);
  }
}
