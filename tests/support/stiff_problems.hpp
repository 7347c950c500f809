#pragma once

// Stiff test problems, with their derivatives written out by hand. See problems.hpp.

#include <cmath>

#include <Eigen/Core>

namespace problems {

// y1' = -p1 y1 + p2 y2 y3,  y3' = p3 y2²,  y1 + y2 + y3 constant (Robertson 1966)
struct Robertson {
  using State = Eigen::Vector3d;
  using Parameters = Eigen::Vector3d;
  using Jacobian = Eigen::Matrix3d;

  template <class Y, class P, class Out>
  static void f(double, const Y& y, const P& p, Out& out) {
    out[0] = -p[0] * y[0] + p[1] * y[1] * y[2];
    out[2] = p[2] * y[1] * y[1];
    out[1] = -out[0] - out[2];
  }
  void rhs(double t, const State& y, const Parameters& p, State& out) const { f(t, y, p, out); }
  void jacobian(double, const State& y, const Parameters& p, Jacobian& j) const {
    j.row(0) << -p[0], p[1] * y[2], p[1] * y[1];
    j.row(2) << 0, 2 * p[2] * y[1], 0;
    j.row(1) = -j.row(0) - j.row(2);
  }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    const double first = w[0] - w[1];
    const double third = w[2] - w[1];
    y_bar[0] = -p[0] * first;
    y_bar[1] = p[1] * y[2] * first + 2 * p[2] * y[1] * third;
    y_bar[2] = p[1] * y[1] * first;
    p_bar[0] -= y[0] * first;
    p_bar[1] += y[1] * y[2] * first;
    p_bar[2] += y[1] * y[1] * third;
  }
};

// y1' = y2,  y2' = mu ((1 - y1²) y2 - y1): van der Pol in the time of its slow phase
struct StiffVanDerPol {
  using State = Eigen::Vector2d;
  using Parameters = Eigen::Matrix<double, 1, 1>;

  template <class Y, class P, class Out>
  static void f(double, const Y& y, const P& p, Out& out) {
    out[0] = y[1];
    out[1] = p[0] * ((1. - y[0] * y[0]) * y[1] - y[0]);
  }
  void rhs(double t, const State& y, const Parameters& p, State& out) const { f(t, y, p, out); }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar[0] = p[0] * (-2 * y[0] * y[1] - 1) * w[1];
    y_bar[1] = w[0] + p[0] * (1 - y[0] * y[0]) * w[1];
    p_bar[0] += ((1 - y[0] * y[0]) * y[1] - y[0]) * w[1];
  }
};

// y' = -p (y - sin t) + cos t, whose solution is drawn to sin t
struct Attracted {
  using State = Eigen::Matrix<double, 1, 1>;
  using Parameters = Eigen::Matrix<double, 1, 1>;

  template <class Y, class P, class Out>
  static void f(double t, const Y& y, const P& p, Out& out) {
    out[0] = -p[0] * (y[0] - std::sin(t)) + std::cos(t);
  }
  void rhs(double t, const State& y, const Parameters& p, State& out) const { f(t, y, p, out); }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar[0] = -p[0] * w[0];
    p_bar[0] -= (y[0] - std::sin(t)) * w[0];
  }
};

}  // namespace problems
