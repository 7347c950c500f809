#pragma once

// The oracle of implicit methods: all stages at once, in complex arithmetic, by Newton's method
// with a Jacobian that is itself found by complex steps. Im J(x + i e) / e is the derivative to
// rounding and shares no code with the kernels.

#include <cstddef>
#include <vector>

#include <Eigen/Core>
#include <Eigen/LU>

#include "support/complex_step.hpp"

namespace oracle {

// ∂f/∂y at the real part of y.
template <class F>
Eigen::MatrixXd jacobian(double t, const ComplexVector& y, const ComplexVector& p) {
  const double e = 1e-30;
  Eigen::MatrixXd j(y.size(), y.size());
  ComplexVector out(y.size());
  const ComplexVector q = p.real().cast<Complex>();
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    ComplexVector x = y.real().cast<Complex>();
    x[i] += Complex(0, e);
    F::f(t, x, q, out);
    j.col(i) = out.imag() / e;
  }
  return j;
}

// The objective after all steps of M y' = f: terminal(y) + sum h b_i integrand(t_i, Y_i, p).
template <class F, std::size_t S, class Terminal, class Integrand>
Complex run_implicit(const costate::Tableau<S>& m, const Eigen::MatrixXd& mass,
                     const std::vector<double>& times, ComplexVector y, const ComplexVector& p,
                     const Terminal& terminal, const Integrand& integrand) {
  Complex integral = 0;
  const Eigen::Index n = y.size();
  const auto s = static_cast<Eigen::Index>(S);
  const auto a = [&m](Eigen::Index i, Eigen::Index j) {
    return m.a[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  };
  for (std::size_t step = 0; step + 1 < times.size(); ++step) {
    const double h = times[step + 1] - times[step];
    const auto t = [&](Eigen::Index i) {
      return times[step] + m.c[static_cast<std::size_t>(i)] * h;
    };
    const auto stage = [&](const ComplexVector& k, Eigen::Index i) {
      ComplexVector x = y;
      for (Eigen::Index j = 0; j < s; ++j) x += h * a(i, j) * k.segment(j * n, n);
      return x;
    };
    // M K_i = f(Y_i), all i together.
    ComplexVector k = ComplexVector::Zero(s * n);
    for (int iteration = 0; iteration < 12; ++iteration) {
      Eigen::MatrixXd w(s * n, s * n);
      ComplexVector r(s * n);
      for (Eigen::Index i = 0; i < s; ++i) {
        const ComplexVector x = stage(k, i);
        ComplexVector f(n);
        F::f(t(i), x, p, f);
        r.segment(i * n, n) = f - mass * k.segment(i * n, n);
        const Eigen::MatrixXd jac = jacobian<F>(t(i), x, p);
        for (Eigen::Index j = 0; j < s; ++j) {
          w.block(i * n, j * n, n, n) = -h * a(i, j) * jac;
          if (i == j) w.block(i * n, j * n, n, n) += mass;
        }
      }
      const Eigen::PartialPivLU<Eigen::MatrixXd> lu(w);
      k.real() += lu.solve(Eigen::VectorXd(r.real()));
      k.imag() += lu.solve(Eigen::VectorXd(r.imag()));
    }
    for (Eigen::Index i = 0; i < s; ++i) {
      const double hb = h * m.b[static_cast<std::size_t>(i)];
      integral += hb * integrand(t(i), stage(k, i), p);
    }
    for (Eigen::Index i = 0; i < s; ++i) {
      y += h * m.b[static_cast<std::size_t>(i)] * k.segment(i * n, n);
    }
  }
  return terminal(y, p) + integral;
}

// Derivatives with respect to y0, then p.
template <class F, std::size_t S, class Terminal, class Integrand>
Eigen::VectorXd gradient_implicit(const costate::Tableau<S>& m, const Eigen::MatrixXd& mass,
                                  const std::vector<double>& times, const Eigen::VectorXd& y0,
                                  const Eigen::VectorXd& p, const Terminal& terminal,
                                  const Integrand& integrand) {
  const double e = 1e-30;
  Eigen::VectorXd out(y0.size() + p.size());
  for (Eigen::Index i = 0; i < out.size(); ++i) {
    ComplexVector y = y0.cast<Complex>();
    ComplexVector q = p.cast<Complex>();
    (i < y0.size() ? y[i] : q[i - y0.size()]) += Complex(0, e);
    out[i] = run_implicit<F>(m, mass, times, y, q, terminal, integrand).imag() / e;
  }
  return out;
}

}  // namespace oracle
