#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/integrate/time_grid.hpp"
#include "costate/schedule/schedule.hpp"
#include "costate/sweep/budget.hpp"
#include "costate/sweep/progress.hpp"
#include "costate/sweep/report.hpp"
#include "costate/sweep/sweep.hpp"

namespace costate {

/// From where to where, with which parameters, and what the run may use.
template <RealVector State, RealVector Parameters>
struct Run {
  double t0 = 0;
  double t1 = 0;  ///< may lie before t0
  State y0 = {};
  Parameters p = {};

  Budget budget = {};                        ///< of checkpoint memory and disk
  ReplayGuard guard = ReplayGuard::sampled;  ///< how replays are compared with the first pass
  ProgressFunction progress = {};            ///< called now and then, in both sweeps
  double progress_interval = 0.5;            ///< seconds between two calls, about
  std::optional<Schedule> schedule = std::nullopt;  ///< instead of the one chosen by the driver
  bool tapes = true;              ///< keep stage values of implicit methods where that spares steps
  Step expected_steps = unknown;  ///< a guess for adaptive steps: `report.steps` of the last call

  [[nodiscard]] SweepOptions sweep_options() const {
    return {.budget = budget,
            .guard = guard,
            .progress = progress,
            .progress_interval = progress_interval,
            .schedule = schedule,
            .tapes = tapes,
            .expected_steps = expected_steps};
  }
};

/// The value of an objective and how it came about.
template <RealVector State, RealVector Parameters>
struct Value {
  double value = 0;
  State y1 = {};      ///< y(t1)
  TimeGrid grid;      ///< the accepted steps
  Step rejected = 0;  ///< trial steps that were not accepted
};

/// The value and the gradient. `times()` as the `.grid` of the method repeats the run on the same
/// steps, with the same bits.
template <RealVector State, RealVector Parameters>
struct Gradient {
  double value = 0;
  State dy0 = {};      ///< ∂J/∂y0, parameters fixed
  Parameters dp = {};  ///< ∂J/∂p, y0 fixed
  TimeGrid grid;       ///< the accepted steps
  Step rejected = 0;   ///< trial steps that were not accepted
  Report report = {};  ///< counts, bytes and seconds

  [[nodiscard]] std::vector<double> times() const { return grid.times(); }
};

/// The method, with its options, on exactly these times.
template <class Method>
Method on_grid(Method method, std::vector<double> times) {
  method.h = 0;
  method.steps = 0;
  if constexpr (requires { method.rtol; }) method.rtol = method.atol = 0;
  method.grid = std::move(times);
  return method;
}

/// The types that belong to a problem's type.
template <Problem F>
using RunOf = Run<typename F::State, typename F::Parameters>;
template <Problem F>
using ValueOf = Value<typename F::State, typename F::Parameters>;
template <Problem F>
using GradientOf = Gradient<typename F::State, typename F::Parameters>;

}  // namespace costate
