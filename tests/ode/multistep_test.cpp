// Explicit multistep methods: reference values, complex steps, order, bits, history.

#include "costate/integrate/multistep.hpp"

#include <cmath>
#include <vector>

#include "costate/costate.hpp"
#include "support/catch.hpp"
#include "support/ode_battery.hpp"
#include "support/problems.hpp"

using namespace costate;
using battery::Complex;
using battery::ComplexVector;
using battery::Trajectory;

namespace {

// Adams-Bashforth with the integrals of the interpolating polynomial by Gauss quadrature: shares no
// formula with the library.
struct AdamsTextbook {
  std::size_t slopes;

  template <class F, class G>
  Trajectory operator()(const F& f, const std::vector<double>& t, const ComplexVector& y0,
                        const G& g) const {
    Trajectory run{{y0}, 0};
    std::vector<ComplexVector> k;
    std::vector<Complex> kg;
    for (std::size_t n = 0; n + 1 < t.size(); ++n) {
      k.push_back(f(t[n], run.y[n]));
      kg.push_back(g(t[n], run.y[n]));
      const std::size_t first = n + 1 < slopes ? 0 : n + 1 - slopes;
      ComplexVector y = run.y[n];
      for (std::size_t j = first; j <= n; ++j) {
        double weight = 0;
        for (const double node : {-std::sqrt(0.6), 0.0, std::sqrt(0.6)}) {
          const double x = t[n] + (t[n + 1] - t[n]) * (1 + node) / 2;
          double lagrange = 1;
          for (std::size_t i = first; i <= n; ++i) {
            if (i != j) lagrange *= (x - t[i]) / (t[j] - t[i]);
          }
          weight += (t[n + 1] - t[n]) * (node == 0 ? 4. / 9 : 5. / 18) * lagrange;
        }
        y += weight * k[j];
        run.integral += weight * kg[j];
      }
      run.y.push_back(y);
    }
    return run;
  }
};

struct LeapfrogTextbook {
  double filter;

  template <class F, class G>
  Trajectory operator()(const F& f, const std::vector<double>& t, const ComplexVector& y0,
                        const G& g) const {
    Trajectory run{{y0}, 0};
    ComplexVector z = y0;
    Complex q = 0;
    Complex z_q = 0;
    for (std::size_t n = 0; n + 1 < t.size(); ++n) {
      const double h = t[n + 1] - t[n];
      const ComplexVector slope = f(t[n], run.y[n]);
      const Complex slope_q = g(t[n], run.y[n]);
      if (n == 0) {
        run.y.push_back(y0 + h * slope);
        q = h * slope_q;
        continue;
      }
      const double before = t[n] - t[n - 1];
      const double r = h / before;
      const ComplexVector y = run.y[n];
      const Complex q_n = q;
      run.y.push_back((1 - r * r) * y + r * r * z + h * (1 + r) * slope);
      q = (1 - r * r) * q_n + r * r * z_q + h * (1 + r) * slope_q;
      // Second difference, scaled by the square of the step before.
      z = y + filter * (2 / (1 + r)) * ((run.y[n + 1] - y) / r - (y - z));
      z_q = q_n + filter * (2 / (1 + r)) * ((q - q_n) / r - (q_n - z_q));
    }
    run.integral = q;
    return run;
  }
};

// Equal steps, shortened last step, graded start, an observation between: with the ratio of
// neighbouring steps up to 4 the coefficients are of order 10, and a run of 12 steps amounts to
// some thousand roundings.
constexpr double roundings = 5000;

const std::vector<std::vector<double>> grids = {TimeGrid::with_steps(0.2, 1.1, 9).times(),
                                                TimeGrid::with_step_size(0.2, 1.1, 0.2).times(),
                                                {0.2, 0.21, 0.25, 0.35, 0.42, 0.6, 0.7, 0.8, 1.1},
                                                {0.2, 0.3},
                                                {0.2, 0.3, 0.5}};

template <class Make, class Textbook>
void check_all(const Make& make, const Textbook& textbook) {
  for (const std::vector<double>& times : grids) {
    CAPTURE(times);
    const std::vector<double> seen = {times[times.size() / 2], times.front(), times.back()};
    battery::check_against_textbook<problems::LotkaVolterra>(
        make(times), textbook, times, seen, {1.2, 0.7}, {1.5, 1.1, 2.7, 0.9}, roundings);
    battery::check_against_textbook<problems::Forced>(make(times), textbook, times, seen,
                                                      Eigen::VectorXd::LinSpaced(11, 0.1, 1.3),
                                                      Eigen::Vector2d(-0.8, 2.1), roundings);
  }
}

// Case C47.
struct Riccati {
  using State = Eigen::Matrix<double, 1, 1>;
  using Parameters = Eigen::Matrix<double, 1, 1>;
  void rhs(double t, const State& y, const Parameters& p, State& out) const {
    out[0] = -p[0] * y[0] * y[0] + std::cos(t);
  }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar[0] = -2 * p[0] * y[0] * w[0];
    p_bar[0] -= y[0] * y[0] * w[0];
  }
};

double relative(double x, double reference) {
  return std::abs(x - reference) / std::abs(reference);
}

auto end_value() {
  using V = Riccati::State;
  return terminal([](const V& y, const V&) { return y[0]; },
                  [](const V&, const V&, V& y_bar, V&) { y_bar[0] += 1; });
}

const Eigen::Vector2d lv_start(1.2, 0.7);
const Eigen::Vector4d lv_rates(1.5, 1.1, 2.7, 0.9);

}  // namespace

TEST_CASE("Multistep gradients are the derivatives of the textbook's methods on any grid",
          "[ode][oracle]") {
  SECTION("Adams-Bashforth 2") {
    check_all([](const auto& times) { return AdamsBashforth2{.grid = times}; }, AdamsTextbook{2});
  }
  SECTION("Adams-Bashforth 3") {
    check_all([](const auto& times) { return AdamsBashforth3{.grid = times}; }, AdamsTextbook{3});
  }
  SECTION("leapfrog") {
    check_all([](const auto& times) { return Leapfrog{.grid = times}; }, LeapfrogTextbook{0});
    check_all([](const auto& times) { return Leapfrog{.filter = 0.1, .grid = times}; },
              LeapfrogTextbook{0.1});
  }
}

TEST_CASE("C47: AB3 started with Euler and AB2 has the tabulated value and gradient in any memory",
          "[ode][golden]") {
  for (const Slot slots : {1, 2, 3, 10}) {
    CAPTURE(slots);
    const std::size_t state = 3 * 8 + 2 * 8;  // y, two slopes, two step sizes
    const auto result = value_and_gradient(Riccati{}, AdamsBashforth3{.steps = 10}, end_value(),
                                           {.t0 = 0,
                                            .t1 = 1,
                                            .y0 = Riccati::State(0.5),
                                            .p = Riccati::Parameters(1.1),
                                            .budget = {.memory = memory_for(slots, state)}});
    CHECK(relative(result.value, 0.77782307186721458258) < 1e-12);
    CHECK(relative(result.dy0[0], 0.20883721821521671362) < 1e-11);
    CHECK(relative(result.dp[0], -0.26966883244375288215) < 1e-11);
  }
}

TEST_CASE("A multistep run continued from a saved state has the bits of the uninterrupted one",
          "[ode][property]") {
  using Stepper = OdeStepper<Riccati, AdamsBashforth3, decltype(end_value())>;
  const Riccati f;
  const auto objective = end_value();
  const AdamsBashforth3 method{.steps = 10};
  const auto make = [&] {
    return Stepper(f, method, objective, 0, 1, Riccati::State(0.5), Riccati::Parameters(1.1));
  };
  Stepper whole = make();
  whole.advance(0, 10, Pass::first);
  for (const Step at : {1, 2, 5, 9}) {
    CAPTURE(at);
    Stepper one = make();
    one.advance(0, at, Pass::first);
    std::vector<std::byte> saved(one.state_bytes());
    one.save(saved);
    Stepper other = make();
    other.load(saved);
    other.advance(at, 10, Pass::replay);
    CHECK(other.state() == whole.state());
  }
}

TEST_CASE("Multistep gradients have the same bits in any number of slots", "[ode][property]") {
  const auto check = [](const auto& method) {
    battery::check_bits<problems::LotkaVolterra>(method, 0, 2, lv_start, lv_rates);
    battery::check_bits<problems::LotkaVolterra>(method, 0, 2, lv_start, lv_rates, {0.33, 1.5, 2});
    battery::check_bits<problems::Forced>(method, 2, 0, Eigen::VectorXd::LinSpaced(37, 0.1, 1.3),
                                          Eigen::Vector2d(-0.8, 2.1));
  };
  check(AdamsBashforth2{.steps = 23});
  check(AdamsBashforth3{.steps = 23});
  check(AdamsBashforth3{.h = 0.09});
  check(Leapfrog{.steps = 23});
  check(Leapfrog{.filter = 0.1, .h = 0.09});
}

TEST_CASE("Multistep gradients pass the Taylor test", "[ode][oracle]") {
  battery::check_taylor<problems::LotkaVolterra>(AdamsBashforth2{.steps = 40}, 0, 1, lv_start,
                                                 lv_rates);
  battery::check_taylor<problems::LotkaVolterra>(AdamsBashforth3{.steps = 40}, 0, 1, lv_start,
                                                 lv_rates);
  battery::check_taylor<problems::LotkaVolterra>(Leapfrog{.filter = 0.05, .steps = 40}, 0, 1,
                                                 lv_start, lv_rates);
}

TEST_CASE("Multistep methods converge at their order, value and gradient", "[ode][property]") {
  const auto measured = [](const auto& make) {
    return battery::orders<problems::LotkaVolterra>(make, 0, 1.5, lv_start, lv_rates, 1280);
  };
  // The next term of the error is smaller by a factor of h = 1/850 times the ratio of two
  // constants: it bends the order by a few hundredths.
  const auto check = [](battery::Orders orders, double expected) {
    CAPTURE(expected);
    CHECK(std::abs(orders.value - expected) < 0.1);
    CHECK(std::abs(orders.gradient - expected) < 0.1);
  };
  check(measured([](Step n) { return AdamsBashforth2{.steps = n}; }), 2);
  check(measured([](Step n) { return AdamsBashforth3{.steps = n}; }), 2);  // Euler's first step
  check(measured([](Step n) {
          std::vector<double> times = TimeGrid::with_steps(0, 1.5, n).times();
          times.insert(times.begin() + 1, std::pow(times[1], 1.5));
          return AdamsBashforth3{.grid = times};
        }),
        3);
  check(measured([](Step n) { return Leapfrog{.steps = n}; }), 2);
  check(measured([](Step n) { return Leapfrog{.filter = 0.3, .steps = n}; }), 1);
}

TEST_CASE("A multistep step costs one evaluation, its adjoint one product", "[ode][unit]") {
  struct Counting : problems::LotkaVolterra {
    int* rhs_calls;
    int* vjp_calls;
    void rhs(double t, const State& y, const Parameters& p, State& out) const {
      ++*rhs_calls;
      LotkaVolterra::rhs(t, y, p, out);
    }
    void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
             Parameters& p_bar) const {
      ++*vjp_calls;
      LotkaVolterra::vjp(t, y, p, w, y_bar, p_bar);
    }
  };
  int rhs_calls = 0;
  int vjp_calls = 0;
  Counting f;
  f.rhs_calls = &rhs_calls;
  f.vjp_calls = &vjp_calls;
  const auto result = value_and_gradient(f, AdamsBashforth3{.steps = 20}, battery::Objective{},
                                         {.t0 = 0, .t1 = 1, .y0 = lv_start, .p = lv_rates});
  CHECK(rhs_calls == 20 + result.report.guard_steps);
  CHECK(vjp_calls == 20);
}

TEST_CASE("A filter out of range is refused", "[ode][unit]") {
  CHECK_THROWS_AS((Leapfrog{.filter = -0.1, .steps = 3}.control()), InvalidArgument);
  CHECK_THROWS_AS((Leapfrog{.filter = 0.6, .steps = 3}.control()), InvalidArgument);
}

TEST_CASE("C28: multistep methods stay between t0 and t1", "[ode][property]") {
  battery::check_inside(AdamsBashforth2{.h = 0.07});
  battery::check_inside(AdamsBashforth3{.h = 0.07});
  battery::check_inside(Leapfrog{.filter = 0.1, .h = 0.07});
}

TEST_CASE("verify proves multistep methods", "[ode][property]") {
  const auto check = [](const auto& method) {
    const Verification result =
        verify(problems::LotkaVolterra{}, method, battery::Objective{{0.33, 1}},
               {.t0 = 0, .t1 = 1, .y0 = lv_start, .p = lv_rates});
    INFO(to_string(result));
    CHECK(result.ok);
  };
  check(AdamsBashforth2{.steps = 20});
  check(AdamsBashforth3{.h = 0.07});
  check(Leapfrog{.filter = 0.1, .steps = 20});
}
