#include "costate/integrate/step_control.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "costate/core/error.hpp"

namespace costate {

namespace {

std::string digits(double x) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", x);
  return text.data();
}

[[noreturn]] void refuse(const StepControl& control, const std::string& why) {
  throw InvalidArgument(control.method + ": " + why);
}

}  // namespace

void check(const StepControl& control, double t0, double t1, std::span<const double> stops) {
  if (!std::isfinite(t0) || !std::isfinite(t1)) refuse(control, "t0 and t1 must be finite");
  const bool tolerances = control.rtol != 0 || control.atol != 0;
  const int ways = static_cast<int>(control.h != 0) + static_cast<int>(control.steps != 0) +
                   static_cast<int>(!control.grid.empty()) + static_cast<int>(tolerances);
  if (ways != 1) {
    refuse(control, "give exactly one of .h, .steps, .grid or tolerances (.rtol, .atol), not " +
                        std::to_string(ways));
  }
  if (tolerances) {
    const auto valid = [](double x) { return x >= 0 && std::isfinite(x); };
    if (!valid(control.rtol) || !valid(control.atol)) {
      refuse(control, "tolerances must be finite and not negative");
    }
    if (control.error_order == 0) {
      refuse(control, "has no embedded solution, so no adaptive steps; give .h or .steps");
    }
    if (!valid(control.first_step) || !valid(control.max_step) || control.max_steps < 1) {
      refuse(control, ".first_step, .max_step and .max_steps must not be negative");
    }
    if (!(control.safety > 0 && control.safety <= 1 && control.min_factor > 0 &&
          control.min_factor < 1 && control.max_factor > 1 && control.pi >= 0 && control.pi < 1 &&
          control.pid >= 0 && control.pid < 1)) {
      refuse(control,
             "needs 0 < safety <= 1, 0 < min_factor < 1 < max_factor, 0 <= pi < 1, 0 <= pid < 1");
    }
  }
  for (const double t : stops) {
    if (!(t >= std::min(t0, t1) && t <= std::max(t0, t1))) {
      refuse(control, "the observation time " + digits(t) + " is outside of [" + digits(t0) + ", " +
                          digits(t1) + "]");
    }
  }
}

TimeGrid fixed_grid(const StepControl& control, double t0, double t1,
                    std::span<const double> stops) {
  if (control.grid.empty()) {
    return control.h != 0 ? TimeGrid::with_step_size(t0, t1, control.h, stops)
                          : TimeGrid::with_steps(t0, t1, t0 == t1 ? 0 : control.steps, stops);
  }
  TimeGrid grid = TimeGrid::listed(control.grid);
  if (control.grid.front() != t0 || control.grid.back() != t1) {
    refuse(control, "the grid goes from " + digits(control.grid.front()) + " to " +
                        digits(control.grid.back()) + ", not from t0 = " + digits(t0) +
                        " to t1 = " + digits(t1));
  }
  for (const double t : stops) {
    if (grid.index_of(t) == unknown) {
      refuse(control, "the observation time " + digits(t) + " is not on the grid");
    }
  }
  return grid;
}

StepController::StepController(const StepControl& control, double t0, double t1,
                               std::span<const double> stops)
    : control_(control),
      stops_(stops.begin(), stops.end()),
      sign_(t1 < t0 ? -1 : 1),
      length_(std::abs(t1 - t0)) {
  std::sort(stops_.begin(), stops_.end(),
            [this](double a, double b) { return sign_ * a < sign_ * b; });
  stops_.push_back(t1);
  // Stops that differ by rounding only are one stop.
  std::vector<double> distinct{t0};
  for (std::size_t i = 0; i < stops_.size(); ++i) {
    const double apart = std::abs(stops_[i] - distinct.back());
    const double size = std::max(std::abs(stops_[i]), std::abs(distinct.back()));
    if (apart > 8 * std::numeric_limits<double>::epsilon() * size) distinct.push_back(stops_[i]);
  }
  distinct.erase(distinct.begin());
  if (distinct.empty()) distinct.push_back(t1);
  distinct.back() = t1;
  stops_ = std::move(distinct);
}

void StepController::start(double h) noexcept {
  memory_.h = h;
  if (control_.max_step > 0) memory_.h = std::min(memory_.h, control_.max_step);
}

Interval StepController::trial(Step k, double t) {
  while (next_ + 1 < stops_.size() && sign_ * (stops_[next_] - t) <= 0) ++next_;
  const double stop = stops_[next_];
  const double left = std::abs(stop - t);
  if (k >= control_.max_steps) {
    throw IntegrationError(control_.method + ": t = " + digits(t) + " reached after " +
                               std::to_string(k) + " steps; more are allowed by .max_steps",
                           k, t);
  }
  double t_next = t + sign_ * memory_.h;
  clipped_ = memory_.h * 1.01 >= left;  // rather a step longer by 1 % than another tiny one
  if (clipped_) t_next = stop;
  if (t_next == t || !std::isfinite(t_next)) {
    throw IntegrationError(control_.method + ": the step size has sunk to " + digits(memory_.h) +
                               " at t = " + digits(t) + ", after step " + std::to_string(k) +
                               told() + ": a singularity, or tolerances below rounding",
                           k, t);
  }
  tried_ = std::abs(t_next - t);
  return {t, t_next - t, t_next, k};
}

// Of the trials that led here, for the message.
std::string StepController::told() const {
  if (in_a_row_ == 0) return {};
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), ", %lld trials rejected in a row, the last with ",
                static_cast<long long>(in_a_row_));
  if (!std::isfinite(error_)) return text.data() + std::string("values that are not finite");
  std::array<char, 64> times{};
  std::snprintf(times.data(), times.size(), "an error of %.3g times the tolerance", error_);
  return text.data() + std::string(times.data());
}

bool StepController::accept(double error) noexcept {
  const double k = control_.error_order;
  const double beta = control_.pi / k;
  const bool accepted = error <= 1;  // false for NaN
  double factor = control_.min_factor;
  error_ = error;
  in_a_row_ = accepted ? 0 : in_a_row_ + 1;
  if (accepted) {
    const double power = std::pow(std::max(error, 1e-20), 0.75 * beta - 1 / k);
    factor = control_.safety * power * std::pow(memory_.last_error, beta);
    if (control_.pid > 0 && memory_.accepted >= 2) {
      const double e = std::max(error, 1e-4);
      const double change = e * memory_.before_last / (memory_.last_error * memory_.last_error);
      factor *= std::pow(change, -control_.pid / k);
    }
    factor = std::clamp(factor, control_.min_factor,
                        memory_.after_rejection != 0 ? 1 : control_.max_factor);
    ++memory_.accepted;
    memory_.before_last = memory_.last_error;
    memory_.last_error = std::max(error, 1e-4);
    // What was cut to land on a stop says nothing against the size proposed before.
    const double proposed = memory_.h;
    memory_.h = tried_ * factor;
    if (clipped_ && factor >= 1) memory_.h = std::max(memory_.h, proposed);
  } else {
    ++memory_.rejected;
    if (std::isfinite(error)) {
      factor = std::clamp(control_.safety * std::pow(error, -1 / k), control_.min_factor, 0.9);
    }
    // Not from tried_ alone: near the spacing of t it is rounded up, and would never get smaller.
    memory_.h = std::min(memory_.h, tried_) * factor;
  }
  memory_.after_rejection = accepted ? 0 : 1;
  if (control_.max_step > 0) memory_.h = std::min(memory_.h, control_.max_step);
  memory_.h = std::min(memory_.h, length_);
  return accepted;
}

double initial_probe(double d0, double d1, double limit) {
  const double h0 = d0 < 1e-5 || !(d1 >= 1e-5) ? 1e-6 : 0.01 * (d0 / d1);
  return std::min(std::isfinite(h0) && h0 > 0 ? h0 : 1e-6, limit);
}

double initial_step(double h0, double d1, double d2, int order, double limit) {
  const double d = std::max(d1, d2);
  if (!std::isfinite(d)) return h0;  // the probe left the domain of f: be careful
  const double h1 = d <= 1e-15 ? std::max(1e-6, h0 * 1e-3) : std::pow(0.01 / d, 1.0 / order);
  return std::min({100 * h0, h1, limit});
}

}  // namespace costate
