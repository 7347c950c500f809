#pragma once

#include <vector>

#include "envelope.hpp"
#include "tier_tables.hpp"

namespace costate {

/// A rule for long runs, and a proof of how good it is. The recursion of `TierTables` is carried on
/// beyond the tables with O and P replaced by convex functions below them. With
///
///     h(l) = min over j of  j u + O(k, l-j, s-1) + r_k + P(k, j, s)
///
/// for such functions, P(k, l, s) >= min(O(k-1, l, c_{k-1}), h(l)), and h is convex with the pieces
/// of both, those of P steeper by u, in the order of their slopes. So all three are straight
/// between the ends of pieces, and the largest convex function below the right-hand side, which is
/// the next P, follows from one end to the next: where a minimum of two straight pieces is wanted,
/// it is concave, and its ends alone matter. An earlier P that is still larger somewhere does no
/// harm, because it is below the truth, too. Where the bound is attained is where to split.
///
/// If h(l+1) continues P(k, l) and O(k, l) at a slope of at least y, and no piece that h is made of
/// from there on, and none of O(k-1, ·), is less steep, then both can go on at slope y for ever, by
/// induction over l. That is how an open level ends: a stretch between two states follows another.
///
/// Time and memory O(pieces), a few hundred for each slot, and more only if all slots are very few.
class TierBounds final : public TierRule {
 public:
  /// @param n  for at most so many steps
  TierBounds(TierTables tables, Step n);

  [[nodiscard]] bool keeps(std::size_t k, Step l, Slot s) const override;
  [[nodiscard]] Step split(std::size_t k, Step l, Slot s) const override;
  [[nodiscard]] Step repeats(std::size_t k, Step l) const override;

  /// No schedule of l <= n steps costs less (but for the small cost that ties are broken with).
  [[nodiscard]] double lower_bound(Step l) const;
  /// Not above P(k, l, s), and equal or near to it.
  [[nodiscard]] double kept_bound(std::size_t k, Step l, Slot s) const;

  /// Whether there were so many pieces that runs of n steps are bounded by shorter ones; then this
  /// is no rule to follow.
  [[nodiscard]] bool is_cut() const noexcept { return known_ < steps_; }

 private:
  struct Level {
    std::vector<Envelope> kept;  // below P, by slots - 1
    std::vector<Envelope> all;   // below O, by slots; the first is O of the level below
  };
  struct Hints {
    std::size_t left = 0;
    std::size_t right = 0;
  };
  struct Sum {
    Step split;
    double cost;
  };
  struct Part;
  void fill(std::size_t k);
  void carry_on(std::size_t k, std::size_t column);
  [[nodiscard]] Part part(std::size_t k, const Envelope& left, const Envelope& right, Step l,
                          Step near, Hints& hints) const;
  [[nodiscard]] Sum least_sum(std::size_t k, Step l, Slot s) const;
  // O(k-1, l, c_{k-1}) or below: what the start of l steps costs if it is not kept at level k.
  [[nodiscard]] double lower(std::size_t k, Step l) const;
  [[nodiscard]] const Envelope& kept_of(std::size_t k, Slot s) const {
    return levels_[k].kept[levels()[k].open() ? 0 : static_cast<std::size_t>(s - 1)];
  }
  // Below O(k, ·, s) of the part behind the next checkpoint.
  [[nodiscard]] const Envelope& all_of(std::size_t k, Slot s) const {
    return levels_[k].all[levels()[k].open() ? 1 : static_cast<std::size_t>(s)];
  }
  // The j of the least sum of j steps, left(j) and right(l-j), looked for from `near` on.
  Step least(const Envelope& left, const Envelope& right, Step l, Step near, Hints& hints) const;

  TierTables tables_;
  std::vector<Level> levels_;
  Step steps_;
  Step known_;  // all functions are known up to here
};

}  // namespace costate
