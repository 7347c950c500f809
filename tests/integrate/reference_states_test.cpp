// The states of Lotka-Volterra after 100 steps of 1/20 from (1, 1), p = (1.5, 1, 3, 1).

#include <cmath>

#include <Eigen/Core>

#include "costate/integrate/bdf.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/explicit_runge_kutta.hpp"
#include "costate/integrate/fully_implicit.hpp"
#include "costate/integrate/integrand.hpp"
#include "costate/integrate/make_kernel.hpp"
#include "support/catch.hpp"
#include "support/problems.hpp"

using namespace costate;

namespace {

template <class Method>
void check(const Method& method, double first, double second) {
  const problems::LotkaVolterra f;
  const NoIntegrand none;
  auto kernel = make_kernel(f, method, none, Eigen::Vector4d(1.5, 1, 3, 1), 2);
  const TimeGrid grid = TimeGrid::with_step_size(0, 5, 1. / 20, {});
  REQUIRE(grid.steps() == 100);
  Eigen::Vector2d y(1, 1);
  for (Step k = 0; k < grid.steps(); ++k) {
    const Interval s = grid.interval(k);
    kernel.advance(&s, 1, y, y, {}, {});
  }
  CAPTURE(y[0], first, y[1], second);
  CHECK(std::abs(y[0] / first - 1) < 1e-12);
  CHECK(std::abs(y[1] / second - 1) < 1e-12);
}

}  // namespace

TEST_CASE("Lotka-Volterra has the reference states", "[integrate][golden]") {
  check(Euler{}, 4.03056355542746600e+00, 7.02256447155508670e-02);
  check(RungeKutta4{}, 6.09847517268087737e+00, 6.28125855846971776e-01);
  check(DormandPrince54{}, 6.09849481769113966e+00, 6.28137947677169939e-01);
  check(BackwardEuler{}, 5.09663946610598523e+00, 1.64291916168431998e+00);
  check(CrankNicolson{}, 6.09182318738018818e+00, 6.29117374059195363e-01);
  check(Sdirk2{}, 6.09593014009368955e+00, 6.28304513472125505e-01);
  check(Radau3{}, 6.09851027601556396e+00, 6.28068459168735852e-01);
  check(Radau5{}, 6.09849456529136151e+00, 6.28137673102959845e-01);
  check(Bdf2{}, 6.07611998111472455e+00, 6.40276351055409220e-01);
}
