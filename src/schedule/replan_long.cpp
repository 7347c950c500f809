#include "replan_long.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "costate/schedule/binomial.hpp"
#include "gap_costs.hpp"

namespace costate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double most_cells = 1e6;
constexpr double most_looks = 1e7;
constexpr Slot most_columns = 5000;  // slots on disk, some 0.1 ms each

struct State {
  Step at;
  Slot slot;
  std::size_t tier;
};

class LongReplan {
 public:
  LongReplan(const Costs& costs, const ResumePoint& point, GapCosts gaps)
      : gaps_(std::move(gaps)),
        read_{costs.tiers[0].read / costs.step, costs.tiers[1].read / costs.step},
        end_(point.end) {
    SlotPool pool(point.tiers);
    for (const Stored& each : point.stored) {
      states_.push_back({each.at, each.slot, pool.tier_of(each.slot)});
    }
    std::sort(states_.begin(), states_.end(),
              [](const State& a, const State& b) { return a.at < b.at; });
    Slot a = gaps_.memory();
    Slot b = gaps_.disk();
    for (const State& each : states_) {
      --(each.tier == 0 ? a : b);
      free_.push_back({a, b});
    }
    const auto m = static_cast<double>(states_.size());
    most_dropped_ = states_.size() <= 48 ? states_.size() : 16;
    while (most_dropped_ > 0 &&
           (m * std::pow(static_cast<double>(most_dropped_) + 1, 2) > most_cells ||
            m * std::pow(static_cast<double>(most_dropped_) + 1, 3) / 2 > most_looks)) {
      most_dropped_ /= 2;
    }
    // The live state is of use above all that are stored.
    live_ = point.live != unknown && point.live < end_ && point.live >= states_.back().at
                ? point.live
                : unknown;
  }

  // Returns what that costs, in steps.
  double decide(SetReversal::Start& start) {
    const std::size_t width = most_dropped_ + 1;
    choices_.assign(states_.size() * width * width, {});
    for (std::size_t i = states_.size(); i-- > 0;) {
      // So many can be dropped below in each tier.
      const auto in_memory =
          static_cast<std::size_t>(gaps_.memory() - free_[i].a) - (states_[i].tier == 0 ? 1U : 0U);
      for (std::size_t d0 = 0; d0 <= std::min(in_memory, most_dropped_); ++d0) {
        for (std::size_t d1 = 0; d1 <= i - in_memory && d0 + d1 <= most_dropped_; ++d1) {
          choose(i, d0, d1);
        }
      }
    }
    std::vector<bool> needed(states_.size());
    std::size_t dropped[2] = {0, 0};
    for (std::size_t i = 0;;) {
      const Choice& choice = cell(i, dropped[0], dropped[1]);
      needed[i] = true;
      start.kept.push_back({states_[i].at, states_[i].at + 1, states_[i].slot});
      if (choice.placed != unknown) place(choice, needed, start);
      const Step next = choice.placed != unknown ? choice.placed
                        : choice.next == 0       ? end_
                                                 : states_[choice.next].at;
      if (states_[i].tier == 1) longest_ = std::max(longest_, next - states_[i].at);
      if (choice.next == 0) break;
      for (std::size_t j = i + 1; j < choice.next; ++j) ++dropped[states_[j].tier];
      i = choice.next;
    }
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (!needed[i]) start.drops.push_back(states_[i].slot);
    }
    return cell(0, 0, 0).cost;
  }

  // For the gaps above states on disk.
  std::shared_ptr<const TierRule> rule() { return gaps_.rule(longest_); }
  [[nodiscard]] std::shared_ptr<const NearTables> near() const { return gaps_.near(); }

 private:
  struct Room {
    Slot a;
    Slot b;
  };
  struct Choice {
    double cost = infinite;
    std::size_t next = 0;   // 0: none (the first one is never next)
    Step placed = unknown;  // a new one
    std::size_t tier = 0;   // where that is placed
  };
  Choice& cell(std::size_t i, std::size_t d0, std::size_t d1) {
    const std::size_t width = most_dropped_ + 1;
    return choices_[(i * width + d0) * width + d1];
  }
  [[nodiscard]] Room room(std::size_t i, std::size_t d0, std::size_t d1) const {
    const Slot open = gaps_.disk() == unbounded ? 0 : static_cast<Slot>(d1);
    return {free_[i].a + static_cast<Slot>(d0), free_[i].b + open};
  }

  void choose(std::size_t i, std::size_t d0, std::size_t d1) {
    const State& state = states_[i];
    const auto [a, b] = room(i, d0, d1);
    Choice& best = cell(i, d0, d1);
    const auto gap = [&, a = a, b = b](Step to) {
      return read_[state.tier] + gaps_.kept(state.tier, to - state.at, a, b);
    };
    best.cost = gap(end_) - (state.at == live_ ? read_[state.tier] : 0);
    std::size_t dropped[2] = {d0, d1};
    for (std::size_t j = i + 1; j < states_.size(); ++j) {
      if (dropped[0] + dropped[1] > most_dropped_) break;
      const double cost = gap(states_[j].at) + cell(j, dropped[0], dropped[1]).cost;
      if (cost < best.cost) best = {cost, j, unknown, 0};
      ++dropped[states_[j].tier];
    }
    // All above may be dropped for a new one.
    if (d0 + d1 + (states_.size() - 1 - i) > most_dropped_) return;
    const Step q = std::max(states_.back().at, live_);
    if (q == state.at) return;
    const double fetch = q == live_ ? 0 : read_[states_.back().tier];
    const auto placed = [&, a = a, b = b](Step at) {
      return static_cast<double>(at - q) + fetch + gaps_.unkept(end_ - at, a, b) + gap(at);
    };
    Step k = q;
    double least = placed(q);
    // First on a grid that becomes wider, then around the best.
    Step before = q;
    Step after = end_ - 1;
    Step last = q;
    for (Step d = 1; q + d < end_; d += 1 + d / 4) {
      const double cost = placed(q + d);
      if (cost < least) {
        least = cost;
        k = q + d;
        before = last;
        after = std::min(end_ - 1, q + d + 1 + d / 4);
      }
      last = q + d;
    }
    for (Step width = (after - before) / 16; width > 0; width /= 4) {
      const Step from = std::max(q, k - 8 * width);
      for (Step at = from; at <= std::min(end_ - 1, from + 16 * width); at += width) {
        const double cost = placed(at);
        if (cost < least) {
          least = cost;
          k = at;
        }
      }
    }
    if (!(least < best.cost)) return;
    // On disk if that is cheaper than the room in memory.
    const double in_memory = a > 0 ? gaps_.kept(0, end_ - k, a - 1, b) : never;
    best = {least, 0, k, gaps_.unkept(end_ - k, a, b) < in_memory ? std::size_t{1} : 0};
  }
  void place(const Choice& choice, std::vector<bool>& needed, SetReversal::Start& start) {
    if (choice.tier == 1) longest_ = std::max(longest_, end_ - choice.placed);
    if (live_ != unknown) {
      start.placements.push_back({live_, -1, false, choice.placed, choice.tier});
      return;
    }
    // In place of the highest one, or it is that itself.
    const State& highest = states_.back();
    needed.back() = true;
    if (choice.placed == highest.at && choice.tier == highest.tier) {
      start.kept.push_back({highest.at, highest.at + 1, highest.slot});
    } else {
      start.placements.push_back({highest.at, highest.slot, true, choice.placed, choice.tier});
    }
  }

  GapCosts gaps_;
  double read_[2];
  Step end_;
  Step live_ = unknown;
  std::vector<State> states_;
  std::vector<Room> free_;  // above each state, if none is dropped
  std::size_t most_dropped_ = 0;
  std::vector<Choice> choices_;
  Step longest_ = 2;  // gap above a state on disk
};

}  // namespace

std::optional<LongReversal> replan_long(const Costs& costs, ResumePoint point) {
  if (point.tiers.size() < 2) return std::nullopt;
  while (point.tiers.size() > 2) {
    point.tiers[1].slots = saturating_add(point.tiers[1].slots, point.tiers.back().slots);
    point.tiers.pop_back();
  }
  const Slot memory = point.tiers[0].slots;
  const Slot disk = point.tiers[1].slots;
  if (memory < 1 || disk < 1) return std::nullopt;
  const std::vector<TierLevel> levels = {
      {0, std::min(memory, point.end), 0, 0},
      {1, disk >= point.end ? unbounded : disk, costs.tiers[1].write / costs.step,
       costs.tiers[1].read / costs.step}};
  if (!levels[1].open() && disk > most_columns) return std::nullopt;
  GapCosts gaps(levels);
  if (!gaps.covers(point.end)) return std::nullopt;
  LongReplan plan(costs, point, std::move(gaps));
  SetReversal::Start start;
  start.steps = point.steps;
  start.end = point.end;
  start.live = point.live;
  start.turned = point.turned;
  const double cost = plan.decide(start) * costs.step;
  start.rule = plan.rule();
  start.near = plan.near();
  SlotPool pool(point.tiers);
  for (const Stored& each : point.stored) pool.claim(each.slot);
  return LongReversal{SetReversal(std::move(start), std::move(pool)), cost};
}

}  // namespace costate
