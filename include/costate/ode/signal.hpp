#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "costate/core/error.hpp"

namespace costate {

/// How a signal runs between its nodes.
enum class Interpolation : unsigned char {
  constant,  ///< a value for each interval; jumps at the times between them
  linear,    ///< a value for each time
  cubic  ///< a value for each time; Hermite cubics with, at each node, the slope of the parabola
         ///< through it and its two neighbours, at the ends through the last three: C1, exact for
         ///< parabolas, and a node moves the two intervals on each side of it
};

/// Which nodes make up the value of a signal at some time, and their weights.
struct SignalWeights {
  std::size_t count = 0;
  std::array<std::size_t, 4> node{};
  std::array<double, 4> weight{};
};

/// Functions of time given by values on a grid: u(t) = sum_j φ_j(t) u_j.
class Signal {
 public:
  /// @param times     strictly increasing, at least 2 (cubic: 3)
  /// @param channels  functions with the same grid, at least 1
  /// @throws InvalidArgument
  Signal(std::vector<double> times, Interpolation interpolation, std::size_t channels = 1);

  [[nodiscard]] const std::vector<double>& times() const noexcept { return times_; }
  [[nodiscard]] Interpolation interpolation() const noexcept { return interpolation_; }
  [[nodiscard]] std::size_t channels() const noexcept { return channels_; }
  /// One less than times if it is piecewise constant.
  [[nodiscard]] std::size_t nodes() const noexcept {
    return interpolation_ == Interpolation::constant ? times_.size() - 1 : times_.size();
  }

  /// The interval [times[i], times[i+1]) that holds t; the first or the last for a t outside.
  [[nodiscard]] std::size_t interval(double t) const;
  /// The weights at t by the formula of interval i.
  [[nodiscard]] SignalWeights weights(double t, std::size_t i) const;

 private:
  // The slope at node j as weights of three nodes, the first of which is returned.
  std::size_t slope(std::size_t j, std::array<double, 3>& weight) const;

  std::vector<double> times_;
  Interpolation interpolation_;
  std::size_t channels_;
};

}  // namespace costate
