#pragma once

#include <Eigen/Core>

#include "costate/costate.hpp"
#include "support/stiff_problems.hpp"

/// Robertson's kinetics and G = ∫ y3 dt.
namespace robertson {

using State = problems::Robertson::State;
using Parameters = problems::Robertson::Parameters;

inline State initial() {
  return {1, 0, 0};
}
inline Parameters rates() {
  return {0.04, 1e4, 3e7};
}

inline problems::Robertson problem() {
  return {};
}

inline auto objective() {
  return costate::integral(
      [](double, const State& y, const Parameters&) { return y[2]; },
      [](double, const State&, const Parameters&, State& y_bar, Parameters&) { y_bar[2] += 1; });
}

}  // namespace robertson
