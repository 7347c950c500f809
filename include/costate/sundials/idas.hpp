#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <idas/idas.h>

#include "costate/sundials/windows.hpp"

/// @file
/// IDAS in windows: F(t, y, y') = 0 and its continuous adjoint, with the user's functions, solvers
/// and vectors as they are, and a bound on the memory.

namespace costate::sundials {

/// A program of IDAS' adjoint, in the pieces that its users have already. The residual is of the
/// form y_d' - f(t, y, p) in its differential equations, and of index 1; so ∂J/∂y_d is the
/// adjoint λ_d, and the other entries of the adjoint are zero at the starts of windows.
/// Observations, jumps and the terminal part act on differential entries; `InvalidArgument` if
/// their gradients write to others.
struct IdasProblem {
  SUNContext context = nullptr;
  N_Vector y0 = nullptr;            ///< consistent; of any kind that can be packed; cloned
  N_Vector yp0 = nullptr;           ///< y'(t0)
  N_Vector differential = nullptr;  ///< 1 where y' occurs, 0 else (as in `IDASetId`); null: all
  void* user_data = nullptr;
  IDAResFn residual = nullptr;
  double rtol = 1e-6;
  double atol = 1e-9;
  IDAQuadRhsFn integrand = nullptr;  ///< g of ∫ g dt, into a vector of one entry
  /// Attaches what the solver needs besides (`IDASetLinearSolver` …). Called once; what it attaches
  /// must outlive the stepper.
  std::function<void(void* idas)> configure = {};

  IDAResFnB adjoint_residual = nullptr;   ///< (F_y'ᵀ λ)' - F_yᵀ λ + g_yᵀ
  void* adjoint_user_data = nullptr;      ///< of the backward functions; null: `user_data`
  IDAQuadRhsFnB parameter_rhs = nullptr;  ///< q' = F_pᵀ λ - g_pᵀ, so that q(t0) = dJ/dp
  std::size_t parameters = 0;             ///< entries of q
  double adjoint_rtol = 0;                ///< 0: as `rtol`
  double adjoint_atol = 0;                ///< 0: as `atol`
  int interpolation = IDA_HERMITE;        ///< or IDA_POLYNOMIAL
  /// As `configure`, for the backward problem (`IDASetLinearSolverB` …). Called once.
  std::function<void(void* idas, int which)> configure_adjoint = {};
};

/// IDAS behind a `WindowStepper`, with room to record `window_steps` steps. Consistent values of
/// the adjoint are computed at the end of each window, and of y' and the algebraic entries after
/// each jump.
/// @throws InvalidArgument if a function is missing
/// @throws SundialsError   if IDAS refuses something
std::unique_ptr<WindowSolver> idas_solver(const IdasProblem& problem, double t0, Step window_steps);

}  // namespace costate::sundials
