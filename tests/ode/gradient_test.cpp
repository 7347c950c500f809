// The gradients that are known to many digits: shared reference values, closed forms.

#include <cmath>
#include <vector>

#include "costate/costate.hpp"
#include "support/catch.hpp"
#include "support/problems.hpp"

using namespace costate;

namespace {

double relative(double x, double reference) {
  return std::abs(x - reference) / std::abs(reference);
}

auto lotka_volterra_misfit() {
  return terminal(
      [](const Eigen::Vector2d& y, const Eigen::Vector4d&) {
        return 0.5 * (y - Eigen::Vector2d::Ones()).squaredNorm();
      },
      [](const Eigen::Vector2d& y, const Eigen::Vector4d&, Eigen::Vector2d& y_bar,
         Eigen::Vector4d&) { y_bar += y - Eigen::Vector2d::Ones(); });
}

template <class Method>
void check_lotka_volterra(const Method& method, double value, const std::vector<double>& gradient) {
  const auto result = value_and_gradient(problems::LotkaVolterra{}, method, lotka_volterra_misfit(),
                                         {.t0 = 0, .t1 = 5, .y0 = {1, 1}, .p = {1.5, 1, 3, 1}});
  INFO(Method::tableau.name);
  CHECK(relative(result.value, value) < 1e-12);
  CHECK(relative(result.dy0[0], gradient[0]) < 1e-12);
  CHECK(relative(result.dy0[1], gradient[1]) < 1e-12);
  for (int i = 0; i < 4; ++i) {
    CHECK(relative(result.dp[i], gradient[static_cast<std::size_t>(i) + 2]) < 1e-12);
  }
  CHECK(result.grid.steps() == 100);
}

// R(z) and its derivative for y' = lambda y.
template <class Method>
void check_linear(double (*r)(double), double (*r_prime)(double)) {
  INFO(Method::tableau.name);
  const double lambda = -0.7;
  const double y0 = 1.3;
  const Step n = 10;
  const double h = 2.0 / 10;
  const double z = lambda * h;
  using V = problems::Linear::State;
  const auto end = terminal([](const V& y, const V&) { return y[0]; },
                            [](const V&, const V&, V& y_bar, V&) { y_bar[0] += 1; });
  const auto result = value_and_gradient(problems::Linear{}, Method{.steps = n}, end,
                                         {.t0 = 0, .t1 = 2, .y0 = V(y0), .p = V(lambda)});
  CHECK(relative(result.value, std::pow(r(z), n) * y0) < 1e-14);
  CHECK(relative(result.dy0[0], std::pow(r(z), n)) < 1e-14);
  CHECK(relative(result.dp[0], n * h * std::pow(r(z), n - 1) * r_prime(z) * y0) < 1e-14);
}

double r1(double z) {
  return 1 + z;
}
double d1(double) {
  return 1;
}
double r2(double z) {
  return 1 + z + z * z / 2;
}
double d2(double z) {
  return 1 + z;
}
double r3(double z) {
  return 1 + z + z * z / 2 + z * z * z / 6;
}
double d3(double z) {
  return r2(z);
}
double r4(double z) {
  return r3(z) + z * z * z * z / 24;
}
double d4(double z) {
  return r3(z);
}

}  // namespace

TEST_CASE("Lotka-Volterra on fixed steps has the reference gradients", "[ode][golden]") {
  check_lotka_volterra(Euler{.h = 1. / 20}, 5.02439790761488842e+00,
                       {2.8636792257065472e+01, -1.9800046987321499e+00, 3.4879250102144075e+01,
                        -1.9147106951923138e+00, 2.5997136475058345e+00, 1.6421913238152842e+01});
  check_lotka_volterra(RungeKutta4{.h = 1. / 20}, 1.30663697327664248e+01,
                       {1.9399454332104233e+01, -8.3428966962660766e+00, 6.0916759776277991e+01,
                        -8.1093129312025956e+00, 2.0118239823903063e+01, -1.1693469927019947e+01});
  check_lotka_volterra(DormandPrince54{.steps = 100}, 1.30664653959905773e+01,
                       {1.9398689696809004e+01, -8.3429191091015934e+00, 6.0916189745584540e+01,
                        -8.1093384427365105e+00, 2.0118476237768837e+01, -1.1694454526905543e+01});
}

TEST_CASE("The linear test equation has the closed forms of its stability functions",
          "[ode][oracle]") {
  check_linear<Euler>(r1, d1);
  check_linear<Heun>(r2, d2);
  check_linear<Midpoint>(r2, d2);
  check_linear<Ssprk3>(r3, d3);
  check_linear<BogackiShampine32>(r3, d3);
  check_linear<RungeKutta4>(r4, d4);
}

TEST_CASE("Adaptive Lotka-Volterra meets the gradient of the differential equation",
          "[ode][golden]") {
  const auto check_method = [](const auto& method) {
    const auto result =
        value_and_gradient(problems::LotkaVolterra{}, method, lotka_volterra_misfit(),
                           {.t0 = 0, .t1 = 10, .y0 = {1, 1}, .p = {1.5, 1, 3, 1}});
    // 100 x tolerance, relative to the largest entry: the value is a square near its minimum.
    const double tolerance = 100 * 1e-10;
    CHECK(std::abs(result.value - 4.4248740734080090e-3) < tolerance);
    CHECK(std::abs(result.dy0[0] - 0.29959950830368230) < tolerance);
    CHECK(std::abs(result.dy0[1] - -0.014151816344853506) < tolerance);
    CHECK(std::abs(result.dp[0] - 0.62196158555128088) < tolerance);
    CHECK(std::abs(result.dp[1] - 0.068001404150874337) < tolerance);
    CHECK(std::abs(result.dp[2] - 0.16917646399589282) < tolerance);
    CHECK(std::abs(result.dp[3] - 0.27256069395000751) < tolerance);
  };
  check_method(Dopri5{.rtol = 1e-10, .atol = 1e-10});
  check_method(Tsitouras54{.rtol = 1e-10, .atol = 1e-10});
}

TEST_CASE("Adaptive van der Pol meets the derivatives of the differential equation",
          "[ode][golden]") {
  const auto component = [](int i) {
    using V = Eigen::Vector2d;
    using P = problems::VanDerPol::Parameters;
    return terminal([i](const V& y, const P&) { return y[i]; },
                    [i](const V&, const P&, V& y_bar, P&) { y_bar[i] += 1; });
  };
  const double tolerance = 100 * 1e-10;
  const Eigen::Vector2d y0(2, 0.66666654321);
  const problems::VanDerPol::Parameters mu(1);
  for (int i = 0; i < 2; ++i) {
    CAPTURE(i);
    const auto r = value_and_gradient(problems::VanDerPol{}, Dopri5{.rtol = 1e-10, .atol = 1e-10},
                                      component(i), {.t0 = 0, .t1 = 0.5, .y0 = y0, .p = mu});
    const double y[] = {2.00694018297700, -0.376966633020984};
    const double d[][3] = {{0.880687350552758, 0.241022877779816, -0.0320982839019679},
                           {-0.137223580560675, 0.193518741833706, 0.0877104584608699}};
    CHECK(std::abs(r.value - y[i]) < tolerance);
    CHECK(std::abs(r.dy0[0] - d[i][0]) < tolerance);
    CHECK(std::abs(r.dy0[1] - d[i][1]) < tolerance);
    CHECK(std::abs(r.dp[0] - d[i][2]) < tolerance);
  }
}
