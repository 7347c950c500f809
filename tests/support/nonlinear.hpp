#pragma once

// A nonlinear problem that depends on time, with every derivative that any method asks for; its
// Jacobian and time derivative are templates too, for oracles in complex arithmetic.

#include <cmath>

#include <Eigen/Core>

#include "costate/integrate/imex_kernel.hpp"

namespace problems {

// y1' = y2 + p1 t y1,  y2' = p1 (1 - y1²) y2 - p2 y1 sin t
struct Nonlinear {
  using State = Eigen::Vector2d;
  using Parameters = Eigen::Vector2d;

  template <class Y, class P, class Out>
  static void f(double t, const Y& y, const P& p, Out& out) {
    out[0] = y[1] + p[0] * t * y[0];
    out[1] = p[0] * (1. - y[0] * y[0]) * y[1] - p[1] * y[0] * std::sin(t);
  }
  template <class Y, class P>
  static auto matrix(double t, const Y& y, const P& p) {
    Eigen::Matrix<typename Y::Scalar, 2, 2> j;
    j << p[0] * t, 1., -2. * p[0] * y[0] * y[1] - p[1] * std::sin(t), p[0] * (1. - y[0] * y[0]);
    return j;
  }
  template <class Y, class P>
  static auto slope_in_time(double t, const Y& y, const P& p) {
    Eigen::Matrix<typename Y::Scalar, 2, 1> out;
    out << p[0] * y[0], -p[1] * y[0] * std::cos(t);
    return out;
  }
  void rhs(double t, const State& y, const Parameters& p, State& out) const { f(t, y, p, out); }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar = matrix(t, y, p).transpose() * w;
    p_bar[0] += t * y[0] * w[0] + (1 - y[0] * y[0]) * y[1] * w[1];
    p_bar[1] -= y[0] * std::sin(t) * w[1];
  }
  void jvp(double t, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
           State& out) const {
    out = matrix(t, y, p) * dy;
    out[0] += t * y[0] * dp[0];
    out[1] += (1 - y[0] * y[0]) * y[1] * dp[0] - y[0] * std::sin(t) * dp[1];
  }
  void jacobian_vjp(double t, const State& y, const Parameters& p, const State& k, const State& w,
                    State& y_bar, Parameters& p_bar) const {
    y_bar[0] += w[1] * (-2 * p[0] * y[1] * k[0] - 2 * p[0] * y[0] * k[1]);
    y_bar[1] += w[1] * (-2 * p[0] * y[0] * k[0]);
    p_bar[0] += w[0] * t * k[0] + w[1] * (-2 * y[0] * y[1] * k[0] + (1 - y[0] * y[0]) * k[1]);
    p_bar[1] -= w[1] * std::sin(t) * k[0];
  }
  void time_derivative(double t, const State& y, const Parameters& p, State& out) const {
    out = slope_in_time(t, y, p);
  }
  void time_derivative_vjp(double t, const State& y, const Parameters& p, const State& w,
                           State& y_bar, Parameters& p_bar) const {
    y_bar[0] += p[0] * w[0] - p[1] * std::cos(t) * w[1];
    p_bar[0] += y[0] * w[0];
    p_bar[1] -= y[0] * std::cos(t) * w[1];
  }
};

// y1' = y2,  y2' = -p2 y1 + cos t
struct Swing {
  using State = Eigen::Vector2d;
  using Parameters = Eigen::Vector2d;

  template <class Y, class P, class Out>
  static void f(double t, const Y& y, const P& p, Out& out) {
    out[0] = y[1];
    out[1] = -p[1] * y[0] + std::cos(t);
  }
  void rhs(double t, const State& y, const Parameters& p, State& out) const { f(t, y, p, out); }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar[0] = -p[1] * w[1];
    y_bar[1] = w[0];
    p_bar[1] -= y[0] * w[1];
  }
  void jvp(double, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
           State& out) const {
    out[0] = dy[1];
    out[1] = -p[1] * dy[0] - y[0] * dp[1];
  }
};

struct SplitNonlinear : costate::SplitProblem<Nonlinear, Swing> {
  SplitNonlinear() : SplitProblem({}, {}) {}
};

}  // namespace problems
