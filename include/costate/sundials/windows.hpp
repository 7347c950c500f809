#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/sundials/context.hpp"
#include "costate/sweep/stepper.hpp"

/// @file
/// Solvers that keep a history and cannot be restarted in the middle of it, such as CVODES and
/// IDAS, run in *windows*: a window is up to so many accepted steps, begun from a state alone. To
/// the sweep a window is a step. States at the starts of windows are kept in memory or on disk, on
/// any schedule; inside a window the solver's own adjoint runs, whose memory is therefore bounded.
///
/// The solver restarts at each start in the first pass too, so that a replay has the same bits.
/// That costs some short steps a window, and it is why windows should not be too short.
///
/// Gradients of a continuous adjoint are accurate to the tolerances, forward and backward, and not
/// beyond: unlike those of costate's own methods they are no derivatives of the computed value.

namespace costate::sundials {

/// What happens at given times, which are ends of windows. Vectors are the solver's; gradients are
/// *added* to `y_bar` and `p_bar`.
struct Borders {
  /// Strictly monotone, from t0 to t1, both allowed.
  std::vector<double> times = {};

  /// The i-th observation's part of the objective, and its gradient. Sees y before the i-th jump.
  std::function<double(std::size_t i, double t, N_Vector y)> observe = {};
  std::function<void(std::size_t i, double t, N_Vector y, N_Vector y_bar, std::span<double> p_bar)>
      observe_gradient = {};

  /// y⁻ → y⁺ in place, not at t0. The adjoint has y⁻, takes ȳ⁺ to ȳ⁻ in place and adds to p_bar.
  std::function<void(std::size_t i, double t, N_Vector y)> jump = {};
  std::function<void(std::size_t i, double t, N_Vector y_before, N_Vector y_bar,
                     std::span<double> p_bar)>
      jump_adjoint = {};
};

/// Φ(y(t1)) and its gradient, which is added.
struct Terminal {
  std::function<double(N_Vector y)> value = {};
  std::function<void(N_Vector y, N_Vector y_bar, std::span<double> p_bar)> gradient = {};
};

/// The solver behind a `WindowStepper`. Owns the live state and the adjoint.
class WindowSolver {
 public:
  virtual ~WindowSolver() = default;

  [[nodiscard]] virtual N_Vector state() const = 0;
  [[nodiscard]] virtual N_Vector adjoint() const = 0;
  [[nodiscard]] virtual std::span<double> parameter_gradient() = 0;

  /// All that a window begins from.
  [[nodiscard]] virtual std::size_t state_bytes() const = 0;
  virtual void save(std::span<std::byte> out) const = 0;
  virtual void load(std::span<const std::byte> in) = 0;

  /// Begins a window at t from the live state; `recorded` if it will be reversed.
  virtual void restart(double t, bool recorded) = 0;
  /// One accepted step, not beyond `stop`; returns the time, which is exactly `stop` if that has
  /// been reached, and makes the state at it live.
  virtual double step(double stop) = 0;
  /// The live state has jumped at t: whatever follows from it is made so.
  virtual void after_jump(double /*t*/, double /*t_next*/) {}
  /// The integral part of the objective over this window.
  virtual double integral() = 0;
  /// Takes the adjoint and the parameter gradient from the end of the recorded window to `t_start`.
  virtual void reverse(double t_start) = 0;

 protected:
  WindowSolver() = default;
  WindowSolver(const WindowSolver&) = default;
  WindowSolver& operator=(const WindowSolver&) = default;
};

/// A run of a `WindowSolver` as a simulation that can be reversed; step k is window k.
class WindowStepper final : public Stepper {
 public:
  /// @param window_steps  the most accepted steps in a window, at least 1
  /// @throws InvalidArgument
  WindowStepper(std::unique_ptr<WindowSolver> solver, double t0, double t1, Step window_steps,
                Borders borders, Terminal terminal);

  /// Forgets the last sweep: the live state is x_0 of the next one.
  void restart();

  Step advance(Step from, Step to, Pass pass) override;
  void turn(Step n) override;
  void reverse(Step k) override;
  [[nodiscard]] std::size_t state_bytes() const override { return solver_->state_bytes(); }
  void save(std::span<std::byte> out) const override { solver_->save(out); }
  void load(std::span<const std::byte> in) override { solver_->load(in); }
  [[nodiscard]] Step steps() const override { return steps_; }
  [[nodiscard]] std::string accuracy() const override {
    return "the tolerances of the solver, forward and backward";
  }
  [[nodiscard]] double time(Step k) const override;
  [[nodiscard]] std::size_t progress_bytes() const override;
  void save_progress(std::span<std::byte> out) const override;
  void load_progress(std::span<const std::byte> in) override;
  [[nodiscard]] std::size_t step_log_bytes() const override { return sizeof(double); }
  void save_step_log(Step from, Step to, std::span<std::byte> out) const override;
  void load_step_log(Step from, Step to, std::span<const std::byte> in) override;

  /// The objective; complete after `turn`.
  [[nodiscard]] double value() const { return sums_.terminal + sums_.observed + sums_.integral; }
  [[nodiscard]] N_Vector state() const { return solver_->state(); }
  /// ∂J/∂y at the start of the window reversed last; of window 0, ∂J/∂y0.
  [[nodiscard]] N_Vector adjoint() const { return solver_->adjoint(); }
  [[nodiscard]] std::span<const double> parameter_gradient() const {
    return solver_->parameter_gradient();
  }
  /// The starts of the windows, and t1.
  [[nodiscard]] const std::vector<double>& window_times() const { return times_; }
  /// Accepted steps of the first pass, all windows together.
  [[nodiscard]] Step solver_steps() const { return sums_.solver_steps; }

 private:
  // What a sweep has accumulated beside the adjoint, as it is saved: no padding.
  struct Sums {
    double integral = 0;
    double observed = 0;
    double terminal = 0;
    Step steps = unknown;
    Step solver_steps = 0;
    std::uint64_t begun = 0;
  };

  [[nodiscard]] bool observes_start() const;
  void begin();
  void reverse_start();
  [[nodiscard]] double next_stop(double t) const;
  [[nodiscard]] std::size_t border_at(double t) const;  // none: borders_.times.size()
  Step run_window(Step k, bool first, bool recorded);
  void cross(double t, bool first);

  std::unique_ptr<WindowSolver> solver_;
  double t1_;
  Step window_steps_;
  Borders borders_;
  Terminal terminal_;
  std::vector<double> times_;
  std::vector<std::byte> start_;  // of the window being reversed
  Step steps_ = unknown;
  Sums sums_;
};

}  // namespace costate::sundials
