#include "costate/schedule/baselines.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "plan_parts.hpp"
#include "reversal.hpp"
#include "tier_rule.hpp"

namespace costate {
namespace {

class HalvingRule final : public TierRule {
 public:
  explicit HalvingRule(const TierLevel& level) : TierRule({level}, false) {}

  [[nodiscard]] bool keeps(std::size_t /*k*/, Step /*l*/, Slot /*s*/) const override {
    return true;
  }
  [[nodiscard]] Step split(std::size_t /*k*/, Step l, Slot /*s*/) const override { return l / 2; }
};

class Periodic final : public Generator {
 public:
  // Heights 0 … stretches-1 of the stack hold the states 0, period, …; the rest of it the states of
  // one stretch.
  Periodic(Step n, Step period, Step stretches, SlotStack stack)
      : n_(n), period_(period), stretches_(stretches), stack_(std::move(stack)) {}

  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<Periodic>(*this);
  }

  Command next() override {
    const Step begin = kept_ * period_;
    if (forward_ && kept_ < stretches_) {
      saved_ = !saved_;
      if (saved_) return {Kind::save, Content::state, begin, 0, stack_.slot(kept_)};
      ++kept_;
      return {Kind::advance, Content::state, begin, begin + period_, 0};
    }
    if (forward_) {
      forward_ = false;
      if (n_ == 0) return {Kind::turn, Content::state, 0, 0, 0};
      reversal_ = Reversal({begin, n_, true, false, true}, stack_of(unknown));
    }
    const Command command = reversal_.next();
    if (command.kind != Kind::end || kept_ == 0) return command;
    --kept_;
    reversal_ =
        Reversal({kept_ * period_, (kept_ + 1) * period_, false, true, false}, stack_of(kept_));
    return reversal_.next();
  }

 private:
  using Kind = Command::Kind;

  // The slots for one stretch, that of its start first if it is kept.
  [[nodiscard]] SlotStack stack_of(Step start) const {
    std::vector<Slot> slots;
    if (start != unknown) slots.push_back(stack_.slot(start));
    for (Slot height = stretches_; height < stack_.height(); ++height) {
      slots.push_back(stack_.slot(height));
    }
    return SlotStack(slots);
  }

  Step n_;
  Step period_;
  Step stretches_;
  SlotStack stack_;
  bool forward_ = true;
  bool saved_ = false;
  Step kept_ = 0;  // states kept of 0, period, …
  Reversal reversal_;
};

Step square_root_above(Step n) {
  auto root = static_cast<Step>(std::sqrt(static_cast<double>(n)));
  while (root > 1 && (root - 1) * (root - 1) >= n) --root;
  while (root * root < n) ++root;
  return root;
}

}  // namespace

Plan halving(const Costs& costs, Step n) {
  const PlanningTime time;
  check(costs, n);
  const std::vector<TierSlots> room = rooms(costs);
  for (std::size_t i = 0; i < room.size(); ++i) {
    const auto rule = std::make_shared<HalvingRule>(
        TierLevel{i, unbounded, costs.tiers[i].write, costs.tiers[i].read});
    Counts counts = tiered_counts(*rule, n, room);
    const Slot needed = counts.tiers[i].peak;
    if (needed > room[i].slots) {
      if (i + 1 < room.size()) continue;
      throw InvalidArgument("halving " + std::to_string(n) + " steps needs " +
                            std::to_string(needed) + " slots in one tier");
    }
    std::vector<TierSlots> used;
    for (const TierCounts& tier : counts.tiers) used.push_back({tier.name, tier.slots});
    return time.stop(
        plan_of(tiered_schedule("halving", n, std::move(used), rule), std::move(counts), costs, n));
  }
  throw InvalidArgument("a schedule needs at least one tier");
}

Plan periodic(const Costs& costs, Step n) {
  const PlanningTime time;
  check(costs, n);
  const Step p = square_root_above(std::max<Step>(n, 1));
  const Step stretches = n > 1 ? (n - 1) / p : 0;  // but for the last one
  const Step last = n - stretches * p;
  // The last stretch is kept whole at once; in the others the start lies in a slot of its own.
  const Slot within = std::max<Slot>({last - 1, stretches > 0 ? p - 2 : 0, 0});
  const Slot needed = stretches + within;
  std::vector<TierSlots> tiers = needed_tiers(rooms(costs), needed);
  Slot slots = 0;
  for (const TierSlots& tier : tiers) slots += tier.slots;
  if (slots < needed) {
    throw InvalidArgument("keeping every " + std::to_string(p) + "th state and a stretch of " +
                          std::to_string(n) + " steps needs " + std::to_string(needed) +
                          " slots; there are " + std::to_string(slots));
  }
  const SlotStack stack(tiers, needed);

  Counts counts;
  counts.steps = n;
  counts.records = n;
  counts.advances =
      saturating_add(saturating_multiply(stretches, 2 * p - 1), std::max<Step>(0, last - 1));
  counts.max_runs = stretches > 0 ? (p > 1 ? 2 : 1) : (last > 1 ? 1 : 0);
  // In each stretch but the last all steps twice, the one before its end once.
  const Step once = saturating_add(stretches, std::max<Step>(0, last - 1));
  if (n > 0) counts.runs.push_back({0, 1});
  if (once > 0) counts.runs.push_back({1, once});
  if (stretches > 0 && p > 1) counts.runs.push_back({2, stretches * (p - 1)});
  Slot end = needed;
  for (const TierSlots& tier : tiers) {
    TierCounts count{tier.name, tier.slots, tier.slots, 0, 0};
    // How many of the heights that lie in this tier lie in [from, to), too.
    const auto shared = [&](Slot from, Slot to) {
      return std::max<Slot>(0, std::min(end, to) - std::max(end - tier.slots, from));
    };
    const Slot starts = shared(0, stretches);
    const Step inner =
        saturating_add(saturating_multiply(stretches, shared(stretches, stretches + p - 2)),
                       shared(stretches, stretches + last - 1));
    count.writes = saturating_add(starts, inner);
    count.reads = saturating_add(p > 1 ? 2 * starts : starts, inner);
    end -= tier.slots;
    counts.tiers.push_back(std::move(count));
  }
  Schedule schedule("periodic", n, std::move(tiers),
                    std::make_unique<Periodic>(n, p, stretches, stack));
  return time.stop(plan_of(std::move(schedule), std::move(counts), costs, n));
}

}  // namespace costate
