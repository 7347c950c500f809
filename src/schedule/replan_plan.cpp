#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/replan.hpp"
#include "mean_tables.hpp"
#include "plan_parts.hpp"
#include "replan_exact.hpp"
#include "replan_long.hpp"
#include "replanner.hpp"
#include "slot_stack.hpp"
#include "whole_bound.hpp"

namespace costate {
namespace {

Slot all_slots(const ResumePoint& point) {
  Slot slots = 0;
  for (const TierSlots& tier : point.tiers) slots = saturating_add(slots, tier.slots);
  return slots;
}

// What remains when that is done which costs nothing: useless states dropped, a live last step
// reversed.
struct Rest {
  std::vector<Command> first;
  ResumePoint point;
};

Rest rest_of(ResumePoint point) {
  using Kind = Command::Kind;
  Rest rest;
  const auto emit = [&rest](Kind kind, Step from, Slot slot = 0) {
    rest.first.push_back({kind, Content::state, from, 0, slot});
  };
  if (point.live == point.steps && !point.turned) {
    emit(Kind::turn, point.steps);
    point.turned = true;
  }
  if (point.end > 0 && point.live == point.end - 1) {
    emit(Kind::record, point.live);
    if (!point.turned) emit(Kind::turn, point.steps);
    point.turned = true;
    emit(Kind::reverse, point.live);
    --point.end;
  }
  if (point.live != unknown && point.live >= point.end) point.live = unknown;
  const SlotPool pool(point.tiers);
  std::sort(point.stored.begin(), point.stored.end(), [](const Stored& a, const Stored& b) {
    return a.at != b.at ? a.at < b.at : a.slot < b.slot;
  });
  std::vector<Stored> useful;
  for (const Stored& each : point.stored) {
    const bool again = !useful.empty() && useful.back().at == each.at &&
                       pool.tier_of(useful.back().slot) == pool.tier_of(each.slot);
    if (each.at >= point.end || again) {
      emit(Kind::drop, 0, each.slot);
    } else {
      useful.push_back(each);
    }
  }
  point.stored = std::move(useful);
  rest.point = std::move(point);
  return rest;
}

Plan counted(Schedule schedule, const Costs& costs, const ResumePoint& point) {
  Plan plan{std::move(schedule), {}};
  Interpreter machine(point, costs.weights);
  Schedule copy = plan.schedule;
  for (Command command = copy.next_command();; command = copy.next_command()) {
    machine.apply(command);
    if (command.kind == Command::Kind::end) break;
  }
  plan.counts = machine.counts();
  plan.cost = cost_of(machine, costs);
  return plan;
}

Step writes(const Plan& plan) {
  Step sum = 0;
  for (const TierCounts& tier : plan.counts.tiers) sum = saturating_add(sum, tier.writes);
  return sum;
}

// The cheapest continuation if a slot were a slot, each as cheap as the cheapest: nothing is lost
// if there is but one tier. For weights; otherwise the fewest advances are known.
double in_one_tier(const Costs& costs, const ResumePoint& point) {
  GapTier one{all_slots(point), std::numeric_limits<double>::infinity(),
              std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < point.tiers.size(); ++i) {
    if (point.tiers[i].slots == 0) continue;
    one.write = std::min(one.write, costs.tiers[i].write);
    one.read = std::min(one.read, costs.tiers[i].read);
  }
  ResumePoint other = point;
  other.tiers = {{"all", one.slots}};
  const auto twice = [](const Stored& a, const Stored& b) { return a.at == b.at; };
  other.stored.erase(std::unique(other.stored.begin(), other.stored.end(), twice),
                     other.stored.end());
  const auto found = replan_exact(other, {one}, costs, exact_effort);
  return found ? found->least() : 0;
}

// The fewest advances with all slots alike, if that is what these are, and a read before every
// reverse step but the first if the live state leads to that.
double advances_and_reads(const Costs& costs, const ResumePoint& point, Step fewest) {
  double read = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < point.tiers.size(); ++i) {
    if (point.tiers[i].slots > 0) read = std::min(read, costs.tiers[i].read);
  }
  const Step reads = point.end - (point.live != unknown ? 1 : 0);
  double bound = reads > 0 ? static_cast<double>(reads) * read : 0;
  if (costs.weights.empty() && is_exact(point.stored.size())) {
    bound += static_cast<double>(fewest) * costs.step;
  }
  return bound;
}

// What the first k steps cost.
double span(const Costs& costs, Step k) {
  if (costs.weights.empty()) return static_cast<double>(k) * costs.step;
  return std::accumulate(costs.weights.begin(), costs.weights.begin() + k, 0.0);
}

// Each state is live a first time: it is so now, is read from where it is stored, or the step
// before it is run.
double first_times(const Costs& costs, const ResumePoint& point) {
  const SlotPool pool(point.tiers);
  const auto step = [&costs](Step i) {
    return costs.weights.empty() ? costs.step : costs.weights[static_cast<std::size_t>(i)];
  };
  double others = span(costs, point.end - 1);  // of states neither stored nor live
  double bound = 0;
  const auto count = [&](Step at, double read) {
    if (at > 0) others -= step(at - 1);
    if (at != point.live) bound += at > 0 ? std::min(read, step(at - 1)) : read;
  };
  for (auto each = point.stored.begin(); each != point.stored.end();) {
    const Step at = each->at;
    double read = std::numeric_limits<double>::infinity();
    for (; each != point.stored.end() && each->at == at; ++each) {
      read = std::min(read, costs.tiers[pool.tier_of(each->slot)].read);
    }
    count(at, read);
  }
  const bool is_stored = std::any_of(point.stored.begin(), point.stored.end(),
                                     [&](const Stored& each) { return each.at == point.live; });
  if (point.live != unknown && !is_stored) count(point.live, 0);
  return bound + std::max(0.0, others);
}

// A first pass could have led here, and with the continuation it is a whole schedule. If nothing of
// use is live it ended at the highest state, or one step after the end: then the whole is a step
// longer, and that step is reversed at once.
double after_first_pass(const Costs& costs, const ResumePoint& point) {
  const SlotPool pool(point.tiers);
  double spent = 0;
  Step highest = 0;
  for (const Stored& each : point.stored) {
    const TierCosts& tier = costs.tiers[pool.tier_of(each.slot)];
    spent += tier.write;
    highest = std::max(highest, each.at);
  }
  const bool beyond = point.live == unknown && point.end - highest <= 2;
  const Step n = beyond ? point.end + 1 : point.end;
  spent += span(costs, beyond ? point.end : std::max(highest, point.live));
  if (point.live != unknown) {
    if (point.live < highest) {  // back to the live state
      Step from = 0;
      double read = 0;
      for (const Stored& each : point.stored) {
        if (each.at > point.live) continue;
        from = each.at;
        read = costs.tiers[pool.tier_of(each.slot)].read;
      }
      spent += span(costs, point.live) - span(costs, from) + read;
    }
  }
  if (costs.weights.empty()) return whole_bound(costs, n) - spent;
  Costs all = costs;
  all.weights.resize(static_cast<std::size_t>(n), 0.0);  // that of the last step is of no account
  return whole_bound(all, n) - spent;
}

}  // namespace

namespace {

// Makes costs and point agree on the tiers; the point's slots count.
void settle(Costs& costs, ResumePoint& point) {
  check(costs, point.steps);
  simplify(costs);
  const std::vector<TierSlots> room = rooms(costs);
  if (point.tiers.empty()) {
    point.tiers = room;
  } else if (point.tiers.size() != room.size()) {
    throw InvalidArgument("resume: " + std::to_string(point.tiers.size()) +
                          " tiers, but costs of " + std::to_string(room.size()));
  }
  point.tiers = numbered_tiers(std::move(point.tiers));
  for (std::size_t i = 0; i < room.size(); ++i) {
    costs.tiers[i].slots = point.tiers[i].slots;
    costs.tiers[i].bytes = 0;
  }
}

std::unique_ptr<Generator> long_plan(const Costs& costs, const Rest& rest) {
  auto found = replan_long(costs, rest.point);
  if (!found) return nullptr;
  found->first.insert(found->first.begin(), rest.first.begin(), rest.first.end());
  return listed(std::move(found->first), std::move(found->reversal));
}

}  // namespace

Schedule continuation(const Costs& given, const ResumePoint& given_point) {
  if (given_point.end <= most_resumed) return resume_from(given, given_point).schedule;
  Costs costs = given;
  ResumePoint point = given_point;
  settle(costs, point);
  Schedule alike = resume_from(point);  // checks the point
  const Rest rest = rest_of(point);
  auto best = long_plan(evened(costs, rest.point.end), rest);
  return best ? Schedule("resume", point.steps, point.tiers, std::move(best)) : alike;
}

Plan resume_from(const Costs& given, const ResumePoint& given_point) {
  const PlanningTime time;
  Costs costs = given;
  ResumePoint point = given_point;
  settle(costs, point);
  if (point.end > most_resumed) {
    throw InvalidArgument("resume: what it costs is counted by running through it: at most " +
                          std::to_string(most_resumed) + " steps, not " +
                          std::to_string(point.end));
  }
  Schedule alike = resume_from(point);  // checks the point
  const Rest rest = rest_of(point);

  std::vector<std::unique_ptr<Generator>> found;
  double bound = 0;  // by weights
  if (rest.point.end == 0) {
    found.push_back(listed(rest.first));
  } else {
    std::vector<GapTier> tiers;
    for (std::size_t i = 0; i < costs.tiers.size(); ++i) {
      tiers.push_back({point.tiers[i].slots, costs.tiers[i].write, costs.tiers[i].read});
    }
    auto exact = replan_exact(rest.point, tiers, costs, exact_effort);
    if (!costs.weights.empty()) {
      bound = tiers.size() == 1 && exact ? exact->least() : in_one_tier(costs, rest.point);
    }
    if (exact) {
      std::vector<Command>& commands = exact->commands;
      commands.insert(commands.begin(), rest.first.begin(), rest.first.end());
      found.push_back(listed(std::move(commands)));
    } else if (!costs.weights.empty()) {
      if (auto commands = replan_by_mean(rest.point, costs)) {
        commands->insert(commands->begin(), rest.first.begin(), rest.first.end());
        found.push_back(listed(std::move(*commands)));
      }
    }
    // Now and then the better one, too.
    if (auto other = long_plan(evened(costs, rest.point.end), rest)) {
      found.push_back(std::move(other));
    }
  }
  Plan best = counted(std::move(alike), costs, point);
  const Step fewest = best.counts.advances;
  for (std::unique_ptr<Generator>& generator : found) {
    Plan plan = counted({"resume", point.steps, point.tiers, std::move(generator)}, costs, point);
    if (std::pair(plan.cost, writes(plan)) < std::pair(best.cost, writes(best))) {
      best = std::move(plan);
    }
  }
  set_fixed(best, costs, point.end);
  if (rest.point.end > 0) {
    best.lower_bound = std::min(
        best.cost, std::max({bound, advances_and_reads(costs, rest.point, fewest),
                             first_times(costs, rest.point), after_first_pass(costs, rest.point)}));
  }
  return time.stop(std::move(best));
}

}  // namespace costate
