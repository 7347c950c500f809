#pragma once

// What every method has to show at the solver door, for any problem of problems.hpp: value and
// gradient against the method written down as in a textbook and run in complex arithmetic, the
// Taylor test, equal bits for every number of slots. A method brings its own `Textbook`.

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

#include <Eigen/Core>

#include "costate/costate.hpp"
#include "support/catch.hpp"
#include "support/complex_step.hpp"
#include "support/problems.hpp"

namespace battery {

using costate::Step;
using oracle::Complex;
using oracle::ComplexVector;

// J = sin(y_1) y_n p_1 at the end + y_1³ at `seen` [+ the integral of y_1² p_last cos t].
template <bool Integral>
struct BasicObjective {
  std::vector<double> seen = {};

  template <class Y, class P>
  static auto end(const Y& y, const P& p) {
    using std::sin;
    return sin(y[0]) * y[y.size() - 1] * p[0];
  }
  template <class Y, class P>
  static auto g(double t, const Y& y, const P& p) {
    return y[0] * y[0] * p[p.size() - 1] * std::cos(t);
  }

  template <class Y, class P>
  double terminal(const Y& y, const P& p) const {
    return end(y, p);
  }
  template <class Y, class P>
  void terminal_gradient(const Y& y, const P& p, Y& y_bar, P& p_bar) const {
    const auto last = y.size() - 1;
    y_bar[0] += std::cos(y[0]) * y[last] * p[0];
    y_bar[last] += std::sin(y[0]) * p[0];
    p_bar[0] += std::sin(y[0]) * y[last];
  }
  template <class Y, class P>
  double integrand(double t, const Y& y, const P& p) const requires Integral {
    return g(t, y, p);
  }
  template <class Y, class P>
  void integrand_gradient(double t, const Y& y, const P& p, Y& y_bar,
                          P& p_bar) const requires Integral {
    y_bar[0] += 2 * y[0] * p[p.size() - 1] * std::cos(t);
    p_bar[p.size() - 1] += y[0] * y[0] * std::cos(t);
  }
  [[nodiscard]] const std::vector<double>& observation_times() const { return seen; }
  template <class Y, class P>
  double observation(std::size_t, const Y& y, const P&) const {
    return y[0] * y[0] * y[0];
  }
  template <class Y, class P>
  void observation_gradient(std::size_t, const Y& y, const P&, Y& y_bar, P&) const {
    y_bar[0] += 3 * y[0] * y[0];
  }
};

using Objective = BasicObjective<true>;
using NoIntegralObjective = BasicObjective<false>;

// The objective by a textbook integrator: `textbook(f, times, y, p, integrand)` returns the states
// at all times and the integral, 0 if there is none.
struct Trajectory {
  std::vector<ComplexVector> y;
  Complex integral;
};

template <class F, class Textbook>
Complex objective(const Textbook& textbook, const std::vector<double>& times,
                  const std::vector<double>& seen, const ComplexVector& y0,
                  const ComplexVector& p) {
  const auto f = [&](double t, const ComplexVector& y) {
    ComplexVector out = y;
    F::f(t, y, p, out);
    return out;
  };
  const auto g = [&](double t, const ComplexVector& y) { return Objective::g(t, y, p); };
  const Trajectory run = textbook(f, times, y0, g);
  Complex sum = Objective::end(run.y.back(), p) + run.integral;
  for (const double t : seen) {
    for (std::size_t k = 0; k < times.size(); ++k) {
      if (times[k] == t) sum += run.y[k][0] * run.y[k][0] * run.y[k][0];
    }
  }
  return sum;
}

template <class Result>
Eigen::VectorXd flat(const Result& g) {
  Eigen::VectorXd out(g.dy0.size() + g.dp.size());
  out << g.dy0.template cast<double>(), g.dp.template cast<double>();
  return out;
}

// Value and gradient against complex steps. `roundings` bounds what the two computations may
// differ by, in units of 1e-16 relative to the norm.
template <class F, class O = Objective, class Method, class Textbook>
void check_against_textbook(const Method& method, const Textbook& textbook,
                            const std::vector<double>& times, const std::vector<double>& seen,
                            const typename F::State& y0, const typename F::Parameters& p,
                            double roundings) {
  const auto result = costate::value_and_gradient(
      F{}, method, O{seen}, {.t0 = times.front(), .t1 = times.back(), .y0 = y0, .p = p});
  REQUIRE(result.times() == times);

  const ComplexVector y = y0.template cast<Complex>();
  const ComplexVector q = p.template cast<Complex>();
  const double value = objective<F>(textbook, times, seen, y, q).real();
  Eigen::VectorXd gradient(y.size() + q.size());
  for (Eigen::Index i = 0; i < gradient.size(); ++i) {
    ComplexVector yi = y;
    ComplexVector qi = q;
    (i < y.size() ? yi[i] : qi[i - y.size()]) += Complex(0, 1e-30);
    gradient[i] = objective<F>(textbook, times, seen, yi, qi).imag() / 1e-30;
  }
  CHECK(std::abs(result.value - value) < roundings * 1e-16 * std::abs(value));
  CHECK((flat(result) - gradient).norm() < roundings * 1e-16 * gradient.norm());
}

// J(x + e d) - J(x) - e dJ·d shrinks by 4 when e is halved.
template <class F, class O = Objective, class Method>
void check_taylor(const Method& method, double t0, double t1, const typename F::State& y0,
                  const typename F::Parameters& p) {
  const auto gradient =
      costate::value_and_gradient(F{}, method, O{}, {.t0 = t0, .t1 = t1, .y0 = y0, .p = p});
  typename F::State dy = y0;
  typename F::Parameters dp = p;
  for (Eigen::Index i = 0; i < dy.size(); ++i) dy[i] = 0.5 - static_cast<double>(i % 3);
  for (Eigen::Index i = 0; i < dp.size(); ++i) dp[i] = 0.3 + static_cast<double>(i % 2);
  const double slope = gradient.dy0.dot(dy) + gradient.dp.dot(dp);
  const auto remainder = [&](double e) {
    const typename F::State y = y0 + e * dy;
    const typename F::Parameters q = p + e * dp;
    return costate::value(F{}, method, O{}, {.t0 = t0, .t1 = t1, .y0 = y, .p = q}).value -
           gradient.value - e * slope;
  };
  // The third-order term changes the ratio by e times a number of order one; rounding is 1e-16
  // against e² = 1e-6.
  const double ratio = remainder(1e-3) / remainder(5e-4);
  CHECK(std::abs(ratio - 4) < 0.05);
}

inline std::vector<std::uint64_t> bits(double value, const Eigen::VectorXd& gradient) {
  std::vector<std::uint64_t> out{std::bit_cast<std::uint64_t>(value)};
  for (const double x : gradient) out.push_back(std::bit_cast<std::uint64_t>(x));
  return out;
}

// Slots 1, 2, 3, 5, n: bits of value and gradient; the guard looks at every step if their number is
// known.
template <class F, class O = Objective, class Method>
void check_bits(const Method& method, double t0, double t1, const typename F::State& y0,
                const typename F::Parameters& p, const std::vector<double>& seen = {}) {
  const F f{};
  const O objective{seen};
  costate::OdeStepper<F, Method, O> probe(f, method, objective, t0, t1, y0, p);
  const std::size_t state = probe.state_bytes();
  const auto whole =
      costate::value_and_gradient(F{}, method, objective, {.t0 = t0, .t1 = t1, .y0 = y0, .p = p});
  const Step n = whole.grid.steps();
  const bool known = probe.steps() == n;
  for (const costate::Slot slots : {costate::Slot{1}, costate::Slot{2}, costate::Slot{3},
                                    costate::Slot{5}, static_cast<costate::Slot>(n)}) {
    CAPTURE(slots);
    const costate::Bytes hashes = known ? 8 * static_cast<costate::Bytes>(n) : 0;
    const auto some = costate::value_and_gradient(
        F{}, method, objective,
        {.t0 = t0,
         .t1 = t1,
         .y0 = y0,
         .p = p,
         .budget = {.memory = costate::memory_for(slots, state) + hashes},
         .guard = known ? costate::ReplayGuard::every_step : costate::ReplayGuard::sampled});
    CHECK(bits(some.value, flat(some)) == bits(whole.value, flat(whole)));
    if (slots < n - 1) CHECK(some.report.guard_checks > 0);
  }
}

// Of value and gradient: log2 of the ratio of the differences between runs with h, h/2, h/4.
struct Orders {
  double value;
  double gradient;
};
template <class F, class O = Objective, class MakeMethod>
Orders orders(const MakeMethod& method, double t0, double t1, const typename F::State& y0,
              const typename F::Parameters& p, Step steps) {
  const auto run = [&](Step n) {
    return costate::value_and_gradient(F{}, method(n), O{}, {.t0 = t0, .t1 = t1, .y0 = y0, .p = p});
  };
  const auto a = run(steps);
  const auto b = run(2 * steps);
  const auto c = run(4 * steps);
  return {std::log2(std::abs((a.value - b.value) / (b.value - c.value))),
          std::log2((flat(a) - flat(b)).norm() / (flat(b) - flat(c)).norm())};
}

// Case C28: y' = p sqrt(t - 1) on [1, 1.5]. The right-hand side and its derivatives may be called
// between t0 and t1 only.
struct RootProblem {
  using State = Eigen::Matrix<double, 1, 1>;
  using Parameters = Eigen::Matrix<double, 1, 1>;
  double* earliest;
  double* latest;
  void see(double t) const {
    *earliest = std::min(*earliest, t);
    *latest = std::max(*latest, t);
  }
  void rhs(double t, const State&, const Parameters& p, State& out) const {
    see(t);
    out[0] = p[0] * std::sqrt(t - 1);
  }
  void vjp(double t, const State&, const Parameters&, const State& w, State& y_bar,
           Parameters& p_bar) const {
    see(t);
    y_bar[0] = 0;
    p_bar[0] += std::sqrt(t - 1) * w[0];
  }
};

template <class Method>
void check_inside(const Method& method) {
  double earliest = 2;
  double latest = 0;
  using V = RootProblem::State;
  const auto end = costate::terminal([](const V& y, const V&) { return y[0]; },
                                     [](const V&, const V&, V& y_bar, V&) { y_bar[0] += 1; });
  const auto result = costate::value_and_gradient(
      RootProblem{&earliest, &latest}, method, end,
      {.t0 = 1, .t1 = 1.5, .y0 = V(1), .p = V(1.1), .budget = {.memory = 1000}});
  CHECK(earliest >= 1);
  CHECK(latest <= 1.5);
  CHECK(std::abs(result.dy0[0] - 1) < 1e-12);
  CHECK(std::isfinite(result.dp[0]));
}

}  // namespace battery
