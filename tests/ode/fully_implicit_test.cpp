// Gauss and Radau methods, and algebraic equations, through the solver door.

#include "costate/integrate/fully_implicit.hpp"

#include <cmath>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/explicit_runge_kutta.hpp"
#include "costate/ode/value_and_gradient.hpp"
#include "costate/schedule/revolve.hpp"
#include "support/catch.hpp"
#include "support/problems.hpp"
#include "support/stiff_problems.hpp"

using namespace costate;

namespace {

using V1 = Eigen::Matrix<double, 1, 1>;

double relative(double x, double reference) {
  return std::abs(x - reference) / std::abs(reference);
}

// J = y_i(t1).
template <class F>
auto end_of(int i) {
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  return terminal(
      [i](const State& y, const Parameters&) { return y[i]; },
      [i](const State&, const Parameters&, State& y_bar, Parameters&) { y_bar[i] += 1; });
}

template <class Method>
void check_lotka_volterra(double value, const std::vector<double>& gradient) {
  INFO(Method::tableau.name);
  const auto misfit = terminal(
      [](const Eigen::Vector2d& y, const Eigen::Vector4d&) {
        return 0.5 * (y - Eigen::Vector2d::Ones()).squaredNorm();
      },
      [](const Eigen::Vector2d& y, const Eigen::Vector4d&, Eigen::Vector2d& y_bar,
         Eigen::Vector4d&) { y_bar += y - Eigen::Vector2d::Ones(); });
  const auto result = value_and_gradient(problems::LotkaVolterra{}, Method{.h = 1. / 20}, misfit,
                                         {.t0 = 0, .t1 = 5, .y0 = {1, 1}, .p = {1.5, 1, 3, 1}});
  CHECK(relative(result.value, value) < 1e-12);
  CHECK(relative(result.dy0[0], gradient[0]) < 1e-12);
  CHECK(relative(result.dy0[1], gradient[1]) < 1e-12);
  for (int i = 0; i < 4; ++i) {
    CHECK(relative(result.dp[i], gradient[static_cast<std::size_t>(i) + 2]) < 1e-12);
  }
}

// The grid 0, 1e-6 2^k, k = 0 … 25.
std::vector<double> doubling_grid() {
  std::vector<double> grid{0};
  for (int k = 0; k <= 25; ++k) grid.push_back(1e-6 * std::ldexp(1, k));
  return grid;
}

const std::vector<double> robertson_radau_3 = {2.0259397422355008e-01,  2.7550403253675894e-01,
                                               2.7549654938755868e-01,  4.0708893128621196e+00,
                                               -1.2823487692491089e-05, 2.1372890378805286e-09};
const std::vector<double> robertson_radau_5 = {2.0253902464916752e-01,  2.7604257691882502e-01,
                                               2.7603505785297400e-01,  4.0684006349023953e+00,
                                               -1.2812548404511559e-05, 2.1354660289774812e-09};
const std::vector<double> robertson_backward_euler = {
    1.8613108799169807e-01, 3.1899045878405885e-01,  3.1899405579878675e-01,
    3.7550200151075200e+00, -1.1642188193294446e-05, 1.9404321595417061e-09};
const std::vector<double> robertson_sdirk2 = {2.0350611682934009e-01,  2.7179213899555551e-01,
                                              2.7178481550108877e-01,  4.0911189507749576e+00,
                                              -1.2893935339274926e-05, 2.1490280503985304e-09};

template <class F, class Method>
auto robertson(const F& f) {
  const std::vector<double> grid = doubling_grid();
  return value_and_gradient(f, Method{.grid = grid}, end_of<problems::Robertson>(2),
                            {.t0 = 0, .t1 = grid.back(), .y0 = {1, 0, 0}, .p = {0.04, 1e4, 3e7}});
}

template <class Method>
void check_robertson(const std::vector<double>& y, const std::vector<double>& gradient) {
  INFO(Method::tableau.name);
  const auto r = robertson<problems::Robertson, Method>({});
  const auto forward =
      value(problems::Robertson{}, Method{.grid = doubling_grid()}, end_of<problems::Robertson>(2),
            {.t0 = 0, .t1 = doubling_grid().back(), .y0 = {1, 0, 0}, .p = {0.04, 1e4, 3e7}});
  for (int i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK(relative(forward.y1[i], y[static_cast<std::size_t>(i)]) < 1e-10);
    CHECK(relative(r.dy0[i], gradient[static_cast<std::size_t>(i)]) < 1e-10);
    CHECK(relative(r.dp[i], gradient[static_cast<std::size_t>(i) + 3]) < 1e-10);
  }
}

// Robertson with 0 = y1 + y2 + y3 - 1 in place of the third equation. Runge-Kutta methods conserve
// linear invariants, so the states are those of the differential equations.
struct AlgebraicRobertson {
  using State = Eigen::Vector3d;
  using Parameters = Eigen::Vector3d;
  problems::Robertson differential = {};
  void rhs(double t, const State& y, const Parameters& p, State& out) const {
    differential.rhs(t, y, p, out);
    out[2] = y.sum() - 1;
  }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    differential.vjp(t, y, p, State(w[0], w[1], 0), y_bar, p_bar);
    y_bar.array() += w[2];
  }
};

template <class Method>
void check_algebraic(const std::vector<double>& gradient) {
  INFO(Method::tableau.name);
  const Eigen::DiagonalMatrix<double, 3> m(1, 1, 0);
  using F = WithMass<AlgebraicRobertson, Eigen::DiagonalMatrix<double, 3>>;
  const auto r = robertson<F, Method>(with_mass(AlgebraicRobertson{}, m));
  for (int i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK(relative(r.dp[i], gradient[static_cast<std::size_t>(i) + 3]) < 1e-10);
  }
  // y3(0) follows from the others and is not read.
  CHECK(relative(r.dy0[0], gradient[0] - gradient[2]) < 1e-10);
  CHECK(std::abs(r.dy0[2]) < 1e-10);
}

template <class Method>
void check_linear(double (*r)(double), double (*r_prime)(double)) {
  INFO(Method::tableau.name);
  const double lambda = -0.7;
  const double y0 = 1.3;
  const Step n = 10;
  const double h = 2.0 / 10;
  const double z = lambda * h;
  const auto result =
      value_and_gradient(problems::Linear{}, Method{.steps = n}, end_of<problems::Linear>(0),
                         {.t0 = 0, .t1 = 2, .y0 = V1(y0), .p = V1(lambda)});
  // Ten steps of a few roundings each.
  CHECK(relative(result.value, std::pow(r(z), n) * y0) < 2e-14);
  CHECK(relative(result.dy0[0], std::pow(r(z), n)) < 2e-14);
  CHECK(relative(result.dp[0], n * h * std::pow(r(z), n - 1) * r_prime(z) * y0) < 2e-14);
}

// (N / D)' for the polynomials that the stability functions are made of.
double gauss_4(double z) {
  return (1 + z / 2 + z * z / 12) / (1 - z / 2 + z * z / 12);
}
double gauss_4_prime(double z) {
  const double d = 1 - z / 2 + z * z / 12;
  return ((0.5 + z / 6) * d - (1 + z / 2 + z * z / 12) * (-0.5 + z / 6)) / (d * d);
}
double radau_3(double z) {
  return (1 + z / 3) / (1 - 2 * z / 3 + z * z / 6);
}
double radau_3_prime(double z) {
  const double d = 1 - 2 * z / 3 + z * z / 6;
  return (d / 3 - (1 + z / 3) * (-2. / 3 + z / 3)) / (d * d);
}
double radau_5(double z) {
  return (1 + 2 * z / 5 + z * z / 20) / (1 - 3 * z / 5 + 3 * z * z / 20 - z * z * z / 60);
}
double radau_5_prime(double z) {
  const double n = 1 + 2 * z / 5 + z * z / 20;
  const double d = 1 - 3 * z / 5 + 3 * z * z / 20 - z * z * z / 60;
  return ((0.4 + z / 10) * d - n * (-0.6 + 0.3 * z - z * z / 20)) / (d * d);
}

// Value and gradient of van der Pol, mu = 1, T = 0.5, with n steps.
template <class Method>
Eigen::Vector4d van_der_pol(Step n) {
  using F = problems::VanDerPol;
  const auto r =
      value_and_gradient(F{}, Method{.steps = n}, end_of<F>(1),
                         {.t0 = 0, .t1 = 0.5, .y0 = Eigen::Vector2d(2, 0.6666), .p = V1(1)});
  return {r.value, r.dy0[0], r.dy0[1], r.dp[0]};
}

template <class Method>
void check_order(Step n) {
  INFO(Method::tableau.name);
  // The classical method with steps so small that rounding is all that is left.
  static const Eigen::Vector4d exact = van_der_pol<RungeKutta4>(2000);
  const Eigen::Vector4d coarse = (van_der_pol<Method>(n) - exact).cwiseAbs();
  const Eigen::Vector4d fine = (van_der_pol<Method>(2 * n) - exact).cwiseAbs();
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i, coarse[i], fine[i]);
    // Halving h changes the observed order by O(h).
    CHECK(std::abs(std::log2(coarse[i] / fine[i]) - Method::tableau.order) < 0.25);
  }
}

}  // namespace

TEST_CASE("Lotka-Volterra by Radau methods has the reference gradients", "[ode][golden]") {
  check_lotka_volterra<Radau3>(
      1.30665700528507103e+01,
      {1.9406838482844268e+01, -8.3434329480660257e+00, 6.0928097567562687e+01,
       -8.1098344782998799e+00, 2.0118776065252157e+01, -1.1686478827807598e+01});
  check_lotka_volterra<Radau5>(
      1.30664642112354153e+01,
      {1.9398706779261478e+01, -8.3429180321015572e+00, 6.0916201800059767e+01,
       -8.1093372953697982e+00, 2.0118471383174091e+01, -1.1694434618335433e+01});
}

TEST_CASE("Robertson by Radau methods has the reference gradients", "[ode][golden]") {
  check_robertson<Radau3>(
      {7.33279924066225755e-01, 9.89592172913093312e-06, 2.66710180012045114e-01},
      robertson_radau_3);
  check_robertson<Radau5>(
      {7.33389571573819125e-01, 9.90060122220454347e-06, 2.66600527824958670e-01},
      robertson_radau_5);
}

TEST_CASE("Algebraic equations have the gradients of the differential equations they stand for",
          "[ode][oracle]") {
  check_algebraic<BackwardEuler>(robertson_backward_euler);
  check_algebraic<Sdirk2>(robertson_sdirk2);
  check_algebraic<Radau3>(robertson_radau_3);
  check_algebraic<Radau5>(robertson_radau_5);

  const Eigen::DiagonalMatrix<double, 3> m(1, 1, 0);
  using F = WithMass<AlgebraicRobertson, Eigen::DiagonalMatrix<double, 3>>;
  const auto explicit_stage = [&] {
    robertson<F, CrankNicolson>(with_mass(AlgebraicRobertson{}, m));
  };
  CHECK_THROWS_AS(explicit_stage(), InvalidArgument);
}

TEST_CASE("The linear test equation has the closed forms of Gauss and Radau", "[ode][oracle]") {
  check_linear<Gauss4>(gauss_4, gauss_4_prime);
  check_linear<Radau3>(radau_3, radau_3_prime);
  check_linear<Radau5>(radau_5, radau_5_prime);
}

TEST_CASE("Value and gradient of Gauss and Radau converge with the order of the method",
          "[ode][property]") {
  check_order<Gauss4>(8);
  check_order<Radau3>(16);
  check_order<Radau5>(4);
}

TEST_CASE("The gradient of Radau IIA 5 does not depend on the number of slots, bit for bit",
          "[ode][property]") {
  const auto run = [](std::vector<double> grid, Slot slots) {
    const auto n = static_cast<Step>(grid.size()) - 1;
    const double end = grid.back();
    return value_and_gradient(problems::Robertson{}, Radau5{.grid = std::move(grid)},
                              end_of<problems::Robertson>(2),
                              {.t0 = 0,
                               .t1 = end,
                               .y0 = {1, 0, 0},
                               .p = {0.04, 1e4, 3e7},
                               .schedule = revolve(n, slots)});
  };
  const auto all = run(doubling_grid(), 26);
  for (const Slot slots : {Slot{1}, Slot{2}, Slot{3}, Slot{7}}) {
    const auto some = run(doubling_grid(), slots);
    CHECK(some.value == all.value);
    CHECK(some.dy0 == all.dy0);
    CHECK(some.dp == all.dp);
  }
}
