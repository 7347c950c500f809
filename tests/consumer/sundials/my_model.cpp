// y' = -p y with the steps of ARKODE: dy(1)/dp = -y(1).

#include <cmath>
#include <cstdio>

#include <costate/costate.hpp>
#include <costate/sundials/arkode.hpp>

int main() {
  using One = Eigen::Matrix<double, 1, 1>;
  const auto decay = costate::problem<One, One>(
      [](double, const One& y, const One& p, One& dydt) { dydt = -p[0] * y; },
      [](double, const One& y, const One& p, const One& w, One& y_bar, One& p_bar) {
        y_bar = -p[0] * w;
        p_bar[0] -= y.dot(w);
      });
  const auto last = costate::terminal(
      [](const One& y, const One&) { return y[0]; },
      [](const One&, const One&, One& y_bar, One&) { y_bar[0] += 1; });
  const auto result = costate::sundials::value_and_gradient(
      decay, costate::Dopri5{.rtol = 1e-9, .atol = 1e-12}, last,
      {.t0 = 0, .t1 = 1, .y0 = One(2.), .p = One(0.5)});
  std::printf("%.9f %.9f\n", result.value, result.dp[0]);
  return std::abs(result.dp[0] + result.value) < 1e-7 ? 0 : 1;
}
