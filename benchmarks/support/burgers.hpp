#pragma once

// Viscous Burgers flow on a circle, u_t + (u²/2)_x = p u_xx, central differences: the problem of
// peers/petsc/burgers.cpp.

#include <cmath>
#include <numbers>

#include "costate/integrate/banded_solver.hpp"

struct Burgers {
  using State = Eigen::VectorXd;
  using Parameters = Eigen::Matrix<double, 1, 1>;  // viscosity
  using Jacobian = costate::BandedMatrix<double, 1, 1, true>;

  double dx;

  static State initial(Eigen::Index n) {
    State u(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const double x = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
      u[i] = .5 + .4 * std::sin(x) + .1 * std::cos(3 * x);
    }
    return u;
  }

  // Calls at(i, left, right) for all points.
  template <class At>
  static void each(Eigen::Index n, const At& at) {
    at(0, n - 1, 1);
    for (Eigen::Index i = 1; i < n - 1; ++i) at(i, i - 1, i + 1);
    at(n - 1, n - 2, 0);
  }

  void rhs(double, const State& y, const Parameters& p, State& dydt) const {
    const double c = 1 / (4 * dx);
    const double d = p[0] / (dx * dx);
    const double* const u = y.data();
    double* const o = dydt.data();
    each(y.size(), [=](Eigen::Index i, Eigen::Index l, Eigen::Index r) {
      o[i] = c * (u[l] * u[l] - u[r] * u[r]) + d * (u[l] - 2 * u[i] + u[r]);
    });
  }
  void jacobian(double, const State& y, const Parameters& p, Jacobian& j) const {
    const double c = 1 / (2 * dx);
    const double d = p[0] / (dx * dx);
    each(y.size(), [&](Eigen::Index i, Eigen::Index l, Eigen::Index r) {
      j.band(i, -1) = c * y[l] + d;
      j.band(i, 0) = -2 * d;
      j.band(i, 1) = -c * y[r] + d;
    });
  }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    const double c = 1 / (2 * dx);
    const double d = p[0] / (dx * dx);
    const double* const u = y.data();
    const double* const v = w.data();
    double* const o = y_bar.data();
    const Eigen::Index n = y.size();
    each(n, [=](Eigen::Index i, Eigen::Index l, Eigen::Index r) {
      o[i] = (c * u[i] + d) * v[r] - 2 * d * v[i] + (d - c * u[i]) * v[l];
    });
    const Eigen::Index m = n - 2;
    const double inner = (w.segment(1, m).array() *
                          (y.head(m).array() - 2 * y.segment(1, m).array() + y.tail(m).array()))
                             .sum();
    const double ends =
        v[0] * (u[n - 1] - 2 * u[0] + u[1]) + v[n - 1] * (u[n - 2] - 2 * u[n - 1] + u[0]);
    p_bar[0] += (inner + ends) / (dx * dx);
  }
};
