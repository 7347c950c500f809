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
  double advects = 1;  // factors of the two terms, to split them
  double diffuses = 1;

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
    const double c = advects / (4 * dx);
    const double d = diffuses * p[0] / (dx * dx);
    const double* const u = y.data();
    double* const o = dydt.data();
    each(y.size(), [=](Eigen::Index i, Eigen::Index l, Eigen::Index r) {
      o[i] = c * (u[l] * u[l] - u[r] * u[r]) + d * (u[l] - 2 * u[i] + u[r]);
    });
  }
  void jacobian(double, const State& y, const Parameters& p, Jacobian& j) const {
    const double c = advects / (2 * dx);
    const double d = diffuses * p[0] / (dx * dx);
    each(y.size(), [&](Eigen::Index i, Eigen::Index l, Eigen::Index r) {
      j.band(i, -1) = c * y[l] + d;
      j.band(i, 0) = -2 * d;
      j.band(i, 1) = -c * y[r] + d;
    });
  }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    const double c = advects / (2 * dx);
    const double d = diffuses * p[0] / (dx * dx);
    const Eigen::Index n = y.size();
    // The second difference is its own transpose, so the parameter's share is yᵀ of it, too.
    constexpr Eigen::Index width = 8;
    using Block = Eigen::Array<double, width, 1>;
    double ends = 0;
    const auto at = [&](Eigen::Index i, Eigen::Index l, Eigen::Index r) {
      const double second = w[l] - 2 * w[i] + w[r];
      y_bar[i] = d * second + (c * y[i]) * (w[r] - w[l]);
      ends += y[i] * second;
    };
    at(0, n - 1, 1);
    Block sums[2] = {Block::Zero(), Block::Zero()};  // which wait for each other half as often
    Eigen::Index i = 1;
    for (; i + 2 * width < n; i += 2 * width) {
      for (int part = 0; part < 2; ++part) {
        const Eigen::Index j = i + part * width;
        const Block l = w.segment<width>(j - 1);
        const Block r = w.segment<width>(j + 1);
        const Block u = y.segment<width>(j);
        const Block second = l + r - 2 * w.segment<width>(j).array();
        y_bar.segment<width>(j) = d * second + (c * u) * (r - l);
        sums[part] += u * second;
      }
    }
    for (; i < n; ++i) at(i, i - 1, i + 1 < n ? i + 1 : 0);
    const double sum = (sums[0] + sums[1]).sum() + ends;
    p_bar[0] += diffuses * sum / (dx * dx);
  }
  // Adds the gradients of wᵀ J k, for Rosenbrock methods.
  static constexpr bool autonomous = true;
  void jacobian_vjp(double, const State& y, const Parameters&, const State& k, const State& w,
                    State& y_bar, Parameters& p_bar) const {
    const double c = advects / (2 * dx);
    double sum = 0;
    each(y.size(), [&](Eigen::Index i, Eigen::Index l, Eigen::Index r) {
      y_bar[i] += c * k[i] * (w[r] - w[l]);
      sum += w[i] * (k[l] - 2 * k[i] + k[r]);
    });
    p_bar[0] += diffuses * sum / (dx * dx);
  }
};
