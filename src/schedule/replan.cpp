#include "costate/schedule/replan.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "replanner.hpp"

namespace costate {
namespace {

// A state that is kept for the reversal: `start` is where it is fetched from, itself if stored.
struct Base {
  Step at;
  Step start;
};

class Replanner {
 public:
  Replanner(const std::vector<Stored>& stored, Step end, Step live, Slot slots,
            BinomialTable& table)
      : stored_(stored), end_(end), live_(live), slots_(slots), table_(table) {}

  // Every state may be the next one kept. O(end² slots).
  Price exhaustive(std::vector<Base>& bases) {
    const auto width = static_cast<std::size_t>(slots_) + 1;
    std::vector<Price> best(static_cast<std::size_t>(end_) * width);
    std::vector<Step> next(best.size(), unknown);
    std::vector<Price> whole(best.size());  // [l][s] of table_.price(l, s)
    for (Step l = 1; l < end_; ++l) {
      for (Slot s = 0; s <= slots_; ++s) {
        whole[static_cast<std::size_t>(l) * width + static_cast<std::size_t>(s)] =
            table_.price(l, s);
      }
    }
    const auto cell = [&](Step b, Slot s) {
      return static_cast<std::size_t>(b) * width + static_cast<std::size_t>(s);
    };
    for (Step b = end_ - 1; b >= 0; --b) {
      for (Slot s = b == end_ - 1 ? 0 : 1; s <= slots_; ++s) {
        Price price = table_.price(end_ - b, s);
        Step q = b;
        auto i = std::upper_bound(stored_.begin(), stored_.end(), b,
                                  [](Step x, const Stored& y) { return x < y.at; });
        for (Step k = b + 1; k < end_; ++k) {
          if (k == live_) q = k;
          const bool is_stored = i != stored_.end() && i->at == k;
          if (is_stored) {
            q = k;
            ++i;
          }
          // The start of a step that is reversed from the live state takes a slot only while it is
          // needed, unless it has to wait for what is placed from the live state first.
          const bool waits = k == end_ - 1 && live_ != unknown && q != b && q != live_;
          if (waits && s < 2) continue;
          const Price here =
              step_price(k, q, is_stored) + best[cell(k, s - 1)] + whole[cell(k - b, s)];
          if (here < price) {
            price = here;
            next[cell(b, s)] = k;
          }
        }
        best[cell(b, s)] = price;
      }
    }
    Slot s = slots_;
    for (Step b = 0; b != unknown; --s) {
      bases.push_back({b, start_of(b, bases.empty() ? unknown : bases.back().at)});
      b = next[cell(b, s)];
    }
    return best[cell(0, slots_)];
  }

  // The next one kept is a stored one, at most `most_dropped` further up in all, or one above all
  // that are stored.
  Price windowed(std::vector<Base>& bases) {
    const std::size_t m = stored_.size();
    const std::size_t most_dropped = m <= 48 ? m : 16;
    const std::size_t width = most_dropped + 1;
    struct Choice {
      Price price;
      std::size_t stored = 0;  // 0: none (the first one is never next)
      Step placed = unknown;
    };
    std::vector<Choice> choices(m * width);
    for (std::size_t i = m; i-- > 0;) {
      const Step p = stored_[i].at;
      for (std::size_t dropped = 0; dropped <= std::min(i, most_dropped); ++dropped) {
        const Slot s = slots_ - static_cast<Slot>(i - dropped);
        if (s < 1) continue;
        Choice& choice = choices[i * width + dropped];
        choice.price = table_.price(end_ - p, s);
        for (std::size_t j = i + 1; j < m && dropped + (j - i - 1) <= most_dropped; ++j) {
          const Price here =
              choices[j * width + dropped + (j - i - 1)].price + table_.price(stored_[j].at - p, s);
          if (here < choice.price) choice = {here, j, unknown};
        }
        const Step q = std::max(stored_.back().at, live_);
        if (q > p && q < end_) {
          const Step k = best_above(p, q, s);
          const Price here = placed(p, q, k, s);
          if (here < choice.price) choice = {here, 0, k};
        }
      }
    }
    std::size_t dropped = 0;
    for (std::size_t i = 0;;) {
      const Choice& choice = choices[i * width + dropped];
      bases.push_back({stored_[i].at, stored_[i].at});
      if (choice.placed != unknown) {
        bases.push_back({choice.placed, start_of(choice.placed, stored_[i].at)});
      }
      if (choice.stored == 0) break;
      dropped += choice.stored - i - 1;
      i = choice.stored;
    }
    return choices.front().price;
  }

  // What the set costs as it is: no state dropped, no new one.
  Step as_it_is() {
    Step sum = 0;
    for (std::size_t i = 0; i < stored_.size(); ++i) {
      const Step next = i + 1 < stored_.size() ? stored_[i + 1].at : end_;
      sum =
          saturating_add(sum, table_.advances(next - stored_[i].at, slots_ - static_cast<Slot>(i)));
    }
    return sum;
  }

 private:
  [[nodiscard]] Price step_price(Step k, Step q, bool is_stored) const {
    return {k - q, is_stored || k == end_ - 1 ? 0 : 1};
  }
  // The highest state at or below k that can be had: stored, live, or the base before.
  [[nodiscard]] Step start_of(Step k, Step before) const {
    Step q = std::max(before, live_ <= k ? live_ : unknown);
    for (const Stored& stored : stored_) {
      if (stored.at <= k) q = std::max(q, stored.at);
    }
    return q;
  }
  Price placed(Step p, Step q, Step k, Slot s) {
    return step_price(k, q, k == stored_.back().at) + table_.price(end_ - k, s - 1) +
           table_.price(k - p, s);
  }
  // The k in [q, end) that makes `placed` least in advances; it is convex in k.
  Step best_above(Step p, Step q, Slot s) {
    Step low = q;
    Step high = end_ - 1;
    while (low < high) {
      const Step middle = low + (high - low) / 2;
      const Step here = placed(p, q, middle, s).advances;
      const Step there = placed(p, q, middle + 1, s).advances;
      if (here == saturated || there < here) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  const std::vector<Stored>& stored_;
  Step end_;
  Step live_;
  Slot slots_;
  BinomialTable& table_;
};

void append(std::vector<StoredRun>& runs, const Stored& stored) {
  if (!runs.empty() && runs.back().to == stored.at &&
      runs.back().slot + (runs.back().to - runs.back().from) == stored.slot) {
    ++runs.back().to;
  } else {
    runs.push_back({stored.at, stored.at + 1, stored.slot});
  }
}

}  // namespace

namespace {

// How to get from the stored states to the bases.
Replanned arrange(const std::vector<Stored>& stored, const std::vector<Base>& bases, Step live) {
  Replanned result;
  std::vector<bool> needed(stored.size());
  const auto is_base = [&](Step at) {
    return std::any_of(bases.begin(), bases.end(), [&](const Base& b) { return b.at == at; });
  };
  // A base that is not stored is fetched from a stored state, from the live one, or from the base
  // before it, which then has to be placed just before.
  std::vector<std::vector<Placement>> groups;
  for (const Base& base : bases) {
    const auto it = std::lower_bound(stored.begin(), stored.end(), base.start,
                                     [](const Stored& a, Step b) { return a.at < b; });
    if (it != stored.end() && it->at == base.start) {
      needed[static_cast<std::size_t>(it - stored.begin())] = true;
      if (base.at != base.start) {
        groups.push_back({{base.start, it->slot, !is_base(base.start), base.at}});
      }
    } else {
      if (base.start == live) groups.emplace_back();
      groups.back().push_back({base.start, -1, false, base.at});
    }
  }
  // What is placed from the live state comes first; else the highest, because it may be the last
  // step, which is reversed at once.
  std::stable_sort(groups.begin(), groups.end(), [live](const auto& a, const auto& b) {
    const auto rank = [live](const std::vector<Placement>& group) {
      return group.front().slot < 0 && group.front().start == live ? saturated : group.back().at;
    };
    return rank(a) > rank(b);
  });
  for (const auto& group : groups) {
    result.placements.insert(result.placements.end(), group.begin(), group.end());
  }
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (!needed[i]) result.drops.push_back(stored[i].slot);
    if (is_base(stored[i].at)) append(result.kept, stored[i]);
  }
  return result;
}

struct Option {
  std::vector<Base> bases;
  Price price;
};

}  // namespace

bool searched(Step end, Slot slots) {
  return end <= 1000 && end * end * std::min(slots, end) <= 2'000'000;
}

Replanned replan(const std::vector<Stored>& stored, Step end, Step live, Slot slots,
                 BinomialTable& table, bool exhaustive) {
  const auto keep_all = [&](Step advances) {
    Replanned result;
    for (const Stored& each : stored) append(result.kept, each);
    result.advances = advances;
    return result;
  };
  if (end == 0) return keep_all(0);
  const auto plan = [&](const std::vector<Stored>& set, Step until, Step from) {
    Option option;
    Replanner planner(set, until, from, slots, table);
    const bool small = exhaustive && searched(until, slots);
    option.price = small ? planner.exhaustive(option.bases) : planner.windowed(option.bases);
    return option;
  };

  // A first pass could have led here, so no continuation takes less than t(end + 1, slots) - end.
  const Step kept = Replanner(stored, end, unknown, slots, table).as_it_is();
  if (live == unknown && kept == binomial_advances(end + 1, slots) - end) return keep_all(kept);

  // Without a live state, those that are stored without a gap up to the end are reversed first.
  std::vector<Stored> rest = stored;
  Step until = end;
  while (!rest.empty() && rest.back().at == until - 1) {
    --until;
    rest.pop_back();
  }
  const Option plain = rest.empty() ? Option{{}, {0, 0}} : plan(rest, until, unknown);
  if (live != unknown) {
    const Option option = plan(stored, end, live);
    if (option.price < plain.price) {
      Replanned result = arrange(stored, option.bases, live);
      result.advances = option.price.advances;
      return result;
    }
  }
  Replanned result = arrange(rest, plain.bases, unknown);
  for (std::size_t i = rest.size(); i < stored.size(); ++i) append(result.kept, stored[i]);
  result.advances = plain.price.advances;
  return result;
}

void keep_best(std::vector<Stored> stored, Slot slots, Step end, SetReversal::Start& start) {
  while (!stored.empty() && stored.back().at >= end) {
    start.drops.push_back(stored.back().slot);
    stored.pop_back();
  }
  const Slot most = std::min<Slot>(slots, end);
  BinomialTable table(most);
  Replanned plan = replan(stored, end, unknown, most, table, false);
  start.kept = std::move(plan.kept);
  start.drops.insert(start.drops.end(), plan.drops.begin(), plan.drops.end());
  start.placements = std::move(plan.placements);
}

namespace {

class Listed final : public Generator {
 public:
  Listed(std::vector<Command> first, SetReversal rest)
      : first_(std::make_shared<std::vector<Command>>(std::move(first))), rest_(std::move(rest)) {}
  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<Listed>(*this);
  }
  Command next() override { return given_ < first_->size() ? (*first_)[given_++] : rest_.next(); }

 private:
  std::shared_ptr<const std::vector<Command>> first_;  // shared by copies; never changes
  std::size_t given_ = 0;
  SetReversal rest_;
};

void check(bool holds, const std::string& what) {
  if (!holds) throw InvalidArgument("resume: " + what);
}

struct Prepared {
  std::vector<Command> first;  // before everything else
  Replanned plan;
  SlotPool pool;
};

Prepared prepare(const ResumePoint& point) {
  check(point.steps >= 0 && point.end >= 0 && point.end <= point.steps,
        "the end " + std::to_string(point.end) + " is not within the " +
            std::to_string(point.steps) + " steps of the run");
  check(point.turned || point.end == point.steps,
        "steps cannot have been reversed before the turn");
  check(point.live == unknown || (point.live >= 0 && point.live <= point.steps),
        "state " + std::to_string(point.live) + " cannot be live");
  Slot slots = 0;
  for (const TierSlots& tier : point.tiers) {
    check(tier.slots >= 0, "tier " + tier.name + " has a negative number of slots");
    slots = saturating_add(slots, tier.slots);
  }
  Prepared result;
  result.pool = SlotPool(point.tiers);
  std::vector<Stored> stored = point.stored;
  std::sort(stored.begin(), stored.end(),
            [](const Stored& a, const Stored& b) { return a.slot < b.slot; });
  for (std::size_t i = 0; i < stored.size(); ++i) {
    check(stored[i].slot >= 0 && stored[i].slot < slots,
          "there is no slot #" + std::to_string(stored[i].slot));
    check(i == 0 || stored[i].slot != stored[i - 1].slot,
          "slot #" + std::to_string(stored[i].slot) + " is listed twice");
    result.pool.claim(stored[i].slot);
  }
  std::sort(stored.begin(), stored.end(),
            [](const Stored& a, const Stored& b) { return a.at < b.at; });
  std::vector<Slot> useless;
  std::vector<Stored> useful;
  for (const Stored& each : stored) {
    check(each.at >= 0 && each.at <= point.steps, "there is no state " + std::to_string(each.at));
    const bool again = !useful.empty() && useful.back().at == each.at;
    if (each.at >= point.end || again) {
      useless.push_back(each.slot);
    } else {
      useful.push_back(each);
    }
  }
  const Step live = point.live != unknown && point.live < point.end ? point.live : unknown;
  if (point.end == 0) {
    check(point.turned || point.live == 0, "state 0 is not live");
    result.plan.drops = useless;
    return result;
  }
  if (live == point.end - 1 && !useful.empty() && useful.back().at == live) {
    useless.push_back(useful.back().slot);
    useful.pop_back();
  }
  if (useful.empty() || useful.front().at != 0) {
    check(live == 0, "state 0 is neither stored nor live");
    if (point.end > 1) {
      check(slots >= 1, "there is no slot for state 0");
      Slot slot = unknown;
      if (static_cast<Slot>(stored.size()) == slots) {  // in place of one that is stored
        slot = useless.empty() ? useful.front().slot : useless.back();
        if (useless.empty()) {
          useful.erase(useful.begin());
        } else {
          useless.pop_back();
        }
        result.first.push_back({Command::Kind::drop, Content::state, 0, 0, slot});
      } else {
        slot = result.pool.take(result.pool.share(result.pool.free()).tier);
      }
      result.first.push_back({Command::Kind::save, Content::state, 0, 0, slot});
      useful.insert(useful.begin(), Stored{0, slot});
    }
  }
  const Slot most = std::min(slots, point.end);
  BinomialTable table(most);
  // A live x_{end-1} is reversed first, without further ado.
  const bool at_end = live == point.end - 1;
  result.plan =
      replan(useful, at_end ? live : point.end, at_end ? unknown : live, most, table, true);
  result.plan.drops.insert(result.plan.drops.end(), useless.begin(), useless.end());
  return result;
}

}  // namespace

Step resume_advances(const ResumePoint& point) {
  return prepare(point).plan.advances;
}

Schedule resume_from(const ResumePoint& point) {
  Prepared prepared = prepare(point);
  SetReversal::Start start;
  start.steps = point.steps;
  start.end = point.end;
  start.live = point.live;
  start.turned = point.turned;
  start.kept = std::move(prepared.plan.kept);
  start.drops = std::move(prepared.plan.drops);
  start.placements = std::move(prepared.plan.placements);
  return {
      "resume", point.steps, point.tiers,
      listed(std::move(prepared.first), SetReversal(std::move(start), std::move(prepared.pool)))};
}

std::unique_ptr<Generator> listed(std::vector<Command> first, SetReversal rest) {
  return std::make_unique<Listed>(std::move(first), std::move(rest));
}

}  // namespace costate
