#include "run_agreement.hpp"

#include <algorithm>
#include <functional>
#include <limits>

namespace costate::detail {
namespace {

constexpr std::int64_t none = -1;

// The values that every member has, the largest first: nothing above the least of the members'
// largest is common, so all go down together. Calls `keep(value)` for each that may be common.
void each_common(std::vector<std::int64_t> mine, Team& team,
                 const std::function<bool(std::int64_t value, bool here)>& keep) {
  std::sort(mine.begin(), mine.end(), std::greater<>());
  auto at = mine.begin();
  while (true) {
    const std::int64_t value = least(&team, at == mine.end() ? none : *at);
    if (value == none) return;
    at = std::find_if(at, mine.end(), [&](std::int64_t other) { return other <= value; });
    const bool here = at != mine.end() && *at == value;
    if (!keep(value, here)) return;
    if (here) ++at;
  }
}

}  // namespace

std::int64_t order_of(RunRecord::Phase phase, Step step) noexcept {
  constexpr std::int64_t top = std::numeric_limits<std::int64_t>::max();
  return phase == RunRecord::Phase::forward ? step : top - step;
}

std::optional<FoundRow> common_record(const std::vector<FoundRow>& all, const StepLog* log,
                                      Team& team) {
  const auto order = [](const FoundRow& record) {
    return order_of(static_cast<RunRecord::Phase>(record.header.phase), record.header.step);
  };
  std::vector<FoundRow> whole;
  std::vector<std::int64_t> orders;
  for (const FoundRow& record : all) {
    const Step logged = record.header.phase == 0 ? record.header.step : record.header.slot;
    if (record.payload != FoundRow::Payload::whole) continue;
    if (log != nullptr && log->steps() < logged) continue;
    whole.push_back(record);
    orders.push_back(order(record));
  }
  std::optional<FoundRow> common;
  each_common(orders, team, [&](std::int64_t value, bool here) {
    if (least(&team, here ? 1 : 0) == 0) return true;
    common = *std::find_if(whole.begin(), whole.end(),
                           [&](const FoundRow& record) { return order(record) == value; });
    return false;
  });
  return common;
}

std::vector<FoundRow> common_states(const std::vector<FoundRow>& states, Team& team) {
  std::vector<std::int64_t> steps;
  for (const FoundRow& state : states) steps.push_back(state.header.step);
  std::vector<FoundRow> common;
  each_common(steps, team, [&](std::int64_t step, bool here) {
    const auto found = std::find_if(states.begin(), states.end(), [&](const FoundRow& state) {
      return state.header.step == step;
    });
    const Slot slot = here ? found->header.slot : none;
    if (least(&team, slot) == most(&team, slot) && here) common.push_back(*found);
    return true;
  });
  std::reverse(common.begin(), common.end());
  return common;
}

}  // namespace costate::detail
