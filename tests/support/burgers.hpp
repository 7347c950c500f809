#pragma once

// Burgers' equation, and its gradient by ten steps of SDIRK2, whoever solves the systems.

#include <cmath>
#include <concepts>
#include <vector>

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include "costate/integrate/dirk_kernel.hpp"
#include "support/kernel_run.hpp"

namespace problems {

// Burgers' equation on a ring: u' = -u u_x + nu u_xx, central differences.
template <class Matrix>
struct Burgers {
  using State = Eigen::VectorXd;
  using Parameters = Eigen::Matrix<double, 1, 1>;
  using Jacobian = Matrix;

  static Eigen::Index next(Eigen::Index i, Eigen::Index n) { return i + 1 == n ? 0 : i + 1; }
  static Eigen::Index last(Eigen::Index i, Eigen::Index n) { return i == 0 ? n - 1 : i - 1; }

  void rhs(double, const State& u, const Parameters& p, State& out) const {
    const Eigen::Index n = u.size();
    const auto m = static_cast<double>(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const double right = u[next(i, n)];
      const double left = u[last(i, n)];
      out[i] = -m / 4 * (right * right - left * left) + p[0] * m * m * (right - 2 * u[i] + left);
    }
  }
  void vjp(double, const State& u, const Parameters& p, const State& w, State& u_bar,
           Parameters& p_bar) const {
    const Eigen::Index n = u.size();
    const auto m = static_cast<double>(n);
    u_bar.setZero();
    for (Eigen::Index i = 0; i < n; ++i) {
      const double right = u[next(i, n)];
      const double left = u[last(i, n)];
      u_bar[next(i, n)] += (-m / 2 * right + p[0] * m * m) * w[i];
      u_bar[last(i, n)] += (m / 2 * left + p[0] * m * m) * w[i];
      u_bar[i] -= 2 * p[0] * m * m * w[i];
      p_bar[0] += m * m * (right - 2 * u[i] + left) * w[i];
    }
  }
  void jvp(double, const State& u, const Parameters& p, const State& du, const Parameters& dp,
           State& out) const {
    const Eigen::Index n = u.size();
    const auto m = static_cast<double>(n);
    for (Eigen::Index i = 0; i < n; ++i) {
      const Eigen::Index r = next(i, n);
      const Eigen::Index l = last(i, n);
      out[i] = -m / 2 * (u[r] * du[r] - u[l] * du[l]) + p[0] * m * m * (du[r] - 2 * du[i] + du[l]) +
               dp[0] * m * m * (u[r] - 2 * u[i] + u[l]);
    }
  }
  void jacobian(double, const State& u, const Parameters& p, Jacobian& j) const {
    const Eigen::Index n = u.size();
    const auto m = static_cast<double>(n);
    std::vector<Eigen::Triplet<double>> entries;
    for (Eigen::Index i = 0; i < n; ++i) {
      entries.emplace_back(i, next(i, n), -m / 2 * u[next(i, n)] + p[0] * m * m);
      entries.emplace_back(i, last(i, n), m / 2 * u[last(i, n)] + p[0] * m * m);
      entries.emplace_back(i, i, -2 * p[0] * m * m);
    }
    if constexpr (std::same_as<Jacobian, Eigen::MatrixXd>) {
      j.setZero();
      for (const auto& e : entries) j(e.row(), e.col()) += e.value();
    } else {
      j.setFromTriplets(entries.begin(), entries.end());
    }
  }
};

template <class F>
inline Eigen::VectorXd burgers_gradient(const F& f) {
  using Kernel = costate::DirkKernel<F, costate::tableaux::sdirk2, support::Objective>;
  const Eigen::Index n = 24;
  Eigen::VectorXd u(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    u[i] = 1 + std::sin(2 * M_PI * static_cast<double>(i) / static_cast<double>(n));
  }
  const Eigen::Matrix<double, 1, 1> nu(0.02);
  return support::KernelRun<F, Kernel>(f, costate::TimeGrid::with_steps(0, 0.5, 10), u, nu)
      .gradient();
}

}  // namespace problems
