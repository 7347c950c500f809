#include "tier_tables.hpp"

#include <algorithm>
#include <limits>

#include "costate/schedule/binomial.hpp"

namespace costate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// min over i < n of a[i] + b[i]. Eight running minima, so that the additions do not wait for each
// other and go two at a time.
double least_sum(const double* a, const double* b, std::size_t n) {
  constexpr std::size_t width = 8;
  double least[width];
  std::fill(least, least + width, infinite);
  std::size_t i = 0;
  for (; i + width <= n; i += width) {
    for (std::size_t u = 0; u < width; ++u) {
      const double sum = a[i + u] + b[i + u];
      least[u] = sum < least[u] ? sum : least[u];
    }
  }
  for (; i < n; ++i) least[0] = std::min(least[0], a[i] + b[i]);
  return *std::min_element(least, least + width);
}

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
      kept_(levels.size()) {
  for (std::size_t k = 0; k < levels.size(); ++k) fill(k);
}

double TierTables::below(std::size_t k, Step l) const {
  if (k > 0) return all_free_[k - 1][static_cast<std::size_t>(l)];
  return l <= 1 ? 0 : infinite;
}

double TierTables::kept(std::size_t k, Step l, Slot s) const {
  return column(k, s)[static_cast<std::size_t>(l)];
}

double TierTables::unkept(std::size_t k, Step l, Slot s) const {
  if (k == 0 && binomial_bottom()) return all_free_[0][static_cast<std::size_t>(l)];
  const double lower = below(k, l);
  return any_free(k, s) ? std::min(lower, write(k) + kept(k, l, s)) : lower;
}

void TierTables::fill(std::size_t k) {
  const TierLevel& level = levels()[k];
  const auto size = static_cast<std::size_t>(longest_) + 1;
  if (k == 0 && binomial_bottom()) {
    all_free_.push_back(
        binomial_costs(longest_, std::min<Slot>(level.slots, longest_), step_, tie_, level.read));
    return;
  }
  std::vector<double> lower(size, 0.0);
  for (std::size_t l = 2; l < size; ++l) lower[l] = below(k, static_cast<Step>(l));
  // The right part, O(k, ·, s-1), backwards, so that the two run in the same direction; and the
  // left part with all that goes with it.
  std::vector<double> right(size, 0.0);
  std::vector<double> left(size, 0.0);
  const auto backwards = [size](std::size_t l) { return size - 1 - l; };
  for (std::size_t l = 1; l < size; ++l) right[backwards(l)] = lower[l];
  const std::size_t columns = level.open() ? 1 : static_cast<std::size_t>(level.slots);
  for (std::size_t column = 0; column < columns; ++column) {
    std::vector<double> p(size, 0.0);
    for (std::size_t l = 1; l < size; ++l) {
      if (l > 1) {
        p[l] = std::min(lower[l], least_sum(&left[1], &right[backwards(l - 1)], l - 1));
      }
      left[l] = static_cast<double>(l) * step_ + p[l] + level.read;
      if (level.open() && l > 1) right[backwards(l)] = std::min(lower[l], write(k) + p[l]);
    }
    for (std::size_t l = 2; l < size; ++l) {
      right[backwards(l)] = std::min(lower[l], write(k) + p[l]);
    }
    kept_[k].push_back(std::move(p));
  }
  std::vector<double> all(size, 0.0);
  for (std::size_t l = 2; l < size; ++l) all[l] = right[backwards(l)];
  all_free_.push_back(std::move(all));
}

bool TierTables::keeps(std::size_t k, Step l, Slot s) const {
  return write(k) + kept(k, l, s) < below(k, l);
}

Step TierTables::split(std::size_t k, Step l, Slot s) const {
  if (kept(k, l, s) == below(k, l)) return 0;
  const std::vector<double>& p = column(k, s);
  const Slot fewer = one_less(k, s);
  double least = infinite;
  Step best = 0;
  for (Step j = 1; j < l; ++j) {
    const double cost =
        static_cast<double>(j) * step_ + p[static_cast<std::size_t>(j)] + unkept(k, l - j, fewer);
    if (cost < least) {
      least = cost;
      best = j;
    }
  }
  return best;
}

}  // namespace costate
