// Value and gradient converge with the order of the method.

#include <cmath>

#include "costate/costate.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

using V = Eigen::Matrix<double, 1, 1>;

// y' = -p y²: y = y0 / (1 + p y0 t), ∂y/∂y0 = 1 / (1 + p y0 t)², ∂y/∂p = -y0² t / (1 + p y0 t)².
const auto riccati =
    problem<V, V>([](double, const V& y, const V& p, V& out) { out[0] = -p[0] * y[0] * y[0]; },
                  [](double, const V& y, const V& p, const V& w, V& y_bar, V& p_bar) {
                    y_bar[0] = -2 * p[0] * y[0] * w[0];
                    p_bar[0] -= y[0] * y[0] * w[0];
                  });

struct Errors {
  double value;
  double dy0;
  double dp;
};

template <class Method>
Errors errors(Step steps) {
  const double y0 = 1.5;
  const double p = 0.8;
  const double t = 2;
  const double d = 1 + p * y0 * t;
  const auto end = terminal([](const V& y, const V&) { return y[0]; },
                            [](const V&, const V&, V& y_bar, V&) { y_bar[0] += 1; });
  const auto r = value_and_gradient(riccati, Method{.steps = steps}, end,
                                    {.t0 = 0, .t1 = t, .y0 = V(y0), .p = V(p)});
  return {std::abs(r.value - y0 / d), std::abs(r.dy0[0] - 1 / (d * d)),
          std::abs(r.dp[0] + y0 * y0 * t / (d * d))};
}

// The observed order is p + O(h), so above p - 1/2 when h is small; the errors here are far above
// rounding. That no method is of a higher order than it says is shown by the order conditions.
template <class Method>
void check_order(Step steps) {
  INFO(Method::tableau.name);
  const Errors coarse = errors<Method>(steps);
  const Errors fine = errors<Method>(2 * steps);
  const double order = Method::tableau.order;
  CHECK(std::log2(coarse.value / fine.value) > order - 0.5);
  CHECK(std::log2(coarse.dy0 / fine.dy0) > order - 0.5);
  CHECK(std::log2(coarse.dp / fine.dp) > order - 0.5);
}

}  // namespace

TEST_CASE("Value and gradient converge with the order of the method", "[ode][oracle]") {
  check_order<Euler>(200);
  check_order<Heun>(100);
  check_order<Midpoint>(100);
  check_order<Ssprk3>(60);
  check_order<BogackiShampine32>(60);
  check_order<RungeKutta4>(40);
  check_order<DormandPrince54>(30);
  check_order<Tsitouras54>(30);
}
