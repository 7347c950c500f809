#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/integrate/fixed_steps.hpp"
#include "costate/integrate/splitting_kernel.hpp"

/// @file
/// Explicit symplectic methods for separable problems (separable.hpp). Their energy error does not
/// grow with time, on equal steps; and their adjoints, being symplectic, neither decay nor explode
/// where the flow does not.

namespace costate {

/// A symplectic method of kicks and drifts. Exactly one of `h`, `steps` and `grid` must be given,
/// as for `ExplicitRungeKutta`. Steps that differ in size are differentiated exactly, too, but lose
/// the conservation of energy.
///
/// @tparam M  a constexpr `Splitting` at namespace scope
template <const auto& M>
struct Symplectic {
  static constexpr const auto& splitting = M;
  static_assert(consistent(M), "kicks and drifts must sum to 1, and none but the last drift be 0");
  template <class F, class Objective>
  using Kernel = SplittingKernel<F, M, Objective>;

  double h = 0;                   ///< step size, > 0 in either direction of time
  Step steps = 0;                 ///< number of equal steps
  std::vector<double> grid = {};  ///< the times, t0 first and t1 last

  [[nodiscard]] StepControl control() const { return fixed_steps(M.name, h, steps, grid); }
};

namespace splittings {

/// Order 1.
inline constexpr Splitting<1> symplectic_euler{
    .name = "symplectic Euler", .kick = {1}, .drift = {1}, .order = 1};

/// Half a kick, a drift, half a kick ("velocity Verlet"). Order 2. One force a step in a run, since
/// the last one is the first of the next step.
inline constexpr Splitting<2> stoermer_verlet{
    .name = "Stoermer-Verlet", .kick = {0.5, 0.5}, .drift = {1, 0}, .order = 2};

/// 1 / (2 - 2^(1/3)): the outer steps of Yoshida's triple, whose inner one is 1 - 2 of it.
inline constexpr double yoshida = 1.3512071919596576340476878089715;

/// Three steps of Störmer and Verlet, the middle one backwards. Order 4. H. Yoshida, Phys. Lett. A
/// 150 (1990) 262-268, eq. 2.11.
inline constexpr Splitting<4> yoshida_4{
    .name = "Yoshida 4",
    .kick = {yoshida / 2, 0.5 - yoshida / 2, 0.5 - yoshida / 2, yoshida / 2},
    .drift = {yoshida, 1 - 2 * yoshida, yoshida, 0},
    .order = 4};

}  // namespace splittings

using SymplecticEuler = Symplectic<splittings::symplectic_euler>;
using StoermerVerlet = Symplectic<splittings::stoermer_verlet>;
using Yoshida4 = Symplectic<splittings::yoshida_4>;

}  // namespace costate
