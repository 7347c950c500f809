#pragma once

// A closed chain of masses with quadratic and cubic springs (Fermi, Pasta, Ulam, Tsingou 1955);
// p: the strength of the cubic part.

#include <cmath>
#include <numbers>

#include "costate/integrate/separable.hpp"

struct Chain {
  using Half = Eigen::VectorXd;
  using Parameters = Eigen::Matrix<double, 1, 1>;

  static Eigen::VectorXd initial(Eigen::Index masses) {
    Eigen::VectorXd y = Eigen::VectorXd::Zero(2 * masses);
    for (Eigen::Index i = 0; i < masses; ++i) {
      y[i] = std::sin(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(masses));
    }
    return y;
  }

  void velocity(const Half& m, const Parameters&, Half& out) const { out = m; }
  void velocity_vjp(const Half&, const Parameters&, const Half& w, Half& m_bar, Parameters&) const {
    m_bar = w;
  }
  // Of the spring behind mass i: s + p s², s its stretch.
  void force(const Half& x, const Parameters& p, Half& out) const {
    const Eigen::Index n = x.size();
    double last = spring(x[0] - x[n - 1], p[0]);
    for (Eigen::Index i = 0; i < n; ++i) {
      const double next = spring(x[i + 1 < n ? i + 1 : 0] - x[i], p[0]);
      out[i] = next - last;
      last = next;
    }
  }
  void force_vjp(const Half& x, const Parameters& p, const Half& w, Half& x_bar,
                 Parameters& p_bar) const {
    const Eigen::Index n = x.size();
    const auto stretch = [&](Eigen::Index i) { return x[i + 1 < n ? i + 1 : 0] - x[i]; };
    const auto pull = [&](Eigen::Index i) { return w[i] - w[i + 1 < n ? i + 1 : 0]; };
    double last = (1 + 2 * p[0] * stretch(n - 1)) * pull(n - 1);
    double sum = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
      const double s = stretch(i);
      const double next = (1 + 2 * p[0] * s) * pull(i);
      x_bar[i] = last - next;
      last = next;
      sum += s * s * pull(i);
    }
    p_bar[0] += sum;
  }

 private:
  static double spring(double s, double p) { return s + p * s * s; }
};
