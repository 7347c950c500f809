// Every explicit method: tangent and adjoint, Taylor test, equal bits, order. Complex steps:
// explicit_kernel_test.cpp, more_explicit_methods_test.cpp, multistep_test.cpp,
// symplectic_test.cpp.

#include "costate/integrate/more_explicit_methods.hpp"
#include "costate/integrate/multistep.hpp"
#include "costate/integrate/reversible.hpp"
#include "costate/integrate/symplectic.hpp"
#include "support/catch.hpp"
#include "support/chain.hpp"
#include "support/every_method.hpp"

using namespace costate;
using namespace every_method;
using problems::Nonlinear;

namespace {

using Chain = problems::Chain<Eigen::Vector2d>;
const Setting<Chain> chain{{1.1, -0.4, 0.3, 0.8}, {1.3, 0.7, 0.9}};

}  // namespace

TEST_CASE("Every explicit Runge-Kutta method has step, tangent and adjoint", "[ode][property]") {
  check_tableau<Nonlinear, Euler>(320, nonlinear());
  check_tableau<Nonlinear, Heun>(80, nonlinear());
  check_tableau<Nonlinear, Midpoint>(80, nonlinear());
  check_tableau<Nonlinear, Ssprk3>(80, nonlinear());
  check_tableau<Nonlinear, Ssprk43>(80, nonlinear());
  check_tableau<Nonlinear, BogackiShampine32>(80, nonlinear());
  check_tableau<Nonlinear, RungeKutta4>(40, nonlinear());
  check_tableau<Nonlinear, CarpenterKennedy4>(40, nonlinear());
  check_tableau<Nonlinear, DormandPrince54>(20, nonlinear());
  check_tableau<Nonlinear, Tsitouras54>(20, nonlinear());
  check_tableau<Nonlinear, Verner65>(16, nonlinear());
  check_tableau<Nonlinear, DormandPrince853>(8, nonlinear());
}

TEST_CASE("Every explicit Runge-Kutta method with an embedded error is adaptive",
          "[ode][property]") {
  check_adaptive<Nonlinear, Heun>(1e-4, nonlinear());
  check_adaptive<Nonlinear, Midpoint>(1e-4, nonlinear());
  check_adaptive<Nonlinear, Ssprk3>(1e-5, nonlinear());
  check_adaptive<Nonlinear, Ssprk43>(1e-5, nonlinear());
  check_adaptive<Nonlinear, BogackiShampine32>(1e-6, nonlinear());
  check_adaptive<Nonlinear, DormandPrince54>(1e-8, nonlinear());
  check_adaptive<Nonlinear, Tsitouras54>(1e-8, nonlinear());
  check_adaptive<Nonlinear, Verner65>(1e-9, nonlinear());
  check_adaptive<Nonlinear, DormandPrince853>(1e-11, nonlinear());
}

TEST_CASE("Every explicit multistep method has step, tangent and adjoint", "[ode][property]") {
  check<Nonlinear>(
      "AB2", [](Step n) { return AdamsBashforth2{.steps = n}; }, 2, 160, nonlinear());
  // The error of its first step, Euler's, is O(h²).
  check<Nonlinear>(
      "AB3", [](Step n) { return AdamsBashforth3{.steps = n}; }, 2, 320, nonlinear());
  check<Nonlinear>(
      "leapfrog", [](Step n) { return Leapfrog{.steps = n}; }, 2, 160, nonlinear());
  check<Nonlinear>(
      "filtered leapfrog", [](Step n) { return Leapfrog{.filter = 0.1, .steps = n}; }, 1, 320,
      nonlinear());
}

TEST_CASE("Every symplectic method has step, tangent and adjoint", "[ode][property]") {
  check<Chain>(
      "symplectic Euler", [](Step n) { return SymplecticEuler{.steps = n}; }, 1, 320, chain);
  check<Chain>(
      "Stoermer-Verlet", [](Step n) { return StoermerVerlet{.steps = n}; }, 2, 80, chain);
  check<Chain, battery::NoIntegralObjective>(
      "Yoshida", [](Step n) { return Yoshida4{.steps = n}; }, 4, 80, chain);
}
