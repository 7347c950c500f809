#include "costate/schedule/replan.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "bases.hpp"
#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "listed.hpp"
#include "replanner.hpp"
#include "slot_stack.hpp"

namespace costate {
namespace {

void append(std::vector<StoredRun>& runs, const Stored& stored) {
  if (!runs.empty() && runs.back().to == stored.at &&
      runs.back().slot + (runs.back().to - runs.back().from) == stored.slot) {
    ++runs.back().to;
  } else {
    runs.push_back({stored.at, stored.at + 1, stored.slot});
  }
}

// How to get from the stored states to the bases.
Replanned arrange(const std::vector<Stored>& stored, const Bases& found) {
  Replanned result;
  result.advances = found.price.advances;
  std::vector<Placement> from_live;
  auto base = found.bases.begin();
  const auto place_below = [&](Step at) {
    if (base == found.bases.end() || base->start >= at) return;
    from_live.push_back({base->start, -1, false, base->at});
    ++base;
  };
  for (const Stored& each : stored) {
    place_below(each.at);
    if (base == found.bases.end() || base->start != each.at) {
      result.drops.push_back(each.slot);
      continue;
    }
    if (base->at == each.at) {
      append(result.kept, each);
    } else {
      result.placements.push_back({each.at, each.slot, true, base->at});
    }
    ++base;
  }
  place_below(saturated);
  // What is placed from the live state comes first; else the highest, because it may be the last
  // step, which is reversed at once.
  std::reverse(result.placements.begin(), result.placements.end());
  result.placements.insert(result.placements.begin(), from_live.begin(), from_live.end());
  return result;
}

// So many take about a second.
constexpr std::size_t most_stored = 1000;
// Of more, so many are dropped at least, if that pays.
constexpr std::size_t few_dropped = 16;

// The states that are so far apart that at most so many remain, the lowest among them.
std::vector<Step> spaced(const std::vector<Step>& states, Step end, std::size_t most) {
  const auto apart = [&](Step distance) {
    std::vector<Step> kept;
    for (const Step at : states) {
      if (kept.empty() || at - kept.back() >= distance) kept.push_back(at);
    }
    return kept;
  };
  Step low = 1;
  for (Step high = end; low < high;) {
    const Step middle = low + (high - low) / 2;
    if (apart(middle).size() > most) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return apart(low);
}

// What the set costs as it is: no state dropped, no new one.
Step as_it_is(const std::vector<Stored>& stored, Step end, Slot slots, BinomialTable& table) {
  Step sum = 0;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const Step next = i + 1 < stored.size() ? stored[i + 1].at : end;
    sum = saturating_add(sum, table.advances(next - stored[i].at, slots - static_cast<Slot>(i)));
  }
  return sum;
}

}  // namespace

bool is_exact(std::size_t stored) {
  return stored <= most_stored;
}

Replanned replan(const std::vector<Stored>& stored, Step end, Step live, Slot slots,
                 BinomialTable& table, bool quick) {
  const auto keep_all = [&](Step advances) {
    Replanned result;
    for (const Stored& each : stored) append(result.kept, each);
    result.advances = advances;
    return result;
  };
  if (end == 0) return keep_all(0);
  // A first pass could have led here, so no continuation takes less than t(end + 1, slots) - end.
  const Step kept = as_it_is(stored, end, slots, table);
  if (live == unknown && kept == binomial_advances(end + 1, slots) - end) return keep_all(kept);

  std::vector<Step> states;
  for (const Stored& each : stored) states.push_back(each.at);
  const auto plan = [&](const std::vector<Step>& of, std::size_t most_dropped) {
    return best_bases(of, live, end, slots, most_dropped, table);
  };
  if (quick) return arrange(stored, plan(states, few_dropped));
  if (is_exact(states.size() - 1)) {  // x_0 may have been added
    return arrange(stored, plan(states, states.size()));
  }
  // Where few are best dropped, and where many are.
  const Bases few = plan(states, std::max(few_dropped, 250'000 / states.size()));
  const Bases many = plan(spaced(states, end, most_stored), most_stored);
  return arrange(stored, many.price < few.price ? many : few);
}

void keep_best(std::vector<Stored> stored, Slot slots, Step end, SetReversal::Start& start) {
  while (!stored.empty() && stored.back().at >= end) {
    start.drops.push_back(stored.back().slot);
    stored.pop_back();
  }
  const Slot most = std::min<Slot>(slots, end);
  BinomialTable table(most);
  Replanned plan = replan(stored, end, unknown, most, table, true);
  start.kept = std::move(plan.kept);
  start.drops.insert(start.drops.end(), plan.drops.begin(), plan.drops.end());
  start.placements = std::move(plan.placements);
}

namespace {

void check(bool holds, const std::string& what) {
  if (!holds) throw InvalidArgument("resume: " + what);
}

struct Prepared {
  std::vector<TierSlots> tiers;
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
  for (const TierSlots& tier : point.tiers) {
    check(tier.slots >= 0, "tier " + tier.name + " has a negative number of slots");
  }
  Prepared result;
  result.tiers = numbered_tiers(point.tiers);
  Slot slots = 0;
  for (const TierSlots& tier : result.tiers) slots += tier.slots;
  result.pool = SlotPool(result.tiers);
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
  bool saves_start = false;
  if (useful.empty() || useful.front().at != 0) {
    check(live == 0, "state 0 is neither stored nor live");
    saves_start = point.end > 1;
  }
  if (saves_start) {
    check(slots >= 1, "there is no slot for state 0");
    useful.insert(useful.begin(), Stored{0, -2});  // in a slot next to none
  }
  const Slot most = std::min(slots, point.end);
  BinomialTable table(most);
  // A live x_{end-1} is reversed first, without further ado.
  const bool at_end = live == point.end - 1;
  result.plan =
      replan(useful, at_end ? live : point.end, at_end ? unknown : live, most, table, false);
  std::vector<Slot>& drops = result.plan.drops;
  drops.insert(drops.end(), useless.begin(), useless.end());
  if (saves_start) {
    Slot slot = 0;
    if (result.pool.free() > 0) {
      slot = result.pool.take(result.pool.share(result.pool.free()).tier);
    } else {  // in place of another; not all of so many are of use
      slot = drops.back();
      drops.pop_back();
      result.first.push_back({Command::Kind::drop, Content::state, 0, 0, slot});
    }
    result.first.push_back({Command::Kind::save, Content::state, 0, 0, slot});
    result.plan.kept.front().slot = slot;
  }
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
      "resume", point.steps, std::move(prepared.tiers),
      listed(std::move(prepared.first), SetReversal(std::move(start), std::move(prepared.pool)))};
}

std::unique_ptr<Generator> listed(std::vector<Command> first, SetReversal rest) {
  return std::make_unique<Listed<SetReversal>>(std::move(first), std::move(rest));
}

}  // namespace costate
