// Small problems distilled from public reports of wrong gradients, with their right answers. The
// numbers in the test names are those of the collection of cases.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "costate/costate.hpp"
#include "support/catch.hpp"
#include "support/problems.hpp"

using namespace costate;

namespace {

double relative(double x, double reference) {
  return std::abs(x - reference) / std::abs(reference);
}

template <int N>
using Vector = Eigen::Matrix<double, N, 1>;

// J = weights · y(t1)
template <int N, int P>
auto final_sum(const Vector<N>& weights) {
  return terminal([weights](const Vector<N>& y, const Vector<P>&) { return weights.dot(y); },
                  [weights](const Vector<N>&, const Vector<P>&, Vector<N>& y_bar, Vector<P>&) {
                    y_bar += weights;
                  });
}

// Memory that holds so many states of N doubles.
template <int N>
Budget slots(Slot n) {
  return {.memory = memory_for(n, N * sizeof(double))};
}

template <class G>
bool same_bits(const G& a, const G& b) {
  return a.value == b.value && a.dy0 == b.dy0 && a.dp == b.dp;
}

// x + 2y at listed times.
auto prey_and_predators(std::vector<double> times) {
  using S = Eigen::Vector2d;
  using P = Eigen::Vector4d;
  return observations(
      std::move(times), [](std::size_t, const S& y, const P&) { return y[0] + 2 * y[1]; },
      [](std::size_t, const S&, const P&, S& y_bar, P&) { y_bar += S(1, 2); });
}

// x' = a x - b x y, y' = -g y + d x y: the parameters of problems::LotkaVolterra in this order.
const Eigen::Vector4d rates(0.9, 0.3, 0.7, 0.2);

}  // namespace

TEST_CASE("C01: an observation at t0 is in the gradient", "[ode][case]") {
  const RunOf<problems::LotkaVolterra> run{.t0 = 0, .t1 = 2, .y0 = {2, 1}, .p = rates};
  const std::vector<double> expected{7.1420005887562508131,  0.52210755992605641873,
                                     20.188769668389407053,  -18.797055750959749819,
                                     -1.4956407530189174592, 8.2753187794245832412};
  const std::vector<double> exact{7.1419978655334327146,  0.52210774549801006472,
                                  20.188763471659820776,  -18.797049771177801761,
                                  -1.4956370116178289483, 8.2752870728776331751};
  const auto objective = prey_and_predators({0, 1, 2});

  std::vector<GradientOf<problems::LotkaVolterra>> all;
  for (const Slot n : {1, 3, 21}) {
    auto with = run;
    with.budget = slots<2>(n);
    all.push_back(
        value_and_gradient(problems::LotkaVolterra{}, RungeKutta4{.h = 0.1}, objective, with));
    const auto& r = all.back();
    CHECK(relative(r.value, 18.790161706841566342) < 1e-12);
    CHECK(relative(r.dy0[0], expected[0]) < 1e-11);
    CHECK(relative(r.dy0[1], expected[1]) < 1e-11);
    for (int i = 0; i < 4; ++i) {
      CHECK(relative(r.dp[i], expected[static_cast<std::size_t>(i) + 2]) < 1e-11);
    }
    CHECK(r.grid.steps() == 20);
    CHECK(same_bits(r, all.front()));
  }

  const auto r =
      value_and_gradient(problems::LotkaVolterra{}, Dopri5{.rtol = 1e-10}, objective, run);
  CHECK(relative(r.value, 18.790160993342689387) < 1e-7);
  CHECK(relative(r.dy0[0], exact[0]) < 1e-6);
  CHECK(relative(r.dy0[1], exact[1]) < 1e-6);
  for (int i = 0; i < 4; ++i) {
    CHECK(relative(r.dp[i], exact[static_cast<std::size_t>(i) + 2]) < 1e-6);
  }

  // Without the observation at t0, exactly (1, 2) is missing from dJ/dy0 and nothing else.
  const auto without = value_and_gradient(problems::LotkaVolterra{}, RungeKutta4{.h = 0.1},
                                          prey_and_predators({1, 2}), run);
  CHECK(all.front().dy0 == without.dy0 + Eigen::Vector2d(1, 2));
  CHECK(all.front().dp == without.dp);
}

TEST_CASE("C03: repeated observations count each, in any order", "[ode][case]") {
  // n' = k1 - k2 n
  const auto growth =
      problem<Vector<1>, Vector<2>>([](double, const Vector<1>& y, const Vector<2>& p,
                                       Vector<1>& out) { out[0] = p[0] - p[1] * y[0]; },
                                    [](double, const Vector<1>& y, const Vector<2>& p,
                                       const Vector<1>& w, Vector<1>& y_bar, Vector<2>& p_bar) {
                                      y_bar[0] = -p[1] * w[0];
                                      p_bar[0] += w[0];
                                      p_bar[1] -= y[0] * w[0];
                                    });
  const auto misfit = [](std::vector<double> times, std::vector<double> data) {
    return observations(
        std::move(times),
        [data](std::size_t i, const Vector<1>& y, const Vector<2>&) {
          return (y[0] - data[i]) * (y[0] - data[i]);
        },
        [data](std::size_t i, const Vector<1>& y, const Vector<2>&, Vector<1>& y_bar, Vector<2>&) {
          y_bar[0] += 2 * (y[0] - data[i]);
        });
  };
  const RunOf<decltype(growth)> run{.t0 = 0, .t1 = 1, .y0 = Vector<1>(0), .p = {0.8, 1.7}};
  const auto sorted =
      misfit({0.25, 0.25, 0.5, 0.5, 0.5, 1.0}, {0.10, 0.18, 0.31, 0.25, 0.28, 0.40});
  const auto shuffled =
      misfit({0.5, 1.0, 0.25, 0.5, 0.25, 0.5}, {0.25, 0.40, 0.18, 0.28, 0.10, 0.31});

  const auto r = value_and_gradient(growth, RungeKutta4{.h = 0.25}, sorted, run);
  CHECK(relative(r.value, 0.0066234056507710444609) < 1e-12);
  CHECK(relative(r.dp[0], -0.017652496495992249423) < 1e-11);
  CHECK(relative(r.dp[1], 0.0062889198057088119679) < 1e-11);
  CHECK(relative(r.dy0[0], 0.026971924124634141036) < 1e-11);

  const auto s = value_and_gradient(growth, RungeKutta4{.h = 0.25}, shuffled, run);
  CHECK(relative(s.value, r.value) < 1e-13);
  CHECK(relative(s.dp[0], r.dp[0]) < 1e-13);
  CHECK(relative(s.dp[1], r.dp[1]) < 1e-13);
  CHECK(relative(s.dy0[0], r.dy0[0]) < 1e-13);

  const auto a = value_and_gradient(growth, Dopri5{.rtol = 1e-10, .atol = 1e-10}, shuffled, run);
  CHECK(relative(a.value, 0.0066220939404592576841) < 1e-7);
  CHECK(relative(a.dp[0], -0.017424167848124207208) < 1e-6);
  CHECK(relative(a.dp[1], 0.006245378267000064812) < 1e-6);
  CHECK(relative(a.dy0[0], 0.027298365192531903306) < 1e-6);
}

TEST_CASE("C06: the integrand's own dependence on the parameters counts", "[ode][case]") {
  // x' = (a - b k) x, J = ∫ (q + r k²) x² dt with a = 1/2, b = 1, q = 1, r = 2; the parameter is k.
  const auto feedback =
      problem<Vector<1>, Vector<1>>([](double, const Vector<1>& y, const Vector<1>& k,
                                       Vector<1>& out) { out[0] = (0.5 - k[0]) * y[0]; },
                                    [](double, const Vector<1>& y, const Vector<1>& k,
                                       const Vector<1>& w, Vector<1>& y_bar, Vector<1>& p_bar) {
                                      y_bar[0] = (0.5 - k[0]) * w[0];
                                      p_bar[0] -= y[0] * w[0];
                                    });
  const auto cost = integral(
      [](double, const Vector<1>& y, const Vector<1>& k) {
        return (1 + 2 * k[0] * k[0]) * y[0] * y[0];
      },
      [](double, const Vector<1>& y, const Vector<1>& k, Vector<1>& y_bar, Vector<1>& p_bar) {
        y_bar[0] += 2 * (1 + 2 * k[0] * k[0]) * y[0];
        p_bar[0] += 4 * k[0] * y[0] * y[0];
      });
  const RunOf<decltype(feedback)> run{.t0 = 0, .t1 = 3, .y0 = Vector<1>(1.2), .p = Vector<1>(1.7)};

  const auto r = value_and_gradient(feedback, RungeKutta4{.h = 1. / 20}, cost, run);
  CHECK(relative(r.value, 4.0649640285730497394) < 1e-12);
  CHECK(relative(r.dp[0], 0.70771156989840969131) < 1e-11);

  // The error estimate knows nothing of the integral, so it is the tolerance of y that counts.
  const auto a = value_and_gradient(feedback, Dopri5{.rtol = 1e-10, .atol = 1e-12}, cost, run);
  CHECK(relative(a.value, 4.0649628889315236683) < 1e-8);
  CHECK(relative(a.dp[0], 0.70770752220307808125) < 1e-7);

  auto optimal = run;
  optimal.t1 = 20;
  optimal.p[0] = 0.5 + std::sqrt(3.0) / 2;
  const auto o = value_and_gradient(feedback, Dopri5{.rtol = 1e-12, .atol = 1e-14}, cost, optimal);
  CHECK(std::abs(o.dp[0]) < 1e-9);
}

TEST_CASE("C08: the adjoint uses the shortened last step", "[ode][case]") {
  // y' = B y, B by rows.
  const auto linear = problem<Vector<2>, Vector<4>>(
      [](double, const Vector<2>& y, const Vector<4>& b, Vector<2>& out) {
        out = {b[0] * y[0] + b[1] * y[1], b[2] * y[0] + b[3] * y[1]};
      },
      [](double, const Vector<2>& y, const Vector<4>& b, const Vector<2>& w, Vector<2>& y_bar,
         Vector<4>& p_bar) {
        y_bar = {b[0] * w[0] + b[2] * w[1], b[1] * w[0] + b[3] * w[1]};
        p_bar += Vector<4>(y[0] * w[0], y[1] * w[0], y[0] * w[1], y[1] * w[1]);
      });
  RunOf<decltype(linear)> run{.t0 = 0, .t1 = 2, .y0 = {1, 0.5}, .p = {0, 1, -5, -0.4}};
  const auto objective = final_sum<2, 4>({1, 1});

  const auto all = value_and_gradient(linear, Euler{.h = 0.3}, objective, run);
  run.budget = slots<2>(2);
  const auto two = value_and_gradient(linear, Euler{.h = 0.3}, objective, run);

  CHECK(all.grid.steps() == 7);
  CHECK(relative(all.value, 2.12344266197504) < 1e-12);
  CHECK(relative(all.dy0[0], 3.172058942976) < 1e-11);
  CHECK(relative(all.dy0[1], -2.09723256200192) < 1e-11);
  CHECK(relative(all.dp[0], -1.941543742336) < 1e-11);
  CHECK(relative(all.dp[1], 9.1859711080384) < 1e-11);
  CHECK(relative(all.dp[2], -2.8722336243712) < 1e-11);
  CHECK(relative(all.dp[3], -0.6985558014272) < 1e-11);
  CHECK(same_bits(all, two));
}

TEST_CASE("C10: a first step longer than the interval is clipped and controlled", "[ode][case]") {
  double latest = 0;
  const auto decay = problem<Vector<2>, NoParameters>(
      [&latest](double t, const Vector<2>& y, const NoParameters&, Vector<2>& out) {
        latest = std::max(latest, t);
        out = {-100 * y[0], -y[1]};
      },
      [](double, const Vector<2>&, const NoParameters&, const Vector<2>& w, Vector<2>& y_bar,
         NoParameters&) {
        y_bar = {-100 * w[0], -w[1]};
      });
  for (const double first : {0.1, 0.01, 0.0}) {
    CAPTURE(first);
    const auto r =
        value_and_gradient(decay, Dopri5{.rtol = 1e-8, .atol = 1e-8, .first_step = first},
                           final_sum<2, 0>({1, 1}), {.t0 = 0, .t1 = 0.01, .y0 = {1, 1}});
    CHECK(relative(r.value, 0.3678794411714423216 + 0.99004983374916805357) < 1e-7);
    CHECK(relative(r.dy0[0], 0.3678794411714423216) < 1e-7);
    CHECK(relative(r.dy0[1], 0.99004983374916805357) < 1e-7);
    CHECK(r.grid.steps() > 1);
  }
  CHECK(latest <= 0.01);
}

TEST_CASE("C12: the end time is met to the bit at every magnitude", "[ode][case]") {
  for (const double tf : {1.0, 1e3, 123456.789, 1e9}) {
    CAPTURE(tf);
    const auto decay = problem<Vector<1>, NoParameters>(
        [tf](double, const Vector<1>& y, const NoParameters&, Vector<1>& out) { out = -y / tf; },
        [tf](double, const Vector<1>&, const NoParameters&, const Vector<1>& w, Vector<1>& y_bar,
             NoParameters&) { y_bar = -w / tf; });
    const auto seen = observations(
        {0, tf},
        [](std::size_t i, const Vector<1>& y, const NoParameters&) { return i == 1 ? y[0] : 0; },
        [](std::size_t i, const Vector<1>&, const NoParameters&, Vector<1>& y_bar, NoParameters&) {
          if (i == 1) y_bar[0] += 1;
        });
    const RunOf<decltype(decay)> run{.t0 = 0, .t1 = tf, .y0 = Vector<1>(0.5)};
    const auto check_run = [&](const auto& method) {
      const auto r = value_and_gradient(decay, method, seen + final_sum<1, 0>(Vector<1>(0)), run);
      CHECK(r.times().back() == tf);
      CHECK(relative(r.value, 0.1839397205857211608) < 1e-7);
      CHECK(relative(r.dy0[0], 0.3678794411714423216) < 1e-7);
    };
    check_run(Dopri5{.rtol = 1e-9, .atol = 1e-12});
    check_run(Tsitouras54{.rtol = 1e-9, .atol = 1e-12});
    check_run(RungeKutta4{.h = tf / 50.5});
  }
}

TEST_CASE("C13: an interval of length zero has a gradient", "[ode][case]") {
  int calls = 0;
  const auto any = problem<Vector<2>, Vector<1>>(
      [&calls](double, const Vector<2>& y, const Vector<1>& p, Vector<2>& out) {
        ++calls;
        out = p[0] * y;
      },
      [](double, const Vector<2>& y, const Vector<1>& p, const Vector<2>& w, Vector<2>& y_bar,
         Vector<1>& p_bar) {
        y_bar = p[0] * w;
        p_bar[0] += y.dot(w);
      });
  const auto twice = observations(
      {2, 2}, [](std::size_t, const Vector<2>& y, const Vector<1>&) { return y[0] * y[0] + y[1]; },
      [](std::size_t, const Vector<2>& y, const Vector<1>&, Vector<2>& y_bar, Vector<1>&) {
        y_bar += Vector<2>(2 * y[0], 1);
      });
  const RunOf<decltype(any)> run{.t0 = 2, .t1 = 2, .y0 = {1.7, -0.3}, .p = Vector<1>(1)};
  const auto check_run = [&](const auto& method) {
    const auto r = value_and_gradient(any, method, twice, run);
    CHECK(relative(r.value, 5.18) < 1e-14);
    CHECK(relative(r.dy0[0], 6.8) < 1e-14);
    CHECK(r.dy0[1] == 2);
    CHECK(r.dp[0] == 0);
    CHECK(r.grid.steps() == 0);
  };
  check_run(RungeKutta4{.h = 0.1});
  check_run(RungeKutta4{.steps = 10});
  check_run(RungeKutta4{.grid = {2}});
  check_run(Dopri5{.rtol = 1e-8});
  CHECK(calls <= 1);
}

TEST_CASE("C17: integration backwards in time", "[ode][case]") {
  const RunOf<problems::Linear> run{.t0 = 1, .t1 = 0, .y0 = Vector<1>(0.4), .p = Vector<1>(0.83)};
  const auto r = value_and_gradient(problems::Linear{}, RungeKutta4{.h = 1. / 8},
                                    final_sum<1, 1>(Vector<1>(1)), run);
  CHECK(relative(r.value, 0.17441986694774927702) < 1e-13);
  CHECK(relative(r.dy0[0], 0.43604966736937319256) < 1e-12);
  CHECK(relative(r.dp[0], -0.17441893284395589764) < 1e-12);

  const auto a = value_and_gradient(problems::Linear{}, Dopri5{.rtol = 1e-10, .atol = 1e-12},
                                    final_sum<1, 1>(Vector<1>(1)), run);
  CHECK(relative(a.value, 0.17441971452861423709) < 1e-8);
  CHECK(relative(a.dy0[0], 0.43604928632153559273) < 1e-8);
  CHECK(relative(a.dp[0], -0.17441971452861423709) < 1e-8);
}

TEST_CASE("C19: steps are controlled alike in both directions", "[ode][case]") {
  using Mu = problems::VanDerPol::Parameters;
  const auto objective = final_sum<2, 1>({1, 0.5});
  const RunOf<problems::VanDerPol> run{.t0 = 0, .t1 = -1.5, .y0 = {1.1, 0.4}, .p = Mu(1.3)};

  const auto r =
      value_and_gradient(problems::VanDerPol{}, RungeKutta4{.h = 1. / 20}, objective, run);
  CHECK(relative(r.value, 0.28858529148562256731) < 1e-12);
  CHECK(relative(r.dy0[0], -0.014787554113293417454) < 1e-11);
  CHECK(relative(r.dy0[1], -0.62630606381386268247) < 1e-11);
  CHECK(relative(r.dp[0], 0.063230863640088269624) < 1e-11);

  const Dopri5 adaptive{.rtol = 1e-10, .atol = 1e-10};
  const auto a = value_and_gradient(problems::VanDerPol{}, adaptive, objective, run);
  CHECK(relative(a.value, 0.28858527247512070515) < 1e-7);
  CHECK(relative(a.dy0[0], -0.014787782944007158804) < 1e-6);
  CHECK(relative(a.dy0[1], -0.62630601546594425979) < 1e-6);
  CHECK(relative(a.dp[0], 0.063230981037287631017) < 1e-6);

  // The same with t → -t.
  const auto mirrored = problem<Vector<2>, Mu>(
      [](double t, const Vector<2>& y, const Mu& p, Vector<2>& out) {
        problems::VanDerPol::f(t, y, p, out);
        out = -out;
      },
      [](double t, const Vector<2>& y, const Mu& p, const Vector<2>& w, Vector<2>& y_bar,
         Mu& p_bar) { problems::VanDerPol{}.vjp(t, y, p, -w, y_bar, p_bar); });
  const auto m = value_and_gradient(mirrored, adaptive, objective,
                                    {.t0 = 0, .t1 = 1.5, .y0 = {1.1, 0.4}, .p = Mu(1.3)});
  CHECK(m.grid.steps() == a.grid.steps());
  CHECK(m.rejected == a.rejected);
}

TEST_CASE("C23: zero state and zero slope do not poison the first step", "[ode][case]") {
  int calls = 0;
  const auto ramps = problem<Vector<3>, NoParameters>(
      [&calls](double t, const Vector<3>&, const NoParameters&, Vector<3>& out) {
        ++calls;
        out = {1, 0, t};
      },
      [](double, const Vector<3>&, const NoParameters&, const Vector<3>&, Vector<3>& y_bar,
         NoParameters&) { y_bar.setZero(); });
  const Dopri5 method{.rtol = 1e-8, .atol = 1e-10};
  const auto r = value_and_gradient(ramps, method, final_sum<3, 0>({1, 0, 1}),
                                    {.t0 = 0, .t1 = 1, .y0 = {0, 0, 0}});
  CHECK(relative(r.value, 1.5) < 1e-12);
  CHECK(relative(r.dy0[0], 1) < 1e-12);
  CHECK(std::abs(r.dy0[1]) < 1e-15);
  CHECK(relative(r.dy0[2], 1) < 1e-12);
  CHECK(calls < 200);

  const auto still = problem<Vector<3>, NoParameters>(
      [](double, const Vector<3>&, const NoParameters&, Vector<3>& out) { out.setZero(); },
      [](double, const Vector<3>&, const NoParameters&, const Vector<3>&, Vector<3>& y_bar,
         NoParameters&) { y_bar.setZero(); });
  for (const double scale : {0.0, 0.1}) {
    const Vector<3> y0 = scale * Vector<3>(1, 2, 3);
    const auto s = value(still, method, final_sum<3, 0>({1, 0, 1}), {.t0 = 0, .t1 = 1, .y0 = y0});
    CHECK(s.y1 == y0);
  }
  // Not even with a purely relative tolerance, whose scale is zero there.
  const auto s = value(still, Dopri5{.rtol = 1e-8}, final_sum<3, 0>({1, 0, 1}),
                       {.t0 = 0, .t1 = 1, .y0 = {0, 0, 0}});
  CHECK(s.y1.isZero(0));
}

TEST_CASE("C25: an infinite derivative is reported, never returned", "[ode][case]") {
  const auto root = problem<Vector<2>, NoParameters>(
      [](double, const Vector<2>& y, const NoParameters&, Vector<2>& out) {
        out = {-y[0], -std::sqrt(y[1])};
      },
      [](double, const Vector<2>& y, const NoParameters&, const Vector<2>& w, Vector<2>& y_bar,
         NoParameters&) {
        y_bar = {-w[0], -w[1] / (2 * std::sqrt(y[1]))};
      });
  const RunOf<decltype(root)> run{.t0 = 0, .t1 = 1, .y0 = {1, 0}};
  const auto objective = final_sum<2, 0>({1, 0});
  CHECK(relative(value(root, RungeKutta4{.h = 0.1}, objective, run).value, 0.3678797744124984334) <
        1e-13);
  try {
    value_and_gradient(root, RungeKutta4{.h = 0.1}, objective, run);
    FAIL("a NaN came back");
  } catch (const NonFiniteError& error) {
    CHECK(error.step == 9);  // the first reverse step
  }

  // A vjp that keeps zero seeds zero gets the gradient.
  const auto guarded = problem<Vector<2>, NoParameters>(
      [](double, const Vector<2>& y, const NoParameters&, Vector<2>& out) {
        out = {-y[0], -std::sqrt(y[1])};
      },
      [](double, const Vector<2>& y, const NoParameters&, const Vector<2>& w, Vector<2>& y_bar,
         NoParameters&) {
        y_bar = {-w[0], w[1] == 0 ? 0 : -w[1] / (2 * std::sqrt(y[1]))};
      });
  const auto r = value_and_gradient(guarded, RungeKutta4{.h = 0.1}, objective,
                                    {.t0 = 0, .t1 = 1, .y0 = {1, 0}});
  CHECK(relative(r.dy0[0], 0.3678797744124984334) < 1e-13);
  CHECK(r.dy0[1] == 0);
}

TEST_CASE("C26: a NaN in a trial stage is a rejection", "[ode][case]") {
  const auto drain = problem<Vector<1>, NoParameters>(
      [](double, const Vector<1>& y, const NoParameters&, Vector<1>& out) {
        out[0] = -2 * std::sqrt(y[0]);
      },
      [](double, const Vector<1>& y, const NoParameters&, const Vector<1>& w, Vector<1>& y_bar,
         NoParameters&) { y_bar[0] = -w[0] / std::sqrt(y[0]); });
  const auto r =
      value_and_gradient(drain, Dopri5{.rtol = 1e-8, .atol = 1e-12, .first_step = 0.9},
                         final_sum<1, 0>(Vector<1>(1)), {.t0 = 0, .t1 = 0.99, .y0 = Vector<1>(1)});
  CHECK(r.rejected >= 1);
  CHECK(relative(r.value, 1e-4) < 1e-5);
  CHECK(relative(r.dy0[0], 0.01) < 1e-4);
  const std::vector<double> times = r.times();
  CHECK(std::is_sorted(times.begin(), times.end()));
}

TEST_CASE("C28: nothing is evaluated outside of the interval", "[ode][case]") {
  double earliest = 10;
  double latest = -10;
  const auto see = [&](double t) {
    earliest = std::min(earliest, t);
    latest = std::max(latest, t);
  };
  const auto onset = problem<Vector<1>, Vector<1>>(
      [&](double t, const Vector<1>&, const Vector<1>& p, Vector<1>& out) {
        see(t);
        out[0] = p[0] * std::sqrt(t - 1);
      },
      [&](double t, const Vector<1>&, const Vector<1>&, const Vector<1>& w, Vector<1>& y_bar,
          Vector<1>& p_bar) {
        see(t);
        y_bar[0] = 0;
        p_bar[0] += std::sqrt(t - 1) * w[0];
      });
  const auto check_run = [&](const auto& method, double tolerance) {
    INFO(std::remove_cvref_t<decltype(method)>::tableau.name);
    const auto r =
        value_and_gradient(onset, method, final_sum<1, 1>(Vector<1>(1)),
                           {.t0 = 1, .t1 = 1.5, .y0 = Vector<1>(1), .p = Vector<1>(1.1)});
    CHECK(relative(r.value, 1.2592724864350674256) < tolerance);
    CHECK(relative(r.dp[0], 0.23570226039551584147) < tolerance);
    CHECK(relative(r.dy0[0], 1) < 1e-12);
  };
  // The slope is infinite at t0, so fixed steps are of order 3/2 at best.
  check_run(Euler{.steps = 7}, 1);
  check_run(Heun{.steps = 7}, 0.1);
  check_run(Midpoint{.steps = 7}, 0.1);
  check_run(Ssprk3{.steps = 7}, 0.1);
  check_run(RungeKutta4{.steps = 7}, 0.1);
  check_run(RungeKutta4{.h = 0.03}, 0.1);
  check_run(BogackiShampine32{.steps = 7}, 0.1);
  check_run(Heun{.rtol = 1e-6, .atol = 1e-6}, 1e-3);
  check_run(BogackiShampine32{.rtol = 1e-8, .atol = 1e-8}, 1e-5);
  check_run(Dopri5{.rtol = 1e-10, .atol = 1e-10}, 1e-7);
  check_run(Tsitouras54{.rtol = 1e-10, .atol = 1e-10}, 1e-7);
  CHECK(earliest >= 1);
  CHECK(latest <= 1.5);
}

TEST_CASE("C29: a step that vanishes ends the run with an error", "[ode][case]") {
  int calls = 0;
  const auto square = problem<Vector<1>, NoParameters>(
      [&calls](double, const Vector<1>& y, const NoParameters&, Vector<1>& out) {
        ++calls;
        out[0] = y[0] * y[0];
      },
      [](double, const Vector<1>& y, const NoParameters&, const Vector<1>& w, Vector<1>& y_bar,
         NoParameters&) { y_bar[0] = 2 * y[0] * w[0]; });
  const Dopri5 method{.rtol = 1e-10, .atol = 1e-10};
  const auto objective = final_sum<1, 0>(Vector<1>(1));
  RunOf<decltype(square)> run{.t0 = 0, .t1 = 0.9, .y0 = Vector<1>(1), .budget = slots<1>(10)};

  const auto r = value_and_gradient(square, method, objective, run);
  CHECK(relative(r.value, 10) < 1e-7);
  CHECK(relative(r.dy0[0], 100) < 1e-6);

  calls = 0;
  run.t1 = 2;
  try {
    value_and_gradient(square, method, objective, run);
    FAIL("a blow-up was passed");
  } catch (const IntegrationError& error) {
    CHECK(error.t > 0.99);
    CHECK(error.t <= 1);
    CHECK(error.step > 0);
  }
  CHECK(calls < 100'000);

  const auto pole = problem<Vector<1>, NoParameters>(
      [](double t, const Vector<1>&, const NoParameters&, Vector<1>& out) { out[0] = 1 / (t - 2); },
      [](double, const Vector<1>&, const NoParameters&, const Vector<1>&, Vector<1>& y_bar,
         NoParameters&) { y_bar[0] = 0; });
  try {
    const auto y =
        value_and_gradient(pole, method, objective,
                           {.t0 = 2 + std::ldexp(1.0, -51), .t1 = 2 + 1e-12, .y0 = Vector<1>(0)});
    CHECK(relative(y.value, 7.7194850926286625721) < 1e-3);
  } catch (const IntegrationError& error) {
    CHECK(error.t >= 2);
  }
}

TEST_CASE("C31: float states, with time in double", "[ode][case]") {
  using V = Eigen::Matrix<float, 1, 1>;
  const auto decay =
      problem<V, V>([](double, const V& y, const V& k, V& out) { out[0] = -k[0] * y[0]; },
                    [](double, const V& y, const V& k, const V& w, V& y_bar, V& p_bar) {
                      y_bar[0] = -k[0] * w[0];
                      p_bar[0] -= y[0] * w[0];
                    });
  const auto end = terminal([](const V& y, const V&) { return y[0]; },
                            [](const V&, const V&, V& y_bar, V&) { y_bar[0] += 1; });
  const auto gradient = [&](const auto& method, double from, double to, float start) {
    return value_and_gradient(decay, method, end,
                              {.t0 = from, .t1 = to, .y0 = V(start), .p = V(0.125F)});
  };
  // The case itself, there and back, at its tolerance; y(20) is given as the nearest float.
  const Tsitouras54 loose{.rtol = 1e-4};
  const auto there = gradient(loose, 0, 20, 1);
  CHECK(relative(there.value, std::exp(-2.5)) < 2e-5);
  CHECK(relative(static_cast<double>(there.dy0[0]), std::exp(-2.5)) < 2e-5);
  CHECK(relative(static_cast<double>(there.dp[0]), -20 * std::exp(-2.5)) < 5e-5);
  const auto back = gradient(loose, 20, 0, 0.0820849986F);
  CHECK(relative(back.value, 1) < 2e-5);
  CHECK(relative(static_cast<double>(back.dy0[0]), std::exp(2.5)) < 2e-5);
  CHECK(relative(static_cast<double>(back.dp[0]), 20) < 5e-5);

  // Ends on both sides of a power of two, where the spacing of floats doubles.
  const Dopri5 tight{.rtol = 1e-6, .atol = 1e-7};
  for (const double tf : {15.999999, 16.0, 16.000002, 32.0}) {
    CAPTURE(tf);
    CHECK_NOTHROW(gradient(loose, 0, tf, 1));
    CHECK_NOTHROW(gradient(loose, tf, 0, 0.1F));
    const auto r = gradient(tight, 0, tf, 1);
    CHECK(relative(r.value, std::exp(-tf / 8)) < 2e-5);
    CHECK(relative(static_cast<double>(r.dy0[0]), std::exp(-tf / 8)) < 2e-5);
    CHECK(relative(static_cast<double>(r.dp[0]), -tf * std::exp(-tf / 8)) < 5e-5);
    const auto from = gradient(tight, tf, 0, 0.1F);
    CHECK(relative(static_cast<double>(from.dy0[0]), std::exp(tf / 8)) < 2e-5);
  }
}

TEST_CASE("C43: a gradient at new parameters uses them, and nothing is left behind",
          "[ode][case]") {
  // y' = m² y
  const auto growth =
      problem<Vector<1>, Vector<1>>([](double, const Vector<1>& y, const Vector<1>& m,
                                       Vector<1>& out) { out[0] = m[0] * m[0] * y[0]; },
                                    [](double, const Vector<1>& y, const Vector<1>& m,
                                       const Vector<1>& w, Vector<1>& y_bar, Vector<1>& p_bar) {
                                      y_bar[0] = m[0] * m[0] * w[0];
                                      p_bar[0] += 2 * m[0] * y[0] * w[0];
                                    });
  for (const Slot n : {1, 2, 4}) {
    const auto at = [&](double m) {
      return value_and_gradient(
          growth, RungeKutta4{.steps = 4}, final_sum<1, 1>(Vector<1>(1)),
          {.t0 = 0, .t1 = 1, .y0 = Vector<1>(1), .p = Vector<1>(m), .budget = slots<1>(n)});
    };
    const auto first = at(1);
    const auto second = at(1.5);
    const auto third = at(1);
    CHECK(relative(first.value, 2.7182099392013232498) < 1e-13);
    CHECK(relative(first.dp[0], 5.4357307644619185687) < 1e-12);
    CHECK(relative(second.value, 9.4765596619527666657) < 1e-13);
    CHECK(relative(second.dp[0], 28.362088098819326452) < 1e-12);
    CHECK(same_bits(first, third));
  }
}

TEST_CASE("C70: the adjoint of an adaptive run is that of its recorded grid", "[ode][case]") {
  const RunOf<problems::LotkaVolterra> run{.t0 = 0, .t1 = 1, .y0 = {2, 1}, .p = rates};
  const auto objective = final_sum<2, 4>({1, 2});
  const std::vector<double> expected{2.2222315970034744663,  0.59314224429050020256,
                                     4.1829147844721847948,  -3.7892303693817300058,
                                     -1.1915229993034005908, 3.4713165822656561982};
  const std::vector<double> exact{2.2219954495709739729,  0.59249336362426944159,
                                  4.1845468851238947489,  -3.7916961747541023743,
                                  -1.1909304506721379021, 3.4685725084155495236};

  const auto r =
      value_and_gradient(problems::LotkaVolterra{},
                         BogackiShampine32{.grid = {0, 0.1, 0.25, 0.45, 0.7, 1}}, objective, run);
  CHECK(relative(r.value, 5.4801112326588368973) < 1e-13);
  CHECK(relative(r.dy0[0], expected[0]) < 1e-12);
  CHECK(relative(r.dy0[1], expected[1]) < 1e-12);
  for (int i = 0; i < 4; ++i) {
    CHECK(relative(r.dp[i], expected[static_cast<std::size_t>(i) + 2]) < 1e-12);
  }

  double last_error = 1;
  for (const double tolerance : {1e-4, 1e-6, 1e-8, 1e-10}) {
    CAPTURE(tolerance);
    const auto adaptive =
        value_and_gradient(problems::LotkaVolterra{},
                           BogackiShampine32{.rtol = tolerance, .atol = tolerance}, objective, run);
    const auto replayed = value_and_gradient(
        problems::LotkaVolterra{}, BogackiShampine32{.grid = adaptive.times()}, objective, run);
    CHECK(same_bits(adaptive, replayed));
    CHECK(adaptive.times() == replayed.times());
    double error = relative(adaptive.dy0[0], exact[0]);
    for (int i = 0; i < 4; ++i) {
      error = std::max(error, relative(adaptive.dp[i], exact[static_cast<std::size_t>(i) + 2]));
    }
    CHECK(error < last_error);
    last_error = error;
  }
  CHECK(last_error < 1e-6);
}

TEST_CASE("C72: a rejected step leaves no trace in the checkpoints", "[ode][case]") {
  RunOf<problems::VanDerPol> run{
      .t0 = 0, .t1 = 0.5, .y0 = {2, 0}, .p = problems::VanDerPol::Parameters(20)};
  const Dopri5 method{.rtol = 1e-8, .atol = 1e-8, .first_step = 0.25};
  const auto objective = final_sum<2, 1>({1, 0});

  const auto all = value_and_gradient(problems::VanDerPol{}, method, objective, run);
  run.budget = slots<2>(2);
  const auto two = value_and_gradient(problems::VanDerPol{}, method, objective, run);

  CHECK(all.rejected >= 1);
  CHECK(relative(all.value, 1.9837866960412413664) < 1e-7);
  CHECK(relative(all.dy0[0], 1.0129440876904907959) < 1e-5);
  CHECK(relative(all.dy0[1], 0.016887095368566661408) < 1e-5);
  CHECK(relative(all.dp[0], 0.00078732886064316084672) < 1e-5);
  CHECK(same_bits(all, two));
  CHECK(all.times() == two.times());
  CHECK(two.report.advances > all.report.advances);
}
