#include "costate/schedule/planner.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/schedule/baselines.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/disk.hpp"
#include "costate/schedule/hierarchical.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/mixed.hpp"
#include "costate/schedule/multistage.hpp"
#include "costate/schedule/online.hpp"
#include "costate/schedule/online_tiered.hpp"
#include "costate/schedule/revolve.hpp"
#include "costate/schedule/taped.hpp"
#include "costate/schedule/weighted.hpp"
#include "hierarchical_plan.hpp"
#include "least_cost.hpp"
#include "mixed_advances.hpp"
#include "plan_parts.hpp"
#include "weighted_plan.hpp"

namespace costate {
namespace {

Plan plan_revolve(const Costs& costs, Step n) {
  const std::vector<TierSlots> tiers = rooms(costs);
  return plan_of(revolve(n, tiers), revolve_counts(n, tiers), costs, n);
}

Plan plan_store_all(const Costs& costs, Step n) {
  const std::vector<TierSlots> tiers = rooms(costs);
  Slot slots = 0;
  for (const TierSlots& tier : tiers) slots = saturating_add(slots, tier.slots);
  if (slots < n - 1) {
    throw InvalidArgument("keeping all states of " + std::to_string(n) + " steps needs " +
                          std::to_string(n - 1) + " slots; there are " + std::to_string(slots));
  }
  return plan_of(revolve(n, tiers).renamed("store-all"), revolve_counts(n, tiers), costs, n);
}

Plan plan_recompute_all(const Costs& costs, Step n) {
  std::vector<TierSlots> tiers = rooms(costs);
  bool given = false;
  for (TierSlots& tier : tiers) {
    tier.slots = given ? 0 : std::min<Slot>(tier.slots, 1);
    given = given || tier.slots > 0;
  }
  return plan_of(revolve(n, tiers).renamed("recompute-all"), revolve_counts(n, tiers), costs, n);
}

Plan plan_weighted(const Costs& costs, Step n) {
  if (costs.weights.empty()) {
    throw InvalidArgument("all steps cost the same: weights are not given");
  }
  return weighted(costs, n);
}

// What all steps together cost.
double one_run(const Costs& costs, Step n) {
  return costs.weights.empty() ? static_cast<double>(n) * costs.step
                               : std::accumulate(costs.weights.begin(), costs.weights.end(), 0.0);
}

// A state in the place of each tape that is kept makes a schedule without tapes, with one more
// advance for each step at most.
double less_one_run(double bound, const Costs& costs, Step n) {
  return std::max(0.0, bound - one_run(costs, n));
}

// Tapes are kept in the first tier alone. What is the best there need not be so with further tiers.
Plan plan_tapes(Plan (*make)(const Costs&, Step), const Costs& costs, Step n) {
  if (costs.tape_bytes == 0) {
    throw InvalidArgument("no tape can be kept: its size is not given");
  }
  Costs alone = costs;
  alone.tiers.resize(1);
  Plan made = make(alone, n);
  if (costs.tiers.size() > 1) {
    made.lower_bound = std::min(made.cost, less_one_run(least_cost(costs, n), costs, n));
  }
  return made;
}

Plan plan_mixed(const Costs& costs, Step n) {
  const auto make = [](const Costs& alone, Step steps) {
    return mixed(alone, steps, alone.tape_has_next);
  };
  return plan_tapes(make, costs, n);
}

Plan plan_taped(const Costs& costs, Step n) {
  return plan_tapes(taped, costs, n);
}

Plan plan_online_schedule(Schedule schedule, const Costs& costs, Step n) {
  constexpr Step most = 100'000'000;
  if (n > most) {
    throw InvalidArgument("an online schedule is counted by running through it: at most " +
                          std::to_string(most) + " steps, not " + std::to_string(n));
  }
  Counts counts = interpret(schedule, {.steps = n});
  return plan_of(std::move(schedule), std::move(counts), costs, n);
}

// Several tiers as one.
Schedule online_in(const Costs& costs, Step guess) {
  return costs.tiers.size() == 1 ? online(costs, guess)
                                 : online(rooms(costs), OnlineRule::few_writes, guess);
}

Plan plan_online(const Costs& costs, Step n) {
  return plan_online_schedule(online_in(costs, unknown), costs, n);
}

Plan plan_online_tiered(const Costs& costs, Step n) {
  return plan_online_schedule(online_tiered(costs), costs, n);
}

using Make = std::function<Plan(const Costs&, Step)>;
struct Entry {
  Family family;
  Make make;
  bool weighs = false;  // plans with the weight of every step
  bool tapes = false;   // keeps tapes, too
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {{"revolve", "the least advances; the slots of all tiers as one stack"}, plan_revolve},
      {{"store-all", "every state is kept"}, plan_store_all},
      {{"recompute-all", "only the first state is kept"}, plan_recompute_all},
      {{"halving", "recursive halving, log2(n) slots"}, halving},
      {{"periodic", "every sqrt(n)-th state, and one stretch whole"}, periodic},
      {{"multistage", "as revolve, the most used checkpoints in the fastest tier"}, multistage},
      {{"periodic-disk", "every q-th state on disk, the stretches in memory"}, periodic_disk},
      {{"disk-revolve", "the optimum if the disk holds all that is wanted"}, disk_revolve},
      {{"hierarchical", "the optimum for tiers of any room and cost"}, hierarchical},
      {{"weighted", "steps of unequal cost"}, plan_weighted, true},
      {{"mixed", "states or tapes are kept, whichever saves more"}, plan_mixed, false, true},
      {{"taped", "stretches run twice, the second time with tapes"}, plan_taped, false, true},
      {{"online", "length unknown: nearly the least advances", true}, plan_online},
      {{"online-tiered", "length unknown: memory and disk", true}, plan_online_tiered},
  };
  return all;
}

Plan make(const Entry& entry, const Costs& costs, Step n) {
  const PlanningTime time;
  const bool even = costs.weights.empty() || entry.weighs;
  Costs planned = costs;
  if (!even) {
    planned.weights.clear();
    const double mean = one_run(costs, n) / static_cast<double>(std::max<Step>(n, 1));
    if (mean > 0) planned.step = mean;
  }
  Plan made = entry.make(planned, n);
  if (!even) {
    made.cost = interpret_cost(made.schedule, costs, options_for(made.schedule, costs, n));
    made.lower_bound = least_cost(costs, n);
  }
  if (costs.tape_bytes > 0 && !(even && entry.tapes)) {
    made.lower_bound = less_one_run(made.lower_bound, costs, n);
  }
  return time.stop(std::move(made));
}

Step all_writes(const Plan& made) {
  Step sum = 0;
  for (const TierCounts& tier : made.counts.tiers) sum = saturating_add(sum, tier.writes);
  return sum;
}

std::string times(double ratio) {
  std::string text = std::to_string(ratio);
  return text.substr(0, text.find('.') + 3);
}

std::string reason(const Choice& choice) {
  const Plan& best = choice.best();
  std::string why = best.schedule.name();
  if (choice.plans.size() == 1) {
    why += " is the only one that applies";
  } else {
    const Plan& next = choice.plans[1];
    why += " is the cheapest of " + std::to_string(choice.plans.size());
    why += next.counts.is_saturated()
               ? "; the next, " + next.schedule.name() + ", costs more than can be counted"
           : next.cost > best.cost
               ? "; the next, " + next.schedule.name() + ", costs " + times(next.cost / best.cost) +
                     " times as much"
               : "; " + next.schedule.name() + " costs as much and is not plainer";
  }
  if (best.cost > 0 && !best.counts.is_saturated()) {
    why += best.ratio() <= 1
               ? "; nothing costs less"
               : "; it costs at most " + times(best.ratio()) + " times the least possible";
  }
  return why;
}

// What is proven for schedules that know the number of steps holds for those that do not.
double offline_bound(const Costs& costs, Step n) {
  try {
    return plan("hierarchical", costs, n).lower_bound;
  } catch (const InvalidArgument&) {
    return 0;
  }
}

// See choose_at_once; hierarchical tables may take `effort` times as long as at leisure.
Plan choose_with(const Costs& costs, Step n, double effort) {
  check(costs, n);
  Costs even = costs;
  even.weights.clear();
  Costs first_alone = even;
  for (std::size_t i = 1; i < first_alone.tiers.size(); ++i) {
    first_alone.tiers[i].slots = 0;
    first_alone.tiers[i].bytes = 0;
  }
  std::optional<Plan> best;
  std::string why;  // nothing applies
  double bound = 0;
  const auto compare = [&](auto&& made, bool bounds) {
    try {
      Plan other = made();
      if (bounds) bound = std::max(bound, other.lower_bound);
      const bool fits = !other.counts.is_saturated();
      if (!best || (fits && (other.cost < best->cost || best->counts.is_saturated()))) {
        best = std::move(other);
      }
    } catch (const InvalidArgument& error) {
      if (why.empty()) why = error.what();
    }
  };
  compare([&] { return plan_revolve(even, n); }, true);
  Slot slots = 0;
  for (const TierSlots& tier : rooms(even)) slots = saturating_add(slots, tier.slots);
  constexpr double counted = 5e6;  // slots that multistage counts one by one in a second
  if (static_cast<double>(std::min(slots, n)) <= counted * effort) {
    compare([&] { return multistage(even, n); }, true);
  }
  compare([&] { return plan_revolve(first_alone, n); }, false);  // its bound is for one tier
  compare([&] { return periodic_disk(even, n); }, true);
  compare([&] { return hierarchical_plan(even, n, effort); }, true);
  if (!best) throw InvalidArgument(why);
  best->lower_bound = std::min(bound, best->cost);
  return std::move(*best);
}

// Room in the first tier, from one slot up.
std::vector<Slot> sizes(Step n) {
  std::vector<Slot> all;
  const Slot most = std::max<Step>(1, n - 1);
  for (Slot slots = 1; slots < most; slots += 1 + slots / 4) all.push_back(slots);
  all.push_back(most);
  return all;
}

// Some dozen plans are wanted.
constexpr double frontier_effort = 0.05;

FrontierPoint point_of(const Plan& made, Slot slots, const Costs& costs) {
  return {slots, static_cast<Bytes>(slots) * costs.state_bytes, made.cost, made.lower_bound,
          made.schedule.name()};
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> names;
    for (const Entry& entry : entries()) names.push_back(entry.family);
    return names;
  }();
  return all;
}

InterpretOptions options_for(const Schedule& schedule, const Costs& costs, Step n) {
  InterpretOptions options{.steps = n};
  const bool tapes = schedule.name() == "mixed" || schedule.name() == "taped";
  if (tapes && costs.state_bytes > 0 && costs.tape_bytes > 0) {
    options.tape_slots = static_cast<Slot>((costs.tape_bytes - 1) / costs.state_bytes + 1);
    options.tape_has_next = costs.tape_has_next;
  }
  return options;
}

Plan plan(const std::string& family, const Costs& costs, Step n) {
  check(costs, n);
  for (const Entry& entry : entries()) {
    if (entry.family.name == family) return make(entry, costs, n);
  }
  std::string known;
  for (const Entry& entry : entries()) known += (known.empty() ? "" : ", ") + entry.family.name;
  throw InvalidArgument("there is no schedule \"" + family + "\"; there are " + known);
}

Plan plan_guessed(const Costs& costs, Step n, Step guess) {
  check(costs, n);
  const auto guessed = [guess](const Costs& planned, Step steps) {
    return plan_online_schedule(planned.tiers.size() == 2 ? online_tiered(planned, {.guess = guess})
                                                          : online_in(planned, guess),
                                planned, steps);
  };
  Plan made = make({{"online", "", true}, guessed}, costs, n);
  made.lower_bound = std::min(made.cost, std::max(made.lower_bound, offline_bound(costs, n)));
  return made;
}

Choice choose(const Costs& costs, Step n, bool online) {
  check(costs, n);
  Choice choice;
  for (const Entry& entry : entries()) {
    if (entry.family.online != online) continue;
    try {
      choice.plans.push_back(make(entry, costs, n));
    } catch (const InvalidArgument& error) {
      choice.unfit.push_back({entry.family.name, error.what()});
    }
  }
  if (choice.plans.empty()) {
    throw InvalidArgument(choice.unfit.empty() ? "no schedule applies" : choice.unfit[0].why);
  }
  std::stable_sort(choice.plans.begin(), choice.plans.end(), [](const Plan& a, const Plan& b) {
    const bool a_fits = !a.counts.is_saturated();
    const bool b_fits = !b.counts.is_saturated();
    if (a_fits != b_fits) return a_fits;
    if (!a_fits) return a.counts.max_runs < b.counts.max_runs;
    return a.cost != b.cost ? a.cost < b.cost : all_writes(a) < all_writes(b);
  });
  double bound = 0;
  for (const Plan& made : choice.plans) bound = std::max(bound, made.lower_bound);
  if (online) bound = std::max(bound, offline_bound(costs, n));
  for (Plan& made : choice.plans) {
    made.lower_bound = std::min({bound, choice.best().cost, made.cost});
  }
  choice.why = reason(choice);
  return choice;
}

Plan choose_at_once(const Costs& costs, Step n) {
  return choose_with(costs, n, 0.02);
}

std::vector<FrontierPoint> frontier(const Costs& costs, Step n) {
  check(costs, n);
  constexpr Step most = 1'000'000'000'000;
  if (n > most) {
    throw InvalidArgument("a frontier is made for at most " + std::to_string(most) +
                          " steps, not " + std::to_string(n));
  }
  const TierCosts& memory = costs.tiers.front();
  const bool alone = costs.tiers.size() == 1;
  const bool plain = alone && memory.write == 0;
  const bool tapes = costs.tape_bytes > 0;
  MixedAdvances mixed;
  // Transfers are not what tapes are chosen by.
  const bool taping = tapes && memory.write == 0 && memory.read == 0 && costs.weights.empty() &&
                      costs.state_bytes > 0 && n > 1;
  if (taping && n <= most_mixed_steps) mixed = mixed_advances(costs, n);
  std::vector<FrontierPoint> points;
  for (const Slot slots : sizes(std::max<Step>(n, mixed.most + 1))) {
    Costs here = costs;
    here.tiers.front().slots = slots;
    if (!costs.weights.empty()) {
      const auto [cost, bound] = weighted_cost(here, n, 0.4 * frontier_effort);
      points.push_back(
          {slots, static_cast<Bytes>(slots) * costs.state_bytes, cost, bound, "weighted"});
    } else {
      points.push_back(point_of(
          plain ? plan_revolve(here, n) : choose_with(here, n, frontier_effort), slots, costs));
    }
    FrontierPoint& point = points.back();
    if (tapes) point.lower_bound = less_one_run(point.lower_bound, costs, n);
    const auto or_taped = [&](const char* schedule, Step advances) {
      const double cost = static_cast<double>(advances) * costs.step;
      if (cost < point.cost) {
        point.cost = cost;
        point.schedule = schedule;
      }
    };
    bool exact = false;
    if (!mixed.by_slots.empty()) {
      const Slot used = std::min({slots, mixed.most, static_cast<Slot>(mixed.by_slots.size()) - 1});
      or_taped("mixed", mixed.by_slots[static_cast<std::size_t>(used)]);
      exact = alone && mixed.exact && used == std::min(slots, mixed.most);
      if (exact) point.lower_bound = point.cost;
    }
    if (!taping || exact) continue;
    try {
      or_taped("taped", plan_taped(here, n).counts.advances);
    } catch (const InvalidArgument&) {
      continue;  // too few slots to run every step at most twice
    }
  }
  return points;
}

std::vector<FrontierPoint> classical(const Costs& costs, Step n) {
  check(costs, n);
  Costs roomy = costs;
  roomy.tiers.resize(1);
  roomy.tiers.front().slots = unbounded;
  std::vector<FrontierPoint> points;
  for (const char* family : {"recompute-all", "halving", "periodic", "store-all"}) {
    const Plan made = plan(family, roomy, n);
    points.push_back(point_of(made, made.counts.tiers.front().peak, costs));
  }
  return points;
}

}  // namespace costate
