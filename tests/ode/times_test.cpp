// Derivatives by the times of a run.

#include "costate/ode/times.hpp"

#include <cmath>
#include <tuple>
#include <vector>

#include "costate/costate.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/ode/control.hpp"
#include "costate/ode/several.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

using V1 = Eigen::Matrix<double, 1, 1>;
using Many = Eigen::VectorXd;

double relative(double x, double reference) {
  return std::abs(x - reference) / std::abs(reference);
}

auto seen_at(double t) {
  return observations(
      {t}, [](std::size_t, const V1& y, const Many&) { return y[0]; },
      [](std::size_t, const V1&, const Many&, V1& y_bar, Many&) { y_bar[0] += 1; });
}
auto last() {
  return terminal([](const V1& y, const Many&) { return y[0]; },
                  [](const V1&, const Many&, V1& y_bar, Many&) { y_bar[0] += 1; });
}

// y' = cos(a t)
auto cosine() {
  return with_time_derivative(
      autodiff<V1, V1>([](double t, const auto&, const auto& a, auto& out) {
        using std::cos;
        out[0] = cos(a[0] * t);
      }),
      [](double t, const V1&, const V1& a, V1& out) { out[0] = -a[0] * std::sin(a[0] * t); });
}
auto logistic() {
  return autonomous(autodiff<V1, V1>(
      [](double, const auto& y, const auto& r, auto& out) { out[0] = r[0] * y[0] * (1 - y[0]); }));
}

}  // namespace

TEST_CASE("C20: the derivative with respect to the initial time", "[ode][times][case]") {
  const auto f = with_times(cosine(), {0.3, 0.9, 1.6});
  const auto check = [&](const auto& method) {
    const auto r =
        values_and_gradients(f, method, std::tuple(seen_at(0.9), last()),
                             {.t0 = 0.3, .t1 = 1.6, .y0 = V1(0.), .p = f.parameters(V1(1.7))});
    CHECK(relative(r.values[0], 0.30058276375798148319) < 1e-8);
    CHECK(relative(f.times(r.dp[0])[0], -0.87274450764575126311) < 1e-8);
    CHECK(relative(f.times(r.dp[0])[1], 0.040785011241591058689) < 1e-8);
    CHECK(relative(f.constants(r.dp[0])[0], -0.30923506231427935841) < 1e-8);
    CHECK(relative(r.values[1], -0.04644886894758235754) < 1e-8);
    CHECK(relative(f.times(r.dp[1])[0], -0.87274450764575126311) < 1e-8);
    CHECK(relative(f.times(r.dp[1])[2], -0.91243836139195796299) < 1e-8);
    CHECK(relative(f.constants(r.dp[1])[0], -0.98545638916075044834) < 1e-8);
    CHECK(std::abs(f.times(r.dp[1])[1]) < 1e-8);  // y(1.6) does not depend on a time in between
  };
  check(Dopri5{.rtol = 1e-11, .atol = 1e-11});
  check(Esdirk43{.rtol = 1e-11, .atol = 1e-11});
}

TEST_CASE("C22: gradients of observation times add up", "[ode][times][case]") {
  const auto f = with_times(logistic(), {0, 0.5, 1.1, 2});
  const auto sum = observations(
      {0.5, 1.1, 2},
      [](std::size_t i, const V1& y, const Many&) {
        return std::vector<double>{1, -2, 0.5}[i] * y[0];
      },
      [](std::size_t i, const V1&, const Many&, V1& y_bar, Many&) {
        y_bar[0] += std::vector<double>{1, -2, 0.5}[i];
      });
  const RunOf<decltype(f)> run{.t0 = 0, .t1 = 2, .y0 = V1(0.2), .p = f.parameters(V1(1.3))};
  const Dopri5 method{.rtol = 1e-11, .atol = 1e-11};
  const auto r = value_and_gradient(f, method, sum, run);
  const Many d = f.times(r.dp);
  CHECK(relative(r.value, -0.31255736451824204987) < 1e-8);
  CHECK(relative(d[1], 0.28464649760772262249) < 1e-8);
  CHECK(relative(d[2], -0.64968969407853150127) < 1e-8);
  CHECK(relative(d[3], 0.11477956769703711624) < 1e-8);
  CHECK(relative(d[0], 0.25026362877377176254) < 1e-8);
  CHECK(std::abs(d.sum()) < 1e-10);
  for (const Slot slots : {1, 3}) {
    auto with = run;
    with.budget = {.memory = memory_for(slots, sizeof(double))};
    const auto some = value_and_gradient(f, method, sum, with);
    CHECK(some.dp == r.dp);
    CHECK(some.dy0 == r.dy0);
  }
}

TEST_CASE("C40: the derivatives of a pulse by its switches", "[ode][times][case]") {
  const auto pulse = controlled(autonomous(autodiff<V1, V1>([](double, const auto&, const auto& q,
                                                               auto& out) { out[0] = q[0]; })),
                                Signal({0, 4, 4.25, 40}, Interpolation::constant));
  const auto f = with_times(pulse, {0, 4, 4.25, 40});
  const auto r =
      value_and_gradient(f, Dopri5{.rtol = 1e-8, .atol = 1e-8}, last(),
                         {.t0 = 0,
                          .t1 = 40,
                          .y0 = V1(0.),
                          .p = f.parameters(pulse.parameters(Many(0), Eigen::Vector3d(0, 3, 0)))});
  CHECK(relative(r.value, 0.75) < 1e-10);
  CHECK(relative(f.times(r.dp)[1], -3) < 1e-8);
  CHECK(relative(f.times(r.dp)[2], 3) < 1e-8);
  CHECK(relative(f.constants(r.dp)[1], 0.25) < 1e-10);

  const auto smooth = controlled(logistic(), Signal({0, 1}, Interpolation::linear));
  const auto refused = with_times(smooth, {0, 1});
  CHECK_THROWS_WITH(
      value_and_gradient(
          refused, RungeKutta4{.steps = 2}, last(),
          {.t0 = 0,
           .t1 = 1,
           .y0 = V1(0.5),
           .p = refused.parameters(smooth.parameters(Many(0), Eigen::Vector2d(1, 2)))}),
      "controlled: times may move under piecewise constant signals only");
}

TEST_CASE("times: exact for steps in proportion, and the rest keeps its bits", "[ode][times]") {
  // J(t0, t1) with equal steps, by differences of fourth order: e⁴ = 1e-12, rounding 1e-13.
  const auto plain = cosine();
  const auto value_of = [&](const auto& method, double t0, double t1) {
    return value(plain, method,
                 terminal([](const V1& y, const V1&) { return y[0]; },
                          [](const V1&, const V1&, V1& y_bar, V1&) { y_bar[0] += 1; }),
                 {.t0 = t0, .t1 = t1, .y0 = V1(0.4), .p = V1(1.7)})
        .value;
  };
  const auto check = [&](const auto& method) {
    const auto f = with_times(plain, {0.3, 1.6});
    const auto r = value_and_gradient(
        f, method, last(), {.t0 = 0.3, .t1 = 1.6, .y0 = V1(0.4), .p = f.parameters(V1(1.7))});
    CHECK(r.value == value_of(method, 0.3, 1.6));
    const double e = 1e-3;
    const auto difference = [&](auto at) {
      return (8 * (at(e) - at(-e)) - (at(2 * e) - at(-2 * e))) / (12 * e);
    };
    CHECK(std::abs(f.times(r.dp)[0] -
                   difference([&](double d) { return value_of(method, 0.3 + d, 1.6); })) < 1e-10);
    CHECK(std::abs(f.times(r.dp)[1] -
                   difference([&](double d) { return value_of(method, 0.3, 1.6 + d); })) < 1e-10);
    const auto without =
        value_and_gradient(plain, method,
                           terminal([](const V1& y, const V1&) { return y[0]; },
                                    [](const V1&, const V1&, V1& y_bar, V1&) { y_bar[0] += 1; }),
                           {.t0 = 0.3, .t1 = 1.6, .y0 = V1(0.4), .p = V1(1.7)});
    CHECK(r.dy0 == without.dy0);
    CHECK(f.constants(r.dp)[0] == without.dp[0]);
  };
  check(Euler{.steps = 5});  // coarse: far from the derivatives of the differential equation
  check(RungeKutta4{.steps = 3});
  check(CrankNicolson{.steps = 5});

  CHECK_THROWS_WITH(with_times(cosine(), {0, 1, 1}),
                    "with_times: the times are not strictly monotone at index 2");
  CHECK_THROWS_WITH(with_times(cosine(), {0}), "with_times: needs at least t0 and t1");
}
