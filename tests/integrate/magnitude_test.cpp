#include "costate/integrate/magnitude.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"

using namespace costate;

namespace {

Eigen::VectorXd some(Eigen::Index n, double phase) {
  Eigen::VectorXd v(n);
  for (Eigen::Index i = 0; i < n; ++i) v[i] = std::sin(static_cast<double>(5 * i * i + i) + phase);
  return v;
}

}  // namespace

TEST_CASE("The largest magnitudes of a pass are those of its vectors", "[integrate][oracle]") {
  for (const Eigen::Index n : {1, 2, 7, 8, 9, 16, 23, 100}) {
    CAPTURE(n);
    const Eigen::VectorXd x = some(n, 0.1);
    const Eigen::VectorXd y = some(n, 0.2);
    const Eigen::VectorXd start = some(n, 0.3);
    Eigen::VectorXd r = start;
    Eigen::VectorXd d = Eigen::VectorXd::Zero(n);

    CHECK(copy_magnitude(r, d) == start.cwiseAbs().maxCoeff());
    CHECK(d == start);

    const Remainder<double> got = add_difference(0.5, x, y, r);
    CHECK(got.term == (0.5 * x).cwiseAbs().cwiseMax(y.cwiseAbs()).maxCoeff());
    CHECK(got.left == r.cwiseAbs().maxCoeff());
    // Three roundings of numbers below 2.5, or two if a product is fused with a difference.
    CHECK((r - (start + 0.5 * x - y)).cwiseAbs().maxCoeff() <= 3 * 2.5 * 1.2e-16);
  }
}

TEST_CASE("A number that is none is not lost among magnitudes", "[integrate][unit]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Eigen::Index n : {1, 7, 8, 23}) {
    for (Eigen::Index i = 0; i < n; ++i) {
      CAPTURE(n, i);
      const Eigen::VectorXd x = some(n, 0.1);
      Eigen::VectorXd bad = x;
      bad[i] = nan;
      Eigen::VectorXd d = x;
      CHECK(std::isnan(copy_magnitude(bad, d)));
      Eigen::VectorXd r = x;
      CHECK(std::isnan(add_difference(1, bad, x, r).left));
      r = x;
      CHECK(std::isnan(add_difference(1, x, bad, r).left));
      r = bad;
      CHECK(std::isnan(add_difference(1, x, x, r).left));
    }
  }
}
