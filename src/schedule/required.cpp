#include "costate/schedule/required.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "binomial_table.hpp"
#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/replan.hpp"
#include "gap_tables.hpp"
#include "mean_tables.hpp"
#include "plan_parts.hpp"
#include "replanner.hpp"
#include "required_exact.hpp"
#include "set_reversal.hpp"
#include "weighted_plan.hpp"
#include "whole_bound.hpp"

namespace costate {
namespace {

// U of the header: the lengths of the parts and what they cost.
struct Parts {
  Step cost = saturated;
  std::vector<Step> lengths;
};

Parts divide(BinomialTable& table, Step gap, Slot slots, Slot further) {
  Parts parts;
  if (further >= gap) return parts;
  parts.lengths.assign(static_cast<std::size_t>(further) + 1, 1);  // slope 0
  parts.cost = 0;
  Step left = gap - further - 1;
  for (Step r = 1; left > 0; ++r) {
    Slot s = slots;
    for (Step& length : parts.lengths) {
      const Step room = std::min(left, table.reach_of(s, r) - table.reach_of(s, r - 1));
      length += room;
      left -= room;
      parts.cost = saturating_add(parts.cost, saturating_multiply(r, room));
      --s;
    }
  }
  return parts;
}

// What `divide` costs: all parts at once, by the sum of beta(i, r) over s-j <= i <= s, which is
// beta(s, r+1) - beta(s-j-1, r+1).
Step cost_of_parts(BinomialTable& table, Step gap, Slot slots, Slot further) {
  if (further >= gap) return saturated;
  const auto sum = [&](Step r) {
    return table.reach_of(slots, r + 1) - table.reach_of(slots - further - 1, r + 1);
  };
  Step cost = 0;
  Step left = gap - further - 1;
  for (Step r = 1; left > 0; ++r) {
    if (table.reach_of(slots, r + 1) == saturated) return divide(table, gap, slots, further).cost;
    const Step room = std::min(left, sum(r) - sum(r - 1));
    left -= room;
    cost = saturating_add(cost, saturating_multiply(r, room));
  }
  return cost;
}

// All states that the first pass stores.
std::vector<Step> first_pass(const std::vector<Step>& positions, Step n, Slot slots) {
  BinomialTable table(slots);
  const std::size_t m = positions.size();
  const auto width = static_cast<std::size_t>(slots) + 1;
  // D(i, s) and the j it is reached with.
  std::vector<Step> best(m * width, saturated);
  std::vector<Slot> further(m * width, 0);
  for (Slot s = 1; s <= slots; ++s) {
    best[(m - 1) * width + static_cast<std::size_t>(s)] = table.advances(n - positions[m - 1], s);
  }
  for (std::size_t i = m - 1; i-- > 0;) {
    const Step gap = positions[i + 1] - positions[i];
    for (Slot s = 1; s <= slots; ++s) {
      const std::size_t cell = i * width + static_cast<std::size_t>(s);
      for (Slot j = 0; j < std::min<Slot>(gap, s); ++j) {
        const Step above = best[(i + 1) * width + static_cast<std::size_t>(s - 1 - j)];
        if (above == saturated) break;
        const Step here =
            saturating_add(saturating_add(gap, cost_of_parts(table, gap, s, j)), above);
        if (here < best[cell]) {
          best[cell] = here;
          further[cell] = j;
        }
      }
    }
  }
  std::vector<Step> all;
  Slot s = slots;
  for (std::size_t i = 0; i < m; ++i) {
    all.push_back(positions[i]);
    if (i + 1 == m) break;
    const Slot j = further[i * width + static_cast<std::size_t>(s)];
    const Parts parts = divide(table, positions[i + 1] - positions[i], s, j);
    for (std::size_t part = 0; part + 1 < parts.lengths.size(); ++part) {
      all.push_back(all.back() + parts.lengths[part]);
    }
    s -= 1 + j;
  }
  return all;
}

// With slots alike and steps alike, the fewest advances.
std::unique_ptr<Generator> fewest_advances(const std::vector<Step>& positions, Step n,
                                           const std::vector<TierSlots>& tiers) {
  Slot slots = 0;
  for (const TierSlots& tier : tiers) slots += tier.slots;
  SetReversal::Start start;
  start.steps = start.end = n;
  start.live = 0;
  // If all states can be kept they are.
  const std::vector<Step> all_fit{0};
  Step live = 0;
  for (const Step at : n <= 1           ? std::vector<Step>{}
                       : slots >= n - 1 ? all_fit
                                        : first_pass(positions, n, slots)) {
    start.placements.push_back({live, -1, false, at});
    live = at;
  }
  return listed({}, SetReversal(std::move(start), SlotPool(tiers)));
}

// What every schedule costs at least that stores these states. The steps of each gap and, but for
// the last gap, the run's last one are a chain of their own if all others are left out, and the
// slots of the required states below are not for it. A write in a gap is one of its chain; of reads
// there is one before every reverse step but the first.
double bound_of(const Costs& costs, const std::vector<Step>& positions, Step n, Slot slots) {
  double write = std::numeric_limits<double>::infinity();
  double read = write;
  for (const TierCosts& tier : costs.tiers) {
    if (tier.slots == 0) continue;
    write = std::min(write, tier.write);
    read = std::min(read, tier.read);
  }
  double sum = static_cast<double>(n - 1) * read;
  Costs chain = costs;
  chain.tiers = {{.write = write, .read = 0}};
  const double effort = 0.2 / static_cast<double>(positions.size());
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const bool last = i + 1 == positions.size();
    const Step end = last ? n : positions[i + 1];
    const Slot left = slots - static_cast<Slot>(i);
    if (costs.weights.empty()) {
      const Step steps = end - positions[i] + (last ? 0 : 1);
      sum += costs.step * static_cast<double>(binomial_advances(steps, left)) + write;
    } else {
      chain.weights.assign(costs.weights.begin() + positions[i], costs.weights.begin() + end);
      if (!last) chain.weights.push_back(0);
      chain.tiers[0].slots = left;
      sum += weighted_cost(chain, static_cast<Step>(chain.weights.size()), effort).lower_bound;
    }
  }
  return sum;
}

// 0, and what is required, but not what is reversed at once.
std::vector<Step> in_order(std::vector<Step> positions, Step n) {
  positions.push_back(0);
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  const Step wrong = positions.front() < 0 ? positions.front() : positions.back();
  if (wrong < 0 || (n > 0 && wrong >= n)) {
    throw InvalidArgument("state " + std::to_string(wrong) +
                          " is required, but only the states 0 to " + std::to_string(n - 1) +
                          " can be");
  }
  if (positions.back() == n - 1) positions.pop_back();
  return positions;
}

}  // namespace

Plan required(const Costs& given, Step n, std::vector<Step> positions) {
  const PlanningTime time;
  check(given, n);
  Costs costs = given;
  simplify(costs);
  std::vector<TierSlots> tiers = rooms(costs);
  constexpr Step most = 100'000'000;
  if (n > most) {
    throw InvalidArgument("required() counts by running through the schedule: at most " +
                          std::to_string(most) + " steps, not " + std::to_string(n));
  }
  positions = in_order(std::move(positions), n);
  Slot slots = 0;
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    tiers[t].slots = std::min<Slot>(tiers[t].slots, std::max<Step>(n - 1, 0));
    costs.tiers[t].slots = tiers[t].slots;
    costs.tiers[t].bytes = 0;
    slots += tiers[t].slots;
  }
  const auto count = static_cast<Slot>(positions.size());
  if (n > 1 && slots < count) {
    throw InvalidArgument(std::to_string(count) + " states are to be stored, x_0 among them, in " +
                          std::to_string(slots) + " slots");
  }
  const auto planned = [&](std::unique_ptr<Generator> generator) {
    Schedule schedule("required", n, tiers, std::move(generator));
    Counts counts = interpret(schedule);
    return plan_of(std::move(schedule), std::move(counts), costs, n);
  };
  Plan best = planned(fewest_advances(positions, n, tiers));
  if (n <= 1) return time.stop(std::move(best));
  best.lower_bound = bound_of(costs, positions, n, slots);
  if (tiers.size() == 1 && costs.weights.empty() && costs.tiers[0].write == 0) {
    best.lower_bound = best.cost;
    return time.stop(std::move(best));
  }
  std::vector<GapTier> gap_tiers;
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    gap_tiers.push_back({tiers[t].slots, costs.tiers[t].write, costs.tiers[t].read});
  }
  const ResumePoint point{.steps = n, .end = n, .live = 0, .tiers = tiers};
  double bound = std::max(best.lower_bound, whole_bound(costs, n));
  if (const auto tables = gap_tables(gap_tiers, costs, n, exact_effort)) {
    std::vector<Step> all(static_cast<std::size_t>(n));
    std::iota(all.begin(), all.end(), Step{0});
    const FirstPass pass = required_exact(*tables, positions, n, std::move(all));
    if (tiers.size() == 1) bound = std::max(bound, pass.cost * (1 - 0x1p-28));
    Plan other = planned(listed(carried_out(pass, point, *tables)));
    if (other.cost < best.cost) best = std::move(other);
  } else if (auto commands = required_by_mean(positions, n, tiers, costs)) {
    Plan other = planned(listed(std::move(*commands)));
    if (other.cost < best.cost) best = std::move(other);
  }
  best.lower_bound = std::min(best.cost, bound);
  return time.stop(std::move(best));
}

}  // namespace costate
