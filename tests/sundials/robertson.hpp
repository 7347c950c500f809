#pragma once

#include <Eigen/Core>

#include "costate/costate.hpp"

/// Robertson's kinetics, y2 closed by the other equations, and G = ∫ y3 dt.
namespace robertson {

using State = Eigen::Vector3d;
using Parameters = Eigen::Vector3d;

inline State initial() {
  return {1, 0, 0};
}
inline Parameters rates() {
  return {0.04, 1e4, 3e7};
}

inline auto problem() {
  return costate::problem<State, Parameters>(
      [](double, const State& y, const Parameters& p, State& dydt) {
        dydt[0] = -p[0] * y[0] + p[1] * y[1] * y[2];
        dydt[2] = p[2] * y[1] * y[1];
        dydt[1] = -dydt[0] - dydt[2];
      },
      [](double, const State& y, const Parameters& p, const State& w, State& y_bar,
         Parameters& p_bar) {
        const double a = w[0] - w[1];
        const double b = w[2] - w[1];
        y_bar[0] = -p[0] * a;
        y_bar[1] = p[1] * y[2] * a + 2 * p[2] * y[1] * b;
        y_bar[2] = p[1] * y[1] * a;
        p_bar[0] -= y[0] * a;
        p_bar[1] += y[1] * y[2] * a;
        p_bar[2] += y[1] * y[1] * b;
      });
}

inline auto objective() {
  return costate::integral(
      [](double, const State& y, const Parameters&) { return y[2]; },
      [](double, const State&, const Parameters&, State& y_bar, Parameters&) { y_bar[2] += 1; });
}

}  // namespace robertson
