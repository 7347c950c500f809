#pragma once

#include <span>
#include <string>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/integrate/time_grid.hpp"

/// @file
/// How the steps of a run are chosen: a fixed grid, or a controller that keeps the error estimate
/// near the tolerance.

namespace costate {

/// The step-size options of a method, in one non-template type. See `ExplicitRungeKutta`.
struct StepControl {
  std::string method;
  int error_order;  ///< order of the error estimate per step; 0: none
  double h;
  Step steps;
  double rtol;
  double atol;
  std::vector<double> grid;
  double first_step;
  double max_step;
  Step max_steps;
  double safety;
  double min_factor;
  double max_factor;
  double pi;
  double pid;

  [[nodiscard]] bool adaptive() const noexcept { return rtol > 0 || atol > 0; }
};

/// Checks that exactly one way of choosing the steps is given, that its numbers make sense, and
/// that `stops` lie between t0 and t1.
/// @throws InvalidArgument that says what to change
void check(const StepControl& control, double t0, double t1, std::span<const double> stops);

/// The grid of a method that is not adaptive, with the stops on it.
/// @throws InvalidArgument if a listed grid does not go from t0 to t1 or misses a stop
TimeGrid fixed_grid(const StepControl& control, double t0, double t1,
                    std::span<const double> stops);

/// Proposes trial steps and judges them. Used on the first pass only: a replay takes the recorded
/// steps. PI control as in E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential
/// Equations I (2nd ed., 1993), section II.4 and the program DOPRI5, or PID control (G. Söderlind,
/// ACM Trans. Math. Softw. 29 (2003) 1-26, eq. 30): after a step with the scaled error e, accepted
/// if e <= 1,
///
///     h ← h min(max_factor, max(min_factor, safety e^(0.75 β - 1/k) e_last^β D^-δ)),
///     D = e e_before_last / e_last²,   β = pi / k,   δ = pid / k
///
/// with k the order of the error estimate; D is 1 in the first two steps. After a rejection the
/// step does not grow, e_last is not used, and a NaN counts as an infinite error. All comparisons
/// are of magnitudes, so both directions of time take the same steps.
class StepController {
 public:
  /// @param stops  times to land on exactly, besides t1
  StepController(const StepControl& control, double t0, double t1, std::span<const double> stops);

  /// The first trial step size, positive.
  void start(double h) noexcept;

  /// The next trial step from time t, where index k is.
  /// @throws IntegrationError if t + h == t or the number of steps is exhausted; tells how the
  ///         trials before have failed
  [[nodiscard]] Interval trial(Step k, double t);

  /// Judges the trial by its scaled error; true if accepted.
  bool accept(double error) noexcept;

  /// All that the next trial depends on, to go on later or elsewhere.
  struct Memory {
    double h = 0;              ///< proposed size, positive
    double last_error = 1e-4;  ///< of the last accepted step
    double before_last = 1;    ///< of the accepted step before it
    Step accepted = 0;
    Step rejected = 0;
    Step after_rejection = 0;  ///< 1: the last trial was rejected
  };
  [[nodiscard]] const Memory& memory() const noexcept { return memory_; }
  void restore(const Memory& memory) noexcept { memory_ = memory; }

  [[nodiscard]] double t1() const noexcept { return stops_.back(); }
  [[nodiscard]] Step rejected() const noexcept { return memory_.rejected; }

 private:
  StepControl control_;
  std::vector<double> stops_;  // in the order of time, t1 last
  std::size_t next_ = 0;       // the first stop ahead
  double sign_;
  double length_;
  [[nodiscard]] std::string told() const;

  Memory memory_;
  double tried_ = 0;      // size of the last trial
  bool clipped_ = false;  // the trial was shortened to land on a stop
  double error_ = 0;      // of the last trial, for messages
  Step in_a_row_ = 0;     // trials rejected since the last one that was accepted, for messages
};

/// Estimating the first step size, Hairer, Nørsett & Wanner, section II.4 (algorithm on p. 169):
/// size of an explicit Euler step at whose end f is evaluated once more. Zero norms and what is not
/// finite are guarded; the result is in (0, limit].
/// @param d0, d1  scaled norms of y_0 and of f(t_0, y_0)
double initial_probe(double d0, double d1, double limit);

/// The first step size, in (0, limit].
/// @param h0     what `initial_probe` gave
/// @param d2     scaled norm of f(t_0 + h0, y_0 + h0 f) - f(t_0, y_0), divided by h0
/// @param order  of the error estimate
double initial_step(double h0, double d1, double d2, int order, double limit);

}  // namespace costate
