// Heat on a line with its ends at 0, by backward Euler with systems solved by KLU. The first sine
// is an eigenvector, so the amplitude after n steps of size h is (1 + h p μ)^-n.

#include <cmath>
#include <cstdio>

#include <costate/costate.hpp>
#include <costate/integrate/diagonally_implicit.hpp>
#include <costate/klu/klu_solver.hpp>

struct Heat {
  using State = Eigen::VectorXd;
  using Parameters = Eigen::Matrix<double, 1, 1>;
  using Jacobian = Eigen::SparseMatrix<double>;
  static void second_difference(const State& u, State& out) {
    const Eigen::Index n = u.size();
    out = -2 * u;
    out.head(n - 1) += u.tail(n - 1);
    out.tail(n - 1) += u.head(n - 1);
  }
  void rhs(double, const State& u, const Parameters& p, State& out) const {
    second_difference(u, out);
    out *= p[0];
  }
  void vjp(double, const State& u, const Parameters& p, const State& w, State& u_bar,
           Parameters& p_bar) const {
    second_difference(u, u_bar);
    p_bar[0] += u_bar.dot(w);
    second_difference(w, u_bar);
    u_bar *= p[0];
  }
  void jacobian(double, const State& u, const Parameters& p, Jacobian& j) const {
    if (j.nonZeros() == 0) {
      for (Eigen::Index i = 0; i < u.size(); ++i) {
        j.insert(i, i) = 0;
        if (i > 0) j.insert(i, i - 1) = 0;
        if (i + 1 < u.size()) j.insert(i, i + 1) = 0;
      }
      j.makeCompressed();
    }
    for (Eigen::Index k = 0; k < j.outerSize(); ++k) {
      for (Jacobian::InnerIterator at(j, k); at; ++at) {
        at.valueRef() = p[0] * (at.row() == at.col() ? -2 : 1);
      }
    }
  }
};

int main() {
  const Eigen::Index n = 50;
  const double pi = std::acos(-1.0);
  Eigen::VectorXd u(n);
  for (Eigen::Index i = 0; i < n; ++i) u[i] = std::sin(pi * static_cast<double>(i + 1) / (n + 1));
  using P = Heat::Parameters;
  const auto first = costate::terminal(
      [](const Eigen::VectorXd& y, const P&) { return y[0]; },
      [](const Eigen::VectorXd&, const P&, Eigen::VectorXd& y_bar, P&) { y_bar[0] += 1; });
  const auto result =
      costate::value_and_gradient(costate::with_klu(Heat{}), costate::BackwardEuler{.steps = 10},
                                  first, {.t0 = 0, .t1 = 10, .y0 = u, .p = P(30.)});
  const double mu = 4 * std::pow(std::sin(pi / (2 * (n + 1))), 2);
  const double decay = 1 + 30 * mu;
  const double value = u[0] * std::pow(decay, -10);
  const double slope = -10 * mu * value / decay;
  std::printf("%.9f %.9f\n", result.value, result.dp[0]);
  return std::abs(result.value / value - 1) < 1e-11 && std::abs(result.dp[0] / slope - 1) < 1e-11
             ? 0
             : 1;
}
