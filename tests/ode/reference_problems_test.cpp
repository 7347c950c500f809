// The gradients of differential equations, by adaptive runs: met to 100 times the tolerance.

#include <cmath>
#include <vector>

#include "costate/costate.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "support/catch.hpp"
#include "support/problems.hpp"
#include "support/stiff_problems.hpp"

using namespace costate;

namespace {

template <class State, class Parameters>
auto end_of(Eigen::Index i) {
  return terminal(
      [i](const State& y, const Parameters&) { return y[i]; },
      [i](const State&, const Parameters&, State& y_bar, Parameters&) { y_bar[i] += 1; });
}

template <class V>
void check_close(const V& x, const V& reference, double tolerance) {
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    CAPTURE(i, x[i], reference[i], tolerance);
    CHECK(std::abs(x[i] - reference[i]) < tolerance * std::abs(reference[i]));
  }
}

// A reaction with eight species, E. Schaefer 1975. p: k1 … k6, k+, k-, k*, o.
using Species = Eigen::Matrix<double, 8, 1>;
using Rates = Eigen::Matrix<double, 10, 1>;
const auto hires = autodiff<Species, Rates>([](double, const auto& y, const auto& p, auto& out) {
  using Number = typename std::decay_t<decltype(y)>::Scalar;
  const Number fast = p[6] * y[5] * y[7];
  out[0] = -p[0] * y[0] + p[1] * y[1] + p[5] * y[2] + p[9];
  out[1] = p[0] * y[0] - (p[1] + p[2]) * y[1];
  out[2] = -(p[5] + p[0]) * y[2] + p[1] * y[3] + p[4] * y[4];
  out[3] = p[2] * y[1] + p[0] * y[2] - (p[3] + p[1]) * y[3];
  out[4] = -(p[0] + p[4]) * y[4] + p[1] * (y[5] + y[6]);
  out[5] = -fast + p[3] * y[3] + p[0] * y[4] - p[1] * y[5] + p[7] * y[6];
  out[6] = fast - (p[7] + p[8] + p[1]) * y[6];
  out[7] = -fast + (p[7] + p[8] + p[1]) * y[6];
});

using V2 = Eigen::Vector2d;
const auto brusselator = autodiff<V2, V2>([](double, const auto& y, const auto& p, auto& out) {
  using Number = typename std::decay_t<decltype(y)>::Scalar;
  const Number reaction = y[0] * y[0] * y[1];
  out[0] = p[0] + reaction - (p[1] + 1.) * y[0];
  out[1] = p[1] * y[0] - reaction;
});

using V1 = Eigen::Matrix<double, 1, 1>;
using V3 = Eigen::Vector3d;

auto integral_of_y3() {
  return integral([](double, const V3& y, const V3&) { return y[2]; },
                  [](double, const V3&, const V3&, V3& y_bar, V3&) { y_bar[2] += 1; });
}

}  // namespace

TEST_CASE("HIRES has the reference values and derivatives", "[ode][golden]") {
  Species y0 = Species::Zero();
  y0[0] = 1;
  y0[7] = .0057;
  Rates p;
  p << 1.71, .43, 8.32, .69, .035, 8.32, 280, .69, .69, 7e-4;
  Species end;
  end << 7.371312573325668e-4, 1.442485726316185e-4, 5.888729740967575e-5, 1.175651343283149e-3,
      2.386356198831331e-3, 6.238968252742796e-3, 2.849998395185769e-3, 2.850001604814231e-3;
  Rates dp;
  dp << -5.2519078992e-4, 9.9036538067e-4, -4.5390362035e-6, -3.8676894945e-4, 2.3700481717e-3,
      6.2122452387e-6, -4.6426945387e-7, 7.1810575699e-5, -4.7726822299e-3, 1.81754937692;
  const double rtol = 1e-8;
  const Esdirk43 method{.rtol = rtol, .atol = 1e-4 * rtol};  // the species are 1e-4 and more
  const RunOf<decltype(hires)> run{.t0 = 0, .t1 = 321.8122, .y0 = y0, .p = p};
  const auto r = value_and_gradient(hires, method, end_of<Species, Rates>(0), run);
  CHECK(std::abs(r.value / end[0] - 1) < 100 * rtol);
  check_close(r.dp, dp, 100 * rtol);
  check_close(value(hires, method, end_of<Species, Rates>(0), run).y1, end, 100 * rtol);
}

TEST_CASE("The Brusselator has the reference values and derivatives", "[ode][golden]") {
  const double tolerance = 1e-9;
  const RunOf<decltype(brusselator)> run{.t0 = 0, .t1 = 20, .y0 = {1.5, 3}, .p = {1, 3}};
  const V2 end(0.498637071268347849, 4.59678034945201118);
  const V2 dp[] = {{4.70632924235869, -0.729378071327883}, {5.80007365232689, 0.756904855971191}};
  const auto check_method = [&](const auto& method) {
    INFO(method.tableau.name);
    for (const int i : {0, 1}) {
      const auto r = value_and_gradient(brusselator, method, end_of<V2, V2>(i), run);
      CHECK(std::abs(r.value / end[i] - 1) < 100 * tolerance);
      check_close(r.dp, dp[i], 100 * tolerance);
    }
  };
  check_method(DormandPrince54{.rtol = tolerance, .atol = tolerance});
  check_method(Tsitouras54{.rtol = tolerance, .atol = tolerance});
}

TEST_CASE("Lotka-Volterra ends where the differential equation does", "[ode][golden]") {
  const double tolerance = 1e-10;
  const auto r =
      value(problems::LotkaVolterra{}, DormandPrince54{.rtol = tolerance, .atol = tolerance},
            end_of<V2, Eigen::Vector4d>(0), {.t0 = 0, .t1 = 10, .y0 = {1, 1}, .p = {1.5, 1, 3, 1}});
  check_close(r.y1, V2(1.0263447675750893, 0.90969107813604162), 100 * tolerance);
}

TEST_CASE("Robertson's problem over long times has the reference derivatives", "[ode][golden]") {
  const double rtol = 1e-8;
  const Esdirk43 method{.rtol = rtol, .atol = 1e-14};
  const auto run = [&](double t1) {
    return value_and_gradient(problems::Robertson{}, method, integral_of_y3(),
                              {.t0 = 0, .t1 = t1, .y0 = {1, 0, 0}, .p = {0.04, 1e4, 3e7}});
  };
  const auto some = run(50);
  CHECK(std::abs(some.value / 10.948648480575 - 1) < 100 * rtol);
  check_close(some.dp, V3(173.4140891450, -5.059191406e-4, 8.432346465e-8), 100 * rtol);
  check_close(run(4e7).dp, V3(7.68377326602e5, -3.06892092, 5.11488997882e-4), 100 * rtol);
}

TEST_CASE("A quadratic reaction has the reference value and derivatives", "[ode][golden]") {
  const auto reaction = autodiff<V3, V2>([](double, const auto& y, const auto& p, auto& out) {
    out[0] = -p[0] * y[0] * y[0] - y[2];
    out[1] = -y[1];
    out[2] = -p[1] * p[1] * y[1] * y[2];
  });
  const auto half_square =
      autodiff_integral<V3, V2>([](double, const auto& y, const auto&, auto& g) {
        g = 0.5 * (y[0] * y[0] + y[1] * y[1] + y[2] * y[2]);
      });
  const double rtol = 1e-10;
  const auto r = value_and_gradient(reaction, DormandPrince54{.rtol = rtol, .atol = rtol},
                                    half_square, {.t0 = 0, .t1 = 2, .y0 = {1, 1, 1}, .p = {1, 2}});
  CHECK(std::abs(r.value / 0.53087859062955 - 1) < 100 * rtol);
  check_close(r.dp, V2(-0.1283786546563506, 0.0180367608548), 100 * rtol);
}

TEST_CASE("van der Pol's jump with mu = 1e6 has the reference derivatives", "[ode][golden]") {
  // In the jump y2 is of size mu, and what a step errs there across the solution stays. Measured
  // relative to y2 that is mu times the tolerance in the derivative; measured against 1 it is the
  // tolerance.
  for (const double tolerance : {1e-6, 1e-7}) {
    CAPTURE(tolerance);
    const auto r =
        value_and_gradient(problems::StiffVanDerPol{}, Esdirk43{.atol = tolerance},
                           end_of<V2, V1>(0), {.t0 = 0, .t1 = 2, .y0 = {2, 0}, .p = V1(1e6)});
    CHECK(std::abs(r.value / 1.706167732170465 - 1) < 100 * tolerance);
    CHECK(std::abs(r.dy0[0] / 1.339214403 - 1) < 100 * tolerance);
    CHECK(std::abs(r.dp[0] / -4.12889364e-10 - 1) < 100 * tolerance);
  }
  const auto relative =
      value_and_gradient(problems::StiffVanDerPol{}, Esdirk43{.rtol = 1e-8, .atol = 1e-8},
                         end_of<V2, V1>(0), {.t0 = 0, .t1 = 2, .y0 = {2, 0}, .p = V1(1e6)});
  CHECK(std::abs(relative.dy0[0] / 1.339214403 - 1) > 1e5 * 1e-8);
}
