// Products with Hessians for the implicit methods: symmetry, differences of gradients, bits.

#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/fully_implicit.hpp"
#include "support/second_order.hpp"

using namespace costate;
using second_order::check_method;

TEST_CASE("products with the Hessian: implicit methods", "[ode][second_order]") {
  check_method("BackwardEuler", BackwardEuler{.steps = 12});
  check_method("CrankNicolson", CrankNicolson{.steps = 12});
  check_method("Esdirk43", Esdirk43{.rtol = 1e-4, .atol = 1e-4});
  check_method("Radau5", Radau5{.steps = 12});
#ifdef COSTATE_SOAK
  check_method("ImplicitMidpoint", ImplicitMidpoint{.steps = 12});
  check_method("Sdirk2", Sdirk2{.steps = 12});
  check_method("Sdirk43", Sdirk43{.steps = 12});
  check_method("Esdirk32", Esdirk32{.rtol = 1e-3, .atol = 1e-3});
  check_method("Gauss4", Gauss4{.steps = 12});
  check_method("Radau3", Radau3{.steps = 12});
#endif
}
