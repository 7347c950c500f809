#pragma once

#include <cstddef>
#include <vector>

#include "costate/core/step.hpp"

namespace costate {

/// The largest convex function below a sequence of values v(1), v(2), …, that come one by one: its
/// corners, on a stack.
class Envelope {
 public:
  /// Adds v(last + 1). Amortised O(1).
  void push(double value);

  /// Its value at x, 1 <= x <= last. O(log corners), less if `hint` is near: the corner to start
  /// looking at, left at the corner that was found.
  [[nodiscard]] double at(Step x, std::size_t& hint) const;
  [[nodiscard]] double at(Step x) const {
    std::size_t hint = corners_.size();
    return at(x, hint);
  }
  /// Its slope between x and x+1, 1 <= x < last.
  [[nodiscard]] double slope(Step x, std::size_t& hint) const;

  [[nodiscard]] Step last() const noexcept { return last_; }
  [[nodiscard]] std::size_t corners() const noexcept { return corners_.size(); }

 private:
  struct Corner {
    Step x;
    double value;
    double slope;  // of the piece that ends here
  };
  // The corner that ends the piece from x to x+1.
  void seek(Step x, std::size_t& hint) const;

  std::vector<Corner> corners_;
  Step last_ = 0;
};

}  // namespace costate
