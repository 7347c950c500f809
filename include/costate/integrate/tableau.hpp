#pragma once

#include <array>
#include <cstddef>

/// @file
/// Butcher tableaux of explicit Runge-Kutta methods, as constants that kernels are unrolled from:
/// zero coefficients cost nothing.
///
///     Y_i = y + h sum_{j<i} a_ij K_j,   K_i = f(t + c_i h, Y_i),   y⁺ = y + h sum_i b_i K_i
///
/// A user's own method is one more constexpr object at namespace scope:
///
/// @code
///   inline constexpr costate::Tableau<2> ralston{
///       .name = "Ralston", .a = {{{}, {2. / 3}}}, .b = {1. / 4, 3. / 4}, .c = {0, 2. / 3}, .order
///       = 2};
///   using Ralston = costate::ExplicitRungeKutta<ralston>;
/// @endcode

namespace costate {

/// The coefficients of an explicit Runge-Kutta method with S stages.
template <std::size_t S>
struct Tableau {
  static constexpr std::size_t stages = S;
  const char* name;
  std::array<std::array<double, S>, S> a;  ///< strictly lower triangular
  std::array<double, S> b;                 ///< weights of the solution
  std::array<double, S> c;                 ///< stage times, c_i = sum_j a_ij
  std::array<double, S> b_hat = {};        ///< weights of the embedded solution, if there is one
  int order = 1;                           ///< of the solution
  int embedded_order = 0;                  ///< of the embedded solution; 0: none, no adaptive steps
  std::array<double, S> b_low = {};  ///< weights of a second one, of lower order; see error_order
  int low_order = 0;                 ///< its order; 0: none
};

/// The order in h of the error estimate of a step. With e and e_low the estimates by the two
/// embedded solutions, the estimate is e² / sqrt(e² + e_low² / 100), which is of higher order than
/// either (E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, 1993,
/// eq. II.10.17); without a second one it is e. 0: there is none.
template <std::size_t S>
constexpr int error_order(const Tableau<S>& tableau) {
  const int order = tableau.order < tableau.embedded_order ? tableau.order : tableau.embedded_order;
  if (tableau.embedded_order == 0) return 0;
  return tableau.low_order == 0 ? order + 1 : 2 * (order + 1) - (tableau.low_order + 1);
}

/// Whether the coefficients can be a method at all: `a` strictly lower triangular with row sums c,
/// c_1 = 0, and weights that sum to 1 (each to 1e-12). Checked at compile time for every tableau
/// that is used.
template <std::size_t S>
constexpr bool consistent(const Tableau<S>& tableau) {
  const auto near = [](double x, double y) { return x - y < 1e-12 && y - x < 1e-12; };
  double weights = 0;
  double embedded = 0;
  double low = 0;
  for (std::size_t i = 0; i < S; ++i) {
    double row = 0;
    for (std::size_t j = 0; j < S; ++j) {
      if (j >= i && tableau.a[i][j] != 0) return false;
      row += tableau.a[i][j];
    }
    if (!near(row, tableau.c[i])) return false;
    weights += tableau.b[i];
    embedded += tableau.b_hat[i];
    low += tableau.b_low[i];
  }
  return near(weights, 1) && (tableau.embedded_order == 0 || near(embedded, 1)) &&
         (tableau.low_order == 0 || (tableau.embedded_order > 0 && near(low, 1)));
}

/// Whether the last stage is f(t + h, y⁺) ("first same as last"): its slope is the first one of the
/// next step, so that the stage for the error estimate is free if the step is accepted.
template <std::size_t S>
constexpr bool first_same_as_last(const Tableau<S>& tableau) {
  for (std::size_t j = 0; j < S; ++j) {
    if (tableau.a[S - 1][j] != tableau.b[j]) return false;
  }
  return tableau.c[S - 1] == 1;
}

/// The number of leading stages that y⁺ depends on: those up to the last nonzero weight.
template <std::size_t S>
constexpr std::size_t solution_stages(const Tableau<S>& tableau) {
  std::size_t last = S;
  while (last > 1 && tableau.b[last - 1] == 0) --last;
  return last;
}

namespace tableaux {

inline constexpr Tableau<1> euler{.name = "Euler", .a = {}, .b = {1}, .c = {0}, .order = 1};

/// Explicit trapezoidal rule; Euler embedded.
inline constexpr Tableau<2> heun{.name = "Heun",
                                 .a = {{{}, {1}}},
                                 .b = {0.5, 0.5},
                                 .c = {0, 1},
                                 .b_hat = {1, 0},
                                 .order = 2,
                                 .embedded_order = 1};

/// Explicit midpoint rule (Runge 1895); Euler embedded.
inline constexpr Tableau<2> midpoint{.name = "Midpoint",
                                     .a = {{{}, {0.5}}},
                                     .b = {0, 1},
                                     .c = {0, 0.5},
                                     .b_hat = {1, 0},
                                     .order = 2,
                                     .embedded_order = 1};

/// Third order, strong-stability preserving. C.-W. Shu, S. Osher, J. Comput. Phys. 77 (1988)
/// 439-471, eq. 2.18; Heun embedded.
inline constexpr Tableau<3> ssprk3{.name = "SSPRK3",
                                   .a = {{{}, {1}, {0.25, 0.25}}},
                                   .b = {1. / 6, 1. / 6, 2. / 3},
                                   .c = {0, 1, 0.5},
                                   .b_hat = {0.5, 0.5, 0},
                                   .order = 3,
                                   .embedded_order = 2};

/// P. Bogacki, L. F. Shampine, Appl. Math. Lett. 2 (1989) 321-325.
inline constexpr Tableau<4> bogacki_shampine_32{
    .name = "Bogacki-Shampine 3(2)",
    .a = {{{}, {0.5}, {0, 0.75}, {2. / 9, 1. / 3, 4. / 9}}},
    .b = {2. / 9, 1. / 3, 4. / 9, 0},
    .c = {0, 0.5, 0.75, 1},
    .b_hat = {7. / 24, 1. / 4, 1. / 3, 1. / 8},
    .order = 3,
    .embedded_order = 2};

/// The classical method (Kutta 1901).
inline constexpr Tableau<4> runge_kutta_4{.name = "RK4",
                                          .a = {{{}, {0.5}, {0, 0.5}, {0, 0, 1}}},
                                          .b = {1. / 6, 1. / 3, 1. / 3, 1. / 6},
                                          .c = {0, 0.5, 0.5, 1},
                                          .order = 4};

/// J. R. Dormand, P. J. Prince, J. Comput. Appl. Math. 6 (1980) 19-26, RK5(4)7M.
inline constexpr Tableau<7> dormand_prince_54{
    .name = "Dormand-Prince 5(4)",
    .a = {{{},
           {1. / 5},
           {3. / 40, 9. / 40},
           {44. / 45, -56. / 15, 32. / 9},
           {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
           {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
           {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}}},
    .b = {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84, 0},
    .c = {0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1},
    .b_hat = {5179. / 57600, 0, 7571. / 16695, 393. / 640, -92097. / 339200, 187. / 2100, 1. / 40},
    .order = 5,
    .embedded_order = 4};

/// Ch. Tsitouras, Comput. Math. Appl. 62 (2011) 770-775, table 1.
inline constexpr Tableau<7> tsitouras_54{
    .name = "Tsitouras 5(4)",
    .a = {{{},
           {0.161},
           {-0.008480655492356989, 0.335480655492357},
           {2.8971530571054935, -6.359448489975075, 4.3622954328695815},
           {5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525},
           {5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401,
            -0.028269050394068383},
           {0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
            2.324710524099774}}},
    .b = {0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
          2.324710524099774, 0},
    .c = {0, 0.161, 0.327, 0.9, 0.9800255409045097, 1, 1},
    .b_hat = {0.09646076681806523 - 0.00178001105222577714, 0.01 - 0.0008164344596567469,
              0.4798896504144996 + 0.007880878010261995, 1.379008574103742 - 0.1447110071732629,
              -3.290069515436081 + 0.5823571654525552, 2.324710524099774 - 0.45808210592918697,
              1. / 66},
    .order = 5,
    .embedded_order = 4};

}  // namespace tableaux

}  // namespace costate
