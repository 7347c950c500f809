#include "tier_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "costate/schedule/binomial.hpp"

namespace costate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
// Straight parts of h for one number of slots, and for all together if those are few.
constexpr int most_parts_each = 20'000;
constexpr int most_parts_of_all = 200'000;
constexpr double rounding_of_slopes = 0x1p-33;  // that are the same
constexpr double rounding_of_values = 0x1p-50;

}  // namespace

TierBounds::TierBounds(TierTables tables, Step n)
    : TierRule(tables.levels(), tables.binomial_bottom()),
      tables_(std::move(tables)),
      levels_(tables_.levels().size()),
      steps_(n),
      known_(n) {
  for (std::size_t k = 0; k < levels_.size(); ++k) fill(k);
}

Step TierBounds::least(const Envelope& left, const Envelope& right, Step l, Step near,
                       Hints& hints) const {
  // The slope of the sum between j and j+1; it grows with j.
  const auto slope = [&](Step j) {
    return tables_.step() + left.slope(j, hints.left) - right.slope(l - j - 1, hints.right);
  };
  // Find j in [1, l-1] with slope(j-1) < 0 <= slope(j), by growing strides and then by halving.
  Step low = 1;
  Step high = l - 1;
  Step j = std::clamp(near, low, high);
  if (j < high && slope(j) < 0) {
    low = j + 1;
    for (Step stride = 1; low < high; stride *= 2) {
      const Step next = std::min(low + stride, high);
      if (next == high || slope(next) >= 0) {
        high = next;
        break;
      }
      low = next + 1;
    }
  } else {
    high = j;
    for (Step stride = 1; low < high; stride *= 2) {
      const Step next = std::max(high - stride, low);
      if (slope(next) < 0) {
        low = next + 1;
        break;
      }
      high = next;
    }
  }
  while (low < high) {
    const Step middle = low + (high - low) / 2;
    if (slope(middle) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void TierBounds::fill(std::size_t k) {
  Level& mine = levels_[k];
  const TierLevel& level = levels()[k];
  if (k == 0 && binomial_bottom()) {
    mine.all.push_back(Envelope::binomial(known_, level.slots, tables_.step(), level.read));
    return;
  }
  if (k == 0) {  // nothing below: only a single step can do without being kept
    mine.all.emplace_back();
    mine.all.back().push(0);
  } else {
    mine.all.push_back(levels_[k - 1].all.back());
  }
  const std::size_t columns = level.open() ? 1 : static_cast<std::size_t>(level.slots);
  mine.kept.resize(columns);
  mine.all.resize(columns + 1);
  for (std::size_t column = 0; column < columns; ++column) {
    const Slot s = level.open() ? 0 : static_cast<Slot>(column) + 1;
    Envelope& left = mine.kept[column];
    Envelope& out = mine.all[column + 1];
    for (Step l = 1; l <= std::min(known_, tables_.longest()); ++l) {
      const double p = tables_.kept(k, l, s);
      left.push(p);
      out.push(l == 1 ? 0 : std::min(lower(k, l), tables_.write(k) + p));
    }
    if (k == 0 && column == 0 && !level.open()) {
      // Nothing can be kept to the right: advances of one slot.
      while (out.last() < known_) {
        const Step l = out.last() + 1;
        const auto steps = static_cast<double>(l - 1);
        const double p = steps * (static_cast<double>(l) / 2 * tables_.step() + level.read);
        const std::size_t before = out.corners();
        left.push(p);
        out.push(tables_.write(k) + p);
        if (out.corners() > before && l > 2) break;  // from here on both are convex themselves
      }
      left.go_on_binomially(1, tables_.step(), level.read);
      out.go_on_binomially(1, tables_.step(), level.read);
    } else {
      carry_on(k, column);
    }
  }
}

// What is known of h(l), and of how it goes on from there.
struct TierBounds::Part {
  Step near = 1;  // the j of the least sum
  double h = 0;
  double steeper = 0;  // the slopes of the pieces of P, and u, and of O that h is made of next
  double other = 0;
  Step go = 0;  // how far h is straight
};

// A piece that is not known yet is not less steep than what is known, and h is taken no further.
TierBounds::Part TierBounds::part(std::size_t k, const Envelope& left, const Envelope& right,
                                  Step l, Step near, Hints& hints) const {
  Part part;
  const Step j = least(left, right, l, near, hints);
  part.near = j;
  part.h = static_cast<double>(j) * tables_.step() + left.at(j, hints.left) +
           right.at(l - j, hints.right) + levels()[k].read;
  part.steeper = left.slope(j, hints.left) + tables_.step();
  part.other = right.slope(l - j, hints.right);
  const bool both = part.steeper < infinite && part.other < infinite;
  if (part.steeper == infinite) part.steeper = left.last_slope() + tables_.step();
  if (part.other == infinite) part.other = right.last_slope();
  if (!both) return part;
  part.go = part.steeper < part.other ? left.end_of_piece(j, hints.left) - j
                                      : right.end_of_piece(l - j, hints.right) - (l - j);
  return part;
}

void TierBounds::carry_on(std::size_t k, std::size_t column) {
  Level& mine = levels_[k];
  Envelope& left = mine.kept[column];
  Envelope& out = mine.all[column + 1];
  const bool open = levels()[k].open();
  const Envelope& right = open ? out : mine.all[column];
  const Envelope* const below = k > 0 ? &mine.all.front() : nullptr;
  const double write = tables_.write(k);
  const int most_parts =
      std::max(most_parts_each, most_parts_of_all / static_cast<int>(mine.kept.size()));
  Hints hints;
  std::size_t hint = 0;
  const auto push = [&](Step l, double h) {
    const double instead = below != nullptr ? below->at(l, hint) : infinite;
    left.push(l, std::min(instead, h));
    out.push(l, std::min(instead, write + h));
  };
  // Whether O of the level below is no less from here on, as long as h is at least that steep.
  const auto is_alone = [&](Step l, double h, double slope) {
    return below == nullptr || (below->at(l, hint) >= write + h && below->slope(l, hint) >= slope);
  };
  // Whether an open level ends with the stretch that it goes on with for ever: h continues both
  // functions at the slope of their ends, and so do all pieces that h is still made of.
  const auto goes_on_for_ever = [&](Step near) {
    const Step l = left.last() + 1;
    const Part next = part(k, left, right, l, near, hints);
    const double slope = out.last_slope();
    const auto same = [](double value, double other, double rounding) {
      return std::abs(value - other) <= other * rounding;
    };
    return left.corners() > 1 && next.other <= next.steeper &&
           same(next.other, slope, rounding_of_slopes) &&
           same(left.last_slope(), slope, rounding_of_slopes) && is_alone(l, next.h, slope) &&
           same(next.h, left.at(l - 1) + slope, rounding_of_values) &&
           same(write + next.h, out.at(l - 1) + slope, rounding_of_values);
  };
  Step near = left.last() / 2;
  for (int parts = 0; left.last() < known_; ++parts) {
    if (parts == most_parts) {
      known_ = left.last();
      return;
    }
    const Step l = left.last() + 1;
    Part here = part(k, left, right, l, near, hints);
    near = here.near;
    const double y = std::min(here.steeper, here.other);
    // If O of the level below may be less, only to the end of its piece; and if it is, and no
    // steeper than all that h is still made of, as far as that.
    if (!is_alone(l, here.h, y)) {
      const Step piece = below->end_of_piece(l, hint) - l;
      const bool is_less = below->at(l, hint) <= here.h && below->slope(l, hint) <= y;
      here.go = is_less ? piece : std::min(here.go, piece);
    }
    push(l, here.h);
    here.go = std::min(here.go, known_ - l);
    const auto ends = [&] { return open && goes_on_for_ever(near); };
    bool is_over = ends();
    if (!is_over && here.go > 0) {
      push(l + here.go, here.h + y * static_cast<double>(here.go));
      is_over = ends();
    }
    if (is_over) {
      const double slope = out.last_slope();
      left.go_on_at(slope);
      out.go_on_at(slope);
      return;
    }
  }
}

double TierBounds::lower(std::size_t k, Step l) const {
  if (k == 0) return l == 1 ? 0 : infinite;
  if (k == 1 && binomial_bottom()) {  // the truth itself
    const TierLevel& level = levels()[0];
    return static_cast<double>(binomial_advances(l, std::min<Slot>(level.slots, l))) *
               tables_.step() +
           static_cast<double>(l - 1) * level.read;
  }
  return levels_[k].all.front().at(l);
}

double TierBounds::kept_bound(std::size_t k, Step l, Slot s) const {
  l = std::min(l, known_);  // of fewer steps if need be, which cost no more
  if (l <= tables_.longest()) return tables_.kept(k, l, s);
  return kept_of(k, s).at(l);
}

// The least of the sums of j steps, and that j; l is longer than the tables.
TierBounds::Sum TierBounds::least_sum(std::size_t k, Step l, Slot s) const {
  const Envelope& left = kept_of(k, s);
  if (k == 0 && s == 1) return {l - 1, left.at(l)};
  const Envelope& right = all_of(k, s - 1);
  Hints hints{left.corners(), right.corners()};
  Step j = Envelope::least_sum(left, right, tables_.step(), l);
  if (j == 0) j = least(left, right, l, l / 2, hints);
  const double steps = static_cast<double>(j) * tables_.step();
  return {j, steps + left.at(j, hints.left) + right.at(l - j, hints.right) + levels()[k].read};
}

double TierBounds::lower_bound(Step l) const {
  const std::size_t k = levels_.size() - 1;
  l = std::min(l, known_);
  if (l <= 1) return 0;
  if (k == 0 && binomial_bottom()) return levels_[0].all.front().at(l);
  const Slot s = all_slots(k);
  const double p = l <= tables_.longest() ? tables_.kept(k, l, s) : least_sum(k, l, s).cost;
  return std::min(lower(k, l), tables_.write(k) + p);
}

bool TierBounds::keeps(std::size_t k, Step l, Slot s) const {
  if (l <= tables_.longest()) return tables_.keeps(k, l, s);
  return tables_.write(k) + least_sum(k, l, s).cost < lower(k, l);
}

Step TierBounds::split(std::size_t k, Step l, Slot s) const {
  if (l <= tables_.longest()) return tables_.split(k, l, s);
  const Sum sum = least_sum(k, l, s);
  return sum.cost < lower(k, l) || (k == 0 && s == 1) ? sum.split : 0;
}

Step TierBounds::repeats(std::size_t k, Step l) const {
  // Where O goes on for ever the next start is always as far ahead, as long as the level below
  // costs more, which it does from where it does and is as steep.
  const Envelope& all = all_of(k, 0);
  const Step from = std::max(tables_.longest(), all.last());
  if (l <= from) return 1;
  const Step j = split(k, l, 0);
  if (j == 0) return 1;
  const auto holds = [&](Step times) {
    const Step left = l - times * j;
    std::size_t hint = 0;
    const bool grows = k == 0 || levels_[k].all.front().slope(left, hint) >= all.slope(from, hint);
    return grows && split(k, left + j, 0) == j && keeps(k, left, 0);
  };
  // Near where the level below takes over it may not: then only a part of the way.
  for (Step times = (l - j - 1 - from) / j + 1; times > 1; times /= 2) {
    if (holds(times)) return times;
  }
  return 1;
}

}  // namespace costate
