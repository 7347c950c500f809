#include "costate/integrate/time_grid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "costate/core/error.hpp"

namespace costate {

namespace {

constexpr double near = 1e-9;  // of a step: what counts as the same point of a grid

void require_finite(double t0, double t1) {
  if (!std::isfinite(t0) || !std::isfinite(t1)) {
    throw InvalidArgument("TimeGrid: t0 and t1 must be finite");
  }
}

// How far apart two times can be by rounding alone.
double rounding(double a, double b) {
  return 8 * std::numeric_limits<double>::epsilon() * std::max(std::abs(a), std::abs(b));
}

}  // namespace

TimeGrid::TimeGrid(double t0) : t0_(t0), t1_(t0), times_{t0} {}

TimeGrid TimeGrid::with_steps(double t0, double t1, Step steps, std::span<const double> stops) {
  require_finite(t0, t1);
  if (steps < 0 || (steps == 0 && t0 != t1)) {
    throw InvalidArgument("TimeGrid: the number of steps must be at least 1, not " +
                          std::to_string(steps));
  }
  TimeGrid grid;
  grid.times_.clear();
  grid.t0_ = t0;
  grid.t1_ = t1;
  if (t0 != t1) {
    grid.h_ = (t1 - t0) / static_cast<double>(steps);
    grid.equal_ = grid.steps_ = steps;
    if (t0 + grid.h_ == t0 || t1 - grid.h_ == t1) {
      throw InvalidArgument("TimeGrid: " + std::to_string(steps) +
                            " steps are smaller than the rounding of the times");
    }
  }
  grid.insert(stops);
  return grid;
}

TimeGrid TimeGrid::with_step_size(double t0, double t1, double h, std::span<const double> stops) {
  require_finite(t0, t1);
  if (!(h > 0) || !std::isfinite(h)) {
    throw InvalidArgument("TimeGrid: the step size must be positive and finite, not " +
                          std::to_string(h));
  }
  const double ratio = std::abs(t1 - t0) / h;
  if (ratio > 9e15) {
    throw InvalidArgument("TimeGrid: the step size " + std::to_string(h) +
                          " is smaller than the rounding of the times");
  }
  const double whole = std::round(ratio);
  if (t0 == t1 || (whole >= 1 && std::abs(ratio - whole) <= near * whole)) {
    return with_steps(t0, t1, t0 == t1 ? 0 : static_cast<Step>(whole), stops);
  }
  TimeGrid grid = with_steps(t0, t1, static_cast<Step>(std::ceil(ratio)));
  grid.h_ = std::copysign(h, t1 - t0);
  grid.whole_ = false;
  grid.insert(stops);
  return grid;
}

TimeGrid TimeGrid::listed(std::vector<double> times) {
  if (times.empty()) throw InvalidArgument("TimeGrid: the list of times is empty");
  require_finite(times.front(), times.back());
  const bool up = times.back() > times.front();
  for (std::size_t k = 1; k < times.size(); ++k) {
    if (!(up ? times[k] > times[k - 1] : times[k] < times[k - 1])) {
      throw InvalidArgument("TimeGrid: the listed times are not strictly monotone at index " +
                            std::to_string(k));
    }
  }
  TimeGrid grid(times.front());
  grid.t1_ = times.back();
  grid.steps_ = static_cast<Step>(times.size()) - 1;
  grid.times_ = std::move(times);
  return grid;
}

double TimeGrid::operator[](Step k) const {
  if (!times_.empty()) return times_[static_cast<std::size_t>(k)];
  if (k == steps_) return t1_;
  if (extra_.empty()) return t0_ + static_cast<double>(k) * h_;
  const auto after = std::upper_bound(extra_.begin(), extra_.end(), k,
                                      [](Step at, const Extra& e) { return at < e.index; });
  if (after != extra_.begin() && std::prev(after)->index == k) return std::prev(after)->t;
  return t0_ + static_cast<double>(k - (after - extra_.begin())) * h_;
}

std::vector<double> TimeGrid::times() const {
  if (!times_.empty()) return times_;
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(steps_) + 1);
  for (Step k = 0; k <= steps_; ++k) out.push_back((*this)[k]);
  return out;
}

void TimeGrid::fill(Step from, Step to, Interval* out) const {
  if (!times_.empty()) {
    for (Step k = from; k < to; ++k) {
      const double t = times_[static_cast<std::size_t>(k)];
      const double t_next = times_[static_cast<std::size_t>(k) + 1];
      *out++ = {t, t_next - t, t_next, k};
    }
    return;
  }
  if (extra_.empty()) {
    // All but the last step of an equally spaced grid, without asking for each point.
    for (const Step end = std::min(to, steps_ - 1); from < end; ++from) {
      *out++ = {t0_ + static_cast<double>(from) * h_, h_, t0_ + static_cast<double>(from + 1) * h_,
                from};
    }
  }
  if (from == to) return;
  double t = (*this)[from];
  for (Step k = from; k < to; ++k) {
    const double t_next = (*this)[k + 1];
    // Between two equally spaced points the step is h by definition, not a difference.
    const bool equal = extra_.empty() && (whole_ || k + 1 < steps_);
    *out++ = {t, equal ? h_ : t_next - t, t_next, k};
    t = t_next;
  }
}

Step TimeGrid::index_of(double t) const {
  Step low = 0;  // the last index whose time is not beyond t
  Step high = steps_ + 1;
  const double sign = t1_ < t0_ ? -1 : 1;
  while (high - low > 1) {
    const Step middle = low + (high - low) / 2;
    (sign * ((*this)[middle] - t) <= 0 ? low : high) = middle;
  }
  Step best = unknown;
  double distance = 0;
  for (Step k = low; k <= std::min(low + 1, steps_); ++k) {
    const double here = (*this)[k];
    const double apart = std::abs(here - t);
    double step = 0;
    if (k > 0) step = std::abs(here - (*this)[k - 1]);
    if (k < steps_) step = std::max(step, std::abs((*this)[k + 1] - here));
    if (apart <= std::max(near * step, rounding(here, t)) &&
        (best == unknown || apart < distance)) {
      best = k;
      distance = apart;
    }
  }
  return best;
}

void TimeGrid::insert(std::span<const double> stops) {
  const double sign = t1_ < t0_ ? -1 : 1;
  std::vector<double> sorted(stops.begin(), stops.end());
  std::sort(sorted.begin(), sorted.end(),
            [sign](double a, double b) { return sign * a < sign * b; });
  std::vector<Extra> extra;
  for (const double t : sorted) {
    if (index_of(t) != unknown) continue;
    if (!extra.empty() && std::abs(t - extra.back().t) <= near * std::abs(h_)) continue;
    // index_of found no point near t, so t lies well inside step j.
    Step j = std::clamp(static_cast<Step>((t - t0_) / h_), Step{0}, equal_ - 1);
    while (j > 0 && sign * ((*this)[j] - t) > 0) --j;
    while (j + 1 < equal_ && sign * ((*this)[j + 1] - t) < 0) ++j;
    extra.push_back({j + 1 + static_cast<Step>(extra.size()), t});
  }
  steps_ += static_cast<Step>(extra.size());
  extra_ = std::move(extra);
}

void TimeGrid::push_back(double t) {
  if (times_.empty()) times_ = times();
  times_.push_back(t);
  t1_ = t;
  ++steps_;
}

}  // namespace costate
