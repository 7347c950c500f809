// Rosenbrock methods through the solver door.

#include "costate/integrate/rosenbrock.hpp"

#include <cmath>
#include <complex>
#include <vector>

#include <Eigen/LU>

#include "costate/ode/autodiff.hpp"
#include "costate/ode/value_and_gradient.hpp"
#include "costate/schedule/revolve.hpp"
#include "support/catch.hpp"
#include "support/complex_step.hpp"
#include "support/nonlinear.hpp"
#include "support/stiff_problems.hpp"

using namespace costate;
using problems::Nonlinear;

namespace {

using V1 = Eigen::Matrix<double, 1, 1>;
using V2 = Eigen::Vector2d;

double relative(double x, double reference) {
  return std::abs(x - reference) / std::abs(reference);
}

template <class F>
auto end_of(int i) {
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  return terminal(
      [i](const State& y, const Parameters&) { return y[i]; },
      [i](const State&, const Parameters&, State& y_bar, Parameters&) { y_bar[i] += 1; });
}

// Case C67: y' = -p1 y + p2 sin 3t + t².
struct Case67 {
  using State = V1;
  using Parameters = V2;
  void rhs(double t, const State& y, const Parameters& p, State& out) const {
    out[0] = -p[0] * y[0] + p[1] * std::sin(3 * t) + t * t;
  }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar[0] = -p[0] * w[0];
    p_bar[0] -= y[0] * w[0];
    p_bar[1] += std::sin(3 * t) * w[0];
  }
  void jacobian_vjp(double, const State&, const Parameters&, const State& k, const State& w, State&,
                    Parameters& p_bar) const {
    p_bar[0] -= k[0] * w[0];
  }
  void time_derivative(double t, const State&, const Parameters& p, State& out) const {
    out[0] = 3 * p[1] * std::cos(3 * t) + 2 * t;
  }
  void time_derivative_vjp(double t, const State&, const Parameters&, const State& w, State&,
                           Parameters& p_bar) const {
    p_bar[1] += 3 * std::cos(3 * t) * w[0];
  }
};

template <class Method>
void check_case_67(const std::vector<double>& expected) {
  INFO(Method::tableau.name);
  const auto r = value_and_gradient(Case67{}, Method{.steps = 20}, end_of<Case67>(0),
                                    {.t0 = 0, .t1 = 1, .y0 = V1(1), .p = V2(2, 1)});
  CHECK(relative(r.value, expected[0]) < 1e-12);
  CHECK(relative(r.dp[0], expected[1]) < 1e-11);
  CHECK(relative(r.dp[1], expected[2]) < 1e-11);
  CHECK(relative(r.dy0[0], expected[3]) < 1e-11);
}

template <class Method>
Eigen::Vector4d errors_of_case_67(Step n) {
  const auto r = value_and_gradient(Case67{}, Method{.steps = n}, end_of<Case67>(0),
                                    {.t0 = 0, .t1 = 1, .y0 = V1(1), .p = V2(2, 1)});
  return {std::abs(r.value - 0.63290325901445251059), std::abs(r.dp[0] - -0.28271173336741766871),
          std::abs(r.dp[1] - 0.28140179658699299167), std::abs(r.dy0[0] - 0.13533528323661269189)};
}

template <class Method>
void check_order() {
  INFO(Method::tableau.name);
  const Eigen::Vector4d coarse = errors_of_case_67<Method>(40);
  const Eigen::Vector4d fine = errors_of_case_67<Method>(80);
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i, coarse[i], fine[i]);
    CHECK(std::abs(std::log2(coarse[i] / fine[i]) - Method::tableau.order) < 0.15);
  }
}

// The integrand y_1² p_2 cos t.
struct Integrand {
  template <class Y, class P>
  static auto g(double t, const Y& y, const P& p) {
    return y[0] * y[0] * p[1] * std::cos(t);
  }
  static auto objective() {
    return integral([](double t, const V2& y, const V2& p) { return g(t, y, p); },
                    [](double t, const V2& y, const V2& p, V2& y_bar, V2& p_bar) {
                      y_bar[0] += 2 * y[0] * p[1] * std::cos(t);
                      p_bar[1] += y[0] * y[0] * std::cos(t);
                    });
  }
};

// The method as it stands in the book, in complex arithmetic: y_2 at the end, and the integral.
template <std::size_t S>
oracle::Complex value_of(const RosenbrockTableau<S>& m, const std::vector<double>& times,
                         Eigen::Vector2cd y, const Eigen::Vector2cd& p) {
  oracle::Complex integral = 0;
  for (std::size_t n = 0; n + 1 < times.size(); ++n) {
    const double t = times[n];
    const double h = times[n + 1] - t;
    const Eigen::Matrix2cd w =
        Eigen::Matrix2cd::Identity() / (m.gamma * h) - Nonlinear::matrix(t, y, p);
    std::vector<Eigen::Vector2cd> u;
    for (std::size_t i = 0; i < S; ++i) {
      Eigen::Vector2cd x = y;
      for (std::size_t j = 0; j < i; ++j) x += m.a[i][j] * u[j];
      Eigen::Vector2cd r;
      Nonlinear::f(t + m.alpha[i] * h, x, p, r);
      for (std::size_t j = 0; j < i; ++j) r += m.c[i][j] / h * u[j];
      r += m.gamma_i[i] * h * Nonlinear::slope_in_time(t, y, p);
      u.push_back(w.inverse() * r);
    }
    Eigen::Vector2cd middle = y;
    for (std::size_t i = 0; i < S; ++i) middle += m.middle[i] * u[i];
    integral += h / 6 * (Integrand::g(t, y, p) + 4. * Integrand::g(t + h / 2, middle, p));
    for (std::size_t i = 0; i < S; ++i) y += m.m[i] * u[i];
    integral += h / 6 * Integrand::g(t + h, y, p);
  }
  return y[1] + integral;
}

template <class Method>
void check_against_complex_steps() {
  INFO(Method::tableau.name);
  const std::vector<double> times{0.2, 0.3, 0.55, 0.6, 0.9};
  const V2 y0(1.2, 0.7);
  const V2 p(1.5, 0.8);
  const auto r = value_and_gradient(Nonlinear{}, Method{.grid = times},
                                    end_of<Nonlinear>(1) + Integrand::objective(),
                                    {.t0 = 0.2, .t1 = 0.9, .y0 = y0, .p = p});
  Eigen::Vector4d gradient;
  gradient << r.dy0, r.dp;
  Eigen::Vector4d expected;
  for (int i = 0; i < 4; ++i) {
    Eigen::Vector2cd y = y0.cast<oracle::Complex>();
    Eigen::Vector2cd q = p.cast<oracle::Complex>();
    (i < 2 ? y[i] : q[i - 2]) += oracle::Complex(0, 1e-30);
    expected[i] = value_of(Method::tableau, times, y, q).imag() / 1e-30;
  }
  // Four steps of at most six stages, whose coefficients of up to 34 cancel: some thousand
  // roundings.
  CHECK((gradient - expected).norm() < 1e-12 * expected.norm());
}

// Robertson with its second derivatives as products with those of (y, p).
struct SecondOrderRobertson : problems::Robertson {
  void jvp_vjp(double, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
               const State& w, State& y_bar, Parameters& p_bar) const {
    const double first = w[0] - w[1];
    const double third = w[2] - w[1];
    y_bar[0] -= dp[0] * first;
    y_bar[1] += (p[1] * dy[2] + dp[1] * y[2]) * first + 2 * (p[2] * dy[1] + dp[2] * y[1]) * third;
    y_bar[2] += (p[1] * dy[1] + dp[1] * y[1]) * first;
    p_bar[0] -= dy[0] * first;
    p_bar[1] += (y[2] * dy[1] + y[1] * dy[2]) * first;
    p_bar[2] += 2 * y[1] * dy[1] * third;
  }
};

struct RosenbrockRobertson : problems::Robertson {
  static constexpr bool autonomous = true;
  void jacobian_vjp(double, const State& y, const Parameters& p, const State& k, const State& w,
                    State& y_bar, Parameters& p_bar) const {
    // J k = (-p1 k1 + p2 (y3 k2 + y2 k3), ·, 2 p3 y2 k2), the second minus the others.
    const double first = w[0] - w[1];
    const double third = w[2] - w[1];
    y_bar[1] += p[1] * k[2] * first + 2 * p[2] * k[1] * third;
    y_bar[2] += p[1] * k[1] * first;
    p_bar[0] -= k[0] * first;
    p_bar[1] += (y[2] * k[1] + y[1] * k[2]) * first;
    p_bar[2] += 2 * y[1] * k[1] * third;
  }
};

// The error estimate of one step from t = 0.2, in absolute terms.
template <class Method>
double estimate(double h) {
  const Nonlinear f;
  const NoIntegrand none;
  typename Method::template Kernel<Nonlinear, NoIntegrand> kernel(f, none, V2(0.9, 0.8), 2);
  const Interval s{0.2, h, 0.2 + h, 0};
  const V2 y(1.2, 0.7);
  V2 next = y;
  kernel.advance(&s, 1, y, next, {}, {.keep_slopes = true});
  return kernel.error(s, y, next, 0, 1);
}

template <class Method>
void check_estimate() {
  INFO(Method::tableau.name);
  // Of the order of the embedded solution plus one; halving h changes the observed one by O(h).
  const double observed = std::log2(estimate<Method>(0.01) / estimate<Method>(0.005));
  CHECK(std::abs(observed - (Method::tableau.embedded_order + 1)) < 0.1);
}

}  // namespace

TEST_CASE("The error estimates of Rosenbrock methods have their orders", "[ode][property]") {
  check_estimate<Ros3p>();
  check_estimate<Rodas43>();
}

TEST_CASE("Rosenbrock methods hold the time derivative and its adjoint (C67)", "[ode][golden]") {
  check_case_67<Rosenbrock2>({0.63350106439317542816, -0.28300923659927898797,
                              0.28270944047412469644, 0.13510957391380613718});
  check_case_67<Ros3p>({0.63286385994043141033, -0.28272020202087445504, 0.2813788359035927124,
                        0.13531336538245159724});
}

TEST_CASE("Value and gradient of Rosenbrock methods converge with the order of the method",
          "[ode][property]") {
  check_order<Rosenbrock2>();
  check_order<Ros3p>();
  check_order<Rodas43>();
}

TEST_CASE("The adjoint of Rosenbrock methods is the derivative of the step, by complex steps",
          "[ode][oracle]") {
  check_against_complex_steps<Rosenbrock2>();
  check_against_complex_steps<Ros3p>();
  check_against_complex_steps<Rodas43>();
}

TEST_CASE("Adaptive RODAS has the bits of its own grid for every number of slots",
          "[ode][property]") {
  using F = RosenbrockRobertson;
  const RunOf<F> forward{.t0 = 0, .t1 = 40, .y0 = {1, 0, 0}, .p = {0.04, 1e4, 3e7}};
  const auto all =
      value_and_gradient(F{}, Rodas43{.rtol = 1e-6, .atol = 1e-10}, end_of<F>(2), forward);
  for (const Slot slots : {Slot{1}, Slot{3}, Slot{8}}) {
    RunOf<F> again = forward;
    again.schedule = revolve(all.grid.steps(), slots);
    const auto r = value_and_gradient(F{}, Rodas43{.grid = all.times()}, end_of<F>(2), again);
    CHECK(r.value == all.value);
    CHECK(r.dy0 == all.dy0);
    CHECK(r.dp == all.dp);
  }
}

TEST_CASE("Second derivatives of either kind give the same gradient", "[ode][oracle]") {
  const RunOf<problems::Robertson> run{.t0 = 0, .t1 = 4, .y0 = {1, 0, 0}, .p = {0.04, 1e4, 3e7}};
  const auto end = end_of<problems::Robertson>(2);
  const Rodas43 method{.rtol = 1e-6, .atol = 1e-10};
  const auto one = value_and_gradient(RosenbrockRobertson{}, method, end, run);
  const auto other = value_and_gradient(autonomous(SecondOrderRobertson{}), method, end, run);
  CHECK(other.value == one.value);
  for (int i = 0; i < 3; ++i) {
    // The same sums in another order, in a hundred steps of six stages.
    CHECK(relative(other.dy0[i], one.dy0[i]) < 1e-10);
    CHECK(relative(other.dp[i], one.dp[i]) < 1e-10);
  }

  const auto by_numbers = autonomous(autodiff<Eigen::Vector3d, Eigen::Vector3d>(
      [](double t, const auto& y, const auto& p, auto& out) {
        problems::Robertson::f(t, y, p, out);
      }));
  const auto third = value_and_gradient(by_numbers, Rodas43{.grid = one.times()}, end, run);
  CHECK(relative(third.value, one.value) < 1e-10);
  for (int i = 0; i < 3; ++i) {
    CHECK(relative(third.dy0[i], one.dy0[i]) < 1e-10);
    CHECK(relative(third.dp[i], one.dp[i]) < 1e-10);
  }
}
