#pragma once

#include <cstddef>

#include "costate/integrate/tableau.hpp"

/// @file
/// Butcher tableaux of implicit Runge-Kutta methods. The same `Tableau` as for explicit ones, with
/// entries on the diagonal of `a` ("diagonally implicit") or anywhere ("fully implicit"):
///
///     Y_i = y + h sum_j a_ij K_j,   M K_i = f(t + c_i h, Y_i),   y⁺ = y + h sum_i b_i K_i

namespace costate {

/// Whether the coefficients can be an implicit method: row sums c and weights that sum to 1, each
/// to 1e-12. Checked at compile time for every tableau that is used.
template <std::size_t S>
constexpr bool consistent_implicit(const Tableau<S>& tableau) {
  const auto near = [](double x, double y) { return x - y < 1e-12 && y - x < 1e-12; };
  double weights = 0;
  double embedded = 0;
  for (std::size_t i = 0; i < S; ++i) {
    double row = 0;
    for (std::size_t j = 0; j < S; ++j) row += tableau.a[i][j];
    if (!near(row, tableau.c[i])) return false;
    weights += tableau.b[i];
    embedded += tableau.b_hat[i];
  }
  return near(weights, 1) && (tableau.embedded_order == 0 || near(embedded, 1));
}

/// Whether no stage depends on a later one.
template <std::size_t S>
constexpr bool diagonally_implicit(const Tableau<S>& tableau) {
  for (std::size_t i = 0; i < S; ++i) {
    for (std::size_t j = i + 1; j < S; ++j) {
      if (tableau.a[i][j] != 0) return false;
    }
  }
  return true;
}

/// Whether the last stage value is y⁺: what makes a method fit for stiff and algebraic equations.
template <std::size_t S>
constexpr bool stiffly_accurate(const Tableau<S>& tableau) {
  for (std::size_t j = 0; j < S; ++j) {
    if (tableau.a[S - 1][j] != tableau.b[j]) return false;
  }
  return true;
}

namespace tableaux {

inline constexpr Tableau<1> backward_euler{
    .name = "backward Euler", .a = {{{1}}}, .b = {1}, .c = {1}, .order = 1};

inline constexpr Tableau<1> implicit_midpoint{
    .name = "implicit midpoint", .a = {{{0.5}}}, .b = {1}, .c = {0.5}, .order = 2};

/// y⁺ = y + h ((1-θ) f(t, y) + θ f(t⁺, y⁺)), θ > 0. A method with a θ of your own:
///
/// @code
///   inline constexpr auto mostly_implicit = costate::tableaux::theta(0.55);
///   using MostlyImplicit = costate::DiagonallyImplicit<mostly_implicit>;
/// @endcode
constexpr Tableau<2> theta(double value) {
  return {.name = value == 0.5 ? "Crank-Nicolson" : "theta method",
          .a = {{{0, 0}, {1 - value, value}}},
          .b = {1 - value, value},
          .c = {0, 1},
          .order = value == 0.5 ? 2 : 1};
}
inline constexpr Tableau<2> crank_nicolson = theta(0.5);

/// R. Alexander, SIAM J. Numer. Anal. 14 (1977) 1006-1021: two stages, L-stable, γ = 1 - 1/√2.
inline constexpr double alexander_gamma = 0.29289321881345247560;
inline constexpr Tableau<2> sdirk2{
    .name = "SDIRK2",
    .a = {{{alexander_gamma, 0}, {1 - alexander_gamma, alexander_gamma}}},
    .b = {1 - alexander_gamma, alexander_gamma},
    .c = {alexander_gamma, 1},
    .order = 2};

/// E. Hairer, G. Wanner, Solving Ordinary Differential Equations II (1996), table IV.6.5: L-stable,
/// all stages implicit, fit for algebraic equations.
inline constexpr Tableau<5> sdirk_43{.name = "SDIRK 4(3)",
                                     .a = {{{1. / 4},
                                            {1. / 2, 1. / 4},
                                            {17. / 50, -1. / 25, 1. / 4},
                                            {371. / 1360, -137. / 2720, 15. / 544, 1. / 4},
                                            {25. / 24, -49. / 48, 125. / 16, -85. / 12, 1. / 4}}},
                                     .b = {25. / 24, -49. / 48, 125. / 16, -85. / 12, 1. / 4},
                                     .c = {1. / 4, 3. / 4, 11. / 20, 1. / 2, 1},
                                     .b_hat = {59. / 48, -17. / 96, 225. / 32, -85. / 12, 0},
                                     .order = 4,
                                     .embedded_order = 3};

/// The implicit part of ARK3(2)4L[2]SA: C. A. Kennedy, M. H. Carpenter, Appl. Numer. Math. 44
/// (2003) 139-181, appendix. L-stable, stage order 2, first stage explicit.
inline constexpr double esdirk_32_gamma = 1767732205903. / 4055673282236;
inline constexpr Tableau<4> esdirk_32{
    .name = "ESDIRK 3(2)",
    .a = {{{},
           {esdirk_32_gamma, esdirk_32_gamma},
           {2746238789719. / 10658868560708, -640167445237. / 6845629431997, esdirk_32_gamma},
           {1471266399579. / 7840856788654, -4482444167858. / 7529755066697,
            11266239266428. / 11593286722821, esdirk_32_gamma}}},
    .b = {1471266399579. / 7840856788654, -4482444167858. / 7529755066697,
          11266239266428. / 11593286722821, esdirk_32_gamma},
    .c = {0, 2 * esdirk_32_gamma, 3. / 5, 1},
    .b_hat = {2756255671327. / 12835298489170, -10771552573575. / 22201958757719,
              9247589265047. / 10645013368117, 2193209047091. / 5459859503100},
    .order = 3,
    .embedded_order = 2};

/// The implicit part of ARK4(3)6L[2]SA, same source. L-stable, stage order 2, first stage explicit.
inline constexpr Tableau<6> esdirk_43{
    .name = "ESDIRK 4(3)",
    .a = {{{},
           {1. / 4, 1. / 4},
           {8611. / 62500, -1743. / 31250, 1. / 4},
           {5012029. / 34652500, -654441. / 2922500, 174375. / 388108, 1. / 4},
           {15267082809. / 155376265600, -71443401. / 120774400, 730878875. / 902184768,
            2285395. / 8070912, 1. / 4},
           {82889. / 524892, 0, 15625. / 83664, 69875. / 102672, -2260. / 8211, 1. / 4}}},
    .b = {82889. / 524892, 0, 15625. / 83664, 69875. / 102672, -2260. / 8211, 1. / 4},
    .c = {0, 1. / 2, 83. / 250, 31. / 50, 17. / 20, 1},
    .b_hat = {4586570599. / 29645900160, 0, 178811875. / 945068544, 814220225. / 1159782912,
              -3700637. / 11593932, 61727. / 225920},
    .order = 4,
    .embedded_order = 3};

/// Gauss, two stages: order 4, A-stable, symplectic.
inline constexpr double sqrt3 = 1.73205080756887729353;
inline constexpr Tableau<2> gauss_4{
    .name = "Gauss 4",
    .a = {{{1. / 4, 1. / 4 - sqrt3 / 6}, {1. / 4 + sqrt3 / 6, 1. / 4}}},
    .b = {1. / 2, 1. / 2},
    .c = {1. / 2 - sqrt3 / 6, 1. / 2 + sqrt3 / 6},
    .order = 4};

/// Radau IIA, two stages: order 3, L-stable.
inline constexpr Tableau<2> radau_3{.name = "Radau IIA 3",
                                    .a = {{{5. / 12, -1. / 12}, {3. / 4, 1. / 4}}},
                                    .b = {3. / 4, 1. / 4},
                                    .c = {1. / 3, 1},
                                    .order = 3};

/// Radau IIA, three stages: order 5, L-stable. Hairer & Wanner (1996), table IV.5.6.
inline constexpr double sqrt6 = 2.44948974278317809820;
inline constexpr Tableau<3> radau_5{
    .name = "Radau IIA 5",
    .a = {{{(88 - 7 * sqrt6) / 360, (296 - 169 * sqrt6) / 1800, (-2 + 3 * sqrt6) / 225},
           {(296 + 169 * sqrt6) / 1800, (88 + 7 * sqrt6) / 360, (-2 - 3 * sqrt6) / 225},
           {(16 - sqrt6) / 36, (16 + sqrt6) / 36, 1. / 9}}},
    .b = {(16 - sqrt6) / 36, (16 + sqrt6) / 36, 1. / 9},
    .c = {(4 - sqrt6) / 10, (4 + sqrt6) / 10, 1},
    .order = 5};

}  // namespace tableaux

}  // namespace costate
