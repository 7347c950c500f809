#pragma once

// The oracle of discrete gradients: the method written down as in a textbook, run in complex
// arithmetic. Im J(x + i e) / e is the derivative to rounding (no difference is taken), and shares
// no code with the kernels.

#include <complex>
#include <cstddef>
#include <vector>

#include <Eigen/Core>

#include "costate/integrate/tableau.hpp"

namespace oracle {

using Complex = std::complex<double>;
using ComplexVector = Eigen::Matrix<Complex, Eigen::Dynamic, 1>;

// The objective after all steps: terminal(y) + sum h b_i integrand(t_i, Y_i, p).
template <class F, std::size_t S, class Terminal, class Integrand>
Complex run(const costate::Tableau<S>& m, const std::vector<double>& times, ComplexVector y,
            const ComplexVector& p, const Terminal& terminal, const Integrand& integrand) {
  Complex integral = 0;
  std::vector<ComplexVector> k(S, y);
  for (std::size_t n = 0; n + 1 < times.size(); ++n) {
    const double h = times[n + 1] - times[n];
    for (std::size_t i = 0; i < S; ++i) {
      ComplexVector stage = y;
      for (std::size_t j = 0; j < i; ++j) stage += h * m.a[i][j] * k[j];
      F::f(times[n] + m.c[i] * h, stage, p, k[i]);
      integral += h * m.b[i] * integrand(times[n] + m.c[i] * h, stage, p);
    }
    for (std::size_t i = 0; i < S; ++i) y += h * m.b[i] * k[i];
  }
  return terminal(y, p) + integral;
}

// Derivatives with respect to y0, then p.
template <class F, std::size_t S, class Terminal, class Integrand>
Eigen::VectorXd gradient(const costate::Tableau<S>& m, const std::vector<double>& times,
                         const Eigen::VectorXd& y0, const Eigen::VectorXd& p,
                         const Terminal& terminal, const Integrand& integrand) {
  const double e = 1e-30;
  Eigen::VectorXd out(y0.size() + p.size());
  for (Eigen::Index i = 0; i < out.size(); ++i) {
    ComplexVector y = y0.cast<Complex>();
    ComplexVector q = p.cast<Complex>();
    (i < y0.size() ? y[i] : q[i - y0.size()]) += Complex(0, e);
    out[i] = run<F>(m, times, y, q, terminal, integrand).imag() / e;
  }
  return out;
}

}  // namespace oracle
