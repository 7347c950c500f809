#include "costate/ode/autodiff.hpp"

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "costate/costate.hpp"
#include "support/catch.hpp"
#include "support/problems.hpp"

using namespace costate;

namespace {

// dydt_i = p_0 sin(y_i) + p_1 y_{i+1}² t, cyclic.
const auto ring = [](double t, const auto& y, const auto& p, auto& dydt) {
  using std::sin;
  const Eigen::Index n = y.size();
  for (Eigen::Index i = 0; i < n; ++i) {
    dydt[i] = p[0] * sin(y[i]) + p[1] * y[(i + 1) % n] * y[(i + 1) % n] * t;
  }
};

template <class State>
void check_ring(Eigen::Index n) {
  CAPTURE(n);
  using P = Eigen::Vector2d;
  const auto f = autodiff<State, P>(ring);
  State y(n);
  State w(n);
  State dy(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    y[i] = 0.3 + 0.1 * static_cast<double>(i);
    w[i] = 1 - 0.2 * static_cast<double>(i);
    dy[i] = 0.5 + 0.3 * static_cast<double>(i % 3);
  }
  const P p(1.3, 0.7);
  const P dp(0.2, -0.4);
  const double t = 0.9;

  State y_bar = State::Constant(n, std::numeric_limits<double>::quiet_NaN());
  P p_bar(10, 20);
  f.vjp(t, y, p, w, y_bar, p_bar);
  State out(n);
  f.jvp(t, y, p, dy, dp, out);

  P p_expected(10, 20);
  for (Eigen::Index i = 0; i < n; ++i) {
    const Eigen::Index before = (i + n - 1) % n;
    const Eigen::Index after = (i + 1) % n;
    // A handful of roundings of numbers of order one.
    CHECK(std::abs(y_bar[i] - (p[0] * std::cos(y[i]) * w[i] + 2 * p[1] * y[i] * t * w[before])) <
          1e-14);
    p_expected[0] += std::sin(y[i]) * w[i];
    p_expected[1] += y[after] * y[after] * t * w[i];
    const double expected = p[0] * std::cos(y[i]) * dy[i] + 2 * p[1] * y[after] * t * dy[after] +
                            dp[0] * std::sin(y[i]) + dp[1] * y[after] * y[after] * t;
    CHECK(std::abs(out[i] - expected) < 1e-14);
  }
  CHECK((p_bar - p_expected).norm() < 1e-13);

  typename std::remove_cvref_t<decltype(f)>::Jacobian j(n, n);
  j.setConstant(std::numeric_limits<double>::quiet_NaN());
  f.jacobian(t, y, p, j);
  CHECK((j.transpose() * w - y_bar).norm() < 1e-13);
  f.jvp(t, y, p, dy, P(0, 0), out);
  CHECK((j * dy - out).norm() < 1e-13);
}

}  // namespace

TEST_CASE("Derivatives by automatic differentiation are those by hand", "[ode][oracle]") {
  check_ring<Eigen::Matrix<double, 3, 1>>(3);
  check_ring<Eigen::Matrix<double, 14, 1>>(14);
  check_ring<Eigen::Matrix<double, 15, 1>>(15);
  check_ring<Eigen::VectorXd>(1);
  check_ring<Eigen::VectorXd>(6);
  check_ring<Eigen::VectorXd>(7);
  check_ring<Eigen::VectorXd>(50);
}

TEST_CASE("One function each makes the whole gradient", "[ode][oracle]") {
  using S = Eigen::Vector2d;
  using P = Eigen::Vector4d;
  const auto f = autodiff<S, P>([](double t, const auto& y, const auto& p, auto& dydt) {
    problems::LotkaVolterra::f(t, y, p, dydt);
  });
  const auto automatic =
      autodiff_terminal<S, P>(
          [](const auto& y, const auto& p, auto& value) { value = y[0] * y[1] * p[0]; }) +
      autodiff_integral<S, P>([](double t, const auto& y, const auto& p, auto& value) {
        value = t * y[0] * y[0] * p[1];
      }) +
      autodiff_observations<S, P>({0.4, 0.8},
                                  [](std::size_t i, const auto& y, const auto& p, auto& value) {
                                    value = static_cast<double>(i + 1) * y[1] * y[1] * p[0];
                                  });
  const auto by_hand =
      terminal([](const S& y, const P& p) { return y[0] * y[1] * p[0]; },
               [](const S& y, const P& p, S& y_bar, P& p_bar) {
                 y_bar += p[0] * S(y[1], y[0]);
                 p_bar[0] += y[0] * y[1];
               }) +
      integral([](double t, const S& y, const P& p) { return t * y[0] * y[0] * p[1]; },
               [](double t, const S& y, const P& p, S& y_bar, P& p_bar) {
                 y_bar[0] += 2 * t * y[0] * p[1];
                 p_bar[1] += t * y[0] * y[0];
               }) +
      observations(
          {0.4, 0.8},
          [](std::size_t i, const S& y, const P& p) {
            return static_cast<double>(i + 1) * y[1] * y[1] * p[0];
          },
          [](std::size_t i, const S& y, const P& p, S& y_bar, P& p_bar) {
            y_bar[1] += 2 * static_cast<double>(i + 1) * y[1] * p[0];
            p_bar[0] += static_cast<double>(i + 1) * y[1] * y[1];
          });
  const Run<S, P> run{.t0 = 0, .t1 = 1, .y0 = {1.2, 0.7}, .p = {1.5, 1.1, 2.7, 0.9}};

  const auto a = value_and_gradient(f, RungeKutta4{.steps = 20}, automatic, run);
  const auto b =
      value_and_gradient(problems::LotkaVolterra{}, RungeKutta4{.steps = 20}, by_hand, run);

  // The same map with other roundings: 20 steps of some 50 operations.
  CHECK(std::abs(a.value - b.value) < 1e-13 * std::abs(b.value));
  CHECK((a.dy0 - b.dy0).norm() < 1e-13 * b.dy0.norm());
  CHECK((a.dp - b.dp).norm() < 1e-13 * b.dp.norm());
}

TEST_CASE("Without parameters, and in float, too", "[ode][unit]") {
  using V = Eigen::Matrix<float, 2, 1>;
  const auto f = autodiff<V, NoParameters>([](double, const auto& y, const auto&, auto& dydt) {
    dydt[0] = y[1];
    dydt[1] = -y[0];
  });
  V y_bar;
  NoParameters none;
  f.vjp(0, V(1, 2), none, V(3, 4), y_bar, none);
  CHECK(y_bar == V(-4, 3));
}
