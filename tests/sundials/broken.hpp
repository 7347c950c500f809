#pragma once

// y' = -y, whose right-hand side fails after t = 0.5: as `fail(dydt)` has it. J = y(t1).

#include <Eigen/Core>

#include "costate/costate.hpp"

namespace broken {

using One = Eigen::Matrix<double, 1, 1>;

template <class Fail>
auto decay(Fail fail) {
  return costate::problem<One, One>(
      [fail](double t, const One& y, const One&, One& dydt) {
        dydt = -y;
        if (t > 0.5) fail(dydt);
      },
      [](double, const One&, const One&, const One& w, One& y_bar, One&) { y_bar = -w; });
}

inline auto last_value() {
  return costate::terminal([](const One& y, const One&) { return y[0]; },
                           [](const One&, const One&, One& y_bar, One&) { y_bar[0] += 1; });
}

inline costate::RunOf<decltype(decay([](One&) {}))> run() {
  return {.t0 = 0, .t1 = 1, .y0 = One(1.), .p = One(0.)};
}

}  // namespace broken
