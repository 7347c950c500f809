#pragma once

#include <cstddef>
#include <vector>

#include "costate/core/step.hpp"

namespace costate {

/// The largest convex function below some values v(1), v(2), …, that come in ascending order: its
/// corners, on a stack, and how it goes on behind the last one.
class Envelope {
 public:
  Envelope() = default;

  /// The binomial cost of x steps in so many slots, t(x, slots) step + (x-1) read, for all x, and
  /// looked up quickly for x <= n.
  [[nodiscard]] static Envelope binomial(Step n, Slot slots, double step, double read);

  /// Adds v(last + 1). Amortised O(1).
  void push(double value) { push(last_ + 1, value); }
  /// Adds v(x), x > last; the values between lie on the line to it, or above.
  void push(Step x, double value);
  /// Goes on at this slope for ever, behind the last piece that is not steeper.
  void go_on_at(double slope);
  /// Goes on behind the last value as `binomial` does, with slopes not below that of the last
  /// piece.
  void go_on_binomially(Slot slots, double step, double read);

  /// Its value at x >= 1; if it does not go on, that at `last` for all beyond. O(log corners), less
  /// if `hint` is near: the corner to start looking at, left at the corner that was found.
  [[nodiscard]] double at(Step x, std::size_t& hint) const;
  [[nodiscard]] double at(Step x) const {
    std::size_t hint = corners_.size();
    return at(x, hint);
  }
  /// Its slope between x and x+1, x >= 1; infinite if it does not go on there.
  [[nodiscard]] double slope(Step x, std::size_t& hint) const;
  /// Up to where it has that slope, at least.
  [[nodiscard]] Step end_of_piece(Step x, std::size_t& hint) const;

  /// The least j in [1, l-1] with left(j) + j step + right(l-j) least, if both are known up to l;
  /// otherwise 0. O(log² corners).
  [[nodiscard]] static Step least_sum(const Envelope& left, const Envelope& right, double step,
                                      Step l);

  [[nodiscard]] Step last() const noexcept { return last_; }
  [[nodiscard]] double last_slope() const noexcept { return corners_.back().slope; }
  [[nodiscard]] std::size_t corners() const noexcept { return corners_.size(); }

 private:
  struct Corner {
    Step x;
    double value;
    double slope;  // of the piece that ends here
  };
  enum class Tail : unsigned char { none, straight, binomial };

  // The corner that ends the piece from x to x+1.
  void seek(Step x, std::size_t& hint) const;

  std::vector<Corner> corners_;
  Step last_ = 0;
  Tail tail_ = Tail::none;
  Slot slots_ = 0;   // of a binomial tail
  double step_ = 0;  // the same
  double read_ = 0;  // the same, or the slope of a straight tail
};

}  // namespace costate
