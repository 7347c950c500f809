// Products with Hessians: closed forms and the tabulated cases.

#include "costate/ode/second_order.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "costate/costate.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/more_explicit_methods.hpp"
#include "costate/ode/control.hpp"
#include "support/catch.hpp"
#include "support/second_order.hpp"

using namespace costate;
using second_order::hessian;
using second_order::relative;

namespace {

using V1 = Eigen::Matrix<double, 1, 1>;
using V2 = Eigen::Vector2d;
using V3 = Eigen::Vector3d;

// y' = a y + b with p = (a, b), J = y(1)²: the unknowns in the order y0, a, b.
auto affine() {
  return autodiff<V1, V2>(
      [](double, const auto& y, const auto& p, auto& out) { out[0] = p[0] * y[0] + p[1]; });
}
auto square() {
  return autodiff_terminal<V1, V2>(
      [](const auto& y, const auto&, auto& value) { value = y[0] * y[0]; });
}

}  // namespace

TEST_CASE("numbers with second derivatives are right", "[ode][second_order]") {
  using N = SecondOrderNumber<double, 2>;
  const auto check = [](const auto& g) {
    const double x = 0.37;
    const double y = 0.61;
    N a(x);
    a.along = 0.3;
    a.each = {1, 0};
    N b(y);
    b.along = -0.8;
    b.each = {0, 1};
    const N r = g(a, b);
    // Central differences of fourth order: h⁴ / 30 times fifth derivatives up to 1e5 from
    // truncation, 1e-16 / h from rounding, 1e-16 / h² for second derivatives.
    const double h = 2.5e-4;
    const auto derivative = [&](const auto& f) {
      return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
    };
    const auto value = [&](double u, double v) { return g(N(u), N(v)).value; };
    CHECK(std::abs(r.along -
                   derivative([&](double e) { return value(x + 0.3 * e, y - 0.8 * e); })) < 1e-9);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto first = [&](double e) {
        return derivative([&](double d) {
          return value(x + 0.3 * e + (i == 0 ? d : 0), y - 0.8 * e + (i == 1 ? d : 0));
        });
      };
      CHECK(std::abs(r.each[i] - first(0)) < 1e-9);
      CHECK(std::abs(r.mixed[i] - derivative(first)) < 1e-7);
    }
  };
  check([](N a, N b) { return a * b + 2 * a - b / 3; });
  check([](N a, N b) { return a / b - 1. / a; });
  check([](N a, N b) { return sin(a) * cos(b) + tan(a * b); });
  check([](N a, N b) { return exp(a - b) + log(a + b); });
  check([](N a, N b) { return sqrt(a) * pow(b, 3) + pow(a, b); });
  check([](N a, N b) { return asin(a) + acos(b) + atan(a * b); });
  check([](N a, N b) { return sinh(a) + cosh(b) * tanh(a); });
  check([](N a, N b) { return abs(a - b) + max(a, b) * min(a, b); });
}

TEST_CASE("C55, C57: every product is a function of its arguments and owns its numbers",
          "[ode][second_order][case]") {
  const auto f = affine();
  const Dopri5 method{.rtol = 1e-11, .atol = 1e-11};
  const RunOf<decltype(f)> at_b{.t0 = 0, .t1 = 1, .y0 = V1(0.7), .p = {-0.2, 0.5}};
  const RunOf<decltype(f)> at_a{.t0 = 0, .t1 = 1, .y0 = V1(1.2), .p = {0.4, -0.3}};

  // C57: at B without a gradient before, then a gradient at A, then B again.
  const auto check_b = [&] {
    const auto h = hessian(f, method, square(), at_b);
    CHECK(relative(h(1, 1), 2.7260222631748302083) < 1e-7);
    CHECK(relative(h(1, 2), 2.3351089913306802825) < 1e-7);
    CHECK(relative(h(1, 0), 2.9776171099918702761) < 1e-7);
    CHECK(relative(h(2, 2), 1.6429269939837791702) < 1e-7);
    CHECK(relative(h(2, 0), 1.4841070704234255793) < 1e-7);
    CHECK(relative(h(0, 0), 1.3406400920712786015) < 1e-7);
    return h;
  };
  const auto before = check_b();
  const auto g = value_and_gradient(f, method, square(), at_a);
  CHECK(relative(g.value, 2.0201537089275821545) < 1e-9);
  CHECK(check_b() == before);

  // C55: three products at A, compared after the third.
  const auto product = [&](const V1& y, const V2& p) {
    return hessian_product(f, method, square(), at_a, {.dy0 = y, .dp = p});
  };
  const auto h1 = product(V1(0.), {1, 0});
  const double kept = h1.hp[0];
  const auto h2 = product(V1(0.), {0, 1});
  const auto h3 = product(V1(1.), {0, 0});
  CHECK(h1.hp[0] == kept);
  CHECK(relative(h1.hp[0], 9.7824609944987288191) < 1e-7);
  CHECK(relative(h1.hp[1], 5.7823940095961810635) < 1e-7);
  CHECK(relative(h1.hy0[0], 8.9951465834403369903) < 1e-7);
  CHECK(relative(h2.hp[1], 3.0236441651240871116) < 1e-7);
  CHECK(relative(h2.hy0[0], 3.6685811542559864338) < 1e-7);
  CHECK(relative(h3.hy0[0], 4.4510818569849352092) < 1e-7);
  // What comes with it.
  CHECK(h1.value == g.value);
  CHECK(relative(h1.dp[0], 4.5297288486247750347) < 1e-8);
  CHECK(relative(h1.dp[1], 3.495204135569957587) < 1e-8);
  CHECK(relative(h1.dy0[0], 4.2407238821051263209) < 1e-8);
  CHECK(relative(h2.derivative, 3.495204135569957587) < 1e-8);
  CHECK(h1.grid.times() == g.times());
}

TEST_CASE("C59: mixed second derivatives are in the product", "[ode][second_order][case]") {
  // y' = -m y², J = y(1)²/2
  const auto f = autodiff<V1, V1>(
      [](double, const auto& y, const auto& m, auto& out) { out[0] = -m[0] * y[0] * y[0]; });
  const auto half = autodiff_terminal<V1, V1>(
      [](const auto& y, const auto&, auto& value) { value = 0.5 * y[0] * y[0]; });
  RunOf<decltype(f)> run{.t0 = 0, .t1 = 1, .y0 = V1(1.5), .p = V1(0.6)};
  const RungeKutta4 method{.h = 0.1};
  const auto h = hessian(f, method, half, run);
  CHECK(relative(h(0, 0), -0.061384981204559840059) < 1e-9);
  CHECK(relative(h(0, 1), -0.51794840756242852878) < 1e-9);
  CHECK(relative(h(1, 1), 1.1653943239129005462) < 1e-9);
  CHECK(std::abs(h(0, 1) - h(1, 0)) < 1e-12);

  const DirectionOf<decltype(f)> v{.dy0 = V1(0.3), .dp = V1(-0.7)};
  const auto hv = hessian_product(f, method, half, run, v);
  CHECK(relative(hv.hy0[0], 0.34414839093233201812) < 1e-9);
  CHECK(relative(hv.hp[0], -0.97116054900775894096) < 1e-9);
  CHECK(relative(hv.value, 0.31163460011710132997) < 1e-10);
  CHECK(relative(hv.dy0[0], 0.21869157273061735718) < 1e-10);
  CHECK(relative(hv.dp[0], -0.49205306856379437362) < 1e-10);

  const auto exact = hessian_product(f, Dopri5{.rtol = 1e-10, .atol = 1e-10}, half, run, v);
  CHECK(relative(exact.hy0[0], 0.34415021370308699289) < 1e-6);
  CHECK(relative(exact.hp[0], -0.97115967495645367976) < 1e-6);

  const auto dynamic = autodiff<Eigen::VectorXd, V1>(
      [](double, const auto& y, const auto& m, auto& out) { out[0] = -m[0] * y[0]; });
  const auto first = autodiff_terminal<Eigen::VectorXd, V1>(
      [](const auto& y, const auto&, auto& value) { value = y[0]; });
  CHECK_THROWS_WITH(
      hessian_product(dynamic, method, first,
                      {.t0 = 0, .t1 = 1, .y0 = Eigen::VectorXd::Ones(1), .p = V1(1.)}, {}),
      "hessian_product: the direction has 0 and 1 entries, y0 and p have 1 and 1");
}

TEST_CASE("the Hessian of the reference", "[ode][second_order][golden]") {
  const auto f = autodiff<V3, V2>([](double, const auto& y, const auto& p, auto& out) {
    out[0] = -p[0] * y[0] * y[0] - y[2];
    out[1] = -y[1];
    out[2] = -p[1] * p[1] * y[1] * y[2];
  });
  const auto energy =
      autodiff_integral<V3, V2>([](double, const auto& y, const auto&, auto& value) {
        value = 0.5 * (y[0] * y[0] + y[1] * y[1] + y[2] * y[2]);
      });
  const RunOf<decltype(f)> run{.t0 = 0, .t1 = 2, .y0 = {1, 1, 1}, .p = {1, 2}};
  Eigen::Matrix2d expected;
  expected << 0.1562804308205, -0.07867780659754, -0.07867780659754, 0.0898143436292;
  const V2 gradient(-0.1283786546563506, 0.0180367608548);
  const auto check = [&](auto method, const std::vector<double>& tolerances) {
    for (const double tolerance : tolerances) {
      CAPTURE(tolerance);
      method.rtol = method.atol = tolerance;
      const auto one = hessian_product(f, method, energy, run, {.dy0 = V3::Zero(), .dp = {1, 0}});
      const auto two = hessian_product(f, method, energy, run, {.dy0 = V3::Zero(), .dp = {0, 1}});
      Eigen::Matrix2d h;
      h << one.hp, two.hp;
      CHECK(relative(one.value, 0.53087859062955) < 100 * tolerance);
      CHECK((one.dp - gradient).norm() < 100 * tolerance * gradient.norm());
      CHECK((h - expected).norm() < 100 * tolerance * expected.norm());
    }
  };
  check(Dopri5{}, {1e-9, 1e-10, 1e-11, 1e-12});
  check(Verner65{}, {1e-9, 1e-10, 1e-11});
}

TEST_CASE("products with the Hessian: closed forms of implicit steps", "[ode][second_order]") {
  // y' = λ y: y_n = R(z)^n y0
  const auto f = autodiff<V1, V1>(
      [](double, const auto& y, const auto& p, auto& out) { out[0] = p[0] * y[0]; });
  const auto end =
      autodiff_terminal<V1, V1>([](const auto& y, const auto&, auto& value) { value = y[0]; });
  const RunOf<decltype(f)> run{.t0 = 0, .t1 = 2, .y0 = V1(1.3), .p = V1(-0.7)};
  const int n = 10;
  const double h = 0.2;
  const auto check = [&](const auto& method, double r, double r1, double r2) {
    const auto hessian_matrix = hessian(f, method, end, run);
    CHECK(std::abs(hessian_matrix(0, 0)) < 1e-14);
    CHECK(relative(hessian_matrix(0, 1), n * h * std::pow(r, n - 1) * r1) < 1e-12);
    CHECK(relative(hessian_matrix(1, 0), n * h * std::pow(r, n - 1) * r1) < 1e-12);
    const double second =
        1.3 * n * h * h * ((n - 1) * std::pow(r, n - 2) * r1 * r1 + std::pow(r, n - 1) * r2);
    CHECK(relative(hessian_matrix(1, 1), second) < 1e-12);
  };
  const double z = -0.14;
  const double a = 1 / (1 - z);
  check(BackwardEuler{.steps = n}, a, a * a, 2 * a * a * a);
  const double c = 1 / (1 - z / 2);
  check(CrankNicolson{.steps = n}, (1 + z / 2) * c, c * c, c * c * c);
}

TEST_CASE("products with the Hessian: mass matrices and controls", "[ode][second_order]") {
  // A factor on both sides cancels.
  const auto f = affine();
  const RunOf<decltype(f)> run{.t0 = 0, .t1 = 1, .y0 = V1(1.2), .p = {0.4, -0.3}};
  const auto scaled = autodiff<V1, V2>(
      [](double, const auto& y, const auto& p, auto& out) { out[0] = -3 * (p[0] * y[0] + p[1]); });
  const auto heavy = with_mass(scaled, V1(-3.));
  const RunOf<decltype(heavy)> heavy_run{.t0 = 0, .t1 = 1, .y0 = run.y0, .p = run.p};
  const auto plain = hessian(f, Sdirk2{.steps = 10}, square(), run);
  const auto mass = hessian(heavy, Sdirk2{.steps = 10}, square(), heavy_run);
  CHECK((plain - mass).norm() < 1e-12 * plain.norm());

  // y' = u(t) y with u constant on [0, 1) and [1, 2): y(2) = y0 exp(u1 + u2).
  const auto steered = controlled(autodiff<V1, V1>([](double, const auto& y, const auto& u,
                                                      auto& out) { out[0] = u[0] * y[0]; }),
                                  Signal({0, 1, 2}, Interpolation::constant));
  using Many = Eigen::VectorXd;
  const auto end =
      autodiff_terminal<V1, Many>([](const auto& y, const auto&, auto& value) { value = y[0]; });
  const auto h = hessian(steered, Dopri5{.rtol = 1e-11, .atol = 1e-11}, end,
                         {.t0 = 0,
                          .t1 = 2,
                          .y0 = V1(1.5),
                          .p = steered.parameters(Many(0), Eigen::Vector2d(0.3, -0.4))});
  const double e = std::exp(-0.1);
  Eigen::Matrix3d exact;
  exact << 0, e, e, e, 1.5 * e, 1.5 * e, e, 1.5 * e, 1.5 * e;
  CHECK((h - exact).norm() < 1e-9);
}
