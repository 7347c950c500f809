// Observations between the steps: the continuous extension and its adjoint.

#include "costate/ode/between_steps.hpp"

#include <cmath>
#include <tuple>
#include <vector>

#include "costate/costate.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/ode/several.hpp"
#include "support/catch.hpp"
#include "support/problems.hpp"

using namespace costate;

namespace {

using V2 = Eigen::Vector2d;
using V4 = Eigen::Vector4d;
using problems::LotkaVolterra;

double relative(double x, double reference) {
  return std::abs(x - reference) / std::abs(reference);
}

// Values with parameters in them, repeated, unordered, at both ends and between.
auto seen(std::vector<double> times) {
  return observations(
      std::move(times),
      [](std::size_t i, const V2& y, const V4& p) {
        return (1 + static_cast<double>(i)) * y[0] * y[1] * p[0];
      },
      [](std::size_t i, const V2& y, const V4& p, V2& y_bar, V4& p_bar) {
        const double w = 1 + static_cast<double>(i);
        y_bar += w * p[0] * V2(y[1], y[0]);
        p_bar[0] += w * y[0] * y[1];
      });
}
const std::vector<double> scattered{0.77, 0, 0.31, 1.5, 0.77, 0.313, 1.2};

// The prey at one time.
auto prey_at(double t) {
  return observations(
      {t}, [](std::size_t, const V2& y, const V4&) { return y[0]; },
      [](std::size_t, const V2&, const V4&, V2& y_bar, V4&) { y_bar[0] += 1; });
}

RunOf<LotkaVolterra> cycle() {
  return {.t0 = 0, .t1 = 1.5, .y0 = {1, 1.2}, .p = {1.5, 1, 3, 1}};
}

// The order of the error of the observed value, from h and h/4. The time lies at two thirds of a
// step in both.
template <class Method, class Wrap>
double order(const Wrap& wrap) {
  const auto exact =
      value(LotkaVolterra{}, Dopri5{.rtol = 1e-13, .atol = 1e-13}, prey_at(0.5), cycle()).value;
  const auto error = [&](Step n) {
    return std::abs(value(LotkaVolterra{}, Method{.steps = n}, wrap(prey_at(0.5)), cycle()).value -
                    exact);
  };
  return std::log2(error(20) / error(80)) / 2;
}

template <class Method, class O>
void check_gradient(const Method& method, const O& objective) {
  const LotkaVolterra f;
  const auto run = cycle();
  const auto r = value_and_gradient(f, method, objective, run);
  const Method fixed = on_grid(method, r.times());
  // Against differences of fourth order of the same interpolant: e⁴ = 1e-12, 1e-16 / e.
  const auto at = [&](Eigen::Index i, double e) {
    auto there = run;
    (i < 2 ? there.y0[i] : there.p[i - 2]) += e;
    return value(f, fixed, objective, there).value;
  };
  const double e = 1e-3;
  const double size = std::hypot(r.dy0.norm(), r.dp.norm());
  for (Eigen::Index i = 0; i < 6; ++i) {
    const double difference =
        (8 * (at(i, e) - at(i, -e)) - (at(i, 2 * e) - at(i, -2 * e))) / (12 * e);
    CHECK(std::abs((i < 2 ? r.dy0[i] : r.dp[i - 2]) - difference) < 1e-9 * size);
  }
  // The dot-product test to rounding, and equal bits in any memory.
  const auto verified = verify(f, method, objective, run);
  INFO(to_string(verified));
  CHECK(verified.ok);
}

}  // namespace

TEST_CASE("between steps: the extension has its order", "[ode][between]") {
  const auto own = [](auto o) { return between_steps(std::move(o)); };
  const auto hermite = [](auto o) { return between_steps_by_hermite(std::move(o)); };
  // Local errors of order 5 for Dormand-Prince's own, which the global error of order 5 may cancel
  // in part; of order 4 for the cubic.
  CHECK(order<Dopri5>(own) > 4.6);
  CHECK(std::abs(order<Dopri5>(hermite) - 4) < 0.4);
}

TEST_CASE("between steps: the adjoint is that of the interpolant", "[ode][between]") {
  check_gradient(Dopri5{.rtol = 1e-5, .atol = 1e-5}, between_steps(seen(scattered)));
  check_gradient(Dopri5{.steps = 7}, between_steps(seen(scattered)));
  check_gradient(RungeKutta4{.steps = 7}, between_steps_by_hermite(seen(scattered)));
  check_gradient(Esdirk43{.steps = 7}, between_steps_by_hermite(seen(scattered)));
}

TEST_CASE("between steps: with other parts, adaptive, in one sweep with others", "[ode][between]") {
  const LotkaVolterra f;
  const auto run = cycle();
  const auto energy =
      integral([](double t, const V2& y, const V4&) { return t * y[0] * y[0]; },
               [](double t, const V2& y, const V4&, V2& y_bar, V4&) { y_bar[0] += 2 * t * y[0]; });
  const auto end = terminal([](const V2& y, const V4& p) { return y[1] * p[3]; },
                            [](const V2& y, const V4& p, V2& y_bar, V4& p_bar) {
                              y_bar[1] += p[3];
                              p_bar[3] += y[1];
                            });
  const auto all = between_steps(seen(scattered) + energy + end);
  const Dopri5 method{.rtol = 1e-6, .atol = 1e-6};
  check_gradient(method, all);
  // The observations change no step.
  const auto r = value_and_gradient(f, method, all, run);
  CHECK(r.times() == value_and_gradient(f, method, energy + end, run).times());
  const auto both = values_and_gradients(f, method, std::tuple(all, end), run);
  CHECK(both.values[0] == r.value);
  CHECK(both.dy0[0] == r.dy0);
  CHECK(both.dp[0] == r.dp);
  // Without an integral, too, the steps of the first pass are seen.
  const auto alone = between_steps(seen(scattered));
  const auto twice = values_and_gradients(f, method, std::vector{alone, alone}, run);
  const auto once = value_and_gradient(f, method, alone, run);
  CHECK(twice.values[1] == once.value);
  CHECK(twice.dp[1] == once.dp);
  // And agree with steps placed on them to the tolerance.
  const auto placed = value_and_gradient(f, Dopri5{.rtol = 1e-10, .atol = 1e-10},
                                         seen(scattered) + energy + end, run);
  const auto close = value_and_gradient(f, Dopri5{.rtol = 1e-10, .atol = 1e-10}, all, run);
  CHECK(relative(close.value, placed.value) < 1e-8);
  CHECK((close.dp - placed.dp).norm() < 1e-6 * placed.dp.norm());

  // Backwards in time.
  auto back = run;
  std::swap(back.t0, back.t1);
  CHECK(verify(f, Dopri5{.steps = 9}, all, back).ok);

  CHECK_THROWS_AS(value_and_gradient(f, method, between_steps(seen({1.6})), run), InvalidArgument);
  auto empty = run;
  empty.t1 = empty.t0;
  CHECK_THROWS_AS(value_and_gradient(f, method, between_steps(seen({0})), empty), InvalidArgument);
}
