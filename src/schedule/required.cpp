#include "costate/schedule/required.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "binomial_table.hpp"
#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "plan_parts.hpp"
#include "set_reversal.hpp"

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

class FromStart final : public Generator {
 public:
  explicit FromStart(SetReversal reversal) : reversal_(std::move(reversal)) {}
  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<FromStart>(*this);
  }
  Command next() override { return reversal_.next(); }

 private:
  SetReversal reversal_;
};

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
        const Step here = saturating_add(saturating_add(gap, divide(table, gap, s, j).cost), above);
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

}  // namespace

Plan required(const Costs& costs, Step n, std::vector<Step> positions) {
  const PlanningTime time;
  check(costs, n);
  const std::vector<TierSlots> tiers = rooms(costs);
  if (tiers.size() != 1) {
    throw InvalidArgument("required() is for one tier, not " + std::to_string(tiers.size()));
  }
  constexpr Step most = 100'000'000;
  if (n > most) {
    throw InvalidArgument("required() counts by running through the schedule: at most " +
                          std::to_string(most) + " steps, not " + std::to_string(n));
  }
  positions.push_back(0);
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  if (positions.front() < 0 || (n > 0 && positions.back() >= n)) {
    throw InvalidArgument("a required state is not among the states 0 to " + std::to_string(n - 1));
  }
  if (positions.back() == n - 1) positions.pop_back();
  const auto count = static_cast<Slot>(positions.size());
  if (n > 1 && tiers.front().slots < count) {
    throw InvalidArgument(std::to_string(count) + " states are to be stored, x_0 among them, in " +
                          std::to_string(tiers.front().slots) + " slots");
  }
  const Slot slots = std::min<Slot>(tiers.front().slots, std::max<Step>(n - 1, 0));
  SetReversal::Start start;
  start.steps = start.end = n;
  start.live = 0;
  if (n > 1) {
    Step live = 0;
    for (const Step at : first_pass(positions, n, slots)) {
      start.placements.push_back({live, -1, false, at});
      live = at;
    }
  }
  const std::vector<TierSlots> used{{tiers.front().name, slots}};
  Schedule schedule("required", n, used,
                    std::make_unique<FromStart>(SetReversal(std::move(start), SlotPool(used))));
  Counts counts = interpret(schedule);
  return time.stop(plan_of(std::move(schedule), std::move(counts), costs, n));
}

}  // namespace costate
