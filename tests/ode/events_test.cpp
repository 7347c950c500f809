// Runs with events: closed forms, the tabulated cases, differences of the value of the same steps.

#include "costate/ode/events.hpp"

#include <cmath>
#include <vector>

#include "costate/costate.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

template <int N>
using V = Eigen::Matrix<double, N, 1>;

double relative(double x, double reference) {
  return std::abs(x - reference) / std::abs(reference);
}

template <int N, int P>
auto last(Eigen::Index i) {
  return terminal([i](const V<N>& y, const V<P>&) { return y[i]; },
                  [i](const V<N>&, const V<P>&, V<N>& y_bar, V<P>&) { y_bar[i] += 1; });
}
template <int N, int P>
auto nothing() {
  return terminal([](const V<N>&, const V<P>&) { return 0.; },
                  [](const V<N>&, const V<P>&, V<N>&, V<P>&) {});
}
// The time of the first event.
OccurrencePart first_time() {
  return {.value = [](std::span<const Occurrence> o) { return o[0].t; },
          .gradient = [](std::span<const Occurrence>, std::span<double> t_bar) { t_bar[0] += 1; }};
}

// x' = v, v' = -p0 - p2 v: falls and bounces with the coefficient p1 at x = 0 and, with what
// is left of it, at a wall x = 1.2.
auto ball() {
  return autonomous(autodiff<V<2>, V<3>>([](double, const auto& y, const auto& p, auto& out) {
    out[0] = y[1];
    out[1] = -p[0] - p[2] * y[1];
  }));
}
auto bounce(double height) {
  auto event = with_jump(
      autodiff_event<V<2>, V<3>>(
          [height](const auto&, const auto& y, const auto&, auto& g) { g = y[0] - height; }),
      [](const auto&, const auto& y, const auto& p, auto& after) { after[1] = -p[1] * y[1]; });
  event.direction = height > 0 ? 1 : -1;
  return event;
}

}  // namespace

TEST_CASE("C05: an event on an observation has one side for all", "[ode][events][case]") {
  // w' = r; when w reaches 10, r becomes -r.
  const auto f = autonomous(autodiff<V<2>, V<1>>([](double, const auto& y, const auto&, auto& out) {
    out[0] = y[1];
    out[1] = 0;
  }));
  const auto turn =
      with_jump(autodiff_event<V<2>, V<1>>(
                    [](const auto&, const auto& y, const auto&, auto& g) { g = y[0] - 10; }),
                [](const auto&, const auto& y, const auto&, auto& after) { after[1] = -y[1]; });
  std::vector<double> times;
  for (int k = 0; k <= 100; ++k) times.push_back(k / 10.);
  const auto sum = autodiff_observations<V<2>, V<1>>(
      times, [](std::size_t, const auto& y, const auto&, auto& value) {
        value = 0.5 * (y[0] - 1) * (y[0] - 1);
      });
  const auto check = [&](const auto& method) {
    const auto r = value_and_gradient_with_events(f, method, sum, {turn},
                                                  {.t0 = 0, .t1 = 10, .y0 = {0, 2}, .p = V<1>(0.)});
    REQUIRE(r.events.size() == 1);
    CHECK(relative(r.events[0].t, 5) < 1e-9);
    CHECK(relative(r.value, 1217.5) < 1e-10);
    const bool left = relative(r.dy0[0], 9) < 1e-9 && relative(r.dy0[1], -533) < 1e-9;
    const bool right = relative(r.dy0[0], -9) < 1e-9 && relative(r.dy0[1], -623) < 1e-9;
    CAPTURE(r.dy0[0], r.dy0[1]);
    CHECK((left || right));
  };
  check(RungeKutta4{.h = 0.1});
  check(Dopri5{.rtol = 1e-8, .atol = 1e-8});
}

TEST_CASE("C33: a trigger by the state switches a parameter", "[ode][events][case]") {
  // x' = -a s, y' = b s; when x = 0 the switch s becomes 0.
  const auto f =
      autonomous(autodiff<V<3>, V<2>>([](double, const auto& y, const auto& p, auto& out) {
        out[0] = -p[0] * y[2];
        out[1] = p[1] * y[2];
        out[2] = 0;
      }));
  const auto off =
      with_jump(autodiff_event<V<3>, V<2>>(
                    [](const auto&, const auto& y, const auto&, auto& g) { g = y[0]; }),
                [](const auto&, const auto&, const auto&, auto& after) { after[2] = 0; });
  const auto check = [&](const auto& method) {
    const auto r = value_and_gradient_with_events(
        f, method, last<3, 2>(1), {off}, {.t0 = 0, .t1 = 1, .y0 = {0.9, 0, 1}, .p = {1.6, 0.7}});
    REQUIRE(r.events.size() == 1);
    CHECK(relative(r.events[0].t, 0.5625) < 1e-9);
    CHECK(relative(r.value, 0.39375) < 1e-9);
    CHECK(relative(r.dp[0], -0.24609375) < 1e-8);
    CHECK(relative(r.dp[1], 0.5625) < 1e-8);
    CHECK(relative(r.dy0[0], 0.4375) < 1e-8);
  };
  check(Dopri5{.rtol = 1e-8, .atol = 1e-8});
  check(Euler{.steps = 7});
  check(Sdirk2{.steps = 3});
}

TEST_CASE("C35: the time of an event moves with the state before the jump", "[ode][events][case]") {
  // y' = -k y; when y falls to θ it grows by d; p = (k, θ, d).
  const auto f = autonomous(autodiff<V<1>, V<3>>(
      [](double, const auto& y, const auto& p, auto& out) { out[0] = -p[0] * y[0]; }));
  const auto kick = with_jump(
      autodiff_event<V<1>, V<3>>(
          [](const auto&, const auto& y, const auto& p, auto& g) { g = y[0] - p[1]; }),
      [](const auto&, const auto& y, const auto& p, auto& after) { after[0] = y[0] + p[2]; });
  const RunOf<decltype(f)> run{.t0 = 0, .t1 = 1.5, .y0 = V<1>(1.), .p = {0.8, 0.5, 0.4}};
  const auto check = [&](const auto& method) {
    const auto r = value_and_gradient_with_events(f, method, last<1, 3>(0), {kick}, run);
    REQUIRE(r.events.size() == 1);
    CHECK(r.events[0].which == 0);
    CHECK(relative(r.events[0].t, 0.86643397569993163677) < 1e-9);
    CHECK(relative(r.value, 0.54214958144196377396) < 1e-8);
    CHECK(relative(r.dp[0], -0.81322437216294566094) < 1e-7);
    CHECK(relative(r.dp[1], -0.48191073905952335463) < 1e-7);
    CHECK(relative(r.dp[2], 0.60238842382440419329) < 1e-7);
    CHECK(relative(r.dy0[0], 0.54214958144196377396) < 1e-7);
    for (const Slot slots : {1, 2, 4}) {
      auto with = run;
      with.budget = {.memory = memory_for(slots, sizeof(double))};
      const auto some = value_and_gradient_with_events(f, method, last<1, 3>(0), {kick}, with);
      CHECK(some.value == r.value);
      CHECK(some.dp == r.dp);
      CHECK(some.dy0 == r.dy0);
      CHECK(some.times() == r.times());
    }
  };
  check(Dopri5{.rtol = 1e-11, .atol = 1e-11});
  check(Esdirk43{.rtol = 1e-11, .atol = 1e-11});
}

TEST_CASE("C37: the derivative of a terminal time", "[ode][events][case]") {
  // (i) u' = 1 until u = q
  const auto clock = autonomous(
      autodiff<V<1>, V<1>>([](double, const auto&, const auto&, auto& out) { out[0] = 1; }));
  auto stop = autodiff_event<V<1>, V<1>>(
      [](const auto&, const auto& y, const auto& q, auto& g) { g = y[0] - q[0]; });
  stop.terminal = true;
  const auto linear = [&](const auto& method, double q) {
    const auto r = value_and_gradient_with_events(clock, method, nothing<1, 1>(), {stop},
                                                  {.t0 = 0, .t1 = 10, .y0 = V<1>(0.), .p = V<1>(q)},
                                                  first_time());
    CHECK(relative(r.value, q) < 1e-10);
    CHECK(std::abs(r.dp[0] - 1) < 1e-10);
    CHECK(r.times().back() == r.events[0].t);
  };
  for (const double q : {0.3, 1., 7.7}) {
    linear(Dopri5{.rtol = 1e-8, .atol = 1e-8}, q);
    linear(RungeKutta4{.h = 0.7}, q);
    linear(BackwardEuler{.h = 0.7}, q);
    linear(Esdirk43{.rtol = 1e-8, .atol = 1e-8}, q);
  }

  // (ii) y' = -k y until y = θ; the error falls with the tolerance.
  const auto f = autonomous(autodiff<V<1>, V<2>>(
      [](double, const auto& y, const auto& p, auto& out) { out[0] = -p[0] * y[0]; }));
  auto end = autodiff_event<V<1>, V<2>>(
      [](const auto&, const auto& y, const auto& p, auto& g) { g = y[0] - p[1]; });
  end.terminal = true;
  double last_error = 1;
  for (const double tolerance : {1e-5, 1e-8, 1e-11}) {
    const auto r = value_and_gradient_with_events(
        f, Dopri5{.rtol = tolerance, .atol = tolerance}, nothing<1, 2>(), {end},
        {.t0 = 0, .t1 = 10, .y0 = V<1>(1.7), .p = {1.3, 0.2}}, first_time());
    const double error = std::max({relative(r.dp[0], -1.2663113393469057816),
                                   relative(r.dp[1], -3.8461538461538461538),
                                   relative(r.dy0[0], 0.45248868778280542986)});
    CHECK(error < 1000 * tolerance);
    CHECK(error < last_error / 10);
    last_error = error;
    if (tolerance == 1e-11) {
      CHECK(relative(r.value, 1.646204741150977516) < 1e-9);
      CHECK(error < 1e-8);
    }
  }
  CHECK_THROWS_AS(value_and_gradient_with_events(
                      f, RungeKutta4{.h = 0.1},
                      observations(
                          {5.}, [](std::size_t, const V<1>&, const V<2>&) { return 0.; },
                          [](std::size_t, const V<1>&, const V<2>&, V<1>&, V<2>&) {}),
                      {end}, {.t0 = 0, .t1 = 10, .y0 = V<1>(1.7), .p = {1.3, 0.2}}),
                  InvalidArgument);
}

TEST_CASE("events: the gradient is that of the steps that were made", "[ode][events]") {
  // Coarse steps, far from the derivatives of the differential equation: floor and wall, many
  // times.
  const auto f = ball();
  const std::vector<Event<V<2>, V<3>>> events{bounce(0), bounce(1.2)};
  const auto energy = autodiff_terminal<V<2>, V<3>>(
      [](const auto& y, const auto& p, auto& value) { value = 0.5 * y[1] * y[1] + p[0] * y[0]; });
  const auto check = [&](const auto& method, double t0, double t1, std::size_t count) {
    const auto at = [&](const V<5>& x) {
      return value_and_gradient_with_events(
          f, method, energy, events, {.t0 = t0, .t1 = t1, .y0 = x.head<2>(), .p = x.tail<3>()});
    };
    V<5> x;
    x << 1, 3, 9.81, 0.8, 0.3;
    const auto r = at(x);
    REQUIRE(r.events.size() == count);
    V<5> gradient;
    gradient << r.dy0, r.dp;
    for (int i = 0; i < 5; ++i) {
      CAPTURE(i);
      const double e = 1e-4;
      const auto moved = [&](double d) {
        V<5> there = x;
        there[i] += d;
        const auto m = at(there);
        REQUIRE(m.events.size() == count);
        return m.value;
      };
      // e⁴ = 1e-16 times fifth derivatives, 1e-15 / e of rounding in times and values.
      const double difference =
          (8 * (moved(e) - moved(-e)) - (moved(2 * e) - moved(-2 * e))) / (12 * e);
      CHECK(std::abs(gradient[i] - difference) < 1e-8 * gradient.norm());
    }
  };
  check(RungeKutta4{.steps = 12}, 0, 1.9, 4);
  check(Heun{.steps = 40}, 0, 1.9, 4);
  check(Sdirk2{.steps = 40}, 0, 1.9, 4);
}

TEST_CASE("events: jumps at given times, with the derivative by the time", "[ode][events]") {
  // y' = -k y; at τ: y ← y + d t.
  const auto f = autonomous(autodiff<V<1>, V<2>>(
      [](double, const auto& y, const auto& p, auto& out) { out[0] = -p[0] * y[0]; }));
  auto dose = with_jump(
      Event<V<1>, V<2>>{.at = 0.7},
      [](const auto& t, const auto& y, const auto& p, auto& after) { after[0] = y[0] + p[1] * t; });
  const double k = 0.9;
  const double d = 1.3;
  const RunOf<decltype(f)> run{.t0 = 0, .t1 = 2, .y0 = V<1>(2.), .p = {k, d}};
  const auto r = value_and_gradient_with_events(f, Dopri5{.rtol = 1e-11, .atol = 1e-11},
                                                last<1, 2>(0), {dose}, run);
  const double rest = std::exp(-k * 1.3);
  CHECK(relative(r.value, (2 * std::exp(-k * 0.7) + d * 0.7) * rest) < 1e-9);
  CHECK(relative(r.dy0[0], std::exp(-2 * k)) < 1e-9);
  CHECK(relative(r.dp[1], 0.7 * rest) < 1e-9);
  CHECK(relative(r.dp[0], -4 * std::exp(-2 * k) - 1.3 * 0.7 * d * rest) < 1e-9);
  REQUIRE(r.events.size() == 1);
  CHECK(r.events[0].t == 0.7);
  CHECK(!r.events[0].located);
  CHECK(relative(r.events[0].derivative, (d + k * d * 0.7) * rest) < 1e-9);

  dose.at = 0;
  CHECK_THROWS_AS(
      value_and_gradient_with_events(f, Dopri5{.rtol = 1e-6}, last<1, 2>(0), {dose}, run),
      InvalidArgument);
  CHECK_THROWS_WITH(value_and_gradient_with_events(f, Dopri5{.rtol = 1e-6}, last<1, 2>(0),
                                                   {Event<V<1>, V<2>>{}}, run),
                    "an event has either a root or a given time");
}

TEST_CASE("events: a surface that is only touched has no derivative", "[ode][events]") {
  // x = (t - 1)³ passes through 0 with rate 0.
  const auto f = with_time_derivative(
      autodiff<V<1>, V<1>>(
          [](double t, const auto&, const auto&, auto& out) { out[0] = 3 * (t - 1) * (t - 1); }),
      [](double t, const V<1>&, const V<1>&, V<1>& out) { out[0] = 6 * (t - 1); });
  const auto touch = autodiff_event<V<1>, V<1>>(
      [](const auto&, const auto& y, const auto&, auto& g) { g = y[0]; });
  CHECK_THROWS_AS(
      value_and_gradient_with_events(f, RungeKutta4{.steps = 7}, last<1, 1>(0), {touch},
                                     {.t0 = 0, .t1 = 2, .y0 = V<1>(-1.), .p = V<1>(0.)}),
      IntegrationError);
}
