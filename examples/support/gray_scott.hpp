#pragma once

// The Gray-Scott reaction-diffusion model on a periodic square, for the examples and benchmarks.
//
//   u' = D1 Δu - u v² + F (1 - u)
//   v' = D2 Δv + u v² - (F + k) v
//
// State: u, then v, each row by row, shape (2 size²). Parameters: (F, k).

#include <cstddef>

#include <Eigen/Core>

struct GrayScott {
  using State = Eigen::VectorXd;
  using Parameters = Eigen::Vector2d;

  std::ptrdiff_t size = 256;  // points in each direction
  double extent = 2.5;        // edge of the square
  double d1 = 8e-5;
  double d2 = 4e-5;

  void rhs(double /*t*/, const State& y, const Parameters& p, State& dydt) const {
    const double feed = p[0];
    const double decay = p[0] + p[1];
    const double a1 = d1 * scale();
    const double a2 = d2 * scale();
    for (std::ptrdiff_t row = 0; row < size; ++row) {
      const Row u = around(y.data(), row);
      const Row v = around(y.data() + size * size, row);
      double* const __restrict du = dydt.data() + row * size;
      double* const __restrict dv = du + size * size;
      const auto point = [&](std::ptrdiff_t j, std::ptrdiff_t west, std::ptrdiff_t east) {
        const double uvv = u.here[j] * v.here[j] * v.here[j];
        du[j] = a1 * u.laplacian(j, west, east) - uvv + feed * (1 - u.here[j]);
        dv[j] = a2 * v.laplacian(j, west, east) + uvv - decay * v.here[j];
      };
      point(0, size - 1, 1);
#pragma GCC ivdep
      for (std::ptrdiff_t j = 1; j < size - 1; ++j) point(j, j - 1, j + 1);
      point(size - 1, size - 2, 0);
    }
  }

  // y_bar = (df/dy)' w, p_bar += (df/dp)' w, in one sweep over memory.
  void vjp(double /*t*/, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    const double feed = p[0];
    const double decay = p[0] + p[1];
    const double a1 = d1 * scale();
    const double a2 = d2 * scale();
    for (std::ptrdiff_t row = 0; row < size; ++row) {
      const double* const __restrict u = y.data() + row * size;
      const double* const __restrict v = u + size * size;
      const Row wu = around(w.data(), row);
      const Row wv = around(w.data() + size * size, row);
      double* const __restrict bu = y_bar.data() + row * size;
      double* const __restrict bv = bu + size * size;
      const auto point = [&](std::ptrdiff_t j, std::ptrdiff_t west, std::ptrdiff_t east) {
        const double difference = wv.here[j] - wu.here[j];
        bu[j] = a1 * wu.laplacian(j, west, east) + v[j] * v[j] * difference - feed * wu.here[j];
        bv[j] =
            a2 * wv.laplacian(j, west, east) + 2 * u[j] * v[j] * difference - decay * wv.here[j];
      };
      point(0, size - 1, 1);
#pragma GCC ivdep
      for (std::ptrdiff_t j = 1; j < size - 1; ++j) point(j, j - 1, j + 1);
      point(size - 1, size - 2, 0);
      // Partial sums, so that the reduction can use vector registers; the row is in cache.
      constexpr std::ptrdiff_t lanes = 16;
      double feed_bar[lanes] = {};
      double kill_bar[lanes] = {};
      std::ptrdiff_t j = 0;
      for (; j + lanes <= size; j += lanes) {
        for (std::ptrdiff_t l = 0; l < lanes; ++l) {
          const double vw = v[j + l] * wv.here[j + l];
          feed_bar[l] += (1 - u[j + l]) * wu.here[j + l] - vw;
          kill_bar[l] -= vw;
        }
      }
      for (; j < size; ++j) {
        const double vw = v[j] * wv.here[j];
        feed_bar[0] += (1 - u[j]) * wu.here[j] - vw;
        kill_bar[0] -= vw;
      }
      for (std::ptrdiff_t l = 0; l < lanes; ++l) {
        p_bar[0] += feed_bar[l];
        p_bar[1] += kill_bar[l];
      }
    }
  }

 private:
  struct Row {
    const double* __restrict here;
    const double* __restrict north;
    const double* __restrict south;
    [[nodiscard]] double laplacian(std::ptrdiff_t j, std::ptrdiff_t west,
                                   std::ptrdiff_t east) const {
      return here[west] + here[east] + north[j] + south[j] - 4 * here[j];
    }
  };
  [[nodiscard]] Row around(const double* field, std::ptrdiff_t row) const {
    return {field + row * size, field + (row > 0 ? row - 1 : size - 1) * size,
            field + (row + 1 < size ? row + 1 : 0) * size};
  }
  [[nodiscard]] double scale() const {
    const double points_per_length = static_cast<double>(size) / extent;
    return points_per_length * points_per_length;
  }
};

// Three blobs in a quiet field.
inline Eigen::VectorXd initial_fields(std::ptrdiff_t size) {
  Eigen::VectorXd y(2 * size * size);
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    for (std::ptrdiff_t j = 0; j < size; ++j) {
      const double x = 2.5 * static_cast<double>(j) / static_cast<double>(size);
      const double z = 2.5 * static_cast<double>(i) / static_cast<double>(size);
      const auto blob = [&](double x0, double z0, double width) {
        return std::exp(-((x - x0) * (x - x0) + 1.3 * (z - z0) * (z - z0)) / (width * width));
      };
      const double b =
          blob(0.9, 1.3, 0.22) + 0.8 * blob(1.7, 0.7, 0.18) + 0.7 * blob(1.6, 1.9, 0.15);
      y[i * size + j] = 1 - 0.7 * b;
      y[size * size + i * size + j] = 0.45 * b;
    }
  }
  return y;
}
