#include "tier_tables.hpp"

#include <algorithm>
#include <limits>

#include "costate/schedule/binomial.hpp"
#include "least_sum.hpp"

namespace costate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

}  // namespace

std::vector<double> binomial_costs(Step longest, Slot slots, double step, double write,
                                   double read) {
  std::vector<double> cost(static_cast<std::size_t>(longest) + 1, 0.0);
  // t grows by r with every step between beta(slots, r-1) and beta(slots, r).
  Step r = 0;
  Step reach = 1;   // beta(slots, r)
  Step before = 0;  // beta(slots, r-1)
  Step second = 0;  // beta(slots-1, r-1)
  Step advances = 0;
  for (Step l = 2; l <= longest; ++l) {
    if (l > reach) {
      ++r;
      before = reach;
      second = beta(slots - 1, r - 1);
      reach = beta(slots, r);
    }
    advances = saturating_add(advances, r);
    cost[static_cast<std::size_t>(l)] = static_cast<double>(advances) * step +
                                        static_cast<double>(l - 1) * read +
                                        static_cast<double>(std::max(second, l - before)) * write;
  }
  return cost;
}

TierTables::TierTables(std::vector<TierLevel> levels, double step, Step longest)
    : TierRule(levels, levels.front().write == 0),
      step_(step),
      tie_(step * 0x1p-30),
      longest_(longest),
      kept_(levels.size()),
      unkept_(levels.size()) {
  for (std::size_t k = 0; k < levels.size(); ++k) fill(k);
}

void TierTables::fill(std::size_t k) {
  const TierLevel& level = levels()[k];
  const auto size = static_cast<std::size_t>(longest_) + 1;
  std::vector<Column>& unkept = unkept_[k];
  if (k == 0 && binomial_bottom()) {
    const Slot slots = std::min<Slot>(level.slots, longest_);
    unkept.push_back(binomial_costs(longest_, slots, step_, tie_, level.read));
    return;
  }
  Column lower(size, infinite);
  if (k > 0) {
    lower = unkept_[k - 1].back();
  } else {
    lower[1] = 0;
  }
  unkept.push_back(lower);
  // O(k, ·, s-1) backwards, so that it and P run in the same direction.
  Column right(size, 0.0);
  Column left(size, 0.0);  // P with all that goes with it
  const auto backwards = [size](std::size_t l) { return size - 1 - l; };
  const std::size_t columns = level.open() ? 1 : static_cast<std::size_t>(level.slots);
  for (std::size_t column = 0; column < columns; ++column) {
    for (std::size_t l = 1; l < size; ++l) right[backwards(l)] = unkept.back()[l];
    Column p(size, 0.0);
    Column o(size, 0.0);
    for (std::size_t l = 1; l < size; ++l) {
      if (l > 1) {
        p[l] = std::min(lower[l], least_sum(&left[1], &right[backwards(l - 1)], l - 1));
        o[l] = std::min(lower[l], write(k) + p[l]);
      }
      left[l] = static_cast<double>(l) * step_ + p[l] + level.read;
      if (level.open()) right[backwards(l)] = o[l];
    }
    kept_[k].push_back(std::move(p));
    unkept.push_back(std::move(o));
  }
}

bool TierTables::keeps(std::size_t k, Step l, Slot s) const {
  return k == 0 || write(k) + kept(k, l, s) < unkept_[k].front()[static_cast<std::size_t>(l)];
}

Step TierTables::split(std::size_t k, Step l, Slot s) const {
  const auto steps = static_cast<std::size_t>(l);
  const Column& left = kept_column(k, s);
  const Column& right = unkept_column(k, one_less(k, s));
  if (k > 0 && left[steps] == unkept_[k].front()[steps]) return 0;
  double least = infinite;
  std::size_t best = 0;
  for (std::size_t j = 1; j < steps; ++j) {
    const double cost = static_cast<double>(j) * step_ + left[j] + right[steps - j];
    if (cost < least) {
      least = cost;
      best = j;
    }
  }
  return static_cast<Step>(best);
}

}  // namespace costate
