#include "costate/ode/verify.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "costate/costate.hpp"
#include "support/catch.hpp"
#include "support/ode_bits.hpp"
#include "support/problems.hpp"

using namespace costate;

namespace {

using S = Eigen::Vector2d;
using P = Eigen::Vector4d;

const Run<S, P> run{.t0 = 0, .t1 = 2, .y0 = {1.2, 0.7}, .p = {1.5, 1.1, 2.7, 0.9}};

bool failed(const Verification& v, const std::string& name) {
  return std::any_of(v.checks.begin(), v.checks.end(), [&](const Check& check) {
    return !check.ok && check.name.substr(0, name.size()) == name;
  });
}

// Lotka-Volterra with one entry of one product wrong by a relative error.
struct Wrong : problems::LotkaVolterra {
  double state_error = 0;
  double parameter_error = 0;
  double tangent_error = 0;
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    LotkaVolterra::vjp(t, y, p, w, y_bar, p_bar);
    y_bar[0] *= 1 + state_error;
    p_bar[3] += parameter_error * y[0] * y[1] * w[1];
  }
  void jvp(double t, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
           State& out) const {
    LotkaVolterra::jvp(t, y, p, dy, dp, out);
    out[1] *= 1 + tangent_error;
  }
};

// Not a function of its arguments: every call shifts the slope by rounding errors.
struct Forgetful : problems::LotkaVolterra {
  mutable int calls = 0;
  void rhs(double t, const State& y, const Parameters& p, State& out) const {
    LotkaVolterra::rhs(t, y, p, out);
    out[0] *= 1 + 1e-15 * (++calls % 7);
  }
};

template <class F, class Method>
Verification verified(const F& f, const Method& method) {
  return verify(f, method, ode_bits::objective<S, P>(run.t0, run.t1), run);
}

}  // namespace

TEST_CASE("A right model is verified, with fixed and with adaptive steps", "[ode][unit]") {
  const auto fixed = verified(problems::LotkaVolterra{}, RungeKutta4{.steps = 50});
  CHECK(to_string(fixed).find("verified: all") != std::string::npos);
  CHECK(fixed.ok);

  const auto adaptive = verified(problems::LotkaVolterra{}, Dopri5{.rtol = 1e-6, .atol = 1e-8});
  CAPTURE(to_string(adaptive));
  CHECK(adaptive.ok);
  CHECK(adaptive.checks.size() > fixed.checks.size());
}

TEST_CASE("A wrong derivative is found, however small, and named", "[ode][unit]") {
  for (const double error : {1.0, 1e-2, 1e-4, 1e-5}) {
    CAPTURE(error);
    Wrong f;
    f.state_error = error;
    const auto v = verified(f, RungeKutta4{.steps = 50});
    CAPTURE(to_string(v));
    CHECK_FALSE(v.ok);
    CHECK(failed(v, "Taylor test"));
    CHECK(failed(v, "dot-product test"));
    CHECK_FALSE(failed(v, "bits"));
    CHECK_FALSE(failed(v, "replay"));
    CHECK(to_string(v).find("NOT VERIFIED: 2 of") != std::string::npos);

    Wrong g;
    g.parameter_error = error;
    CHECK(failed(verified(g, RungeKutta4{.steps = 50}), "Taylor test"));
  }
}

TEST_CASE("A wrong tangent is told from a wrong adjoint", "[ode][unit]") {
  Wrong f;
  f.tangent_error = 1e-6;
  const auto v = verified(f, RungeKutta4{.steps = 50});
  CHECK_FALSE(failed(v, "Taylor test"));
  CHECK(failed(v, "dot-product test"));
}

TEST_CASE("A right-hand side that is not a function of its arguments is found", "[ode][unit]") {
  const auto v = verified(Forgetful{}, RungeKutta4{.steps = 50});
  CAPTURE(to_string(v));
  CHECK_FALSE(v.ok);
  CHECK(failed(v, "bits"));
  CHECK(failed(v, "replay"));
}

TEST_CASE("What the model throws is a failed check, not an exception", "[ode][unit]") {
  const auto v = verify(problems::LotkaVolterra{}, RungeKutta4{},
                        ode_bits::objective<S, P>(run.t0, run.t1), run);
  CHECK_FALSE(v.ok);
  CHECK(failed(v, "gradient"));
  CHECK(to_string(v).find("give exactly one of") != std::string::npos);
}

TEST_CASE("Objectives that are linear along the direction are no exception", "[ode][unit]") {
  const auto v = verify(
      problems::Linear{}, RungeKutta4{.steps = 10},
      terminal([](const auto& y, const auto&) { return y[0]; },
               [](const auto&, const auto&, auto& y_bar, auto&) { y_bar[0] += 1; }),
      {.t0 = 0, .t1 = 1, .y0 = problems::Linear::State(1.5), .p = problems::Linear::Parameters(0)});
  CAPTURE(to_string(v));
  CHECK(v.ok);
}

TEST_CASE("The Taylor test is judged by the order of the remainder", "[ode][unit]") {
  const auto test = [](double error) {
    // J(x + e d) = 1 + 2 e + 3 e², with a derivative that is wrong by a relative error.
    TaylorTest t{.value = 1, .derivative = 2 * (1 + error), .noise = 1e-16, .e = {}, .values = {}};
    for (double e = 0.0625; e > 1e-12; e /= 4) {
      t.e.push_back(e);
      t.values.push_back(1 + 2 * e + 3 * e * e);
    }
    return judge(t);
  };
  CHECK(test(0).ok);
  CHECK_FALSE(test(1e-1).ok);
  CHECK_FALSE(test(1e-4).ok);
  CHECK_FALSE(test(1e-6).ok);
  CHECK_FALSE(test(std::numeric_limits<double>::quiet_NaN()).ok);
}

TEST_CASE("The tangent is the directional derivative", "[ode][oracle]") {
  const auto target = ode_bits::objective<S, P>(run.t0, run.t1);
  const DirectionOf<problems::LotkaVolterra> d{.dy0 = {0.3, -0.8}, .dp = {1, 0.5, -0.2, 0.7}};
  const auto check_method = [&](const auto& method) {
    const auto g = value_and_gradient(problems::LotkaVolterra{}, method, target, run);
    const auto t = tangent(problems::LotkaVolterra{}, method, target, run, d);
    const double size =
        g.dy0.cwiseAbs().dot(d.dy0.cwiseAbs()) + g.dp.cwiseAbs().dot(d.dp.cwiseAbs());
    CHECK(t.value == g.value);
    CHECK(std::abs(t.derivative - (g.dy0.dot(d.dy0) + g.dp.dot(d.dp))) < 1e-12 * size);
  };
  check_method(RungeKutta4{.steps = 20});
  check_method(Dopri5{.rtol = 1e-6, .atol = 1e-6});
}
