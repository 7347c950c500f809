#include "replan_long.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "coarse_rule.hpp"
#include "costate/schedule/binomial.hpp"
#include "gap_costs.hpp"

namespace costate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double most_cells = 1e6;
constexpr double most_looks = 1e7;
constexpr double affordable = 1e8;    // as in gap_costs.cpp
constexpr double most_columns = 3e7;  // steps times slots of relaxed tables
constexpr double most_open = 5e7;

struct State {
  Step at;
  Slot slot;
  std::size_t tier;
};

// What gaps cost, in steps, and the rule to reverse them by. Beyond the lengths that complete
// tables can be made for, both come from relaxed ones.
class LongGaps {
 public:
  LongGaps(const std::vector<TierLevel>& levels, Step end) : costs_(levels) {
    const double columns = levels[1].open() ? 1 : static_cast<double>(levels[1].slots);
    complete_ = static_cast<Step>(std::sqrt(2 * affordable / columns));
    if (end <= complete_) return;
    const double most = (levels[1].open() ? most_open : most_columns) / (columns + 4);
    grain_ = static_cast<Step>(std::ceil(static_cast<double>(end) / std::max(most, 1.0)));
    possible_ = grain_ == 1 || (!levels[1].open() && most >= 100);
    if (!possible_) return;
    const auto tables = static_cast<Step>(std::sqrt(most_looks / columns));
    far_.emplace(TierTables(levels, 1.0, std::clamp<Step>(tables, 64, 4096), grain_),
                 (end - 1) / grain_ + 1);
    each_grain_ = static_cast<double>(binomial_advances(grain_, std::min(memory(), grain_)));
  }

  [[nodiscard]] bool possible() const noexcept { return possible_; }
  [[nodiscard]] Slot memory() const noexcept { return costs_.memory(); }
  [[nodiscard]] Slot disk() const noexcept { return costs_.disk(); }

  double kept(std::size_t k, Step l, Slot a, Slot b) {
    if (k == 0 || a < memory() || l <= complete_) return costs_.kept(k, l, a, b);
    const double grains = static_cast<double>(l) / static_cast<double>(grain_);
    return far_->kept_bound(1, (l - 1) / grain_ + 1, std::min(b + 1, disk())) +
           (grain_ > 1 ? grains * each_grain_ : 0);
  }
  double unkept(Step l, Slot a, Slot b, std::size_t& tier) {
    tier = 0;
    if (l <= 1) return 0;
    const double in_memory = a > 0 ? kept(0, l, a - 1, b) : infinite;
    const double on_disk = b > 0 ? costs_.write() + kept(1, l, a, b - 1) : infinite;
    if (on_disk < in_memory) tier = 1;
    return std::min(in_memory, on_disk);
  }

  // For gaps of up to `longest` steps above states on disk.
  std::shared_ptr<const TierRule> rule(Step longest) {
    if (longest <= complete_) return costs_.rule(longest);
    if (grain_ == 1) return std::make_shared<TierBounds>(std::move(*far_));
    return std::make_shared<CoarseRule>(std::move(*far_), grain_);
  }
  [[nodiscard]] std::shared_ptr<const NearTables> near() const { return costs_.near(); }

 private:
  GapCosts costs_;
  Step complete_;
  Step grain_ = 1;
  bool possible_ = true;
  std::optional<TierBounds> far_;
  double each_grain_ = 0;  // of reversing a grain on its own
};

class LongReplan {
 public:
  LongReplan(const Costs& costs, const ResumePoint& point, LongGaps gaps)
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

  void decide(SetReversal::Start& start) {
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
      std::size_t ignored = 0;
      return static_cast<double>(at - q) + fetch + gaps_.unkept(end_ - at, a, b, ignored) + gap(at);
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
    std::size_t tier = 0;
    static_cast<void>(gaps_.unkept(end_ - k, a, b, tier));
    best = {least, 0, k, tier};
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

  LongGaps gaps_;
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

std::optional<SetReversal> replan_long(const Costs& costs, ResumePoint point) {
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
  LongGaps gaps(levels, point.end);
  if (!gaps.possible()) return std::nullopt;
  LongReplan plan(costs, point, std::move(gaps));
  SetReversal::Start start;
  start.steps = point.steps;
  start.end = point.end;
  start.live = point.live;
  start.turned = point.turned;
  plan.decide(start);
  start.rule = plan.rule();
  start.near = plan.near();
  SlotPool pool(point.tiers);
  for (const Stored& each : point.stored) pool.claim(each.slot);
  return SetReversal(std::move(start), std::move(pool));
}

}  // namespace costate
