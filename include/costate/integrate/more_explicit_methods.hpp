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

/// P. J. Prince, J. R. Dormand, J. Comput. Appl. Math. 7 (1981) 67-75, with the error estimate of
/// orders 5 and 3 of DOP853 (E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential
/// Equations I, 1993, section II.10).
inline constexpr std::array<double, 12> dormand_prince_853_b{5.42937341165687622380535766363e-2,
                                                             0,
                                                             0,
                                                             0,
                                                             0,
                                                             4.45031289275240888144113950566,
                                                             1.89151789931450038304281599044,
                                                             -5.8012039600105847814672114227,
                                                             3.1116436695781989440891606237e-1,
                                                             -1.52160949662516078556178806805e-1,
                                                             2.01365400804030348374776537501e-1,
                                                             4.47106157277725905176885569043e-2};
inline constexpr Tableau<12> dormand_prince_853{
    .name = "Dormand-Prince 8(5,3)",
    .a = {{{},
           {5.26001519587677318785587544488e-2},
           {1.97250569845378994544595329183e-2, 5.91751709536136983633785987549e-2},
           {2.95875854768068491816892993775e-2, 0, 8.87627564304205475450678981324e-2},
           {2.41365134159266685502369798665e-1, 0, -8.84549479328286085344864962717e-1,
            9.24834003261792003115737966543e-1},
           {3.7037037037037037037037037037e-2, 0, 0, 1.70828608729473871279604482173e-1,
            1.25467687566822425016691814123e-1},
           {3.7109375e-2, 0, 0, 1.70252211019544039314978060272e-1,
            6.02165389804559606850219397283e-2, -1.7578125e-2},
           {3.70920001185047927108779319836e-2, 0, 0, 1.70383925712239993810214054705e-1,
            1.07262030446373284651809199168e-1, -1.53194377486244017527936158236e-2,
            8.27378916381402288758473766002e-3},
           {6.24110958716075717114429577812e-1, 0, 0, -3.36089262944694129406857109825,
            -8.68219346841726006818189891453e-1, 2.75920996994467083049415600797e1,
            2.01540675504778934086186788979e1, -4.34898841810699588477366255144e1},
           {4.77662536438264365890433908527e-1, 0, 0, -2.48811461997166764192642586468,
            -5.90290826836842996371446475743e-1, 2.12300514481811942347288949897e1,
            1.52792336328824235832596922938e1, -3.32882109689848629194453265587e1,
            -2.03312017085086261358222928593e-2},
           {-9.3714243008598732571704021658e-1, 0, 0, 5.18637242884406370830023853209,
            1.09143734899672957818500254654, -8.14978701074692612513997267357,
            -1.85200656599969598641566180701e1, 2.27394870993505042818970056734e1,
            2.49360555267965238987089396762, -3.0467644718982195003823669022},
           {2.27331014751653820792359768449, 0, 0, -1.05344954667372501984066689879e1,
            -2.00087205822486249909675718444, -1.79589318631187989172765950534e1,
            2.79488845294199600508499808837e1, -2.85899827713502369474065508674,
            -8.87285693353062954433549289258, 1.23605671757943030647266201528e1,
            6.43392746015763530355970484046e-1}}},
    .b = dormand_prince_853_b,
    .c = {0, 5.26001519587677318785587544488e-2, 7.89002279381515978178381316732e-2,
          1.1835034190722739672675719751e-1, 2.81649658092772603273242802490e-1, 1. / 3, 0.25,
          4. / 13, 127. / 195, 0.6, 6. / 7, 1},
    .b_hat = {dormand_prince_853_b[0] - 0.1312004499419488073250102996e-1, 0, 0, 0, 0,
              dormand_prince_853_b[5] + 0.1225156446376204440720569753e1,
              dormand_prince_853_b[6] + 0.4957589496572501915214079952,
              dormand_prince_853_b[7] - 0.1664377182454986536961530415e1,
              dormand_prince_853_b[8] + 0.3503288487499736816886487290,
              dormand_prince_853_b[9] - 0.3341791187130174790297318841,
              dormand_prince_853_b[10] - 0.8192320648511571246570742613e-1,
              dormand_prince_853_b[11] + 0.2235530786388629525884427845e-1},
    .order = 8,
    .embedded_order = 5,
    .b_low = {31. / 127, 0, 0, 0, 0, 0, 0, 0, 0.733846688281611857341361741547, 0, 0,
              0.220588235294117647058823529412e-1},
    .low_order = 3};

}  // namespace tableaux

using Ssprk43 = ExplicitRungeKutta<tableaux::ssprk_43>;
using CarpenterKennedy4 = ExplicitRungeKutta<tableaux::carpenter_kennedy_4>;
using Verner65 = ExplicitRungeKutta<tableaux::verner_65>;
using DormandPrince853 = ExplicitRungeKutta<tableaux::dormand_prince_853>;
using Dop853 = DormandPrince853;

}  // namespace costate
