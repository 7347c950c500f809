#pragma once

#include <Eigen/Core>

// Lorenz 1963: p = (sigma, rho, beta).
struct Lorenz {
  using State = Eigen::Vector3d;
  using Parameters = Eigen::Vector3d;

  void rhs(double /*t*/, const State& y, const Parameters& p, State& dydt) const {
    dydt << p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2];
  }
  void vjp(double /*t*/, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar << -p[0] * w[0] + (p[1] - y[2]) * w[1] + y[1] * w[2], p[0] * w[0] - w[1] + y[0] * w[2],
        -y[0] * w[1] - p[2] * w[2];
    p_bar[0] += (y[1] - y[0]) * w[0];
    p_bar[1] += y[0] * w[1];
    p_bar[2] -= y[2] * w[2];
  }
};
