#include "costate/schedule/online.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "online_set.hpp"
#include "pinned.hpp"
#include "replanner.hpp"
#include "set_reversal.hpp"

namespace costate {
namespace {

using Kind = Command::Kind;

class Online final : public Generator {
 public:
  Online(std::vector<TierSlots> tiers, Slot slots, OnlineRule rule, Step guess)
      : tiers_(std::move(tiers)), slots_(slots), rule_(rule), guess_(guess) {}
  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<Online>(*this);
  }

  Command next() override {
    switch (stage_) {
      case Stage::start:
        stage_ = Stage::dense;
        live_ = slots_;
        return {Kind::keep, Content::state, 0, slots_, 0};
      case Stage::dense:
        begin_set();
        stage_ = Stage::arrived;
        [[fallthrough]];
      case Stage::arrived:
        dropped_ = set_.front().replace(live_);
        if (dropped_ < 0) return advance();
        stage_ = Stage::dropped;
        return {Kind::drop, Content::state, 0, 0, dropped_};
      case Stage::dropped:
        stage_ = Stage::saved;
        return {Kind::save, Content::state, live_, 0, dropped_};
      case Stage::saved:
        return advance();
      case Stage::reversing:
        break;
    }
    return reversal_.next();
  }

  [[nodiscard]] bool made_as(const Generator& other) const override {
    const auto* const same = dynamic_cast<const Online*>(&other);
    return same != nullptr && tiers_ == same->tiers_ && rule_ == same->rule_ &&
           guess_ == same->guess_;
  }

  void end_at(Step n, Step live, Step saved_end) override {
    SetReversal::Start start;
    start.steps = start.end = n;
    start.live = live;
    SlotPool pool(tiers_);
    if (stage_ == Stage::dense) {
      if (n > 0) start.kept.push_back({0, std::min(saved_end, n), 0});
      if (saved_end > n) start.drops.push_back(n);
      pool.claim_first(saved_end);
    } else if (stage_ != Stage::start) {
      pool.claim_first(slots_);
      keep_best(set_.front().stored(), slots_, live == n ? n : n - 1, start);
    }
    reversal_ = SetReversal(std::move(start), std::move(pool));
    set_.clear();
    stage_ = Stage::reversing;
  }

 private:
  enum class Stage : unsigned char { start, dense, arrived, dropped, saved, reversing };

  void begin_set() {
    Pinned pinned = pin_for(slots_, guess_);
    const OnlineRule rule = pinned.at.empty() ? rule_ : OnlineRule::few_writes;
    set_.emplace_back(slots_, rule, std::move(pinned));
  }

  Command advance() {
    const Step from = live_;
    live_ = set_.front().next_event(live_);
    stage_ = Stage::arrived;
    return {Kind::advance, Content::state, from, live_, 0};
  }

  std::vector<TierSlots> tiers_;
  Slot slots_;  // in all of them
  OnlineRule rule_;
  Step guess_;  // of the number of steps, or unknown
  Stage stage_ = Stage::start;
  Step live_ = 0;               // the live index when the command given out last is carried out
  Slot dropped_ = -1;           // where the live state goes
  std::vector<OnlineSet> set_;  // one, unless all is kept
  SetReversal reversal_;
};

}  // namespace

void check_guess(Step guess) {
  if (guess < 0 && guess != unknown) {
    throw InvalidArgument("the guess of the number of steps is negative: " + std::to_string(guess));
  }
}

Schedule online(Slot slots, OnlineRule rule) {
  return online(std::vector<TierSlots>{{"memory", slots}}, rule);
}

Schedule online(Slot slots, Step guess) {
  return online({{"memory", slots}}, OnlineRule::few_writes, guess);
}

Schedule online(std::vector<TierSlots> tiers, OnlineRule rule, Step guess) {
  Slot slots = 0;
  for (TierSlots& tier : tiers) {
    tier.slots = std::min(tier.slots, unbounded - slots);
    slots += tier.slots;
    if (tier.slots < 0) slots = tier.slots;
  }
  if (slots < 1) {
    throw InvalidArgument("an online schedule needs at least 1 slot, not " + std::to_string(slots));
  }
  check_guess(guess);
  return {"online", unknown, tiers, std::make_unique<Online>(tiers, slots, rule, guess)};
}

Schedule online(const Costs& costs, Step guess) {
  check(costs, static_cast<Step>(costs.weights.size()));
  const std::vector<TierSlots> tiers = rooms(costs);
  if (tiers.size() != 1) {
    throw InvalidArgument("online() is for one tier, not " + std::to_string(tiers.size()) +
                          "; see online_tiered.hpp");
  }
  return online(tiers,
                costs.tiers.front().write <= 0.1 * costs.step ? OnlineRule::fewest_advances
                                                              : OnlineRule::few_writes,
                guess);
}

}  // namespace costate
