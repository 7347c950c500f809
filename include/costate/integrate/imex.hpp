#pragma once

#include <algorithm>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/integrate/imex_kernel.hpp"
#include "costate/integrate/step_control.hpp"
#include "costate/integrate/tableaux_implicit.hpp"

/// @file
/// The IMEX methods and how their steps are chosen.

namespace costate {

namespace tableaux {

/// U. M. Ascher, S. J. Ruuth, R. J. Spiteri, Appl. Numer. Math. 25 (1997) 151-167, section 2.6:
/// (2,2,2), second order, L-stable.
inline constexpr double ars_delta = -0.70710678118654752440;  // 1 - 1 / (2 γ)
inline constexpr ImexTableau<3> ars_222{
    .name = "ARS(2,2,2)",
    .a = {{{}, {0, alexander_gamma}, {0, 1 - alexander_gamma, alexander_gamma}}},
    .b = {0, 1 - alexander_gamma, alexander_gamma},
    .a_explicit = {{{}, {alexander_gamma}, {ars_delta, 1 - ars_delta}}},
    .b_explicit = {ars_delta, 1 - ars_delta, 0},
    .c = {0, alexander_gamma, 1},
    .order = 2};

/// C. A. Kennedy, M. H. Carpenter, Appl. Numer. Math. 44 (2003) 139-181, ARK4(3)6L[2]SA: its
/// implicit part is ESDIRK 4(3).
inline constexpr ImexTableau<6> ark_43{
    .name = "ARK4(3)6L",
    .a = esdirk_43.a,
    .b = esdirk_43.b,
    .a_explicit = {{{},
                    {1. / 2},
                    {13861. / 62500, 6889. / 62500},
                    {-116923316275. / 2393684061468, -2731218467317. / 15368042101831,
                     9408046702089. / 11113171139209},
                    {-451086348788. / 2902428689909, -2682348792572. / 7519795681897,
                     12662868775082. / 11960479115383, 3355817975965. / 11060851509271},
                    {647845179188. / 3216320057751, 73281519250. / 8382639484533,
                     552539513391. / 3454668386233, 3354512671639. / 8306763924573,
                     4040. / 17871}}},
    .b_explicit = esdirk_43.b,
    .c = esdirk_43.c,
    .b_hat = esdirk_43.b_hat,
    .order = 4,
    .embedded_order = 3};

}  // namespace tableaux

/// An IMEX method; steps are chosen as with `ExplicitRungeKutta`. The problem must be made by
/// `split`.
///
/// @tparam T  a constexpr `ImexTableau` at namespace scope
template <const auto& T>
struct Imex {
  static constexpr const auto& tableau = T;

  /// The step and its adjoint for one problem.
  template <class P, class Objective>
  using Kernel = ImexKernel<P, T, Objective>;

  double h = 0;                   ///< step size, > 0 in either direction of time
  Step steps = 0;                 ///< number of equal steps
  double rtol = 0;                ///< relative tolerance per step and component
  double atol = 0;                ///< absolute tolerance per step and component
  std::vector<double> grid = {};  ///< the times, t0 first and t1 last

  // Adaptive steps only:
  double first_step = 0;        ///< size of the first trial step; 0: estimated
  double max_step = 0;          ///< largest step size; 0: the whole interval
  Step max_steps = 10'000'000;  ///< accepted steps before `IntegrationError`
  double safety = 0.9;          ///< of the predicted optimal step
  double min_factor = 0.2;      ///< least change of step size at once
  double max_factor = 10;       ///< largest change of step size at once
  double pi = 0.2;              ///< weight of the last error, in units of 1/(order + 1); 0: none
  double pid = 0;               ///< weight of the change of its change, in the same units; 0: PI

  [[nodiscard]] StepControl control() const {
    return {.method = T.name,
            .error_order = T.embedded_order == 0 ? 0 : std::min(T.order, T.embedded_order) + 1,
            .h = h,
            .steps = steps,
            .rtol = rtol,
            .atol = atol,
            .grid = grid,
            .first_step = first_step,
            .max_step = max_step,
            .max_steps = max_steps,
            .safety = safety,
            .min_factor = min_factor,
            .max_factor = max_factor,
            .pi = pi,
            .pid = pid};
  }
};

/// Second order, L-stable.
using Ars222 = Imex<tableaux::ars_222>;
/// Fourth order with error estimate, L-stable.
using Ark43 = Imex<tableaux::ark_43>;

}  // namespace costate
