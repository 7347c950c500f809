#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <cvodes/cvodes.h>

#include "costate/sundials/windows.hpp"

/// @file
/// CVODES in windows: its integrator and its continuous adjoint, with the user's right-hand sides,
/// linear solvers, preconditioners and vectors as they are, and a bound on the memory.

namespace costate::sundials {

/// A program of CVODES' adjoint, in the pieces that its users have already.
struct CvodesProblem {
  SUNContext context = nullptr;
  N_Vector y0 = nullptr;      ///< of any kind that can be packed; cloned
  void* user_data = nullptr;  ///< of the forward functions
  CVRhsFn rhs = nullptr;
  int method = CV_BDF;
  double rtol = 1e-6;
  double atol = 1e-9;
  CVQuadRhsFn integrand = nullptr;  ///< g of ∫ g dt, into a vector of one entry
  /// Attaches what the solver needs besides (`CVodeSetLinearSolver`, other tolerances …). Called
  /// once; what it attaches must outlive the stepper.
  std::function<void(void* cvodes)> configure = {};

  CVRhsFnB adjoint_rhs = nullptr;     ///< λ' = -(∂f/∂y)ᵀ λ - ∂g/∂y
  void* adjoint_user_data = nullptr;  ///< of the backward functions; null: `user_data`
  CVQuadRhsFnB parameter_rhs = nullptr;  ///< q' = -(∂f/∂p)ᵀ λ - ∂g/∂p, so that q(t0) = dJ/dp
  std::size_t parameters = 0;            ///< entries of q
  int adjoint_method = CV_BDF;
  double adjoint_rtol = 0;         ///< 0: as `rtol`
  double adjoint_atol = 0;         ///< 0: as `atol`
  int interpolation = CV_HERMITE;  ///< or CV_POLYNOMIAL, of half the memory and a worse accuracy
  /// As `configure`, for the backward problem (`CVodeSetLinearSolverB` …). Called once.
  std::function<void(void* cvodes, int which)> configure_adjoint = {};
};

/// CVODES behind a `WindowStepper`, with room to record `window_steps` steps: one or two vectors a
/// step, besides CVODES' own work space.
/// @throws InvalidArgument if a function is missing
/// @throws SundialsError   if CVODES refuses something
std::unique_ptr<WindowSolver> cvodes_solver(const CvodesProblem& problem, double t0,
                                            Step window_steps);

}  // namespace costate::sundials
