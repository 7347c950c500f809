#pragma once

// The plainest possible user of a kernel: all states kept, the adjoint from the last to the first.

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "costate/integrate/problem.hpp"
#include "costate/integrate/time_grid.hpp"

namespace support {

// J = sin(y_1) y_n p_0 at the end + the integral of y_1² p_last cos t.
struct Objective {
  template <class Y, class P>
  static auto terminal(const Y& y, const P& p) {
    using std::sin;
    return sin(y[0]) * y[y.size() - 1] * p[0];
  }
  template <class Y, class P>
  static auto g(double t, const Y& y, const P& p) {
    return y[0] * y[0] * p[p.size() - 1] * std::cos(t);
  }
  template <class Y, class P>
  double integrand(double t, const Y& y, const P& p) const {
    return static_cast<double>(g(t, y, p));
  }
  template <class Y, class P>
  void integrand_gradient(double t, const Y& y, const P& p, Y& y_bar, P& p_bar) const {
    const auto c = static_cast<typename Y::Scalar>(std::cos(t));
    y_bar[0] += 2 * y[0] * p[p.size() - 1] * c;
    p_bar[p.size() - 1] += y[0] * y[0] * c;
  }
};

template <class F, class Kernel>
struct KernelRun {
  using State = typename F::State;
  using Parameters = typename F::Parameters;

  const F& f;
  Objective objective{};
  costate::TimeGrid grid;
  Kernel kernel;
  std::vector<State> y;

  KernelRun(const F& problem, costate::TimeGrid times, const State& y0, const Parameters& p)
      : f(problem), grid(std::move(times)), kernel(f, objective, p, y0.size()), y{y0} {
    for (costate::Step k = 0; k < grid.steps(); ++k) {
      const costate::Interval s = grid.interval(k);
      State next = y.back();
      kernel.advance(&s, 1, y.back(), next, {}, {.accumulate = true});
      y.push_back(next);
    }
  }
  KernelRun(const KernelRun&) = delete;
  KernelRun& operator=(const KernelRun&) = delete;

  double value() const {
    return static_cast<double>(Objective::terminal(y.back(), kernel.parameters())) +
           kernel.integral;
  }

  // Of the terminal value, added to the two.
  void terminal_gradient(State& y_bar, Parameters& p_bar) const {
    const auto& p = kernel.parameters();
    const auto last = y.back().size() - 1;
    y_bar[0] += std::cos(y.back()[0]) * y.back()[last] * p[0];
    y_bar[last] += std::sin(y.back()[0]) * p[0];
    p_bar[0] += std::sin(y.back()[0]) * y.back()[last];
  }

  // dJ/dy0, then dJ/dp.
  Eigen::VectorXd gradient() {
    State lambda = y.back();
    Parameters p_bar = kernel.parameters();
    lambda.setZero();
    p_bar.setZero();
    terminal_gradient(lambda, p_bar);
    for (costate::Step k = grid.steps() - 1; k >= 0; --k) {
      const costate::Interval s = grid.interval(k);
      kernel.reverse(&s, 1, y[static_cast<std::size_t>(k)], {}, lambda, p_bar);
    }
    Eigen::VectorXd out(lambda.size() + p_bar.size());
    out << lambda.template cast<double>(), p_bar.template cast<double>();
    return out;
  }

  // dJ in the direction (dy, dp), by the tangent.
  double tangent(State dy, const Parameters& dp) {
    double dot = 0;
    for (costate::Step k = 0; k < grid.steps(); ++k) {
      kernel.tangent(grid.interval(k), y[static_cast<std::size_t>(k)], dy, dp, dot);
    }
    State y_bar = dy;
    Parameters p_bar = dp;
    y_bar.setZero();
    p_bar.setZero();
    terminal_gradient(y_bar, p_bar);
    return dot + static_cast<double>(y_bar.dot(dy) + p_bar.dot(dp));
  }
};

}  // namespace support
