// Refused: an integrand does not see moving times: make the integral a component of the state
#include "costate/costate.hpp"
#include "costate/ode/times.hpp"

using One = Eigen::Matrix<double, 1, 1>;

int main() {
  const auto decay = costate::problem<One, One>(
      [](double, const One& y, const One& p, One& dydt) { dydt = -p[0] * y; },
      [](double, const One& y, const One& p, const One& w, One& y_bar, One& p_bar) {
        y_bar = -p[0] * w;
        p_bar[0] -= y.dot(w);
      });
  const auto timed = costate::with_times(costate::autonomous(decay), {0, 1});
  using P = decltype(timed)::Parameters;
#ifdef REAL
  const auto objective =
      costate::terminal([](const One& y, const P&) { return y[0]; },
                        [](const One&, const P&, One& y_bar, P&) { y_bar[0] += 1; });
#else
  const auto objective =
      costate::integral([](double, const One& y, const P&) { return y[0]; },
                        [](double, const One&, const P&, One& y_bar, P&) { y_bar[0] += 1; });
#endif
  const auto result = costate::value_and_gradient(
      timed, costate::RungeKutta4{.steps = 10}, objective,
      {.t0 = 0, .t1 = 1, .y0 = One(1.), .p = timed.parameters(One(0.5))});
  return timed.times(result.dp).size() == 2 ? 0 : 1;
}
