// Products with Hessians for the explicit methods: symmetry, differences of gradients, bits.

#include "costate/integrate/more_explicit_methods.hpp"
#include "support/second_order.hpp"

using namespace costate;
using second_order::check_method;

TEST_CASE("products with the Hessian: explicit methods", "[ode][second_order]") {
  check_method("Euler", Euler{.steps = 12});
  check_method("RungeKutta4", RungeKutta4{.steps = 12});
  check_method("Dopri5", Dopri5{.rtol = 1e-6, .atol = 1e-6});
  check_method("Verner65", Verner65{.rtol = 1e-6, .atol = 1e-6});
#ifdef COSTATE_SOAK
  check_method("Heun", Heun{.steps = 12});
  check_method("Midpoint", Midpoint{.steps = 12});
  check_method("Ssprk3", Ssprk3{.steps = 12});
  check_method("BogackiShampine32", BogackiShampine32{.rtol = 1e-4, .atol = 1e-4});
  check_method("Tsitouras54", Tsitouras54{.rtol = 1e-6, .atol = 1e-6});
  check_method("CarpenterKennedy4", CarpenterKennedy4{.steps = 12});
  check_method("Ssprk43", Ssprk43{.steps = 12});
#endif
}
