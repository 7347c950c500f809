#include "costate/sundials/windows.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/sundials/vector.hpp"

namespace costate::sundials {

WindowStepper::WindowStepper(std::unique_ptr<WindowSolver> solver, double t0, double t1,
                             Step window_steps, Borders borders, Terminal terminal)
    : solver_(std::move(solver)),
      t1_(t1),
      window_steps_(window_steps),
      borders_(std::move(borders)),
      terminal_(std::move(terminal)),
      times_{t0} {
  if (window_steps < 1) throw InvalidArgument("a window needs at least one step");
  const double sign = t1 < t0 ? -1 : 1;
  double last = t0;
  for (std::size_t i = 0; i < borders_.times.size(); ++i) {
    const double t = borders_.times[i];
    const bool after = i == 0 ? sign * (t - last) >= 0 : sign * (t - last) > 0;
    if (!after || sign * (t1 - t) < 0) {
      throw InvalidArgument("the times of borders must go strictly from t0 to t1: " +
                            std::to_string(t) + " does not");
    }
    last = t;
  }
  if (!borders_.times.empty() && borders_.times.front() == t0 && borders_.jump) {
    throw InvalidArgument("a jump at t0: make it part of y0");
  }
  const auto both = [](bool value, bool gradient, const char* what) {
    if (value != gradient) {
      throw InvalidArgument(std::string(what) + " needs a value and a gradient");
    }
  };
  both(bool(borders_.observe), bool(borders_.observe_gradient), "an observation");
  both(bool(borders_.jump), bool(borders_.jump_adjoint), "a jump");
  both(bool(terminal_.value), bool(terminal_.gradient), "the terminal part");
  restart();
}

void WindowStepper::restart() {
  times_.resize(1);
  steps_ = times_.front() == t1_ ? 0 : unknown;
  sums_ = {};
}

bool WindowStepper::observes_start() const {
  return borders_.observe && !borders_.times.empty() && borders_.times.front() == time(0);
}

double WindowStepper::time(Step k) const {
  return times_[static_cast<std::size_t>(k)];
}

std::size_t WindowStepper::border_at(double t) const {
  const auto& times = borders_.times;
  return static_cast<std::size_t>(std::find(times.begin(), times.end(), t) - times.begin());
}

double WindowStepper::next_stop(double t) const {
  for (const double border : borders_.times) {
    if (t1_ > t ? border > t : border < t) return border;
  }
  return t1_;
}

// What happens to the live state on arrival at t.
void WindowStepper::cross(double t, bool first) {
  const std::size_t i = border_at(t);
  if (i == borders_.times.size()) return;
  if (first && borders_.observe) sums_.observed += borders_.observe(i, t, solver_->state());
  if (borders_.jump) {
    borders_.jump(i, t, solver_->state());
    if (t != t1_) solver_->after_jump(t, next_stop(t));
  }
}

// From the start of window k to its end, before what happens there. Returns the steps it took.
Step WindowStepper::run_window(Step k, bool first, bool recorded) {
  const double start = time(k);
  const double stop = next_stop(start);
  solver_->restart(start, recorded);
  double t = start;
  Step taken = 0;
  // A replay ends where the first pass did, which is found by comparing times bit by bit.
  const double end = first ? stop : time(k + 1);
  do {
    t = solver_->step(stop);
    ++taken;
  } while (t != end && taken < window_steps_);
  if (!first && t != end) {
    throw ReplayError("window " + std::to_string(k) + " ended at t = " + std::to_string(end) +
                          " in the first pass, and not in a replay: a function of the problem is "
                          "not one of its arguments",
                      k, k + 1);
  }
  if (first) {
    times_.push_back(t);
    sums_.integral += solver_->integral();
    sums_.solver_steps += taken;
    if (t == t1_) steps_ = k + 1;
  }
  return taken;
}

// Before the first window: an observation at t0.
void WindowStepper::begin() {
  if (sums_.begun != 0) return;
  sums_.begun = 1;
  if (observes_start()) sums_.observed += borders_.observe(0, time(0), solver_->state());
}

Step WindowStepper::advance(Step from, Step to, Pass pass) {
  const bool first = pass == Pass::first;
  if (first) begin();
  for (Step k = from; k < to; ++k) {
    if (k == steps_) return k;
    run_window(k, first, false);
    cross(time(k + 1), first);
  }
  return to;
}

void WindowStepper::turn(Step n) {
  begin();
  if (n != steps_) throw ScheduleError("WindowStepper: turned at " + std::to_string(n), n);
  N_VConst(0, solver_->adjoint());
  std::ranges::fill(solver_->parameter_gradient(), 0.);
  if (terminal_.value) {
    sums_.terminal = terminal_.value(solver_->state());
    terminal_.gradient(solver_->state(), solver_->adjoint(), solver_->parameter_gradient());
  }
  if (n == 0) reverse_start();
}

void WindowStepper::reverse_start() {
  if (!observes_start()) return;
  borders_.observe_gradient(0, time(0), solver_->state(), solver_->adjoint(),
                            solver_->parameter_gradient());
}

void WindowStepper::reverse(Step k) {
  // The state stays live for the sweep; inside, the solver runs over it.
  start_.resize(solver_->state_bytes());
  solver_->save(start_);
  run_window(k, false, true);
  const double end = time(k + 1);
  const auto p_bar = solver_->parameter_gradient();
  if (const std::size_t i = border_at(end); i < borders_.times.size()) {
    if (borders_.jump) borders_.jump_adjoint(i, end, solver_->state(), solver_->adjoint(), p_bar);
    if (borders_.observe) {
      borders_.observe_gradient(i, end, solver_->state(), solver_->adjoint(), p_bar);
    }
  }
  solver_->reverse(time(k));
  solver_->load(start_);
  if (k == 0) reverse_start();
}

std::size_t WindowStepper::progress_bytes() const {
  return sizeof(Sums) + packed_bytes(solver_->adjoint()) +
         solver_->parameter_gradient().size_bytes();
}

void WindowStepper::save_progress(std::span<std::byte> out) const {
  if (out.size() != progress_bytes()) return Stepper::save_progress(out);
  Sums sums = sums_;
  sums.steps = steps_;
  std::memcpy(out.data(), &sums, sizeof sums);
  const std::size_t bytes = packed_bytes(solver_->adjoint());
  pack(solver_->adjoint(), out.subspan(sizeof sums, bytes));
  const auto p_bar = solver_->parameter_gradient();
  if (!p_bar.empty()) {
    std::memcpy(out.data() + sizeof sums + bytes, p_bar.data(), p_bar.size_bytes());
  }
}

void WindowStepper::load_progress(std::span<const std::byte> in) {
  if (in.size() != progress_bytes()) return Stepper::load_progress(in);
  std::memcpy(&sums_, in.data(), sizeof sums_);
  steps_ = sums_.steps;
  const std::size_t bytes = packed_bytes(solver_->adjoint());
  unpack(solver_->adjoint(), in.subspan(sizeof sums_, bytes));
  const auto p_bar = solver_->parameter_gradient();
  if (!p_bar.empty()) {
    std::memcpy(p_bar.data(), in.data() + sizeof sums_ + bytes, p_bar.size_bytes());
  }
}

void WindowStepper::save_step_log(Step from, Step to, std::span<std::byte> out) const {
  if (from == to) return;
  std::memcpy(out.data(), times_.data() + from + 1,
              static_cast<std::size_t>(to - from) * sizeof(double));
}

void WindowStepper::load_step_log(Step from, Step to, std::span<const std::byte> in) {
  times_.resize(static_cast<std::size_t>(to) + 1);
  if (from == to) return;
  std::memcpy(times_.data() + from + 1, in.data(),
              static_cast<std::size_t>(to - from) * sizeof(double));
}

}  // namespace costate::sundials
