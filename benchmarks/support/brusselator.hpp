#pragma once

// The Brusselator with diffusion on a periodic square of size × size points, stiff by diffusion,
// with a sparse Jacobian: u' = B + u² v - (A + 1) u + D Δu, v' = A u - u² v + D Δv.

#include <cmath>
#include <numbers>
#include <vector>

#include "costate/integrate/sparse_solver.hpp"

struct Brusselator {
  using State = Eigen::VectorXd;
  using Parameters = Eigen::Vector3d;  // A, B, D
  using Jacobian = Eigen::SparseMatrix<double>;

  Eigen::Index size;

  [[nodiscard]] State initial() const {
    const Eigen::Index points = size * size;
    State y(2 * points);
    for (Eigen::Index i = 0; i < points; ++i) {
      const double x = static_cast<double>(i % size) / static_cast<double>(size);
      const double z = static_cast<double>(i / size) / static_cast<double>(size);
      y[i] = 1 + 0.5 * std::sin(2 * std::numbers::pi * x);
      y[points + i] = 3 + 0.5 * std::cos(2 * std::numbers::pi * z);
    }
    return y;
  }

  // Calls at(i, neighbours) for all points.
  template <class At>
  void each(const At& at) const {
    for (Eigen::Index r = 0; r < size; ++r) {
      const Eigen::Index up = (r == 0 ? size - 1 : r - 1) * size;
      const Eigen::Index down = (r + 1 == size ? 0 : r + 1) * size;
      for (Eigen::Index c = 0; c < size; ++c) {
        const Eigen::Index left = r * size + (c == 0 ? size - 1 : c - 1);
        const Eigen::Index right = r * size + (c + 1 == size ? 0 : c + 1);
        const Eigen::Index around[4] = {up + c, down + c, left, right};
        at(r * size + c, around);
      }
    }
  }
  [[nodiscard]] double scale() const { return static_cast<double>(size * size); }
  static double laplace(const double* u, Eigen::Index i, const Eigen::Index* n) {
    return u[n[0]] + u[n[1]] + u[n[2]] + u[n[3]] - 4 * u[i];
  }

  void rhs(double, const State& y, const Parameters& p, State& out) const {
    const Eigen::Index points = size * size;
    const double* const u = y.data();
    const double* const v = u + points;
    const double d = p[2] * scale();
    each([&](Eigen::Index i, const Eigen::Index* n) {
      const double react = u[i] * u[i] * v[i];
      out[i] = p[1] + react - (p[0] + 1) * u[i] + d * laplace(u, i, n);
      out[points + i] = p[0] * u[i] - react + d * laplace(v, i, n);
    });
  }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    const Eigen::Index points = size * size;
    const double* const u = y.data();
    const double* const v = u + points;
    const double* const a = w.data();
    const double* const b = a + points;
    const double d = p[2] * scale();
    Eigen::Vector3d sum = Eigen::Vector3d::Zero();
    each([&](Eigen::Index i, const Eigen::Index* n) {
      const double lost = a[i] - b[i];
      y_bar[i] = 2 * u[i] * v[i] * lost - (p[0] + 1) * a[i] + p[0] * b[i] + d * laplace(a, i, n);
      y_bar[points + i] = u[i] * u[i] * lost + d * laplace(b, i, n);
      sum[0] -= u[i] * lost;
      sum[1] += a[i];
      sum[2] += scale() * (a[i] * laplace(u, i, n) + b[i] * laplace(v, i, n));
    });
    p_bar += sum;
  }
  // The pattern is made once.
  void jacobian(double, const State& y, const Parameters& p, Jacobian& j) const {
    const Eigen::Index points = size * size;
    const double d = p[2] * scale();
    std::vector<Eigen::Triplet<double>> entries;
    entries.reserve(static_cast<std::size_t>(12 * points));
    each([&](Eigen::Index i, const Eigen::Index* n) {
      const double u = y[i];
      const double v = y[points + i];
      entries.emplace_back(i, i, 2 * u * v - (p[0] + 1) - 4 * d);
      entries.emplace_back(i, points + i, u * u);
      entries.emplace_back(points + i, i, p[0] - 2 * u * v);
      entries.emplace_back(points + i, points + i, -u * u - 4 * d);
      for (int k = 0; k < 4; ++k) {
        entries.emplace_back(i, n[k], d);
        entries.emplace_back(points + i, points + n[k], d);
      }
    });
    j.setFromTriplets(entries.begin(), entries.end());
  }
};
