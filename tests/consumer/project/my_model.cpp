#include <cstdio>

#include "costate/costate.hpp"

using namespace costate::literals;

// A damped pendulum: y = (angle, speed), p = (damping, gravity over length).
struct Pendulum {
  using State = Eigen::Vector2d;
  using Parameters = Eigen::Vector2d;

  void rhs(double, const State& y, const Parameters& p, State& dydt) const {
    dydt << y[1], -p[0] * y[1] - p[1] * std::sin(y[0]);
  }
  // The transposed derivatives of rhs, applied to w.
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar << -p[1] * std::cos(y[0]) * w[1], w[0] - p[0] * w[1];
    p_bar += Parameters(-y[1] * w[1], -std::sin(y[0]) * w[1]);
  }
};

int main() {
  // J = 1/2 (angle at the end)^2
  const auto objective = costate::terminal(
      [](const Eigen::Vector2d& y, const Eigen::Vector2d&) { return 0.5 * y[0] * y[0]; },
      [](const Eigen::Vector2d& y, const Eigen::Vector2d&, Eigen::Vector2d& y_bar,
         Eigen::Vector2d&) { y_bar[0] += y[0]; });

  // A million steps: 16 MB of states. The gradient is computed within 64 KiB of checkpoints.
  const auto result = costate::value_and_gradient(
      Pendulum{}, costate::RungeKutta4{.h = 1e-5}, objective,
      {.t0 = 0, .t1 = 10, .y0 = {1.0, 0.0}, .p = {0.1, 9.81}, .budget = {.memory = 64_KiB}});

  std::printf("J      = %.10f\n", result.value);
  std::printf("dJ/dy0 = %.10f %.10f\n", result.dy0[0], result.dy0[1]);
  std::printf("dJ/dp  = %.10f %.10f\n", result.dp[0], result.dp[1]);
  std::printf("%s", costate::to_string(result.report).c_str());
}
