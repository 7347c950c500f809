#include "costate/ode/signal.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace costate {

Signal::Signal(std::vector<double> times, Interpolation interpolation, std::size_t channels)
    : times_(std::move(times)), interpolation_(interpolation), channels_(channels) {
  const std::size_t least = interpolation == Interpolation::cubic ? 3 : 2;
  if (times_.size() < least) {
    throw InvalidArgument("Signal: needs at least " + std::to_string(least) + " times");
  }
  if (channels == 0) throw InvalidArgument("Signal: needs at least one channel");
  for (std::size_t i = 0; i < times_.size(); ++i) {
    if (!std::isfinite(times_[i]) || (i > 0 && times_[i] <= times_[i - 1])) {
      throw InvalidArgument("Signal: the times are not strictly increasing at index " +
                            std::to_string(i));
    }
  }
}

std::size_t Signal::interval(double t) const {
  const auto after = std::upper_bound(times_.begin() + 1, times_.end() - 1, t);
  return static_cast<std::size_t>(after - times_.begin()) - 1;
}

std::size_t Signal::slope(std::size_t j, std::array<double, 3>& weight) const {
  // The derivative at x of the parabola through the three nodes.
  const std::size_t first = j == 0 ? 0 : std::min(j - 1, times_.size() - 3);
  const double x = times_[j];
  for (std::size_t a = 0; a < 3; ++a) {
    const double ta = times_[first + a];
    const double tb = times_[first + (a + 1) % 3];
    const double tc = times_[first + (a + 2) % 3];
    weight[a] = ((x - tb) + (x - tc)) / ((ta - tb) * (ta - tc));
  }
  return first;
}

SignalWeights Signal::weights(double t, std::size_t i) const {
  if (interpolation_ == Interpolation::constant) return {1, {i}, {1}};
  const double h = times_[i + 1] - times_[i];
  const double x = (t - times_[i]) / h;
  if (interpolation_ == Interpolation::linear) return {2, {i, i + 1}, {1 - x, x}};

  SignalWeights out;
  out.count = std::min<std::size_t>(4, times_.size());
  const std::size_t first = i == 0 ? 0 : std::min(i - 1, times_.size() - out.count);
  for (std::size_t a = 0; a < out.count; ++a) out.node[a] = first + a;
  const auto add = [&](std::size_t node, double weight) { out.weight[node - first] += weight; };
  add(i, (1 + 2 * x) * (1 - x) * (1 - x));
  add(i + 1, x * x * (3 - 2 * x));
  std::array<double, 3> d{};
  for (const std::size_t end : {i, i + 1}) {
    const double factor = h * (end == i ? x * (1 - x) * (1 - x) : x * x * (x - 1));
    const std::size_t from = slope(end, d);
    for (std::size_t a = 0; a < 3; ++a) add(from + a, factor * d[a]);
  }
  return out;
}

}  // namespace costate
