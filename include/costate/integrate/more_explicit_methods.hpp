#pragma once

#include <array>
#include <cstddef>

#include "costate/integrate/explicit_runge_kutta.hpp"
#include "costate/integrate/tableau.hpp"

/// @file
/// Explicit Runge-Kutta methods beyond the everyday ones of explicit_runge_kutta.hpp: high order,
/// strong stability, low storage.

namespace costate {

/// The tableau of a method in Williamson's 2N form,
///
///     dy ← A_i dy + h f(t + c_i h, y),   y ← y + B_i dy,   i = 1 … s,
///
/// J. H. Williamson, J. Comput. Phys. 35 (1980) 48-56: K_j enters dy of stage l >= j with the
/// factor A_{j+1} … A_l, so a_{i+1,j} = sum_{j<=l<=i} B_l A_{j+1} … A_l, and b = a_{s+1}.
///
/// The tableau gives the same steps (up to rounding) as the two-register form. Its kernel keeps the
/// slopes of all stages, since the adjoint needs the stages anyway: what is saved is memory of the
/// checkpoints, not of the step.
template <std::size_t S>
constexpr Tableau<S> from_low_storage(const char* name, const std::array<double, S>& a,
                                      const std::array<double, S>& b, int order) {
  Tableau<S> tableau{.name = name, .a = {}, .b = {}, .c = {}, .order = order};
  for (std::size_t j = 0; j < S; ++j) {
    double factor = 1;
    double sum = 0;
    for (std::size_t l = j; l < S; ++l) {
      if (l > j) factor *= a[l];
      sum += b[l] * factor;
      if (l + 1 < S) {
        tableau.a[l + 1][j] = sum;
        tableau.c[l + 1] += sum;
      } else {
        tableau.b[j] = sum;
      }
    }
  }
  return tableau;
}

namespace tableaux {

/// Third order in four stages, strong-stability preserving up to twice the step of Euler's method.
/// J. F. B. M. Kraaijevanger, BIT 31 (1991) 482-528; R. J. Spiteri, S. J. Ruuth, SIAM J. Numer.
/// Anal. 40 (2002) 469-491. Embedded: S. Conde, I. Fekete, J. N. Shadid, arXiv:1806.08693.
inline constexpr Tableau<4> ssprk_43{.name = "SSPRK(4,3)",
                                     .a = {{{}, {0.5}, {0.5, 0.5}, {1. / 6, 1. / 6, 1. / 6}}},
                                     .b = {1. / 6, 1. / 6, 1. / 6, 0.5},
                                     .c = {0, 0.5, 1, 0.5},
                                     .b_hat = {0.25, 0.25, 0.25, 0.25},
                                     .order = 3,
                                     .embedded_order = 2};

/// Fourth order in five stages, 2N storage. M. H. Carpenter, C. A. Kennedy, Fourth-order 2N-storage
/// Runge-Kutta schemes, NASA TM-109112 (1994), solution 3.
inline constexpr Tableau<5> carpenter_kennedy_4 =
    from_low_storage<5>("Carpenter-Kennedy 4",
                        {0, -567301805773. / 1357537059087., -2404267990393. / 2016746695238.,
                         -3550918686646. / 2091501179385., -1275806237668. / 842570457699.},
                        {1432997174477. / 9575080441755., 5161836677717. / 13612068292357.,
                         1720146321549. / 2090206949498., 3134564353537. / 4481467310338.,
                         2277821191437. / 14882151754819.},
                        4);

/// J. H. Verner, SIAM J. Numer. Anal. 15 (1978) 772-790; the pair of DVERK (T. E. Hull, W. H.
/// Enright, K. R. Jackson, University of Toronto TR 100, 1976). The stage that only the embedded
/// solution reads, the sixth in the paper, is put last.
inline constexpr Tableau<8> verner_65{
    .name = "Verner 6(5)",
    .a = {{{},
           {1. / 6},
           {4. / 75, 16. / 75},
           {5. / 6, -8. / 3, 5. / 2},
           {-165. / 64, 55. / 6, -425. / 64, 85. / 96},
           {-8263. / 15000, 124. / 75, -643. / 680, -81. / 250, 2484. / 10625},
           {3501. / 1720, -300. / 43, 297275. / 52632, -319. / 2322, 24068. / 84065, 3850. / 26703},
           {12. / 5, -8, 4015. / 612, -11. / 36, 88. / 255}}},
    .b = {3. / 40, 0, 875. / 2244, 23. / 72, 264. / 1955, 125. / 11592, 43. / 616, 0},
    .c = {0, 1. / 6, 4. / 15, 2. / 3, 5. / 6, 1. / 15, 1, 1},
    .b_hat = {13. / 160, 0, 2375. / 5984, 5. / 16, 12. / 85, 0, 0, 3. / 44},
    .order = 6,
    .embedded_order = 5};

}  // namespace tableaux

using Ssprk43 = ExplicitRungeKutta<tableaux::ssprk_43>;
using CarpenterKennedy4 = ExplicitRungeKutta<tableaux::carpenter_kennedy_4>;
using Verner65 = ExplicitRungeKutta<tableaux::verner_65>;

}  // namespace costate
