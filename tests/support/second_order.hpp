#pragma once

// What products with the Hessian have to show for every method.

#include <cmath>
#include <vector>

#include "costate/costate.hpp"
#include "costate/ode/second_order.hpp"
#include "support/catch.hpp"

namespace second_order {

using namespace costate;

using V2 = Eigen::Vector2d;

inline double relative(double x, double reference) {
  return std::abs(x - reference) / std::abs(reference);
}

// H of (y0, p), column by column.
template <class F, class Method, class O>
Eigen::MatrixXd hessian(const F& f, const Method& method, const O& objective, const RunOf<F>& run) {
  const Eigen::Index n = run.y0.size();
  const Eigen::Index all = n + run.p.size();
  Eigen::MatrixXd h(all, all);
  for (Eigen::Index i = 0; i < all; ++i) {
    DirectionOf<F> d{.dy0 = run.y0, .dp = run.p};
    d.dy0.setZero();
    d.dp.setZero();
    (i < n ? d.dy0[i] : d.dp[i - n]) = 1;
    const auto column = hessian_product(f, method, objective, run, d);
    h.col(i) << column.hy0, column.hp;
  }
  return h;
}

template <class G>
Eigen::VectorXd flat(const G& g) {
  Eigen::VectorXd out(g.dy0.size() + g.dp.size());
  out << g.dy0, g.dp;
  return out;
}

// A problem and an objective with every kind of second derivative in them.
inline auto oscillator() {
  return autodiff<V2, V2>([](double t, const auto& y, const auto& p, auto& out) {
    using std::sin;
    out[0] = y[1] * p[1];
    out[1] = p[0] * (1 - y[0] * y[0]) * y[1] - sin(y[0]) + t * p[1];
  });
}
inline auto everything() {
  return autodiff_terminal<V2, V2>(
             [](const auto& y, const auto& p, auto& value) { value = y[0] * y[1] * p[0]; }) +
         autodiff_integral<V2, V2>([](double t, const auto& y, const auto& p, auto& value) {
           value = t * y[0] * y[0] * p[1];
         }) +
         autodiff_observations<V2, V2>(
             {0.3, 1, 0, 0.3}, [](std::size_t i, const auto& y, const auto& p, auto& value) {
               value = (1. + static_cast<double>(i)) * y[1] * y[1] * y[0] * p[1];
             });
}

// Symmetry to rounding, differences of gradients, equal bits in any memory.
template <class Method>
void check_method(const char* name, const Method& method) {
  INFO(name);
  const auto f = oscillator();
  const auto objective = everything();
  RunOf<decltype(f)> run{.t0 = 0, .t1 = 1, .y0 = {1.1, -0.4}, .p = {1.3, 0.9}};
  const auto h = hessian(f, method, objective, run);
  const double size = h.norm();
  CHECK((h - h.transpose()).norm() < 1e-12 * size);

  const auto gradient = value_and_gradient(f, method, objective, run);
  const Method fixed = on_grid(method, gradient.times());
  const DirectionOf<decltype(f)> d{.dy0 = {0.6, -0.3}, .dp = {0.2, 0.7}};
  const auto moved = [&](double e) {
    auto there = run;
    there.y0 += e * d.dy0;
    there.p += e * d.dp;
    return flat(value_and_gradient(f, fixed, objective, there));
  };
  // Fourth order: e⁴ = 1e-12 times fifth derivatives, and rounding 1e-16 / e.
  const double e = 1e-3;
  const Eigen::VectorXd differences =
      (8 * (moved(e) - moved(-e)) - (moved(2 * e) - moved(-2 * e))) / (12 * e);
  const auto hd = hessian_product(f, method, objective, run, d);
  Eigen::VectorXd product(4);
  product << hd.hy0, hd.hp;
  CHECK((product - differences).norm() < 1e-9 * size);
  Eigen::Vector4d direction;
  direction << d.dy0, d.dp;
  CHECK((h * direction - product).norm() < 1e-13 * size);

  CHECK(hd.value == gradient.value);
  CHECK((flat(hd) - flat(gradient)).norm() < 1e-13 * flat(gradient).norm());
  CHECK(relative(hd.derivative, flat(gradient).dot(direction)) < 1e-12);
  CHECK(hd.grid.times() == gradient.times());

  for (const Slot slots : {1, 2, 5}) {
    CAPTURE(slots);
    run.budget = {.memory = memory_for(slots, 2 * sizeof(V2))};
    const auto some = hessian_product(f, method, objective, run, d);
    CHECK(some.hy0 == hd.hy0);
    CHECK(some.hp == hd.hp);
    CHECK(some.dy0 == hd.dy0);
    CHECK(some.dp == hd.dp);
    CHECK(some.derivative == hd.derivative);
    CHECK(some.report.advances >= hd.report.advances);
  }
}

}  // namespace second_order
