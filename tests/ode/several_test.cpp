// Several objectives in one sweep: the bits of one sweep for each.

#include "costate/ode/several.hpp"

#include <cmath>
#include <tuple>
#include <vector>

#include "costate/costate.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/multistep.hpp"
#include "support/catch.hpp"
#include "support/problems.hpp"

using namespace costate;

namespace {

using State = Eigen::Vector2d;
using Parameters = Eigen::Vector4d;
using problems::LotkaVolterra;

double relative(double x, double reference) {
  return std::abs(x - reference) / std::abs(reference);
}

auto end_prey() {
  return autodiff_terminal<State, Parameters>(
      [](const auto& y, const auto& p, auto& value) { value = y[0] * y[0] * p[2]; });
}
auto running() {
  return autodiff_integral<State, Parameters>(
      [](double t, const auto& y, const auto& p, auto& value) { value = t * y[1] * y[1] * p[0]; });
}
auto seen(std::vector<double> times) {
  return autodiff_observations<State, Parameters>(
      std::move(times), [](std::size_t i, const auto& y, const auto&, auto& value) {
        value = static_cast<double>(i + 1) * y[0] * y[1];
      });
}

template <class G>
void check_same(const G& several, std::size_t j, const GradientOf<LotkaVolterra>& one) {
  CAPTURE(j);
  CHECK(several.values[j] == one.value);
  CHECK(several.dy0[j] == one.dy0);
  CHECK(several.dp[j] == one.dp);
  CHECK(several.times() == one.times());
}

// All kinds of parts, alone and summed. All observe at the same times, so that each alone has the
// steps of all.
template <class Method>
void check_method(const Method& method) {
  const std::vector<double> times{0, 1.3, 0.7, 0.7, 2};
  const auto a = end_prey() + seen(times);
  const auto b = running() + seen(times);
  const auto c = seen(times) + end_prey() + running();
  const RunOf<LotkaVolterra> run{.t0 = 0, .t1 = 2, .y0 = {1, 1.2}, .p = {1.5, 1, 3, 1}};
  const LotkaVolterra f;
  const auto one = value_and_gradient(f, method, a, run);
  const auto two = value_and_gradient(f, method, b, run);
  const auto three = value_and_gradient(f, method, c, run);
  const std::size_t row = OdeStepper<LotkaVolterra, Method, std::decay_t<decltype(a)>>(
                              f, method, a, run.t0, run.t1, run.y0, run.p)
                              .state_bytes();
  for (const Slot slots : {Slot{1}, Slot{2}, Slot{5}, static_cast<Slot>(one.grid.steps())}) {
    CAPTURE(slots);
    auto with = run;
    with.budget = {.memory = memory_for(slots, row)};
    const auto all = values_and_gradients(f, method, std::tuple(a, b, c), with);
    check_same(all, 0, one);
    check_same(all, 1, two);
    check_same(all, 2, three);
    CHECK(all.report.advances == value_and_gradient(f, method, a, with).report.advances);
    CHECK(all.rejected == one.rejected);
  }
}

}  // namespace

TEST_CASE("several objectives at once have the bits of one by one", "[ode][several]") {
  check_method(RungeKutta4{.h = 0.05});
  check_method(Dopri5{.rtol = 1e-7, .atol = 1e-7});
  check_method(Esdirk43{.rtol = 1e-4, .atol = 1e-4});
  check_method(AdamsBashforth3{.h = 0.05});
}

TEST_CASE("several objectives count the evaluations of one forward sweep", "[ode][several]") {
  struct Counted : LotkaVolterra {
    long* calls = nullptr;
    void rhs(double t, const State& y, const Parameters& p, State& out) const {
      ++*calls;
      f(t, y, p, out);
    }
  };
  long calls = 0;
  Counted f;
  f.calls = &calls;
  const std::vector objectives(5, end_prey());
  const RunOf<Counted> run{.t0 = 0, .t1 = 1, .y0 = {1, 1}, .p = {1.5, 1, 3, 1}};
  (void)value_and_gradient(f, RungeKutta4{.steps = 10}, objectives[0], run);
  const long one = calls;
  calls = 0;
  const auto all = values_and_gradients(f, RungeKutta4{.steps = 10}, objectives, run);
  // Four more adjoints of ten steps, each of which evaluates three stages.
  CHECK(all.report.advances == 9);
  CHECK(calls == one + 4 * 10 * 3);
  CHECK_THROWS_AS(values_and_gradients(f, RungeKutta4{.steps = 10}, std::tuple(), run),
                  InvalidArgument);
}

TEST_CASE("several objectives: what is not finite is refused by number", "[ode][several]") {
  const auto bad = terminal([](const State&, const Parameters&) { return std::nan(""); },
                            [](const State&, const Parameters&, State&, Parameters&) {});
  const RunOf<LotkaVolterra> run{.t0 = 0, .t1 = 1, .y0 = {1, 1}, .p = {1.5, 1, 3, 1}};
  CHECK_THROWS_WITH(values_and_gradients(LotkaVolterra{}, RungeKutta4{.steps = 4},
                                         std::tuple(end_prey(), bad), run),
                    "value or gradient of objective 1 are not finite; a sweep of it alone names "
                    "the step");
}

TEST_CASE("C61: several directions at once differ from one by one", "[ode][several][case]") {
  // y' = p1 + p2 t + p3 t² - p4 y; three seeds at once: y(1), its double, its square.
  using One = Eigen::Matrix<double, 1, 1>;
  const auto f = autodiff<One, Parameters>([](double t, const auto& y, const auto& p, auto& out) {
    out[0] = p[0] + p[1] * t + p[2] * (t * t) - p[3] * y[0];
  });
  const auto seed = [](double weight) {
    return terminal(
        [weight](const One& y, const Parameters&) { return weight * y[0]; },
        [weight](const One&, const Parameters&, One& y_bar, Parameters&) { y_bar[0] += weight; });
  };
  const std::vector seeds{seed(1), seed(2), seed(-0.3)};
  const RunOf<decltype(f)> run{.t0 = 0, .t1 = 1, .y0 = One(0.), .p = {0.5, -1, 2, 0.8}};
  const std::vector<double> expected{0.68833879485347301071, 0.38957650643315873661,
                                     0.27605873391710315848, -0.15842134390658156444};
  const auto check = [&](const auto& method) {
    const auto all = values_and_gradients(f, method, seeds, run);
    CHECK(relative(all.values[0], 0.5067103588277840857) < 1e-9);
    for (std::size_t j = 0; j < seeds.size(); ++j) {
      const auto one = value_and_gradient(f, method, seeds[j], run);
      CHECK(all.values[j] == one.value);
      CHECK(all.dy0[j] == one.dy0);
      CHECK(all.dp[j] == one.dp);
    }
    for (int i = 0; i < 4; ++i) {
      const double dyi = expected[static_cast<std::size_t>(i)];
      CHECK(relative(all.dp[0][i], dyi) < 1e-8);
      CHECK(relative(all.dp[1][i], 2 * dyi) < 1e-8);
      CHECK(relative(all.dp[2][i], -0.3 * dyi) < 1e-8);
    }
  };
  check(Dopri5{.rtol = 1e-10, .atol = 1e-10});
  check(RungeKutta4{.steps = 100});

  // The tangents in four directions, one by one, on the same steps.
  for (int i = 0; i < 4; ++i) {
    const auto t = tangent(f, Dopri5{.rtol = 1e-10, .atol = 1e-10}, seeds[0], run,
                           {.dy0 = One(0.), .dp = Parameters::Unit(i)});
    CHECK(relative(t.derivative, expected[static_cast<std::size_t>(i)]) < 1e-8);
  }
}
