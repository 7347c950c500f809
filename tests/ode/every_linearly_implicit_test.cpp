// Every Rosenbrock and every IMEX method: tangent and adjoint, Taylor test, equal bits, order.
// Complex steps: rosenbrock_test.cpp, imex_test.cpp.

#include <algorithm>
#include <cmath>

#include "costate/integrate/imex.hpp"
#include "costate/integrate/rosenbrock.hpp"
#include "support/catch.hpp"
#include "support/every_method.hpp"

using namespace costate;
using namespace every_method;
using problems::Nonlinear;
using problems::SplitNonlinear;

namespace {

using V1 = Eigen::Matrix<double, 1, 1>;

// y' = p (t - 1)^(3/2), which has no value before t = 1, nor its time derivative.
struct Rising {
  using State = V1;
  using Parameters = V1;
  double* earliest;
  double* latest;
  double power(double t, double exponent) const {
    *earliest = std::min(*earliest, t);
    *latest = std::max(*latest, t);
    return std::pow(t - 1, exponent);
  }
  void rhs(double t, const V1&, const V1& p, V1& out) const { out = p * power(t, 1.5); }
  void vjp(double t, const V1&, const V1&, const V1& w, V1& y_bar, V1& p_bar) const {
    y_bar.setZero();
    p_bar += w * power(t, 1.5);
  }
  void jacobian_vjp(double, const V1&, const V1&, const V1&, const V1&, V1&, V1&) const {}
  void time_derivative(double t, const V1&, const V1& p, V1& out) const {
    out = 1.5 * p * power(t, 0.5);
  }
  void time_derivative_vjp(double t, const V1&, const V1&, const V1& w, V1&, V1& p_bar) const {
    p_bar += 1.5 * w * power(t, 0.5);
  }
};

template <class F, class Method>
void check_inside(const F& f, const Method& method) {
  INFO(Method::tableau.name);
  double& earliest = *f.earliest = 1.2;
  double& latest = *f.latest = 1.2;
  const auto end = terminal([](const V1& y, const V1&) { return y[0]; },
                            [](const V1&, const V1&, V1& y_bar, V1&) { y_bar[0] += 1; });
  const auto r =
      value_and_gradient(f, method, end, {.t0 = 1, .t1 = 1.5, .y0 = V1(1), .p = V1(1.1)});
  CHECK(earliest >= 1);
  CHECK(latest <= 1.5);
  CHECK(std::abs(r.dy0[0] - 1) < 1e-12);
  CHECK(std::isfinite(r.dp[0]));
}

struct SplitRising : SplitProblem<Rising, Rising> {
  SplitRising(double* first, double* last)
      : SplitProblem({first, last}, {first, last}), earliest(first), latest(last) {}
  double* earliest;
  double* latest;
};

}  // namespace

TEST_CASE("Every Rosenbrock method has step, tangent and adjoint", "[ode][property]") {
  check_tableau<Nonlinear, Rosenbrock2>(80, nonlinear());
  check_tableau<Nonlinear, Ros3p>(160, nonlinear());
  check_tableau<Nonlinear, Rodas43>(40, nonlinear());
  check_adaptive<Nonlinear, Ros3p>(1e-6, nonlinear());
  check_adaptive<Nonlinear, Rodas43>(1e-7, nonlinear());
}

TEST_CASE("Every IMEX method has step, tangent and adjoint", "[ode][property]") {
  check_tableau<SplitNonlinear, Ars222>(160, split_nonlinear());
  check_tableau<SplitNonlinear, Ark43>(40, split_nonlinear());
  check_adaptive<SplitNonlinear, Ark43>(1e-7, split_nonlinear());
}

TEST_CASE("C28: Rosenbrock and IMEX methods stay between t0 and t1", "[ode][case]") {
  double earliest = 0;
  double latest = 0;
  const Rising rising{&earliest, &latest};
  check_inside(rising, Rosenbrock2{.h = 0.07});
  check_inside(rising, Ros3p{.h = 0.07});
  check_inside(rising, Rodas43{.h = 0.07});
  check_inside(rising, Rodas43{.rtol = 1e-8, .atol = 1e-8});
  const SplitRising split_rising(&earliest, &latest);
  check_inside(split_rising, Ars222{.h = 0.07});
  check_inside(split_rising, Ark43{.h = 0.07});
  check_inside(split_rising, Ark43{.rtol = 1e-8, .atol = 1e-8});
}
