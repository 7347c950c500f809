// Systems that cannot be solved, through the solver door: an error with step, time and size, or a
// smaller step; never a wrong gradient.

#include <cmath>
#include <string>

#include "costate/costate.hpp"
#include "costate/integrate/bdf.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/fully_implicit.hpp"
#include "costate/integrate/imex.hpp"
#include "costate/integrate/rosenbrock.hpp"
#include "support/catch.hpp"
#include "support/nonlinear.hpp"

using namespace costate;
using problems::Nonlinear;
using problems::Swing;

namespace {

using V1 = Eigen::Matrix<double, 1, 1>;
using V2 = Eigen::Vector2d;

// The products belong to another right-hand side from t = 0.5 on; steps find their stages by J.
struct Wrong : Nonlinear {
  using Jacobian = Eigen::Matrix2d;
  void jacobian(double t, const V2& y, const V2& p, Jacobian& j) const { j = matrix(t, y, p); }
  void vjp(double t, const V2& y, const V2& p, const V2& w, V2& y_bar, V2& p_bar) const {
    Nonlinear::vjp(t, y, p, w, y_bar, p_bar);
    if (t > 0.5) y_bar *= -40;
  }
};

template <class F, class Method>
void check_residual_error(const F& f, const Method& method) {
  const auto end = terminal([](const V2& y, const V2&) { return y[1]; },
                            [](const V2&, const V2&, V2& y_bar, V2&) { y_bar[1] += 1; });
  try {
    value_and_gradient(f, method, end, {.t0 = 0, .t1 = 1, .y0 = V2(1.2, 0.7), .p = V2(0.9, 0.8)});
    FAIL("the residual should not have vanished");
  } catch (const AdjointResidualError& error) {
    INFO(error.what());
    CHECK(error.step == 3);  // the last one is reversed first
    CHECK((std::isnan(error.residual) || error.residual > 1e-10));
    CHECK(std::string(error.what()).find("step 3") != std::string::npos);
  }
}

// y' = -50 log y has no value at y <= 0, where Newton's iteration goes if the step is long.
struct Logarithmic {
  using State = V1;
  using Parameters = V1;
  void rhs(double, const V1& y, const V1& p, V1& out) const { out[0] = -p[0] * std::log(y[0]); }
  void vjp(double, const V1& y, const V1& p, const V1& w, V1& y_bar, V1& p_bar) const {
    y_bar[0] = -p[0] / y[0] * w[0];
    p_bar[0] -= std::log(y[0]) * w[0];
  }
};

const RunOf<Logarithmic> run{.t0 = 0, .t1 = 1, .y0 = V1(100), .p = V1(50)};
const auto end_value = terminal([](const V1& y, const V1&) { return y[0]; },
                                [](const V1&, const V1&, V1& y_bar, V1&) { y_bar[0] += 1; });

template <class Method>
void check_not_found(const Method& method) {
  try {
    value(Logarithmic{}, method, end_value, run);
    FAIL("the stage should not have been found");
  } catch (const IntegrationError& error) {
    INFO(error.what());
    CHECK(error.step == 0);
    CHECK(error.t == 0);
    const std::string message = error.what();
    CHECK(message.find("step 0") != std::string::npos);
    CHECK(message.find("t = ") != std::string::npos);
    CHECK(message.find("relative correction") != std::string::npos);
  }
}

}  // namespace

TEST_CASE("A transposed system that is not solved is an error with step and residual",
          "[ode][fault]") {
  check_residual_error(Wrong{}, BackwardEuler{.steps = 4});
  check_residual_error(Wrong{}, Esdirk43{.steps = 4});
  check_residual_error(Wrong{}, Radau5{.steps = 4});
  check_residual_error(Wrong{}, Bdf2{.steps = 4});
  check_residual_error(split(Wrong{}, Swing{}), Ars222{.steps = 4});
  check_residual_error(Wrong{}, Rodas43{.steps = 4});
}

TEST_CASE("A stage that is not found is an error with step, time and size on fixed steps",
          "[ode][fault]") {
  check_not_found(BackwardEuler{.steps = 1});
  check_not_found(Sdirk43{.steps = 1});
  check_not_found(Radau3{.steps = 1});
  check_not_found(Bdf3{.steps = 1});
}

TEST_CASE("A stage that is not found makes an adaptive step smaller", "[ode][fault]") {
  const Sdirk43 method{.rtol = 1e-8, .atol = 1e-8, .first_step = 1};
  const auto r = value_and_gradient(Logarithmic{}, method, end_value, run);
  CHECK(r.rejected > 0);
  // y = 1 at rest: y(1) is 1 + 99 e^(-50 …), whatever y0.
  CHECK(std::abs(r.value - 1) < 1e-6);
  CHECK(std::isfinite(r.dp[0]));
  const auto again = value_and_gradient(Logarithmic{}, Sdirk43{.grid = r.times()}, end_value, run);
  CHECK(again.dy0 == r.dy0);
  CHECK(again.dp == r.dp);
}
