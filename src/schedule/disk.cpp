#include "costate/schedule/disk.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/hierarchical.hpp"
#include "open_disk_bound.hpp"
#include "plan_parts.hpp"
#include "tier_tables.hpp"

namespace costate {
namespace {

// Tables of so many steps take some milliseconds.
constexpr Step table_steps = 4096;

// A checkpoint on disk every `period` steps as long as more are ahead than the tables cover and
// than memory alone reverses at less than what the period saves; then as the tables say. What is
// longer than the tables but not ahead of that is left to memory.
class PeriodicRule final : public TierRule {
 public:
  PeriodicRule(TierTables tables, Step period, Step alone)
      : TierRule(tables.levels(), tables.binomial_bottom()),
        tables_(std::move(tables)),
        period_(period),
        end_game_(std::max({tables_.longest(), period, alone})) {}

  [[nodiscard]] bool keeps(std::size_t k, Step l, Slot s) const override {
    return l > end_game_ || (l <= tables_.longest() && tables_.keeps(k, l, s));
  }
  [[nodiscard]] Step split(std::size_t k, Step l, Slot s) const override {
    if (l > end_game_) return period_;
    return l > tables_.longest() ? 0 : tables_.split(k, l, s);
  }
  [[nodiscard]] Step repeats(std::size_t /*k*/, Step l) const override {
    return std::max<Step>(1, (l - end_game_ + period_ - 1) / period_);
  }

 private:
  TierTables tables_;
  Step period_;
  Step end_game_;  // up to here no checkpoint is set for the sake of the period
};

}  // namespace

Plan disk_revolve(const Costs& costs, Step n) {
  const PlanningTime time;
  const std::vector<TierSlots> room = rooms(costs);
  Costs wide = costs;
  wide.tiers.back().slots = unbounded;
  Plan made = hierarchical(wide, n);
  const Slot used = made.counts.tiers.back().peak;
  if (used > room.back().slots) {
    throw InvalidArgument("disk-revolve needs " + std::to_string(used) + " slots in tier " +
                          room.back().name + "; there are " + std::to_string(room.back().slots));
  }
  made.schedule = made.schedule.renamed("disk-revolve");
  return time.stop(std::move(made));
}

Step disk_period(Slot slots, double transfer) {
  if (slots < 1 || !(transfer >= 0)) {
    throw InvalidArgument("a period is for at least one slot and a transfer that is not negative");
  }
  Step x = 0;
  while (beta(slots + 1, x) < saturated && static_cast<double>(beta(slots + 1, x)) <= transfer) ++x;
  return beta(slots, x);
}

Plan periodic_disk(const Costs& costs, Step n) {
  const PlanningTime time;
  check(costs, n);
  const std::vector<TierSlots> room = rooms(costs);
  const TierCosts& disk = costs.tiers.back();
  if (room.size() < 2 || room.front().slots < 1) {
    throw InvalidArgument("periodic-disk needs a slot in the first of at least two tiers");
  }
  const Step most = std::max<Step>(n, 1);
  const double transfer = (disk.write + disk.read) / costs.step;
  const Step binomial = disk_period(std::min(room.front().slots, most), transfer);
  const Step longest =
      std::min(most, std::clamp<Step>(saturating_multiply(binomial, 8), 256, table_steps));
  std::vector<TierLevel> levels = {{0, room.front().slots, 0, 0},
                                   {room.size() - 1, unbounded, disk.write, disk.read}};
  TierTables tables(std::move(levels), costs.step, longest);
  // The least cost a step of a stretch between two states on disk. One too long for the tables is
  // reversed in memory alone.
  const Slot slots = std::min(room.front().slots, most);
  const auto in_memory = [&](Step l) {
    return costs.step * static_cast<double>(binomial_advances(l, slots));
  };
  const auto stretch = [&](Step q) {
    return disk.write + disk.read + (q <= longest ? tables.kept(1, q, 0) : in_memory(q));
  };
  const auto a_step = [&](Step q) { return stretch(q) / static_cast<double>(q); };
  Step period = binomial;
  if (binomial <= longest) {
    for (Step q = 1; q <= longest; ++q) {
      if (a_step(q) < a_step(period)) period = q;
    }
  }
  // Memory alone is the better as long as a stretch less to reverse saves less than it costs. It
  // saves the more the longer the run, advances being convex.
  const double paid = stretch(period) + costs.step * static_cast<double>(period);
  const auto pays = [&](Step l) {
    const Step rest = l - period;
    const double kept = rest <= longest ? disk.write + tables.kept(1, rest, 0) : in_memory(rest);
    return binomial_advances(l, slots) == saturated ||
           in_memory(l) > paid + std::min(in_memory(rest), kept);
  };
  Step alone = std::max(longest, period);
  for (Step above = most; alone < above;) {
    const Step middle = above - (above - alone) / 2;
    (pays(middle) ? above : alone) = pays(middle) ? middle - 1 : middle;
  }
  const auto rule = std::make_shared<PeriodicRule>(std::move(tables), period, alone);
  Counts counts = tiered_counts(*rule, n, room);
  if (counts.tiers.back().peak > room.back().slots) {
    throw InvalidArgument("periodic-disk needs " + std::to_string(counts.tiers.back().peak) +
                          " slots in tier " + room.back().name + "; there are " +
                          std::to_string(room.back().slots));
  }
  std::vector<TierSlots> used;
  for (const TierCounts& tier : counts.tiers) used.push_back({tier.name, tier.slots});
  Schedule schedule = tiered_schedule("periodic-disk", n, std::move(used), rule);
  Plan made = plan_of(std::move(schedule), std::move(counts), costs, n);
  if (costs.weights.empty()) {
    made.lower_bound = std::min(made.cost, std::max(made.lower_bound, open_disk_bound(costs, n)));
  }
  return time.stop(std::move(made));
}

}  // namespace costate
