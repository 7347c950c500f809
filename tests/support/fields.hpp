#pragma once

// Test problems with dynamic states: Lorenz 96, Gray-Scott, the heat equation.

#include <cmath>
#include <numbers>

#include <Eigen/Core>

namespace problems {

// y_i' = (y_{i+1} - y_{i-2}) y_{i-1} - y_i + F, cyclic
struct Lorenz96 {
  using State = Eigen::VectorXd;
  using Parameters = Eigen::Matrix<double, 1, 1>;  // F

  static Eigen::Index at(Eigen::Index i, Eigen::Index n) { return (i + n) % n; }
  void rhs(double, const State& y, const Parameters& p, State& out) const {
    const Eigen::Index n = y.size();
    for (Eigen::Index i = 0; i < n; ++i) {
      out[i] = (y[at(i + 1, n)] - y[at(i - 2, n)]) * y[at(i - 1, n)] - y[i] + p[0];
    }
  }
  void vjp(double, const State& y, const Parameters&, const State& w, State& y_bar,
           Parameters& p_bar) const {
    const Eigen::Index n = y.size();
    y_bar = -w;
    for (Eigen::Index i = 0; i < n; ++i) {
      y_bar[at(i + 1, n)] += y[at(i - 1, n)] * w[i];
      y_bar[at(i - 2, n)] -= y[at(i - 1, n)] * w[i];
      y_bar[at(i - 1, n)] += (y[at(i + 1, n)] - y[at(i - 2, n)]) * w[i];
    }
    p_bar[0] += w.sum();
  }
};

// u' = D1 Δu - u v² + γ (1 - u),  v' = D2 Δv + u v² - (γ + κ) v, periodic, M² points, u then v
class GrayScott {
 public:
  using State = Eigen::VectorXd;
  using Parameters = Eigen::Vector2d;  // γ, κ

  explicit GrayScott(Eigen::Index points) : m_(points) {}

  void rhs(double, const State& y, const Parameters& p, State& out) const {
    const double scale = static_cast<double>(m_ * m_) / (2.5 * 2.5);
    for_each_point([&](Eigen::Index c, Eigen::Index w, Eigen::Index e, Eigen::Index s,
                       Eigen::Index n) {
      const Eigen::Index d = c + m_ * m_;
      const Eigen::Index shift = m_ * m_;
      const double uvv = y[c] * y[d] * y[d];
      out[c] = d1 * scale * (y[w] + y[e] + y[s] + y[n] - 4 * y[c]) - uvv + p[0] * (1 - y[c]);
      out[d] = d2 * scale * (y[w + shift] + y[e + shift] + y[s + shift] + y[n + shift] - 4 * y[d]) +
               uvv - (p[0] + p[1]) * y[d];
    });
  }
  void vjp(double, const State& y, const Parameters& p, const State& z, State& y_bar,
           Parameters& p_bar) const {
    const double scale = static_cast<double>(m_ * m_) / (2.5 * 2.5);
    double gamma = 0;
    double kappa = 0;
    for_each_point(
        [&](Eigen::Index c, Eigen::Index w, Eigen::Index e, Eigen::Index s, Eigen::Index n) {
          const Eigen::Index shift = m_ * m_;
          const Eigen::Index d = c + shift;
          const double dz = z[d] - z[c];
          y_bar[c] =
              d1 * scale * (z[w] + z[e] + z[s] + z[n] - 4 * z[c]) + y[d] * y[d] * dz - p[0] * z[c];
          y_bar[d] =
              d2 * scale * (z[w + shift] + z[e + shift] + z[s + shift] + z[n + shift] - 4 * z[d]) +
              2 * y[c] * y[d] * dz - (p[0] + p[1]) * z[d];
          gamma += (1 - y[c]) * z[c] - y[d] * z[d];
          kappa -= y[d] * z[d];
        });
    p_bar[0] += gamma;
    p_bar[1] += kappa;
  }

  // v = sin²(4πx) sin²(4πy) / 4 on [1, 1.5]², else 0; u = 1 - 2 v
  [[nodiscard]] State start() const {
    State y(2 * m_ * m_);
    const double h = 2.5 / static_cast<double>(m_);
    for (Eigen::Index i = 0; i < m_; ++i) {
      for (Eigen::Index j = 0; j < m_; ++j) {
        const double x = static_cast<double>(i) * h;
        const double z = static_cast<double>(j) * h;
        const bool inside = x >= 1 && x <= 1.5 && z >= 1 && z <= 1.5;
        const double a = std::sin(4 * std::numbers::pi * x) * std::sin(4 * std::numbers::pi * z);
        const double v = inside ? a * a / 4 : 0;
        y[i * m_ + j] = 1 - 2 * v;
        y[i * m_ + j + m_ * m_] = v;
      }
    }
    return y;
  }
  [[nodiscard]] Eigen::Index points() const { return m_; }

 private:
  static constexpr double d1 = 8e-5;
  static constexpr double d2 = 4e-5;

  template <class Body>
  void for_each_point(const Body& body) const {
    for (Eigen::Index i = 0; i < m_; ++i) {
      const Eigen::Index row = i * m_;
      const Eigen::Index up = (i == 0 ? m_ - 1 : i - 1) * m_;
      const Eigen::Index down = (i + 1 == m_ ? 0 : i + 1) * m_;
      for (Eigen::Index j = 0; j < m_; ++j) {
        body(row + j, row + (j == 0 ? m_ - 1 : j - 1), row + (j + 1 == m_ ? 0 : j + 1), up + j,
             down + j);
      }
    }
  }

  Eigen::Index m_;
};

// T_i' = λ (T_{i+1} - 2 T_i + T_{i-1}), ends fixed
struct Heat {
  using State = Eigen::VectorXd;
  using Parameters = Eigen::Matrix<double, 1, 1>;

  void rhs(double, const State& y, const Parameters& p, State& out) const {
    const Eigen::Index n = y.size();
    out[0] = out[n - 1] = 0;
    for (Eigen::Index i = 1; i + 1 < n; ++i) out[i] = p[0] * (y[i + 1] - 2 * y[i] + y[i - 1]);
  }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    const Eigen::Index n = y.size();
    y_bar.setZero();
    for (Eigen::Index i = 1; i + 1 < n; ++i) {
      y_bar[i + 1] += p[0] * w[i];
      y_bar[i] -= 2 * p[0] * w[i];
      y_bar[i - 1] += p[0] * w[i];
      p_bar[0] += (y[i + 1] - 2 * y[i] + y[i - 1]) * w[i];
    }
  }
};

}  // namespace problems
