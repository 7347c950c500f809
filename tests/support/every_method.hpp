#pragma once

// What every method must show, in one table: a row names a method, its problem, its order and the
// number of steps at which the order is seen.

#include <algorithm>
#include <cmath>
#include <string>

#include "costate/costate.hpp"
#include "support/catch.hpp"
#include "support/nonlinear.hpp"
#include "support/ode_battery.hpp"

namespace every_method {

using costate::Step;

// Two runs of the same length, forward and backward in time.
template <class F>
struct Setting {
  typename F::State y0;
  typename F::Parameters p;
};

inline Setting<problems::Nonlinear> nonlinear() {
  return {{1.2, 0.7}, {0.9, 0.8}};
}
inline Setting<problems::SplitNonlinear> split_nonlinear() {
  return {{1.2, 0.7}, {0.9, 0.8}};
}

// dJ·d by the tangents of the steps and by their adjoints, d any direction, over any grid.
template <class F, class O, class Method>
void check_dot_product(const Method& method, double t0, double t1, const Setting<F>& at) {
  const costate::RunOf<F> run{.t0 = t0, .t1 = t1, .y0 = at.y0, .p = at.p};
  const O objective{{t0, t1}};
  costate::DirectionOf<F> d{at.y0, at.p};
  for (Eigen::Index i = 0; i < d.dy0.size(); ++i) d.dy0[i] = 0.3 + static_cast<double>(i % 3);
  for (Eigen::Index i = 0; i < d.dp.size(); ++i) d.dp[i] = 0.7 - static_cast<double>(i % 2);
  const auto adjoint = costate::value_and_gradient(F{}, method, objective, run);
  const auto forward = costate::tangent(F{}, method, objective, run, d);
  CHECK(forward.value == adjoint.value);
  const double along = adjoint.dy0.dot(d.dy0) + adjoint.dp.dot(d.dp);
  // The condition of the sum: what cancels in it.
  const double condition =
      (adjoint.dy0.cwiseAbs().dot(d.dy0.cwiseAbs()) + adjoint.dp.cwiseAbs().dot(d.dp.cwiseAbs())) /
      std::abs(along);
  CAPTURE(along, condition);
  CHECK(std::abs(forward.derivative / along - 1) < 1e-13 * condition);
}

// `make(n)` is the method with n equal steps; halving steps of `steps` and more shows its order.
template <class F, class O = battery::Objective, class Make>
void check(const std::string& name, const Make& make, int order, Step steps, const Setting<F>& at) {
  INFO(name);
  check_dot_product<F, O>(make(17), 0.2, 1.3, at);
  check_dot_product<F, O>(make(17), 1.3, 0.2, at);
  battery::check_taylor<F, O>(make(20), 0.2, 1.2, at.y0, at.p);
  battery::check_bits<F, O>(make(23), 0.2, 1.2, at.y0, at.p, {0.33, 1.2, 0.7, 0.33});
  const auto seen = battery::orders<F, O>(make, 0.2, 1.2, at.y0, at.p, steps);
  CAPTURE(seen.value, seen.gradient);
  // The next term of the error changes the ratio of differences by O(h). An order can be higher by
  // accident, where the first term of the error vanishes.
  CHECK(seen.value > order - 0.2);
  CHECK(seen.gradient > order - 0.2);
}

// A method with a tableau of any kind, which has its own name and order.
template <class F, class Method, class O = battery::Objective>
void check_tableau(Step steps, const Setting<F>& at) {
  check<F, O>(
      Method::tableau.name, [](Step n) { return Method{.steps = n}; }, Method::tableau.order, steps,
      at);
}

// Adaptive: dot product and bits on the steps that were accepted.
template <class F, class Method>
void check_adaptive(double tolerance, const Setting<F>& at) {
  const Method method{.rtol = tolerance, .atol = tolerance};
  INFO(Method::tableau.name);
  check_dot_product<F, battery::Objective>(method, 0.2, 1.3, at);
  battery::check_bits<F>(method, 0.2, 1.2, at.y0, at.p, {0.33, 0.7});
}

}  // namespace every_method
