#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"
#include "costate/schedule/schedule.hpp"

namespace costate {

/// One level of a hierarchy of tiers.
struct TierLevel {
  std::size_t tier;  ///< its index in the tiers of the costs
  Slot slots;        ///< > 0; `unbounded` if every state fits
  double write;
  double read;
  [[nodiscard]] bool open() const noexcept { return slots == unbounded; }
};

/// The tiers that are of use for n steps, fastest first: none without slots, and nothing slower
/// than one that holds all states.
[[nodiscard]] std::vector<TierLevel> useful_levels(const Costs& costs, Step n);

/// Whether no level is faster to write or to read than the one before it.
[[nodiscard]] bool ordered(const std::vector<TierLevel>& levels);

/// Whether what the useful levels leave out could not be of use: no tier is faster than the last of
/// them to write or to read. Otherwise nothing is proven for all the tiers.
[[nodiscard]] bool nothing_missed(const Costs& costs, const std::vector<TierLevel>& levels);

/// Two questions that settle a schedule over a hierarchy of levels, 0 the fastest. `s` counts the
/// free slots of level k, a slot that holds the start included; all slots of the levels below are
/// free. Of an open level s is always 0.
class TierRule {
 public:
  virtual ~TierRule() = default;

  /// The start of l >= 2 steps is live and not kept: keep it at level k (or ask level k-1)?
  [[nodiscard]] virtual bool keeps(std::size_t k, Step l, Slot s) const = 0;

  /// The start of l >= 2 steps is kept at level k and live: how far to the next checkpoint? 0: it
  /// is dropped, and level k-1 takes over.
  [[nodiscard]] virtual Step split(std::size_t k, Step l, Slot s) const = 0;

  /// An open level: how many times in a row, at least once, the start of l >= 2 steps that is kept
  /// there is followed by another one that is, so many steps ahead as `split` says. The start of
  /// what then remains may be kept or not.
  [[nodiscard]] virtual Step repeats(std::size_t /*k*/, Step /*l*/) const { return 1; }

  [[nodiscard]] const std::vector<TierLevel>& levels() const noexcept { return levels_; }
  /// Level 0 is reversed binomially, without being asked.
  [[nodiscard]] bool binomial_bottom() const noexcept { return binomial_bottom_; }

  [[nodiscard]] Slot all_slots(std::size_t k) const noexcept {
    return levels_[k].open() ? 0 : levels_[k].slots;
  }
  [[nodiscard]] Slot one_less(std::size_t k, Slot s) const noexcept {
    return levels_[k].open() ? 0 : s - 1;
  }
  [[nodiscard]] bool any_free(std::size_t k, Slot s) const noexcept {
    return levels_[k].open() || s > 0;
  }

 protected:
  TierRule(std::vector<TierLevel> levels, bool binomial_bottom)
      : levels_(std::move(levels)), binomial_bottom_(binomial_bottom) {}
  TierRule(const TierRule&) = default;
  TierRule& operator=(const TierRule&) = default;

 private:
  std::vector<TierLevel> levels_;
  bool binomial_bottom_;
};

/// What the schedule of a rule does to `n` steps, without running through it: equal parts are
/// counted once. One entry for each tier of `rooms`, with the room that the schedule uses.
/// @param effort  1: as many parts as take some seconds at most; 0.02: a third of that
/// @throws InvalidArgument if there are too many different parts
[[nodiscard]] Counts tiered_counts(const TierRule& rule, Step n,
                                   const std::vector<TierSlots>& rooms, double effort = 1);

/// The schedule of a rule.
/// @param tiers  with at least the slots that are used (`tiered_counts`)
[[nodiscard]] Schedule tiered_schedule(std::string name, Step n, std::vector<TierSlots> tiers,
                                       std::shared_ptr<const TierRule> rule);

}  // namespace costate
