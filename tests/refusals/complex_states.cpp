// Refused: costate differentiates real states and parameters only: write each complex number as two
// A problem of one's own with complex states.
#include <complex>

#include "costate/costate.hpp"

#ifdef REAL
using Number = double;
#else
using Number = std::complex<double>;
#endif

struct Decay {
  using State = Eigen::Matrix<Number, 2, 1>;
  using Parameters = Eigen::Matrix<double, 1, 1>;
  void rhs(double, const State& y, const Parameters& p, State& out) const { out = -p[0] * y; }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar = -p[0] * w;
    p_bar[0] -= std::real(y.dot(w));
  }
};

int main() {
  const Decay::Parameters p(1.);
  const auto end = costate::terminal(
      [](const Decay::State& y, const Decay::Parameters&) { return std::real(y[0]); },
      [](const Decay::State&, const Decay::Parameters&, Decay::State& y_bar, Decay::Parameters&) {
        y_bar[0] += 1;
      });
  costate::value_and_gradient(Decay{}, costate::RungeKutta4{.h = 0.1}, end,
                              {.t0 = 0, .t1 = 1, .y0 = Decay::State::Ones(), .p = p});
}
