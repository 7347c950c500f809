#pragma once

// Test problems. Each has `f`, the right-hand side as a template over the number type, so that it
// can be run in complex arithmetic too, and its derivatives written out by hand.

#include <cmath>

#include <Eigen/Core>

namespace problems {

// y1' = p1 y1 - p2 y1 y2,  y2' = -p3 y2 + p4 y1 y2
struct LotkaVolterra {
  using State = Eigen::Vector2d;
  using Parameters = Eigen::Vector4d;

  template <class Y, class P, class Out>
  static void f(double, const Y& y, const P& p, Out& out) {
    out[0] = p[0] * y[0] - p[1] * y[0] * y[1];
    out[1] = -p[2] * y[1] + p[3] * y[0] * y[1];
  }
  void rhs(double t, const State& y, const Parameters& p, State& out) const { f(t, y, p, out); }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar[0] = (p[0] - p[1] * y[1]) * w[0] + p[3] * y[1] * w[1];
    y_bar[1] = -p[1] * y[0] * w[0] + (-p[2] + p[3] * y[0]) * w[1];
    p_bar[0] += y[0] * w[0];
    p_bar[1] -= y[0] * y[1] * w[0];
    p_bar[2] -= y[1] * w[1];
    p_bar[3] += y[0] * y[1] * w[1];
  }
  void jvp(double, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
           State& out) const {
    out[0] =
        (p[0] - p[1] * y[1]) * dy[0] - p[1] * y[0] * dy[1] + y[0] * dp[0] - y[0] * y[1] * dp[1];
    out[1] =
        p[3] * y[1] * dy[0] + (-p[2] + p[3] * y[0]) * dy[1] - y[1] * dp[2] + y[0] * y[1] * dp[3];
  }
};

// y1' = y2,  y2' = mu (1 - y1²) y2 - y1
struct VanDerPol {
  using State = Eigen::Vector2d;
  using Parameters = Eigen::Matrix<double, 1, 1>;

  template <class Y, class P, class Out>
  static void f(double, const Y& y, const P& p, Out& out) {
    out[0] = y[1];
    out[1] = p[0] * (1. - y[0] * y[0]) * y[1] - y[0];
  }
  void rhs(double t, const State& y, const Parameters& p, State& out) const { f(t, y, p, out); }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar[0] = (-2 * p[0] * y[0] * y[1] - 1) * w[1];
    y_bar[1] = w[0] + p[0] * (1 - y[0] * y[0]) * w[1];
    p_bar[0] += (1 - y[0] * y[0]) * y[1] * w[1];
  }
  void jvp(double, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
           State& out) const {
    out[0] = dy[1];
    out[1] = (-2 * p[0] * y[0] * y[1] - 1) * dy[0] + p[0] * (1 - y[0] * y[0]) * dy[1] +
             (1 - y[0] * y[0]) * y[1] * dp[0];
  }
};

// y' = lambda y + cos(omega t), of any size: linear in y, time-dependent, dynamic.
struct Forced {
  using State = Eigen::VectorXd;
  using Parameters = Eigen::VectorXd;  // lambda, omega

  template <class Y, class P, class Out>
  static void f(double t, const Y& y, const P& p, Out& out) {
    using std::cos;
    for (Eigen::Index i = 0; i < y.size(); ++i) out[i] = p[0] * y[i] + cos(p[1] * t);
  }
  void rhs(double t, const State& y, const Parameters& p, State& out) const { f(t, y, p, out); }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar = p[0] * w;
    p_bar[0] += y.dot(w);
    p_bar[1] -= t * std::sin(p[1] * t) * w.sum();
  }
  void jvp(double t, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
           State& out) const {
    out = p[0] * dy + y * dp[0];
    out.array() -= t * std::sin(p[1] * t) * dp[1];
  }
};

// y' = lambda y
struct Linear {
  using State = Eigen::Matrix<double, 1, 1>;
  using Parameters = Eigen::Matrix<double, 1, 1>;

  template <class Y, class P, class Out>
  static void f(double, const Y& y, const P& p, Out& out) {
    out[0] = p[0] * y[0];
  }
  void rhs(double t, const State& y, const Parameters& p, State& out) const { f(t, y, p, out); }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar[0] = p[0] * w[0];
    p_bar[0] += y[0] * w[0];
  }
  void jvp(double, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
           State& out) const {
    out[0] = p[0] * dy[0] + y[0] * dp[0];
  }
};

}  // namespace problems
