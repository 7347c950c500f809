// Every implicit method: tangent and adjoint, Taylor test, equal bits, order. Complex steps:
// dirk_kernel_test.cpp, fully_implicit_kernel_test.cpp, imex_test.cpp, rosenbrock_test.cpp,
// bdf_test.cpp.

#include "costate/integrate/bdf.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/fully_implicit.hpp"
#include "support/catch.hpp"
#include "support/every_method.hpp"

using namespace costate;
using namespace every_method;
using problems::Nonlinear;

namespace {

inline constexpr auto theta_07 = tableaux::theta(0.7);
using Theta07 = DiagonallyImplicit<theta_07>;

}  // namespace

TEST_CASE("Every diagonally implicit method has step, tangent and adjoint", "[ode][property]") {
  check_tableau<Nonlinear, BackwardEuler>(320, nonlinear());
  check_tableau<Nonlinear, ImplicitMidpoint>(80, nonlinear());
  check_tableau<Nonlinear, CrankNicolson>(80, nonlinear());
  check_tableau<Nonlinear, Theta07>(320, nonlinear());
  check_tableau<Nonlinear, Sdirk2>(80, nonlinear());
  check_tableau<Nonlinear, Sdirk43>(40, nonlinear());
  check_tableau<Nonlinear, Esdirk32>(40, nonlinear());
  check_tableau<Nonlinear, Esdirk43>(20, nonlinear());
}

TEST_CASE("Every diagonally implicit method with an embedded error is adaptive",
          "[ode][property]") {
  check_adaptive<Nonlinear, Sdirk43>(1e-7, nonlinear());
  check_adaptive<Nonlinear, Esdirk32>(1e-6, nonlinear());
  check_adaptive<Nonlinear, Esdirk43>(1e-7, nonlinear());
}

TEST_CASE("Every fully implicit method has step, tangent and adjoint", "[ode][property]") {
  check_tableau<Nonlinear, Gauss4>(20, nonlinear());
  check_tableau<Nonlinear, Radau3>(40, nonlinear());
  check_tableau<Nonlinear, Radau5>(16, nonlinear());
}

TEST_CASE("Every backward differentiation formula has step, tangent and adjoint",
          "[ode][property]") {
  // The error of their first step, backward Euler's, is O(h²), whatever the formula.
  check<Nonlinear>(
      "BDF2", [](Step n) { return Bdf2{.steps = n}; }, 2, 320, nonlinear());
  check<Nonlinear>(
      "BDF3", [](Step n) { return Bdf3{.steps = n}; }, 2, 320, nonlinear());
  check<Nonlinear>(
      "BDF4", [](Step n) { return Bdf4{.steps = n}; }, 2, 320, nonlinear());
  check<Nonlinear>(
      "BDF5", [](Step n) { return Bdf5{.steps = n}; }, 2, 320, nonlinear());
}

TEST_CASE("C28: fully implicit methods stay between t0 and t1", "[ode][case]") {
  battery::check_inside(Gauss4{.h = 0.07});
  battery::check_inside(Radau3{.h = 0.07});
  battery::check_inside(Radau5{.h = 0.07});
}
