#include "costate/schedule/revolve.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "plan_parts.hpp"
#include "reversal.hpp"
#include "slot_stack.hpp"

namespace costate {
namespace {

class Revolve final : public Generator {
 public:
  Revolve(Step n, SlotStack stack)
      : nothing_(n == 0), reversal_(n == 0 ? Reversal() : Reversal(run_of(n), std::move(stack))) {}

  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<Revolve>(*this);
  }

  Command next() override {
    if (std::exchange(nothing_, false)) return {Command::Kind::turn, Content::state, 0, 0, 0};
    return reversal_.next();
  }

 private:
  static Reversal::Segment run_of(Step n) { return {0, n, true, false, true}; }

  bool nothing_;  // a run of no steps is only turned
  Reversal reversal_;
};

std::vector<TierSlots> tiers_for(Step n, const std::vector<TierSlots>& tiers) {
  if (n < 0) {
    throw InvalidArgument("the number of steps must be at least 0, not " + std::to_string(n));
  }
  std::vector<TierSlots> needed = needed_tiers(tiers, std::max<Step>(0, n - 1));
  if (n > 1 && std::all_of(needed.begin(), needed.end(),
                           [](const TierSlots& tier) { return tier.slots == 0; })) {
    throw InvalidArgument("reversing " + std::to_string(n) + " steps needs at least one slot");
  }
  return needed;
}

Schedule named(const char* name, Step n, const std::vector<TierSlots>& tiers) {
  std::vector<TierSlots> needed = tiers_for(n, tiers);
  SlotStack stack(needed, std::max<Step>(0, n - 1));
  return revolve_on(name, n, std::move(needed), std::move(stack));
}

}  // namespace

Schedule revolve_on(std::string name, Step n, std::vector<TierSlots> tiers, SlotStack stack) {
  return {std::move(name), n, std::move(tiers), std::make_unique<Revolve>(n, std::move(stack))};
}

Schedule revolve(Step n, Slot slots) {
  return named("revolve", n, {{"memory", slots}});
}

Schedule revolve(Step n, const std::vector<TierSlots>& tiers) {
  return named("revolve", n, tiers);
}

Schedule store_all(Step n) {
  return named("store-all", n, {{"memory", std::max<Step>(0, n - 1)}});
}

Schedule recompute_all(Step n) {
  return named("recompute-all", n, {{"memory", 1}});
}

Counts revolve_counts(Step n, const std::vector<TierSlots>& tiers) {
  const std::vector<TierSlots> needed = tiers_for(n, tiers);
  Slot c = 0;
  for (const TierSlots& tier : needed) c += tier.slots;
  Counts counts;
  counts.steps = n;
  counts.records = n;
  counts.advances = binomial_advances(n, c);
  counts.max_runs = n > 1 ? repetitions(n, c) : 0;
  counts.runs = binomial_runs(n, c);
  const bool by_height = needed.size() > 1 && c < n - 1;
  std::vector<Traffic> traffic;
  if (by_height) {
    constexpr Slot most = 10'000'000;
    if (c > most) {
      throw InvalidArgument("several tiers of together " + std::to_string(c) +
                            " slots are counted one by one, but at most " + std::to_string(most));
    }
    traffic = binomial_traffic(n, c);
  }
  Slot end = c;
  for (const TierSlots& tier : needed) {  // from the top of the stack downwards
    TierCounts count{tier.name, tier.slots, tier.slots, 0, 0};
    for (Slot height = end - tier.slots; by_height && height < end; ++height) {
      const Traffic& here = traffic[static_cast<std::size_t>(height)];
      count.writes = saturating_add(count.writes, here.writes);
      count.reads = saturating_add(count.reads, here.reads);
    }
    if (!by_height && c == std::max<Step>(0, n - 1)) {  // every state is written and read once
      count.writes = tier.slots;
      count.reads = tier.slots;
    } else if (!by_height) {
      count.writes = binomial_writes(n, c);
      count.reads = n - 1;
    }
    end -= tier.slots;
    counts.tiers.push_back(std::move(count));
  }
  return counts;
}

}  // namespace costate
