#include "gap_rules.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace costate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double near_effort = 2e7;   // additions for the tables of short gaps
constexpr double table_effort = 4e6;  // for those of a rule
constexpr double most_columns = 2e4;  // of all rules, some 0.1 ms each
constexpr Slot few = 64;              // slots of a tier: more may be more than are wanted
constexpr Slot many = 3000;           // or are not all planned with
constexpr int most_jumps = 64;
constexpr Step few_steps = 256;
// A table of binomials is quicker for few slots and repetitions.
constexpr Slot most_in_table = 2000;
constexpr Step longest_in_table = 100'000;

// Rules are made for so many free slots or some more: all numbers below 2 `apart` are told apart.
Slot rounded(Slot free, Slot apart) {
  Slot unit = 1;
  while (free / unit >= 2 * apart) unit *= 2;
  return free / unit * unit;
}

// How many states are stored at once in the last level, which is open, if the first of l steps is.
Slot slots_taken(const TierRule& rule, Step l) {
  const std::size_t k = rule.levels().size() - 1;
  Slot taken = 1;
  for (int jumps = 0; l > 1; ++jumps) {
    const Step ahead = rule.split(k, l, 0);
    if (ahead == 0) break;
    if (jumps == most_jumps) return saturating_add(taken, l / ahead);
    const Step times = rule.repeats(k, l);
    l -= times * ahead;
    taken = saturating_add(taken, times);
    if (l > 1 && !rule.keeps(k, l, 0)) break;
  }
  return taken;
}

}  // namespace

GapRules::GapRules(const Costs& costs, const Room& slots, Step longest, Step near)
    : step_(costs.step),
      longest_(std::max<Step>(longest, 2)),
      rules_(costs.tiers.size()),
      open_(costs.tiers.size()),
      binomial_(std::min(*std::max_element(slots.begin(), slots.end()), most_in_table)) {
  for (std::size_t t = 0; t < costs.tiers.size(); ++t) {
    const bool open = slots[t] >= longest_ - 1;
    tiers_.push_back({open ? unbounded : slots[t], costs.tiers[t].write, costs.tiers[t].read});
  }
  near = std::min(longest_, near);
  while (near > 3 && EqualGapTables::effort(tiers_, near) > near_effort) near -= 1 + near / 16;
  near_ = std::make_shared<EqualGapTables>(tiers_, step_, near);
}

GapRules::Kept GapRules::kept(std::size_t k, Step l, const Room& free) {
  if (l <= 1) return {0, k};
  if (l <= near_->longest())
    return {near_->kept_of(GapTables::Set{1} << k, l, near_->index(free)), k};
  Kept best{by_rule(k, l, free), k};
  Room moved = free;
  ++moved[k];
  for (std::size_t t = k + 1; t < tiers_.size(); ++t) {
    if (free[t] == 0) continue;
    --moved[t];
    const double cost = tiers_[t].write + by_rule(t, l, moved);
    if (cost < best.cost) best = {cost, t};
    ++moved[t];
  }
  return best;
}

double GapRules::by_rule(std::size_t k, Step l, const Room& free) {
  const auto length = static_cast<double>(l);
  const bool alone = std::all_of(free.begin(), free.begin() + static_cast<std::ptrdiff_t>(k),
                                 [](Slot slots) { return slots == 0; });
  if (alone && tiers_[k].write == 0) {
    const Slot slots = std::min(free[k], longest_) + 1;
    const Step advances = slots <= most_in_table && l <= longest_in_table
                              ? binomial_.advances(l, slots)
                              : binomial_advances(l, slots);
    return static_cast<double>(advances) * step_ + (length - 1) * tiers_[k].read;
  }
  const Rule& rule = best(k, l, free);
  if (!rule.rule) return infinite;
  const std::size_t level = rule.rule->levels().size() - 1;
  const TierLevel& last = rule.rule->levels()[level];
  const Slot s = last.open() ? 0 : std::min(free[k] + 1, last.slots);
  return rule.tables != nullptr ? rule.tables->kept(level, l, s)
                                : rule.bounds->kept_bound(level, l, s);
}

const GapRules::Rule& GapRules::best(std::size_t k, Step l, const Room& free) {
  if (tiers_[k].slots > few && tiers_[k].slots != unbounded) {
    const Open& made = open(k, free);
    if (made.rule.rule && is_enough(made, l, free[k] + 1)) return made.rule;
  }
  return bounded(k, free);
}

// Nearly: between lengths for which it is counted it hardly differs from a straight line.
bool GapRules::is_enough(const Open& open, Step l, Slot slots) {
  const auto above = std::lower_bound(open.taken.begin(), open.taken.end(), std::pair{l, Slot{0}});
  if (above == open.taken.begin()) return above->second <= slots;
  const auto [shorter, fewer] = *std::prev(above);
  const double part =
      static_cast<double>(l - shorter) / static_cast<double>(above->first - shorter);
  return static_cast<double>(fewer) + part * static_cast<double>(above->second - fewer) <=
         static_cast<double>(slots);
}

GapRules::Room GapRules::key(std::size_t k, const Room& free, Slot apart) const {
  Room made{};
  for (std::size_t t = 0; t < k; ++t) {
    const Slot slots = std::min(free[t], longest_);
    made[t] = free[t] == tiers_[t].slots ? slots : rounded(slots, apart);
  }
  return made;
}

const GapRules::Rule& GapRules::bounded(std::size_t k, const Room& free) {
  const Slot slots = tiers_[k].slots;
  const Room below = key(k, free, slots <= few || slots == unbounded ? 16 : slots < 300 ? 4 : 1);
  const auto it = rules_[k].find(below);
  if (it != rules_[k].end()) return it->second;
  const Slot last = slots == unbounded ? slots : std::min(slots, many);
  return rules_[k].emplace(below, make(k, below, last)).first->second;
}

const GapRules::Open& GapRules::open(std::size_t k, const Room& free) {
  const Room below = key(k, free, 16);
  const auto it = open_[k].find(below);
  if (it != open_[k].end()) return it->second;
  Open made{make(k, below, unbounded), {}};
  for (Step l = longest_; made.rule.rule && l > 1; l -= 1 + l / 8) {
    made.taken.emplace_back(l, slots_taken(*made.rule.rule, l));
  }
  std::reverse(made.taken.begin(), made.taken.end());
  return open_[k].emplace(below, std::move(made)).first->second;
}

GapRules::Rule GapRules::make(std::size_t k, const Room& free, Slot last) {
  std::vector<TierLevel> levels;
  double columns = 0;
  for (std::size_t t = 0; t <= k; ++t) {
    const Slot slots = t < k ? free[t] : last;
    if (slots == 0) continue;
    levels.push_back({t, slots, tiers_[t].write, tiers_[t].read});
    if (levels.size() > 1 || tiers_[t].write > 0) {
      columns += slots == unbounded ? 1 : static_cast<double>(slots);
    }
  }
  Rule made;
  if (columns == 0) {  // binomial in one tier
    if (k > 0) made.rule = std::make_shared<TierTables>(levels, step_, 1);
    return made;
  }
  const auto length = static_cast<double>(longest_);
  // The longest gaps have functions of more pieces.
  const double effort = columns * std::max(1.0, std::pow(std::log2(length) / 20, 3));
  if (columns_ + effort > most_columns) return made;
  columns_ += effort;
  // Bounds know of repetitions, by which slots are counted.
  const bool is_counted = last == unbounded && tiers_[k].slots != unbounded;
  const Step most = is_counted ? few_steps : 4096;
  if (longest_ <= most && length * length * columns / 2 <= table_effort) {
    const auto tables = std::make_shared<TierTables>(levels, step_, longest_);
    made.tables = tables.get();
    made.rule = tables;
  } else {
    const auto first = static_cast<Step>(std::sqrt(2 * table_effort / columns));
    const auto bounds = std::make_shared<TierBounds>(
        TierTables(levels, step_, std::clamp<Step>(first, 64, most)), longest_);
    if (bounds->is_cut()) return made;
    made.bounds = bounds.get();
    made.rule = bounds;
  }
  return made;
}

}  // namespace costate
