#pragma once

#include <cstddef>
#include <vector>

#include "costate/core/step.hpp"
#include "split_schedule.hpp"

namespace costate {

/// Steps of unequal cost and what is needed to plan with them.
class Chain {
 public:
  explicit Chain(const std::vector<double>& weights);

  [[nodiscard]] Step steps() const noexcept { return static_cast<Step>(sums_.size()) - 1; }
  /// The cost of the steps [i, k).
  [[nodiscard]] double span(Step i, Step k) const noexcept { return at(k) - at(i); }
  /// The sum of the weights below k.
  [[nodiscard]] double at(Step k) const noexcept { return sums_[static_cast<std::size_t>(k)]; }
  /// T_1(i, j), the cost of reversing [i, j) from x_i alone.
  [[nodiscard]] double triangle(Step i, Step j) const noexcept {
    return double_sums_[static_cast<std::size_t>(j)] -
           double_sums_[static_cast<std::size_t>(i) + 1] - static_cast<double>(j - 1 - i) * at(i);
  }

 private:
  std::vector<double> sums_;         // sum of w_t over t < k
  std::vector<double> double_sums_;  // sum of sums_[t] over t < k
};

/// Appends the decisions of an optimal reversal of [i, j) from a stored x_i in `slots` slots, that
/// of x_i included. Exact if `write` is 0 or j - i <= 200; see weighted.hpp.
void split_exactly(const Chain& chain, Step i, Step j, Slot slots, double write,
                   std::vector<Decision>& plan);

/// The same by the two methods for long chains.
void split_by_mean(const Chain& chain, Step i, Step j, Slot slots, double write, double effort,
                   std::vector<Decision>& plan);
void split_by_blocks(const Chain& chain, Step i, Step j, Slot slots, double write, double effort,
                     std::vector<Decision>& plan);

/// Borders of at most `count` blocks of [i, j): equal increments of half the share of the steps and
/// half the share of their cost.
[[nodiscard]] std::vector<Step> even_borders(const Chain& chain, Step i, Step j, Step count);

/// Whether `split` uses `split_exactly`.
/// @param effort  how much work is affordable, 1 being some seconds
[[nodiscard]] bool splits_exactly(Step n, Slot slots, double write, double effort);

/// The cheapest of those that are affordable. Returns whether nothing can be cheaper.
bool split(const Chain& chain, Step i, Step j, Slot slots, double write, double effort,
           std::vector<Decision>& plan);

/// What decisions cost on a single tier: advances and writes, that of x_i not included.
[[nodiscard]] double cost_of(const Chain& chain, Step i, Step j, double write,
                             const std::vector<Decision>& plan, std::size_t begin);

}  // namespace costate
