#pragma once

#include <vector>

#include "tier_rule.hpp"

namespace costate {

/// The optimal rule for up to `longest` steps, from complete tables (H-Revolve). With w_k, r_k the
/// costs of level k, u that of a step, c_k its slots,
///
///     O(k, l, s) = min(O(k-1, l, c_{k-1}), w_k + P(k, l, s) if s > 0)         start not kept
///     P(k, l, s) = min(O(k-1, l, c_{k-1}),
///                      min_{0<j<l} j u + O(k, l-j, s-1) + r_k + P(k, j, s))   start kept at k
///
/// with O(k, 1, s) = P(k, 1, s) = 0 and O(-1, l, s) infinite for l > 1. A write costs a little more
/// than stated, so that of schedules that cost the same the one of the fewest writes is chosen.
///
/// Time O(longest^2 sum c_k), memory O(longest sum c_k); an open level counts as one slot.
///
/// Source: J. Herrmann, G. Pallez, "H-Revolve", ACM Trans. Math. Softw. 46(2), 2020,
/// doi:10.1145/3378672; the form with a live start is ours.
class TierTables final : public TierRule {
 public:
  TierTables(std::vector<TierLevel> levels, double step, Step longest);

  [[nodiscard]] bool keeps(std::size_t k, Step l, Slot s) const override;
  [[nodiscard]] Step split(std::size_t k, Step l, Slot s) const override;

  /// P(k, l, s), l <= longest.
  [[nodiscard]] double kept(std::size_t k, Step l, Slot s) const {
    return kept_column(k, s)[static_cast<std::size_t>(l)];
  }
  [[nodiscard]] Step longest() const noexcept { return longest_; }
  /// What a step of the tables costs.
  [[nodiscard]] double step() const noexcept { return step_; }
  /// What a write to level k is taken to cost.
  [[nodiscard]] double write(std::size_t k) const noexcept { return levels()[k].write + tie_; }

 private:
  using Column = std::vector<double>;  // by number of steps

  [[nodiscard]] const Column& kept_column(std::size_t k, Slot s) const {
    return kept_[k][levels()[k].open() ? 0 : static_cast<std::size_t>(s - 1)];
  }
  [[nodiscard]] const Column& unkept_column(std::size_t k, Slot s) const {
    return unkept_[k][levels()[k].open() ? 1 : static_cast<std::size_t>(s)];
  }
  void fill(std::size_t k);

  double step_;
  double tie_;
  Step longest_;
  std::vector<std::vector<Column>> kept_;    // P: by level, then slots - 1
  std::vector<std::vector<Column>> unkept_;  // O: by level, then slots; an open level as one slot
};

/// The cost of the binomial reversal of every number of steps up to `longest` with `slots` slots:
/// advances times `step`, a read before all but the first reverse step, `write` for each write.
[[nodiscard]] std::vector<double> binomial_costs(Step longest, Slot slots, double step,
                                                 double write, double read);

}  // namespace costate
