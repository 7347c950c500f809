#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "costate/core/error.hpp"
#include "costate/integrate/make_kernel.hpp"
#include "costate/integrate/one_instance.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/integrate/step_control.hpp"
#include "costate/integrate/time_grid.hpp"
#include "costate/ode/objective.hpp"
#include "costate/ode/observation_list.hpp"
#include "costate/ode/pieces.hpp"
#include "costate/sweep/stepper.hpp"

namespace costate {

/// A problem, a method and an objective as a simulation that can be reversed.
///
/// The state that is saved is y alone, or y and the history of a multistep method. Times and step
/// sizes are a function of the index: given, or chosen and recorded on the first pass (8 bytes a
/// step). A replay takes them from there and never adapts, so the gradient is that of the accepted
/// steps.
///
/// An adaptive run tries the next step as soon as it arrives at an index. If that step is the last
/// one, it stays in front of it and tells its length, so that the step need not be run again.
template <Problem F, class Method, class O>
class OdeStepper final : public Stepper {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  static_assert(
      Objective<O, State, Parameters>,
      "the objective has no part whose functions take this problem's State and Parameters");

  /// @param f, objective  must outlive the stepper
  /// @throws InvalidArgument if the options, times or sizes make no sense
  OdeStepper(const F& f, const Method& method, const O& objective, double t0, double t1,
             const State& y0, const Parameters& p)
      : objective_(objective),
        stops_(stops_of(f, times_of(objective), t0, t1)),
        control_(checked(method.control(), stops_, t0, t1)),
        t0_(t0),
        t1_(t1),
        kernel_(make_kernel(f, method, objective, p, checked(y0, p).size())),
        y_(y0),
        lambda_(y0),
        p_bar_(p),
        observations_(times_of(objective), t0, t1) {
    if (control_.adaptive() && t0 != t1) {
      controller_.emplace(control_, t0, t1, stops_);
      trial_ = y0;
      grid_ = TimeGrid(t0);
    } else {
      grid_ = control_.adaptive() ? TimeGrid(t0) : fixed_grid(control_, t0, t1, stops_);
      steps_ = grid_.steps();
      observations_.bind(grid_);
    }
    if constexpr (requires { kernel_.start(y_); }) kernel_.start(y_);
    if constexpr (requires { kernel_.place(t0, t1); }) kernel_.place(t0, t1);
  }

  // ----- Stepper -----

  Step advance(Step from, Step to, Pass pass) override { return run(from, to, pass, {}); }

  Step advance_keeping(Step from, Step to, Pass pass, Rows rows) override {
    const Step reached = run(from, to, pass, view(rows));
    if (reached < to) save(rows[reached - from]);
    return reached;
  }

  void turn(Step n) override {
    begin();
    if (n != steps_) throw ScheduleError("OdeStepper: turned at " + std::to_string(n), n);
    lambda_.setZero();
    p_bar_.setZero();
    if constexpr (has_history) kernel_.begin_adjoint();
    if constexpr (HasTerminal<O, State, Parameters>) {
      terminal_value_ = objective_.terminal(y_, parameters());
      objective_.terminal_gradient(y_, parameters(), lambda_, p_bar_);
    }
    to_inject_ = observations_.entries().size();
    inject(n);
    if (watch_) require_finite(n, "the derivative of the objective");
  }

  void reverse(Step k) override { run_back(k, k + 1, {}); }

  void reverse_kept(Step from, Step to, Rows rows) override { run_back(from, to, view(rows)); }

  [[nodiscard]] bool can_step_back() const override { return steps_back; }
  void step_back(Step from, Step to) override {
    if constexpr (steps_back) {
      for (Step end = from; end > to;) {
        const Step k = std::max(to, end - block);
        grid_.fill(k, end, intervals_.data());
        kernel_.step_back(intervals_.data(), end - k, y_);
        end = k;
      }
    } else {
      Stepper::step_back(from, to);
    }
  }

  [[nodiscard]] std::size_t state_bytes() const override {
    if constexpr (has_history) return kernel_.state_bytes();
    return vector_bytes();
  }
  void save(std::span<std::byte> out) const override {
    if constexpr (has_history) {
      kernel_.save(y_, out.data());
    } else {
      std::memcpy(out.data(), y_.data(), state_bytes());
    }
  }
  void load(std::span<const std::byte> in) override {
    if constexpr (has_history) {
      kernel_.load(y_, in.data());
    } else {
      if (in.data() != state_memory().data()) std::memcpy(y_.data(), in.data(), state_bytes());
    }
    slope_known_ = false;
  }
  [[nodiscard]] std::span<std::byte> state_memory() override {
    if constexpr (has_history) return {};
    return {reinterpret_cast<std::byte*>(y_.data()), state_bytes()};
  }
  [[nodiscard]] Step steps() const override { return steps_; }

  // Of methods whose kernels have tapes, on given steps: adaptive ones try the next step before the
  // tape of the last one could be taken.
  [[nodiscard]] std::size_t tape_bytes() const override {
    if constexpr (has_tapes) {
      if (!controller_) return Kernel::tape_states * vector_bytes();
    }
    return 0;
  }
  bool save_tape(Step k, Pass pass, std::span<std::byte> out) override {
    if constexpr (has_tapes) {
      if (controller_) return Stepper::save_tape(k, pass, out);
      const bool first = pass == Pass::first;
      if (first) begin();
      if (k >= steps_) return false;
      slope_known_ = false;
      kernel_.advance_taped(grid_.interval(k), y_, out.data(), first);
      if (first) reached(k + 1);
      return true;
    } else {
      return Stepper::save_tape(k, pass, out);
    }
  }
  void reverse_tape(Step k, std::span<const std::byte> tape) override {
    if constexpr (has_tapes) {
      slope_known_ = false;
      kernel_.reverse_tape(grid_.interval(k), tape.data(), y_, lambda_, p_bar_);
      inject(k);
      if (watch_) require_finite(k, "the adjoint");
    } else {
      Stepper::reverse_tape(k, tape);
    }
  }
  [[nodiscard]] bool tape_has_next() const override {
    if constexpr (has_tapes) return Kernel::tape_has_next;
    return false;
  }
  void load_tape(Step k, std::span<const std::byte> tape) override {
    if constexpr (has_tapes) {
      slope_known_ = false;
      std::memcpy(y_.data(), tape.data() + tape.size() - vector_bytes(), vector_bytes());
    } else {
      Stepper::load_tape(k, tape);
    }
  }

  [[nodiscard]] std::string accuracy() const override {
    if constexpr (requires { Kernel::accuracy; }) return Kernel::accuracy;
    return {};
  }
  [[nodiscard]] double time(Step k) const override { return grid_[k]; }
  [[nodiscard]] std::vector<StateField> fields() const override {
    if constexpr (std::is_same_v<Scalar, double> || std::is_same_v<Scalar, float>) {
      const StateField y{.name = "y",
                         .type = std::is_same_v<Scalar, double> ? StateField::Type::float64
                                                                : StateField::Type::float32,
                         .shape = {static_cast<std::size_t>(y_.size())}};
      if constexpr (requires { Kernel::history_vectors; }) {
        StateField history = y;
        history.name = "history";
        history.shape.insert(history.shape.begin(), Kernel::history_vectors);
        return {y,
                history,
                {.name = "step_sizes",
                 .type = StateField::Type::float64,
                 .shape = {Kernel::history_vectors}}};
      } else if constexpr (has_history) {
        return {{.name = "fixed_point", .type = StateField::Type::int64, .shape = y.shape}};
      } else {
        return {y};
      }
    } else {
      return {};
    }
  }

  // An adaptive step that has been tried but not taken is tried again after an interruption, with
  // the controller as it was before.
  [[nodiscard]] std::size_t progress_bytes() const override {
    return sizeof(Accumulated) + vector_bytes() + parameter_bytes() + kernel_bytes();
  }
  void save_progress(std::span<std::byte> out) const override {
    if (out.size() != progress_bytes()) return Stepper::save_progress(out);
    const bool tried = controller_ && grid_.steps() > reached_;
    Accumulated sums{};
    sums.integral = tried ? before_.integral : kernel_.integral;
    sums.observed_value = observed_value_;
    sums.terminal_value = terminal_value_;
    if (controller_) sums.memory = tried ? before_.memory : controller_->memory();
    sums.steps = steps_;
    sums.reached = reached_;
    sums.observed = observed_;
    sums.to_inject = to_inject_;
    sums.begun = begun_ ? 1 : 0;
    std::byte* to = out.data();
    std::memcpy(to, &sums, sizeof sums);
    std::memcpy(to += sizeof sums, lambda_.data(), vector_bytes());
    std::memcpy(to += vector_bytes(), p_bar_.data(), parameter_bytes());
    if constexpr (accumulates) kernel_.save_progress(to + parameter_bytes());
  }
  void load_progress(std::span<const std::byte> in) override {
    if (in.size() != progress_bytes()) return Stepper::load_progress(in);
    Accumulated sums{};
    const std::byte* from = in.data();
    std::memcpy(&sums, from, sizeof sums);
    kernel_.integral = sums.integral;
    observed_value_ = sums.observed_value;
    terminal_value_ = sums.terminal_value;
    if (controller_) controller_->restore(sums.memory);
    steps_ = sums.steps;
    reached_ = sums.reached;
    observed_ = static_cast<std::size_t>(sums.observed);
    to_inject_ = static_cast<std::size_t>(sums.to_inject);
    begun_ = sums.begun != 0;
    slope_known_ = false;
    std::memcpy(lambda_.data(), from += sizeof sums, vector_bytes());
    std::memcpy(p_bar_.data(), from += vector_bytes(), parameter_bytes());
    if constexpr (accumulates) kernel_.load_progress(from + parameter_bytes());
  }

  // Of an adaptive run, the time at the end of each step.
  [[nodiscard]] std::size_t step_log_bytes() const override {
    return controller_ ? sizeof(double) : 0;
  }
  void save_step_log(Step from, Step to, std::span<std::byte> out) const override {
    for (Step k = from; k < to; ++k) {
      const double t = grid_[k + 1];
      std::memcpy(out.data() + static_cast<std::size_t>(k - from) * sizeof t, &t, sizeof t);
    }
  }
  void load_step_log(Step from, Step to, std::span<const std::byte> in) override {
    if (from == 0) {
      grid_ = TimeGrid(t0_);
      observations_.reach(0, t0_);
    }
    for (Step k = from; k < to; ++k) {
      double t = 0;
      std::memcpy(&t, in.data() + static_cast<std::size_t>(k - from) * sizeof t, sizeof t);
      grid_.push_back(t);
      observations_.reach(k + 1, t);
    }
  }

  // ----- Results -----

  /// The objective; complete after `turn`.
  [[nodiscard]] double value() const {
    return terminal_value_ + observed_value_ + kernel_.integral;
  }
  /// y at the live index.
  [[nodiscard]] const State& state() const { return y_; }
  /// ∂J/∂y at the index the adjoint has reached.
  [[nodiscard]] const State& adjoint() const { return lambda_; }
  /// ∂J/∂p, from the steps reversed so far.
  [[nodiscard]] const Parameters& parameter_gradient() const { return p_bar_; }
  [[nodiscard]] const Parameters& parameters() const { return kernel_.parameters(); }
  /// The times of the accepted steps.
  [[nodiscard]] const TimeGrid& grid() const { return grid_; }
  [[nodiscard]] const ObservationList& observations() const { return observations_; }
  /// The times at which the objective observes, as it gives them.
  [[nodiscard]] std::span<const double> observation_times() const { return times_of(objective_); }
  /// Trial steps that were not accepted.
  [[nodiscard]] Step rejected() const { return controller_ ? controller_->rejected() : 0; }

  /// Checks after each step that state and adjoint are finite: slower, and names the step.
  void watch() { watch_ = true; }

 private:
  using Scalar = typename State::Scalar;
  using Kernel = KernelOf<F, Method, O>;
  using StateRows = typename Kernel::StateRows;
  static constexpr Step block = 64;  // steps for which times are fetched at once
  static constexpr bool steps_back = requires(Kernel & kernel, const Interval* s, State& y) {
    kernel.step_back(s, Step{1}, y);
  };
  // The next step reads more than y: the kernel holds, saves and loads it, and its adjoint.
  static constexpr bool has_history = requires(Kernel & kernel) { kernel.begin_adjoint(); };
  static constexpr bool has_tapes = requires { Kernel::tape_states; };
  // A sweep accumulates more than λ, p̄ and the integral: the kernel holds, saves and loads it.
  static constexpr bool accumulates = requires(Kernel & kernel) { kernel.progress_bytes(); };

  // What a sweep has accumulated beside λ and p̄, as it is saved: no padding.
  struct Accumulated {
    double integral;
    double observed_value;
    double terminal_value;
    StepController::Memory memory;
    Step steps;
    Step reached;
    std::uint64_t observed;
    std::uint64_t to_inject;
    std::uint64_t begun;
  };
  [[nodiscard]] std::size_t vector_bytes() const {
    return static_cast<std::size_t>(y_.size()) * sizeof(Scalar);
  }
  [[nodiscard]] std::size_t kernel_bytes() const {
    if constexpr (accumulates) {
      return kernel_.progress_bytes();
    } else {
      return 0;
    }
  }
  [[nodiscard]] std::size_t parameter_bytes() const {
    return static_cast<std::size_t>(p_bar_.size()) * sizeof(typename Parameters::Scalar);
  }

  static const State& checked(const State& y0, const Parameters& p) {
    if (y0.size() == 0) throw InvalidArgument("the initial state has no entries");
    if (!y0.allFinite()) throw InvalidArgument("the initial state is not finite");
    if (!p.allFinite()) throw InvalidArgument("the parameters are not finite");
    return y0;
  }

  static StepControl checked(StepControl control, std::span<const double> stops, double t0,
                             double t1) {
    check(control, t0, t1, stops);
    return control;
  }

  static std::span<const double> times_of(const O& objective) {
    if constexpr (HasObservations<O, State, Parameters>) {
      return objective.observation_times();
    } else {
      return {};
    }
  }

  static StateRows view(const Rows& rows) {
    return {rows[0].data(), static_cast<std::size_t>(rows[1].data() - rows[0].data())};
  }
  static StateRows from_row(const StateRows& rows, Step i) {
    if (rows.first == nullptr) return rows;
    return {rows.first + static_cast<std::size_t>(i) * rows.stride, rows.stride};
  }

  Step run(Step from, Step to, Pass pass, StateRows rows) {
    const bool first = pass == Pass::first;
    if (first) begin();
    if constexpr (Kernel::estimates_error) {
      if (first && controller_) return choose(from, to, rows);
    }
    slope_known_ = false;
    to = std::min(to, steps_);
    for (Step k = from; k < to;) {
      Step end = std::min(k + (watch_ ? 1 : block), to);
      if (first) end = std::min(end, next_observation());
      grid_.fill(k, end, intervals_.data());
      kernel_.advance(intervals_.data(), end - k, y_, y_, from_row(rows, k - from),
                      {.accumulate = first});
      if (first) reached(end);
      k = end;
    }
    return std::max(from, to);
  }

  // The first pass of an adaptive run.
  Step choose(Step from, Step to, StateRows rows) {
    for (Step k = from; k < to; ++k) {
      if (k == steps_) return k;
      if (rows.first != nullptr) rows.put(k - from, y_);
      if (look_ahead(k)) return k;
      y_ = trial_;
      observations_.reach(k + 1, grid_[k + 1]);
      reached(k + 1);
    }
    look_ahead(to);
    return to;
  }

  // Has step k tried. True if this tells that it is the last one.
  bool look_ahead(Step k) {
    if (k == steps_ || grid_.steps() > k) return false;
    before_ = {kernel_.integral, controller_->memory()};
    try_step(k);
    if (steps_ != unknown || grid_[k + 1] != t1_) return false;
    steps_ = k + 1;
    return true;
  }

  // Tries steps from index k until one is accepted; its end is then in trial_ and its time
  // recorded.
  void try_step(Step k) {
    const double t = grid_[k];
    if (k == 0) {
      double h = control_.first_step;
      if (h == 0) {
        h = kernel_.first_step(t, t1_ - t0_, y_, control_.rtol, control_.atol,
                               control_.error_order);
        slope_known_ = true;
      }
      controller_->start(h);
    }
    for (;;) {
      const Interval s = controller_->trial(k, t);
      kernel_.advance(&s, 1, y_, trial_, {},
                      {.accumulate = true, .slope_known = slope_known_, .keep_slopes = true});
      slope_known_ = true;
      const double error = kernel_.error(s, y_, trial_, control_.rtol, control_.atol);
      if (controller_->accept(error)) {
        grid_.push_back(s.t_next);
        slope_known_ = kernel_.pass_slope_on();
        return;
      }
      kernel_.integral = before_.integral;
    }
  }

  // Before the first step: observations at t0.
  void begin() {
    if (begun_) return;
    begun_ = true;
    if (controller_) observations_.reach(0, t0_);
    reached(0);
  }

  // Index of the next observation of the first pass.
  [[nodiscard]] Step next_observation() const {
    const auto& entries = observations_.entries();
    return observed_ < entries.size() ? entries[observed_].index : steps_;
  }

  // Index k is reached for the first time.
  COSTATE_ONE_INSTANCE void reached(Step k) {
    reached_ = k;
    if constexpr (HasObservations<O, State, Parameters>) {
      const auto& entries = observations_.entries();
      for (; observed_ < entries.size() && entries[observed_].index == k; ++observed_) {
        observed_value_ += objective_.observation(entries[observed_].which, y_, parameters());
      }
    }
    if (watch_ && !y_.allFinite()) {
      throw NonFiniteError("the state is not finite after step " + std::to_string(k - 1) +
                               ", at t = " + std::to_string(grid_[k]),
                           k);
    }
  }

  // The adjoint has arrived at index k, and x is x_k.
  COSTATE_ONE_INSTANCE void inject(Step k) {
    if constexpr (HasObservations<O, State, Parameters>) {
      const auto& entries = observations_.entries();
      for (; to_inject_ > 0 && entries[to_inject_ - 1].index == k; --to_inject_) {
        objective_.observation_gradient(entries[to_inject_ - 1].which, y_, parameters(), lambda_,
                                        p_bar_);
      }
    }
  }

  void run_back(Step from, Step to, StateRows rows) {
    slope_known_ = false;
    for (Step end = to; end > from;) {
      Step k = std::max(from, end - (watch_ ? 1 : block));
      if (to_inject_ > 0) k = std::max(k, observations_.entries()[to_inject_ - 1].index);
      grid_.fill(k, end, intervals_.data());
      kernel_.reverse(intervals_.data(), end - k, y_, from_row(rows, k - from), lambda_, p_bar_);
      if (to_inject_ > 0 && observations_.entries()[to_inject_ - 1].index == k) inject(k);
      if (watch_) require_finite(k, "the adjoint");
      end = k;
    }
  }

  void require_finite(Step k, const std::string& what) const {
    if (lambda_.allFinite() && p_bar_.allFinite()) return;
    throw NonFiniteError(what + " is not finite at index " + std::to_string(k) +
                             ", t = " + std::to_string(grid_[k]) +
                             ": a derivative of the problem or of the objective is not",
                         k);
  }

  const O& objective_;
  std::vector<double> stops_;  // times to place steps on
  StepControl control_;
  double t0_;
  double t1_;
  Kernel kernel_;
  State y_;
  State lambda_;
  Parameters p_bar_;

  TimeGrid grid_;
  Step steps_ = unknown;
  std::optional<StepController> controller_;  // if adaptive
  State trial_;                               // end of the step tried last
  struct {
    double integral = 0;
    StepController::Memory memory;
  } before_;                  // the step tried last
  Step reached_ = 0;          // last index of the first pass
  bool slope_known_ = false;  // the kernel holds the slope at y_
  std::array<Interval, block> intervals_{};

  ObservationList observations_;
  std::size_t observed_ = 0;   // entries observed on the first pass
  std::size_t to_inject_ = 0;  // entries whose gradient the adjoint has not met yet
  bool begun_ = false;
  bool watch_ = false;
  double observed_value_ = 0;
  double terminal_value_ = 0;
};

}  // namespace costate
