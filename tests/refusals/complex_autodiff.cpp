// Refused: costate differentiates real states and parameters only: write each complex number as two
// A problem from one function with complex states.
#include <complex>

#include "costate/costate.hpp"

#ifdef REAL
using Number = double;
#else
using Number = std::complex<double>;
#endif

int main() {
  const auto f = costate::autodiff<Eigen::Matrix<Number, 2, 1>, Eigen::Matrix<double, 1, 1>>(
      [](double, const auto& y, const auto& p, auto& out) {
        out[0] = -p[0] * y[0];
        out[1] = -p[0] * y[1];
      });
  (void)f;
}
