#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/integrate/time_grid.hpp"

namespace costate {

/// The observations of a run in the order of time, each with the index at which it is taken. From
/// then on only indices are compared. The list may repeat times and need not be ordered.
class ObservationList {
 public:
  struct Entry {
    double t;
    std::size_t which;  ///< position in the objective's own list
    Step index;         ///< `unknown` until reached, on a grid that is being chosen
  };

  ObservationList(std::span<const double> times, double t0, double t1);

  /// Takes the indices from a grid that holds all the times.
  void bind(const TimeGrid& grid);
  /// The run has reached index k at time t: observations that are due have this index.
  void reach(Step k, double t);

  [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }

 private:
  std::vector<Entry> entries_;
  std::size_t reached_ = 0;
  double sign_;
};

}  // namespace costate
