#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/integrate/step_control.hpp"
#include "costate/ode/objective.hpp"
#include "costate/ode/ode_stepper.hpp"
#include "costate/ode/run.hpp"
#include "costate/ode/value_and_gradient.hpp"
#include "costate/sweep/run.hpp"

/// @file
/// The solver door for runs that outlive their process:
///
/// @code
///   auto result = costate::value_and_gradient_or_resume(
///       problem, costate::Dopri5{.rtol = 1e-8, .atol = 1e-10}, objective, run,
///       {.store = costate::run_directory({.directory = "run-17"}),
///        .identity = "reactor, 3 species",
///        .stop_when = [] { return asked_to_stop.load(); }});
///   if (!result.finished) return 75;  // come back later
///   result.gradient->value;
/// @endcode

namespace costate {

/// Where a run lives and when it pauses; as in `RunOptions`.
struct ResumeOptions {
  RunSpec store;         ///< `costate::run_directory({.directory = ...})`
  std::string identity;  ///< of problem and objective. The method with its options, the times, y0
                         ///< and p are added to it: a directory of another run is refused
  double safety_every = 60;              ///< seconds between two records
  std::function<bool()> stop_when = {};  ///< asked between steps, often
};

/// How the call went, and the gradient, if it is finished.
template <RealVector State, RealVector Parameters>
struct ResumableGradient : RunResult {
  std::optional<Gradient<State, Parameters>> gradient;  ///< there if `finished`
};

/// What tells one run from another: the method, its options, times, start and parameters.
[[nodiscard]] std::string run_identity(const StepControl& control, const std::string& options,
                                       double t0, double t1, std::span<const double> observed,
                                       std::span<const std::byte> y0, std::span<const std::byte> p);

/// The same gradient as of `value_and_gradient`, bit for bit, in as many processes as it takes. The
/// first call begins the run, later ones go on with it, and when it is finished they return its
/// result at once. Of `run`, the budget's memory and disk costs, guard, expected steps and progress
/// are used; the disk is the store's.
///
/// @throws InvalidArgument if `run` names a disk or a schedule besides
/// @throws StorageError    if the directory belongs to another run, version or process, or cannot
///                         be used; the cause gone, the run can go on
/// @throws as `value_and_gradient`
template <Problem F, class Method, class O>
ResumableGradient<typename F::State, typename F::Parameters> value_and_gradient_or_resume(
    const F& problem, const Method& method, const O& objective, const RunOf<F>& run,
    const ResumeOptions& options) {
  if (run.budget.disk) {
    throw InvalidArgument("the budget names a disk, but this run is kept in its directory");
  }
  if (run.schedule) throw InvalidArgument("a run that can be resumed plans its own schedule");
  OdeStepper<F, Method, O> stepper(problem, method, objective, run.t0, run.t1, run.y0, run.p);
  std::string method_options;
  if constexpr (requires { method.options(); }) method_options = method.options();
  const auto bytes = [](const auto& v) {
    return std::as_bytes(std::span(v.data(), static_cast<std::size_t>(v.size())));
  };
  const RunOptions running{
      .store = options.store,
      .identity = options.identity + "; " +
                  run_identity(method.control(), method_options, run.t0, run.t1,
                               stepper.observation_times(), bytes(run.y0), bytes(run.p)),
      .memory = run.budget.memory,
      .disk_costs = run.budget.disk_costs,
      .guard = run.guard,
      .safety_every = options.safety_every,
      .stop_when = options.stop_when,
      .expected_steps = run.expected_steps,
      .progress = run.progress,
      .progress_interval = run.progress_interval};
  ResumableGradient<typename F::State, typename F::Parameters> out{run_or_resume(stepper, running),
                                                                   std::nullopt};
  if (!out.finished) return out;
  if (!std::isfinite(stepper.value()) || !stepper.adjoint().allFinite() ||
      !stepper.parameter_gradient().allFinite()) {
    find_not_finite(problem, method, objective, run);
  }
  out.gradient.emplace(
      Gradient<typename F::State, typename F::Parameters>{.value = stepper.value(),
                                                          .dy0 = stepper.adjoint(),
                                                          .dp = stepper.parameter_gradient(),
                                                          .grid = stepper.grid(),
                                                          .rejected = stepper.rejected(),
                                                          .report = out.report});
  return out;
}

}  // namespace costate
