// Implicit methods through the solver door: reference gradients, closed forms, cases.

#include <algorithm>
#include <cmath>
#include <vector>

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

template <class Method>
void check_robertson(const std::vector<double>& y, const std::vector<double>& gradient) {
  INFO(Method::tableau.name);
  const std::vector<double> grid = doubling_grid();
  const RunOf<problems::Robertson> run{
      .t0 = 0, .t1 = grid.back(), .y0 = {1, 0, 0}, .p = {0.04, 1e4, 3e7}};
  const auto third = end_of<problems::Robertson>(2);
  const auto result = value_and_gradient(problems::Robertson{}, Method{.grid = grid}, third, run);
  const auto forward = value(problems::Robertson{}, Method{.grid = grid}, third, run);
  CHECK(result.value == forward.value);
  for (int i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK(relative(forward.y1[i], y[static_cast<std::size_t>(i)]) < 1e-10);
    CHECK(relative(result.dy0[i], gradient[static_cast<std::size_t>(i)]) < 1e-10);
    CHECK(relative(result.dp[i], gradient[static_cast<std::size_t>(i) + 3]) < 1e-10);
  }
}

// R(z) and R'(z) of y' = lambda y.
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

double backward_euler(double z) {
  return 1 / (1 - z);
}
double backward_euler_prime(double z) {
  return 1 / ((1 - z) * (1 - z));
}
double trapezoid(double z) {
  return (1 + z / 2) / (1 - z / 2);
}
double trapezoid_prime(double z) {
  return 1 / ((1 - z / 2) * (1 - z / 2));
}
constexpr double gamma = 0.29289321881345247560;
double sdirk2(double z) {
  return (1 + (1 - 2 * gamma) * z) / ((1 - gamma * z) * (1 - gamma * z));
}
double sdirk2_prime(double z) {
  const double d = 1 - gamma * z;
  return (1 - 2 * gamma) / (d * d) + 2 * gamma * (1 + (1 - 2 * gamma) * z) / (d * d * d);
}

// Value and gradient of van der Pol, mu = 1, T = 0.5, with n steps.
template <class Method>
Eigen::Vector4d van_der_pol(Step n) {
  using F = problems::VanDerPol;
  const auto r =
      value_and_gradient(F{}, Method{.steps = n}, end_of<F>(1),
                         {.t0 = 0, .t1 = 0.5, .y0 = Eigen::Vector2d(2, 0.66666654321), .p = V1(1)});
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

// M y' = a y / p with M = a: a must cancel.
struct Scaled {
  using State = V1;
  using Parameters = V1;
  double a;
  void rhs(double, const V1& y, const V1& p, V1& out) const { out[0] = a * y[0] / p[0]; }
  void vjp(double, const V1& y, const V1& p, const V1& w, V1& y_bar, V1& p_bar) const {
    y_bar[0] = a * w[0] / p[0];
    p_bar[0] -= a * y[0] * w[0] / (p[0] * p[0]);
  }
  [[nodiscard]] V1 mass() const { return V1(a); }
};

// y' = A y, A = [[-1, 10], [0, -2]].
struct TwoByTwo {
  using State = Eigen::Vector2d;
  using Parameters = NoParameters;
  void rhs(double, const State& y, const Parameters&, State& out) const {
    out[0] = -y[0] + 10 * y[1];
    out[1] = -2 * y[1];
  }
  void vjp(double, const State&, const Parameters&, const State& w, State& y_bar,
           Parameters&) const {
    y_bar[0] = -w[0];
    y_bar[1] = 10 * w[0] - 2 * w[1];
  }
};

template <class Method>
void check_case_65(Step steps, double dy1, double dy2) {
  const auto j =
      terminal([](const Eigen::Vector2d& y, const NoParameters&) { return y[0] + 3 * y[1]; },
               [](const Eigen::Vector2d&, const NoParameters&, Eigen::Vector2d& y_bar,
                  NoParameters&) { y_bar += Eigen::Vector2d(1, 3); });
  const auto r = value_and_gradient(
      TwoByTwo{}, Method{.steps = steps}, j,
      {.t0 = 0, .t1 = 0.1 * static_cast<double>(steps), .y0 = {0.3, 0.7}, .p = NoParameters()});
  INFO(Method::tableau.name);
  CHECK(relative(r.dy0[0], dy1) < 1e-12);
  CHECK(relative(r.dy0[1], dy2) < 1e-12);
}

// y' = -p y + cos t.
struct CosineForced {
  using State = V1;
  using Parameters = V1;
  void rhs(double t, const V1& y, const V1& p, V1& out) const {
    out[0] = -p[0] * y[0] + std::cos(t);
  }
  void vjp(double, const V1& y, const V1& p, const V1& w, V1& y_bar, V1& p_bar) const {
    y_bar[0] = -p[0] * w[0];
    p_bar[0] -= y[0] * w[0];
  }
};

// y' = p sqrt(t - 1), which has no value before t = 1; remembers where it was called.
struct FromOneOn {
  using State = V1;
  using Parameters = V1;
  double& least;
  double& most;
  double root(double t) const {
    least = std::min(least, t);
    most = std::max(most, t);
    return std::sqrt(t - 1);
  }
  void rhs(double t, const V1&, const V1& p, V1& out) const { out[0] = p[0] * root(t); }
  void vjp(double t, const V1&, const V1&, const V1& w, V1& y_bar, V1& p_bar) const {
    y_bar[0] = 0;
    p_bar[0] += root(t) * w[0];
  }
};

template <class Method>
void check_inside_the_interval(const Method& method) {
  INFO(Method::tableau.name);
  double least = 1.2;
  double most = 1.2;
  const FromOneOn f{least, most};
  const auto r = value_and_gradient(f, method, end_of<FromOneOn>(0),
                                    {.t0 = 1, .t1 = 1.5, .y0 = V1(1), .p = V1(1.1)});
  CHECK(least >= 1);
  CHECK(most <= 1.5);
  CHECK(std::abs(r.dy0[0] - 1) < 1e-12);
  if (method.rtol > 0) CHECK(relative(r.dp[0], 0.23570226039551584147) < 1e-7);
}

// Value and gradient must have the same bits for every number of slots.
template <class F, class Method, class O>
void check_bits(const F& f, const Method& method, const O& objective,
                Run<typename F::State, typename F::Parameters> run) {
  INFO(Method::tableau.name);
  const auto all = value_and_gradient(f, method, objective, run);
  const Step n = all.grid.steps();
  Method fixed = method;
  fixed.rtol = fixed.atol = 0;
  fixed.h = 0;
  fixed.steps = 0;
  fixed.grid = all.times();
  for (const Slot slots : {Slot{1}, Slot{2}, Slot{3}, Slot{7}, Slot{n}}) {
    CAPTURE(slots, n);
    run.schedule = revolve(n, slots);
    const auto r = value_and_gradient(f, fixed, objective, run);
    CHECK(r.value == all.value);
    CHECK(r.dy0 == all.dy0);
    CHECK(r.dp == all.dp);
  }
}

}  // namespace

TEST_CASE("Lotka-Volterra by DIRK methods has the reference gradients", "[ode][golden]") {
  check_lotka_volterra<BackwardEuler>(
      8.59789998185900024e+00,
      {-9.1360467624152938e+00, -1.3291934198437257e+00, -5.0109445709566440e+00,
       -2.3854576299889144e+00, 7.2166987571190107e+00, -3.0015141143778411e+01});
  check_lotka_volterra<CrankNicolson>(
      1.30321086468836429e+01,
      {1.9114466155637163e+01, -8.3160647485249623e+00, 6.0454332139861883e+01,
       -8.0827360448089044e+00, 2.0077121844746473e+01, -1.1904020403285564e+01});
  check_lotka_volterra<Sdirk2>(
      1.30533307637102419e+01,
      {1.9284221810026868e+01, -8.3386978749920449e+00, 6.0753004323242781e+01,
       -8.1051599231693637e+00, 2.0109929054510898e+01, -1.1780212322782112e+01});
}

TEST_CASE("Robertson on a doubling grid has the reference gradients", "[ode][golden]") {
  check_robertson<BackwardEuler>(
      {7.55649085561919290e-01, 1.09092996893696671e-05, 2.44340005138391340e-01},
      {1.8613108799169807e-01, 3.1899045878405885e-01, 3.1899405579878675e-01,
       3.7550200151075200e+00, -1.1642188193294446e-05, 1.9404321595417061e-09});
  check_robertson<Sdirk2>(
      {7.32015529078609673e-01, 9.84221125688469858e-06, 2.67974628710133442e-01},
      {2.0350611682934009e-01, 2.7179213899555551e-01, 2.7178481550108877e-01,
       4.0911189507749576e+00, -1.2893935339274926e-05, 2.1490280503985304e-09});
}

TEST_CASE("The linear test equation has the closed forms of implicit stability functions",
          "[ode][oracle]") {
  check_linear<BackwardEuler>(backward_euler, backward_euler_prime);
  check_linear<CrankNicolson>(trapezoid, trapezoid_prime);
  check_linear<ImplicitMidpoint>(trapezoid, trapezoid_prime);
  check_linear<Sdirk2>(sdirk2, sdirk2_prime);
}

TEST_CASE("Value and gradient of DIRK methods converge with the order of the method",
          "[ode][property]") {
  check_order<BackwardEuler>(64);
  check_order<ImplicitMidpoint>(16);
  check_order<CrankNicolson>(16);
  check_order<Sdirk2>(16);
  check_order<Esdirk32>(16);
  check_order<Sdirk43>(32);
  check_order<Esdirk43>(8);
}

TEST_CASE("Adaptive stiff runs meet the gradients of the differential equation", "[ode][golden]") {
  using V = Eigen::Vector3d;
  const auto integral_y3 =
      integral([](double, const V& y, const V&) { return y[2]; },
               [](double, const V&, const V&, V& y_bar, V&) { y_bar[2] += 1; });
  const double rtol = 1e-8;
  const auto check_method = [&](const auto& method) {
    const auto r = value_and_gradient(problems::Robertson{}, method, integral_y3,
                                      {.t0 = 0, .t1 = 40, .y0 = {1, 0, 0}, .p = {0.04, 1e4, 3e7}});
    INFO(method.tableau.name);
    CHECK(relative(r.value, 7.9885858622949) < 100 * rtol);
    CHECK(relative(r.dp[0], 129.7764828616) < 100 * rtol);
    CHECK(relative(r.dp[1], -3.626383373e-4) < 100 * rtol);
    CHECK(relative(r.dp[2], 6.044293421e-8) < 100 * rtol);
  };
  check_method(Esdirk43{.rtol = rtol, .atol = 1e-14});
  check_method(Sdirk43{.rtol = rtol, .atol = 1e-14});
}

TEST_CASE("The gradient of DIRK methods does not depend on the number of slots, bit for bit",
          "[ode][property]") {
  check_bits(problems::Robertson{}, Esdirk43{.rtol = 1e-4, .atol = 1e-8},
             end_of<problems::Robertson>(2),
             {.t0 = 0, .t1 = 40, .y0 = {1, 0, 0}, .p = {0.04, 1e4, 3e7}});
  check_bits(problems::Robertson{}, Sdirk2{.grid = doubling_grid()}, end_of<problems::Robertson>(1),
             {.t0 = 0, .t1 = doubling_grid().back(), .y0 = {1, 0, 0}, .p = {0.04, 1e4, 3e7}});
  check_bits(problems::LotkaVolterra{}, CrankNicolson{.steps = 40},
             end_of<problems::LotkaVolterra>(0),
             {.t0 = 0, .t1 = 5, .y0 = {1, 1}, .p = {1.5, 1, 3, 1}});
}

TEST_CASE("A factor of a mass matrix problem cancels (C63)", "[ode][golden]") {
  for (const double a : {1.0, -0.8, 1e6, 1e-6}) {
    CAPTURE(a);
    const auto r = value_and_gradient(Scaled{a}, BackwardEuler{.steps = 10}, end_of<Scaled>(0),
                                      {.t0 = 0, .t1 = 1, .y0 = V1(1), .p = V1(2)});
    CHECK(relative(r.value, 1.6701825701150930755) < 1e-12);
    CHECK(relative(r.dp[0], -0.43952172897765607249) < 1e-11);
  }
}

TEST_CASE("Several implicit steps transpose and refactor (C65)", "[ode][golden]") {
  check_case_65<BackwardEuler>(1, 0.90909090909090909091, 3.2575757575757575758);
  check_case_65<BackwardEuler>(2, 0.82644628099173553719, 3.4033516988062442608);
  check_case_65<BackwardEuler>(5, 0.62092132305915517445, 3.396070226476325407);
  check_case_65<CrankNicolson>(1, 0.9047619047619047619, 3.3203463203463203463);
  check_case_65<CrankNicolson>(2, 0.81859410430839002268, 3.4999906298607597309);
  check_case_65<CrankNicolson>(5, 0.60627761164574529376, 3.4962412920850491649);
  check_case_65<Sdirk2>(1, 0.90480046364133775415, 3.3187832417230614641);
  check_case_65<Sdirk2>(2, 0.81866387900557976321, 3.4974991058590475584);
  check_case_65<Sdirk2>(5, 0.60640681347151539811, 3.4931641039855925011);
}

TEST_CASE("Backward Euler evaluates at the new time (C69)", "[ode][golden]") {
  const auto r =
      value_and_gradient(CosineForced{}, BackwardEuler{.steps = 10}, end_of<CosineForced>(0),
                         {.t0 = 0, .t1 = 1, .y0 = V1(0.3), .p = V1(1.5)});
  CHECK(relative(r.value, 0.45496544889404146099) < 1e-13);
  CHECK(relative(r.dy0[0], 0.24718470612186565076) < 1e-12);
  CHECK(relative(r.dp[0], -0.22753148212762230725) < 1e-12);
}

TEST_CASE("The adjoint of a dissipative problem contracts (C73)", "[ode][golden]") {
  using F = problems::Attracted;
  const auto r = value_and_gradient(F{}, BackwardEuler{.steps = 50}, end_of<F>(0),
                                    {.t0 = 0, .t1 = 1, .y0 = V1(0.5), .p = V1(1000)});
  CHECK(relative(r.value, 0.84146261194858720447) < 1e-12);
  CHECK(relative(r.dy0[0], 7.7452468414290237728e-67) < 1e-10);
  CHECK(relative(r.dp[0], 8.3673004345944203045e-9) < 1e-7);

  const auto adaptive =
      value_and_gradient(F{}, Esdirk43{.rtol = 1e-10, .atol = 1e-10}, end_of<F>(0),
                         {.t0 = 0, .t1 = 1, .y0 = V1(0.5), .p = V1(1000)});
  CHECK(std::abs(adaptive.dy0[0]) < 1e-60);
}

TEST_CASE("DIRK methods evaluate nothing outside of the interval (C28)", "[ode][golden]") {
  check_inside_the_interval(BackwardEuler{.steps = 7});
  check_inside_the_interval(ImplicitMidpoint{.h = 0.06});
  check_inside_the_interval(CrankNicolson{.h = 0.06});
  check_inside_the_interval(Sdirk2{.h = 0.06});
  check_inside_the_interval(Sdirk43{.rtol = 1e-10, .atol = 1e-10});
  check_inside_the_interval(Esdirk32{.rtol = 1e-9, .atol = 1e-9});
  check_inside_the_interval(Esdirk43{.rtol = 1e-10, .atol = 1e-10});
}
