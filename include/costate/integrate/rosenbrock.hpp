#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/integrate/rosenbrock_kernel.hpp"
#include "costate/integrate/step_control.hpp"

/// @file
/// The Rosenbrock methods and how their steps are chosen.

namespace costate {

namespace tableaux {

/// One stage: (I - h/2 J) k = f + h/2 f_t, y⁺ = y + h k. Second order, A-stable.
inline constexpr RosenbrockTableau<1> rosenbrock_2{.name = "Rosenbrock 2",
                                                   .gamma = 0.5,
                                                   .a = {},
                                                   .c = {},
                                                   .m = {2},
                                                   .alpha = {0},
                                                   .gamma_i = {0.5},
                                                   .middle = {1},
                                                   .order = 2};

/// J. Lang, J. Verwer, BIT 41 (2001) 731-738: third order, A-stable, no order reduction for
/// parabolic equations. The middle is that of the parabola with the slope U_1 / (γ h), which is
/// y' + γ h y'' up to O(h²), and the increment y⁺ - y.
inline constexpr double ros3p_gamma = 0.78867513459481288225;  // 1/2 + sqrt(3)/6
inline constexpr double ros3p_root = 1.73205080756887729353;   // sqrt(3)
inline constexpr double ros3p_half = 0.5 + ros3p_root / 4;     // of the increment, in the middle
inline constexpr RosenbrockTableau<3> ros3p{
    .name = "ROS3P",
    .gamma = ros3p_gamma,
    .a = {{{}, {1 / ros3p_gamma}, {1 / ros3p_gamma, 0}}},
    .c = {{{}, {-1 / (ros3p_gamma * ros3p_gamma)}, {-2 * ros3p_root, -ros3p_root}}},
    .m = {2, 1 / ros3p_root, 1 - 1 / ros3p_root},
    .alpha = {0, 1, 1},
    .gamma_i = {ros3p_gamma, ros3p_gamma - 1, 0.5 - 2 * ros3p_gamma},
    .m_hat = {5 - 5 / ros3p_root, 1, 1 - 1 / ros3p_root},
    .middle = {2 * ros3p_half - ros3p_root / (4 * ros3p_gamma), ros3p_half / ros3p_root,
               ros3p_half*(1 - 1 / ros3p_root)},
    .order = 3,
    .embedded_order = 2};

/// y(t + h/2) from y, y⁺ and the two further sums of stages of RODAS's continuous extension,
/// y(t + θ h) = (1-θ) y + θ (y⁺ + (1-θ) (sum d2_i U_i + θ sum d3_i U_i)), third order.
constexpr std::array<double, 6> rodas_middle(const std::array<double, 6>& m) {
  constexpr std::array<double, 6> d2{10.12623508344586,  -7.487995877610167, -34.80091861555747,
                                     -7.992771707568823, 1.025137723295662,  0};
  constexpr std::array<double, 6> d3{-0.6762803392806898, 6.087714651680015,  16.43084320892478,
                                     24.76722511418386,   -6.594389125716872, 0};
  std::array<double, 6> middle{};
  for (std::size_t i = 0; i < 6; ++i) middle[i] = m[i] / 2 + d2[i] / 4 + d3[i] / 8;
  return middle;
}

/// RODAS of Hairer & Wanner (1996), IV.7 and VI.4: fourth order, L-stable, stiffly accurate.
inline constexpr std::array<double, 6> rodas_m{
    1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1, 1};
inline constexpr RosenbrockTableau<6> rodas_43{
    .name = "RODAS 4(3)",
    .gamma = 0.25,
    .a = {{{},
           {1.544},
           {0.9466785280815826, 0.2557011698983284},
           {3.314825187068521, 2.896124015972201, 0.9986419139977817},
           {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950},
           {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1}}},
    .c = {{{},
           {-5.6688},
           {-2.430093356833875, -0.2063599157091915},
           {-0.1073529058151375, -9.594562251023355, -20.47028614809616},
           {7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160},
           {8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136,
            -6.058818238834054}}},
    .m = rodas_m,
    .alpha = {0, 0.386, 0.21, 0.63, 1, 1},
    .gamma_i = {0.25, -0.1043, 0.1035, -0.03620000000000023, 0, 0},
    .m_hat = {1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1, 0},
    .middle = rodas_middle(rodas_m),
    .order = 4,
    .embedded_order = 3};

}  // namespace tableaux

/// A Rosenbrock method; steps are chosen as with `ExplicitRungeKutta`. The problem must be a
/// `RosenbrockProblem`.
///
/// @tparam T  a constexpr `RosenbrockTableau` at namespace scope
template <const auto& T>
struct Rosenbrock {
  static constexpr const auto& tableau = T;

  /// The step and its adjoint for one problem.
  template <class F, class Objective>
  using Kernel = RosenbrockKernel<F, T, Objective>;

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

/// Second order, A-stable, one stage.
using Rosenbrock2 = Rosenbrock<tableaux::rosenbrock_2>;
/// Third order with error estimate, A-stable, for parabolic equations.
using Ros3p = Rosenbrock<tableaux::ros3p>;
/// Fourth order with error estimate, L-stable.
using Rodas43 = Rosenbrock<tableaux::rodas_43>;

}  // namespace costate
