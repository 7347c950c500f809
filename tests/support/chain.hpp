#pragma once

// A chain of pendulums coupled by springs, with a momentum that is not linear in the velocity:
//
//   F_i = -p1 sin x_i + p2 (x_{i+1} - 2 x_i + x_{i-1}),   v_i = p3 m_i + m_i³ / 10
//
// of any size, as functions for symplectic methods and as a problem of problems.hpp's kind.

#include <cmath>

#include <Eigen/Core>

#include "costate/integrate/separable.hpp"

namespace problems {

template <class H>
struct ChainFunctions {
  using Half = H;
  using Parameters = Eigen::Vector3d;

  template <class X, class P, class Out>
  static void force_of(const X& x, const P& p, Out&& out) {
    using std::sin;
    for (Eigen::Index i = 0; i < x.size(); ++i) out[i] = -p[0] * sin(x[i]);
    for (Eigen::Index i = 0; i + 1 < x.size(); ++i) {
      const auto spring = p[1] * (x[i + 1] - x[i]);
      out[i] += spring;
      out[i + 1] -= spring;
    }
  }
  template <class M, class P, class Out>
  static void velocity_of(const M& m, const P& p, Out&& out) {
    for (Eigen::Index i = 0; i < m.size(); ++i) out[i] = p[2] * m[i] + 0.1 * m[i] * m[i] * m[i];
  }
  template <class Y, class P>
  static auto energy(const Y& y, const P& p) {
    double sum = 0;
    const Eigen::Index d = y.size() / 2;
    for (Eigen::Index i = 0; i < d; ++i) {
      const double m = y[d + i];
      sum += p[2] * m * m / 2 + 0.025 * m * m * m * m - p[0] * std::cos(y[i]);
    }
    for (Eigen::Index i = 0; i + 1 < d; ++i)
      sum += p[1] / 2 * (y[i + 1] - y[i]) * (y[i + 1] - y[i]);
    return sum;
  }

  void force(const Half& x, const Parameters& p, Half& out) const { force_of(x, p, out); }
  void velocity(const Half& m, const Parameters& p, Half& out) const { velocity_of(m, p, out); }
  void force_vjp(const Half& x, const Parameters& p, const Half& w, Half& x_bar,
                 Parameters& p_bar) const {
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      x_bar[i] = -p[0] * std::cos(x[i]) * w[i];
      p_bar[0] -= std::sin(x[i]) * w[i];
    }
    for (Eigen::Index i = 0; i + 1 < x.size(); ++i) {
      const double s = w[i] - w[i + 1];
      x_bar[i + 1] += p[1] * s;
      x_bar[i] -= p[1] * s;
      p_bar[1] += (x[i + 1] - x[i]) * s;
    }
  }
  void velocity_vjp(const Half& m, const Parameters& p, const Half& w, Half& m_bar,
                    Parameters& p_bar) const {
    for (Eigen::Index i = 0; i < m.size(); ++i) m_bar[i] = (p[2] + 0.3 * m[i] * m[i]) * w[i];
    p_bar[2] += m.dot(w);
  }
  void force_jvp(const Half& x, const Parameters& p, const Half& dx, const Parameters& dp,
                 Half& out) const {
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      out[i] = -p[0] * std::cos(x[i]) * dx[i] - std::sin(x[i]) * dp[0];
    }
    for (Eigen::Index i = 0; i + 1 < x.size(); ++i) {
      const double spring = p[1] * (dx[i + 1] - dx[i]) + dp[1] * (x[i + 1] - x[i]);
      out[i] += spring;
      out[i + 1] -= spring;
    }
  }
  void velocity_jvp(const Half& m, const Parameters& p, const Half& dm, const Parameters& dp,
                    Half& out) const {
    for (Eigen::Index i = 0; i < m.size(); ++i) {
      out[i] = (p[2] + 0.3 * m[i] * m[i]) * dm[i] + m[i] * dp[2];
    }
  }
};

template <class H>
struct Chain : costate::SeparableProblem<ChainFunctions<H>> {
  Chain() : costate::SeparableProblem<ChainFunctions<H>>(ChainFunctions<H>{}) {}
  template <class Y, class P, class Out>
  static void f(double, const Y& y, const P& p, Out& out) {
    const Eigen::Index d = y.size() / 2;
    ChainFunctions<H>::velocity_of(y.tail(d), p, out.head(d));
    ChainFunctions<H>::force_of(y.head(d), p, out.tail(d));
  }
};

}  // namespace problems
