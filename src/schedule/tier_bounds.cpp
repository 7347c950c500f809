#include "tier_bounds.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace costate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

}  // namespace

TierBounds::TierBounds(TierTables tables, Step n)
    : TierRule(tables.levels(), tables.binomial_bottom()),
      tables_(std::move(tables)),
      levels_(tables_.levels().size()) {
  for (std::size_t k = 0; k < levels_.size(); ++k) fill(k, n);
  for (Level& level : levels_) level.below.shrink_to_fit();
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

void TierBounds::fill(std::size_t k, Step n) {
  Level& mine = levels_[k];
  const TierLevel& level = levels()[k];
  const auto size = static_cast<std::size_t>(n) + 1;
  const Step exact = tables_.longest();
  if (k == 0 && binomial_bottom()) {
    // The truth itself, which is convex but for the tiny weight of the writes.
    std::vector<double> costs = tables_.bottom_costs(n);
    if (levels_.size() == 1) {
      lower_bounds_ = std::move(costs);
    } else {
      levels_[1].below = std::move(costs);
    }
    return;
  }
  if (k == 0) {
    mine.below.assign(size, infinite);
    mine.below[1] = 0;
  }
  const std::size_t columns = level.open() ? 1 : static_cast<std::size_t>(level.slots);
  mine.kept.resize(columns);
  mine.all.resize(columns + 1);
  if (k > 0) {
    for (std::size_t l = 1; l < size; ++l) mine.all[0].push(mine.below[l]);
  }
  std::vector<double> over(size, 0.0);  // O(k, ·, s) or below
  for (std::size_t column = 0; column < columns; ++column) {
    Envelope& left = mine.kept[column];
    Envelope& out = mine.all[column + 1];
    const Envelope& right = level.open() ? out : mine.all[column];
    // Nothing can be kept to the right.
    const bool last_slot = k == 0 && column == 0 && !level.open();
    const Slot s = level.open() ? 0 : static_cast<Slot>(column) + 1;
    Step near = 1;
    Hints hints;
    for (Step l = 1; l <= n; ++l) {
      const double lower = mine.below[static_cast<std::size_t>(l)];
      double p = 0;
      if (l <= exact) {
        p = tables_.kept(k, l, s);
      } else if (last_slot) {
        const auto steps = static_cast<double>(l - 1);
        p = steps * (static_cast<double>(l) / 2 * tables_.step() + level.read);
      } else {
        near = least(left, right, l, near, hints);
        p = std::min(lower, static_cast<double>(near) * tables_.step() + left.at(near, hints.left) +
                                right.at(l - near, hints.right) + level.read);
      }
      left.push(p);
      const double o = l == 1 ? 0 : std::min(lower, tables_.write(k) + p);
      out.push(o);
      if (column + 1 == columns) over[static_cast<std::size_t>(l)] = o;
    }
  }
  if (k + 1 < levels_.size()) {
    levels_[k + 1].below = std::move(over);
  } else {
    lower_bounds_ = std::move(over);
  }
}

bool TierBounds::keeps(std::size_t k, Step l, Slot s) const {
  if (l <= tables_.longest()) return tables_.keeps(k, l, s);
  return tables_.write(k) + kept_of(k, s).at(l) < levels_[k].below[static_cast<std::size_t>(l)];
}

Step TierBounds::split(std::size_t k, Step l, Slot s) const {
  if (l <= tables_.longest()) return tables_.split(k, l, s);
  if (k == 0 && s == 1) return l - 1;
  const Envelope& left = kept_of(k, s);
  const Envelope& right = all_of(k, s - 1);
  Hints hints{left.corners(), right.corners()};
  const Step j = least(left, right, l, l / 2, hints);
  const double cost =
      static_cast<double>(j) * tables_.step() + left.at(j) + right.at(l - j) + levels()[k].read;
  return cost < levels_[k].below[static_cast<std::size_t>(l)] ? j : 0;
}

}  // namespace costate
