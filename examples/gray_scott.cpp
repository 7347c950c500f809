// Gray-Scott on 256 x 256 points: how does the pattern at the end depend on the initial fields and
// on the two rates? 3000 RK4 steps of a 1 MiB state are a trajectory of 2.9 GiB; the gradient is
// computed within 32 MiB of memory and 256 MiB of disk.
//
//   Objective  J = 1/2 mean over the points of (v(T) - target)^2, where the target is the pattern
//              that slightly different rates make
//   Wanted     dJ/d(u(0), v(0)), dJ/d(F, k)
//
// Usage: gray_scott [--output FOLDER] [--size N] [--steps N]

#include "support/gray_scott.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <unistd.h>

#include "costate/costate.hpp"
#include "costate/hdf5/disk.hpp"
#include "support/options.hpp"
#include "support/picture.hpp"

namespace {

using namespace costate::literals;

void print_progress(const costate::Progress& progress) {
  if (isatty(STDOUT_FILENO) == 0) return;
  std::printf("\r%-78s", costate::to_string(progress).c_str());
  if (progress.fraction >= 1) std::printf("\n");
  std::fflush(stdout);
}

void run(const std::string& output, std::ptrdiff_t size, costate::Step steps) {
  const GrayScott model{.size = size};
  const std::ptrdiff_t points = size * size;
  const costate::RungeKutta4 method{.steps = steps};
  const Eigen::VectorXd y0 = initial_fields(size);
  const Eigen::Vector2d p(0.024, 0.06);
  // Inside the stability limit of RK4 for the diffusion.
  const double dt = std::min(1.0, 0.35 * std::pow(256.0 / static_cast<double>(size), 2));
  const double t1 = static_cast<double>(steps) * dt;

  // The target: the last state of a run with other rates.
  const auto nothing = costate::terminal(
      [](const Eigen::VectorXd&, const Eigen::Vector2d&) { return 0.0; },
      [](const Eigen::VectorXd&, const Eigen::Vector2d&, Eigen::VectorXd&, Eigen::Vector2d&) {});
  const Eigen::VectorXd target =
      costate::value(model, method, nothing,
                     {.t0 = 0, .t1 = t1, .y0 = y0, .p = Eigen::Vector2d(0.0245, 0.0598)})
          .y1.tail(points);

  const auto weight = 1 / static_cast<double>(points);
  const auto misfit = costate::terminal(
      [&](const Eigen::VectorXd& y, const Eigen::Vector2d&) {
        return 0.5 * weight * (y.tail(points) - target).squaredNorm();
      },
      [&](const Eigen::VectorXd& y, const Eigen::Vector2d&, Eigen::VectorXd& y_bar,
          Eigen::Vector2d&) { y_bar.tail(points) += weight * (y.tail(points) - target); });

  const auto result = costate::value_and_gradient(
      model, method, misfit,
      {.t0 = 0,
       .t1 = t1,
       .y0 = y0,
       .p = p,
       .budget = {.memory = 32_MiB,
                  .disk = costate::hdf5({.directory = output, .capacity = 256_MiB})},
       .progress = print_progress});

  // Check: central differences along one direction in all 131074 unknowns.
  Eigen::VectorXd direction = Eigen::VectorXd::NullaryExpr(
      2 * points, [](Eigen::Index i) { return std::sin(0.001 * static_cast<double>(i)); });
  const Eigen::Vector2d rates(0.01, -0.02);
  const auto along = [&](double e) {
    return costate::value(model, method, misfit,
                          {.t0 = 0, .t1 = t1, .y0 = y0 + e * direction, .p = p + e * rates})
        .value;
  };
  const double e = 1e-7;
  const double difference = (along(e) - along(-e)) / (2 * e);
  const double product = result.dy0.dot(direction) + result.dp.dot(rates);
  const double mismatch = std::abs(difference - product) / std::abs(product);
  const Eigen::VectorXd pattern =
      costate::value(model, method, nothing, {.t0 = 0, .t1 = t1, .y0 = y0, .p = p}).y1.tail(points);

  const auto image = [&](const Eigen::VectorXd& field) {
    return std::vector<double>(field.data(), field.data() + points);
  };
  picture::write_png(output + "/gray_scott.png", static_cast<std::size_t>(size),
                     static_cast<std::size_t>(size),
                     {{image(pattern), false},
                      {image(result.dy0.head(points)), true},
                      {image(result.dy0.tail(points)), true}});

  std::printf("value      J = %.12e\n", result.value);
  std::printf("gradient   dJ/dF = %.12e, dJ/dk = %.12e, |dJ/du0| = %.6e, |dJ/dv0| = %.6e\n",
              result.dp[0], result.dp[1], result.dy0.head(points).norm(),
              result.dy0.tail(points).norm());
  std::printf("check      along a direction: %.9e, central differences %.9e, relative %.1e\n",
              product, difference, mismatch);
  std::printf("%s", costate::to_string(result.report).c_str());
  std::printf("picture    gray_scott.png: v at the end, dJ/du(0), dJ/dv(0)\n");
  // Central differences: e^2 from the third derivative, 1e-16 / e from rounding.
  if (!(mismatch < 1e-5)) throw std::runtime_error("the check failed");
}

}  // namespace

int main(int argc, char** argv) try {
  run(example::option(argc, argv, "--output", "."),
      std::stol(example::option(argc, argv, "--size", "256")),
      std::stol(example::option(argc, argv, "--steps", "3000")));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "gray_scott: %s\n", error.what());
  return 1;
}
