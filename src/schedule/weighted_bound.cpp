#include <algorithm>
#include <cmath>
#include <functional>

#include "costate/schedule/binomial.hpp"
#include "tier_bounds.hpp"
#include "weighted_plan.hpp"

namespace costate {
namespace {

constexpr double affordable = 5e7;     // columns times steps of all relaxations together
constexpr double tie_share = 0x1p-28;  // by more than this ties cannot raise a bound

// What the layers below and above theta cost at least. `sorted`: descending, w_2 first.
double cost_of_layers(const std::vector<double>& sorted, std::vector<TierLevel> levels,
                      double theta) {
  const auto n = static_cast<Step>(sorted.size()) + 1;
  Slot slots = 0;
  double columns = 0;
  for (TierLevel& level : levels) {
    slots = saturating_add(slots, level.slots);
    columns += level.open() ? 1 : static_cast<double>(level.slots);
    level.write /= theta;
    level.read /= theta;
  }
  const auto longest = static_cast<Step>(std::sqrt(1e7 / columns));
  const TierBounds bounds(
      TierTables(levels, 1, std::clamp<Step>(longest, 2, std::min<Step>(n, 2048))), n);
  double cost = 0;
  Step r = 1;
  Step reach = beta(slots, r);
  for (Step m = 2; m <= n; ++m) {
    const double here = sorted[static_cast<std::size_t>(m) - 2];
    const double next = m < n ? sorted[static_cast<std::size_t>(m) - 1] : 0;
    while (m > reach) reach = beta(slots, ++r);
    cost += (std::min(here, theta) - std::min(next, theta)) * bounds.lower_bound(m);
    cost += std::max(0.0, here - theta) * static_cast<double>(r);
  }
  return cost * (1 - tie_share);
}

}  // namespace

double least_weighted_cost(const std::vector<double>& weights, std::vector<TierLevel> levels,
                           double effort) {
  std::vector<double> sorted = weights;
  if (sorted.size() < 2 || levels.empty()) return 0;
  sorted.pop_back();
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  // The relaxation wants levels of which none is faster than the one before it.
  for (std::size_t k = levels.size() - 1; k-- > 0;) {
    levels[k].write = std::min(levels[k].write, levels[k + 1].write);
    levels[k].read = std::min(levels[k].read, levels[k + 1].read);
  }
  double columns = 0;
  for (const TierLevel& level : levels) {
    columns += level.open() ? 1 : static_cast<double>(level.slots);
  }
  const double once = columns * static_cast<double>(sorted.size());
  double mean = 0;
  for (const double weight : sorted) mean += weight / static_cast<double>(sorted.size());
  double best = 0;
  double spent = 0;
  for (const double theta : {mean, sorted[sorted.size() / 2], sorted.front(), sorted.back(),
                             sorted[sorted.size() / 10]}) {
    spent += once;
    if (!(theta > 0)) continue;
    if (spent > affordable * effort) break;
    best = std::max(best, cost_of_layers(sorted, levels, theta));
  }
  return best;
}

}  // namespace costate
