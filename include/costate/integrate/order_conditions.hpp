#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "costate/integrate/tableau.hpp"

/// @file
/// The order of a Runge-Kutta method, from its coefficients: for each rooted tree τ with q
/// vertices,
///
///     sum_i b_i Φ_i(τ) = 1 / γ(τ),   Φ_i([τ_1 … τ_m]) = prod_l sum_j a_ij Φ_j(τ_l),
///     γ(τ) = product over the vertices of the number of vertices above and at them,
///
/// and a method has order p if and only if this holds for all trees of up to p vertices (J. C.
/// Butcher; E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, theorem
/// II.2.13). Implicit methods obey the same conditions.
///
/// Not needed to run a method: made for checking one's own tableau once.
///
/// @code
///   costate::check_order(ralston);   // throws InvalidArgument unless order 2, as ralston.order
///   says
/// @endcode

namespace costate {

/// A rooted tree as the levels of its vertices in depth-first order; the root has level 1.
using RootedTree = std::vector<int>;

/// All rooted trees with `vertices` vertices: 1, 1, 2, 4, 9, 20, 48, 115, … of them.
/// T. Beyer, S. M. Hedetniemi, SIAM J. Comput. 9 (1980) 706-712.
[[nodiscard]] std::vector<RootedTree> rooted_trees(int vertices);

/// The largest order, `highest` at most, whose conditions hold to rounding: a condition fails if
/// its defect exceeds what errors of one unit in the last place of every coefficient, product and
/// sum can amount to.
/// @param a        stages x stages, row by row
/// @param b        weights; as many as there are stages
/// @param highest  1 … 10; the cost grows with the number of trees
[[nodiscard]] int order_of(std::span<const double> a, std::span<const double> b, int highest = 8);

/// Of the solution.
template <std::size_t S>
[[nodiscard]] int order_of(const Tableau<S>& tableau, int highest = 8) {
  return order_of(std::span(tableau.a.front().data(), S * S), tableau.b, highest);
}

/// Of the embedded solution.
template <std::size_t S>
[[nodiscard]] int embedded_order_of(const Tableau<S>& tableau, int highest = 8) {
  return order_of(std::span(tableau.a.front().data(), S * S), tableau.b_hat, highest);
}

/// As a claim: does nothing if the coefficients have the order.
/// @throws InvalidArgument  with the name, the order claimed and the one found
void check_order(const char* name, std::span<const double> a, std::span<const double> b,
                 int claimed);

/// Checks `order` and, if there are embedded solutions, their orders.
/// @throws InvalidArgument  if one of them is claimed and not there
template <std::size_t S>
void check_order(const Tableau<S>& tableau) {
  const std::span<const double> a(tableau.a.front().data(), S * S);
  check_order(tableau.name, a, tableau.b, tableau.order);
  if (tableau.embedded_order > 0) {
    check_order(tableau.name, a, tableau.b_hat, tableau.embedded_order);
  }
  if (tableau.low_order > 0) check_order(tableau.name, a, tableau.b_low, tableau.low_order);
}

}  // namespace costate
