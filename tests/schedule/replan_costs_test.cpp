// The continuation by costs: what is planned is what is counted, against a search over everything
// that a machine can do, against the plan that was interrupted, and against the other planners.

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../../src/schedule/replan_exact.hpp"
#include "../../src/schedule/replan_long.hpp"
#include "../../src/schedule/replanner.hpp"
#include "costate/core/error.hpp"
#include "costate/schedule/hierarchical.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/replan.hpp"
#include "support/catch.hpp"
#include "support/replan_cases.hpp"

using namespace costate;
using support::check_counted;
using support::count;
using support::more;
using support::Random;
using support::search;

namespace {

// Carries a schedule out up to one of its actions and says where it stands; not while a step is
// recorded and not reversed.
ResumePoint interrupted(Schedule schedule, Step n, Step actions, Interpreter& machine) {
  ResumePoint point{.steps = n, .end = n, .live = 0, .tiers = schedule.tiers()};
  std::map<Slot, Step> held;
  bool recorded = false;
  for (Step i = 0; i < actions || recorded; ++i) {
    const auto action = schedule.next();
    if (!action) break;
    machine.apply(*action);
    if (const auto* save = std::get_if<Save>(&*action)) held[save->slot] = save->at;
    if (const auto* drop = std::get_if<Drop>(&*action)) held.erase(drop->slot);
    if (std::holds_alternative<Turn>(*action)) point.turned = true;
    if (const auto* reverse = std::get_if<Reverse>(&*action)) point.end = reverse->step;
    recorded = std::holds_alternative<Record>(*action) ||
               (recorded && !std::holds_alternative<Reverse>(*action));
  }
  point.live = machine.live();
  for (const auto& [slot, at] : held) point.stored.push_back({at, slot});
  return point;
}

}  // namespace

TEST_CASE("Hardly any continuation of any kind is cheaper, and in one tier none", "[oracle]") {
  Random random(3);
  constexpr int trials = 700 * more;
  int cheapest = 0;
  for (int trial = 0; trial < trials; ++trial) {
    const int tiers = trial % 7 == 0 ? 3 : trial % 7 < 3 ? 1 : 2;
    Costs costs = random.costs(tiers, 3, tiers == 3 ? 1 : 3);
    costs.step = 0.25 * static_cast<double>(1 + random.below(8));
    const ResumePoint point = random.point(1 + random.below(tiers == 3 ? 6 : 8), costs);
    CAPTURE(trial, tiers, point.steps, point.end, point.live, point.turned);
    const Plan plan = resume_from(costs, point);
    check_counted(plan, costs, point);

    const double least = search(point, costs);
    CHECK(plan.cost >= least);
    CHECK(plan.lower_bound <= least);
    if (tiers == 1) CHECK(plan.cost == least);
    // What is stated (replan.hpp).
    CHECK(plan.cost <= 1.1 * least);
    if (plan.cost == least) ++cheapest;
  }
  CAPTURE(cheapest);
  CHECK(cheapest * 500 >= trials * 499);
}

TEST_CASE("With free transfers the fewest advances are the least cost", "[property]") {
  Random random(4);
  for (int trial = 0; trial < 100 * more; ++trial) {
    Costs costs = random.costs(2, 4, 4);
    for (TierCosts& tier : costs.tiers) tier.write = tier.read = 0;
    const ResumePoint point = random.point(1 + random.below(60), costs);
    CAPTURE(trial, point.steps, point.end, point.live, point.turned);
    CHECK(resume_from(costs, point).cost == static_cast<double>(resume_advances(point)));
  }
}

TEST_CASE("From the start a continuation is the hierarchical schedule", "[property]") {
  Random random(5);
  for (int trial = 0; trial < 40 * more; ++trial) {
    const Costs costs = random.costs(1 + trial % 3, 5, 4);
    const Step n = 1 + random.below(80);
    CAPTURE(trial, n);
    const Plan plan = resume_from(costs, {.steps = n, .end = n, .live = 0});
    CHECK(plan.cost <= hierarchical(costs, n).cost);
    CHECK(plan.counts == interpret(plan.schedule));
    // Nothing is cheaper than the hierarchical schedule, which is the bound.
    CHECK(plan.cost == plan.lower_bound);
  }
}

TEST_CASE("Interrupted anywhere with nothing lost, the rest costs no more than it would have",
          "[property]") {
  Random random(6);
  for (int trial = 0; trial < 60 * more; ++trial) {
    const Costs costs = random.costs(2, 5, 6);
    const Step n = 2 + random.below(90);
    const Plan whole = hierarchical(costs, n);
    Interpreter machine(n, whole.schedule.tiers());
    const ResumePoint point =
        interrupted(whole.schedule, n, random.below(4 * whole.counts.advances), machine);
    CAPTURE(trial, n, point.end, point.live, point.turned);
    Costs rest = costs;  // the schedule may need fewer slots
    for (std::size_t i = 0; i < point.tiers.size(); ++i) rest.tiers[i].slots = point.tiers[i].slots;
    const Plan plan = resume_from(rest, point);
    check_counted(plan, rest, point);
    const double before = cost_of(machine.counts(), costs);
    CHECK(before + plan.cost <= Catch::Approx(whole.cost));
    // So the bound is that of the whole, as far as it is spent.
    CHECK(plan.cost >= whole.lower_bound - before - 1e-9);
  }
}

// As `resume_from` prepares it: ascending, every state once and below the end.
ResumePoint prepared(ResumePoint point) {
  std::vector<Stored>& stored = point.stored;
  std::sort(stored.begin(), stored.end(),
            [](const Stored& a, const Stored& b) { return a.at < b.at; });
  std::erase_if(stored, [&](const Stored& each) { return each.at >= point.end; });
  const auto same = [](const Stored& a, const Stored& b) { return a.at == b.at; };
  stored.erase(std::unique(stored.begin(), stored.end(), same), stored.end());
  if (point.live >= point.end - 1) point.live = unknown;
  return point;
}

double cost_from(const LongReversal& found, const ResumePoint& point, const Costs& costs) {
  Schedule schedule("resume", point.steps, point.tiers, listed(found.first, found.reversal));
  return cost_of(count(std::move(schedule), point), costs);
}

TEST_CASE("What is planned for many steps is counted, and near the exact plan where there is one",
          "[property]") {
  // With rules for all gaps of more than a few steps, and with tables for all.
  for (const Step near : {12, 4096}) {
    Random random(7);
    double sum = 0;
    int compared = 0;
    for (int trial = 0; trial < 100 * more; ++trial) {
      const int tiers = trial % 4 == 0 ? 3 : 2;
      const Costs costs = random.costs(tiers, 8, tiers == 3 ? 5 : 14);
      const ResumePoint point = prepared(random.point(60 + random.below(120), costs));
      if (point.end < 3) continue;
      std::vector<GapTier> gap_tiers;
      for (const TierCosts& tier : costs.tiers) {
        gap_tiers.push_back({tier.slots, tier.write, tier.read});
      }
      const auto exact = replan_exact(point, gap_tiers, costs, 4e9);
      const auto quick = replan_long(costs, point, near);
      REQUIRE(exact);
      REQUIRE(quick);
      const Schedule best("resume", point.steps, point.tiers, listed(exact->commands));
      const double least = cost_of(count(best, point), costs);
      const double cost = cost_from(*quick, point, costs);
      CAPTURE(near, trial, point.steps, point.end, point.live, least, cost);
      // Putting in order is reckoned with a read that is not always needed.
      CHECK(cost <= quick->cost * (1 + 1e-6));
      CHECK(quick->cost <= (cost + costs.tiers.back().read) * (1 + 1e-6));
      CHECK(cost <= 1.1 * least);  // what is stated (replan.hpp)
      sum += least > 0 ? cost / least : 1;
      ++compared;
      if (near > 12) {
        const Plan plan = resume_from(costs, point);
        check_counted(plan, costs, point);
        CHECK(plan.cost <= std::min(least, cost));
      }
    }
    CAPTURE(near, compared, sum / compared);
    // Now and then it is the cheaper one.
    CHECK(sum <= 1.0005 * compared);
  }
}

TEST_CASE("Long runs with any number of tiers and states go on validly, at what was reckoned",
          "[property]") {
  Random random(9);
  for (int trial = 0; trial < 60 * more; ++trial) {
    const int tiers = 1 + trial % 3;
    const Slot most = trial % 5 == 0 ? 150 : 30;
    const Costs costs = random.costs(tiers, most, tiers == 3 ? 10 : most);
    const ResumePoint point = prepared(random.point(300 + random.below(20'000), costs));
    if (point.end < 3) continue;
    const auto found = replan_long(costs, point);
    REQUIRE(found);
    const double cost = cost_from(*found, point, costs);
    CAPTURE(trial, tiers, point.steps, point.end, point.live, cost);
    // The functions that rules are made from are within some 0.1 % of what the rules cost; a short
    // gap inside a long one goes by tables, which know more.
    CHECK(found->cost <= 1.003 * cost);
    CHECK(cost <= 1.003 * found->cost);
    if (trial % 6 == 0) check_counted(resume_from(costs, point), costs, point);
  }
}

TEST_CASE("Nothing is lost by an interruption of a long run", "[property]") {
  Random random(10);
  for (int trial = 0; trial < 12 * more; ++trial) {
    Costs costs = random.costs(2, 12, 40);
    const Step n = 3000 + random.below(20'000);
    const Plan whole = hierarchical(costs, n);
    Interpreter machine(n, whole.schedule.tiers());
    const ResumePoint point =
        interrupted(whole.schedule, n, random.below(whole.counts.advances), machine);
    for (std::size_t i = 0; i < point.tiers.size(); ++i) {
      costs.tiers[i].slots = point.tiers[i].slots;
    }
    const Plan plan = resume_from(costs, point);
    check_counted(plan, costs, point);
    const double before = cost_of(machine.counts(), costs);
    CAPTURE(trial, n, point.end, point.live, point.turned, point.stored.size(), whole.ratio());
    CHECK(before + plan.cost <= 1.001 * whole.cost);
  }
}

TEST_CASE("More room, cheaper transfers or one more state make no continuation dearer",
          "[property]") {
  Random random(11);
  for (int trial = 0; trial < 12 * more; ++trial) {
    Costs costs = random.costs(2 + trial % 2, 8, 12);
    ++costs.tiers.back().slots;
    ResumePoint point = random.point(50 + random.below(trial % 4 == 0 ? 5000 : 900), costs);
    const double cost = resume_from(costs, point).cost;
    CAPTURE(trial, point.steps, point.end, point.live, point.stored.size(), cost);
    const auto is_no_dearer = [&](const Costs& others, const ResumePoint& other) {
      CHECK(resume_from(others, other).cost <= 1.005 * cost);
    };

    Costs roomy = costs;
    ResumePoint wide = point;
    ++roomy.tiers.back().slots;
    ++wide.tiers.back().slots;
    is_no_dearer(roomy, wide);

    Costs cheap = costs;
    for (TierCosts& tier : cheap.tiers) {
      tier.write *= 0.75;
      tier.read *= 0.75;
    }
    is_no_dearer(cheap, point);

    // In a free slot of the last tier.
    Slot slots = 0;
    for (const TierSlots& tier : point.tiers) slots += tier.slots;
    const bool is_free = std::none_of(point.stored.begin(), point.stored.end(),
                                      [&](const Stored& each) { return each.slot == slots - 1; });
    if (!is_free) continue;
    point.stored.push_back({random.below(point.end), slots - 1});
    is_no_dearer(costs, point);
  }
}

TEST_CASE("After a crash a long run goes on at little more than the best", "[property]") {
  // The memory is lost. What is left is compared with the plan that had everything.
  for (const Step n : {3000, 20'000}) {
    for (const Slot disk : {Slot{16}, Slot{100}, unbounded}) {
      Costs costs;
      costs.tiers = {{.name = "memory", .slots = 8},
                     {.name = "disk", .slots = disk, .write = 2, .read = 1}};
      const Plan whole = hierarchical(costs, n);
      const Step advances = whole.counts.advances;
      // In the first pass, soon after the turn, and later.
      for (const Step actions : {Step{9}, Step{25}, advances / 8, 7 * advances / 8}) {
        Interpreter machine(n, whole.schedule.tiers());
        ResumePoint point = interrupted(whole.schedule, n, actions, machine);
        const double before = cost_of(machine.counts(), costs);
        std::erase_if(point.stored, [](const Stored& each) { return each.slot < 8; });
        if (point.turned) point.live = unknown;
        Costs rest = costs;
        rest.tiers[1].slots = point.tiers[1].slots;
        CAPTURE(n, disk, actions, point.end, point.live, point.stored.size());
        const Plan plan = resume_from(rest, point);
        check_counted(plan, rest, point);
        CHECK(before + plan.cost <= 1.01 * whole.cost);
      }
    }
  }
}

TEST_CASE("What is reckoned is what is counted, and is not planned for longer if steps are more",
          "[property]") {
  // What the longest runs go by, for runs that can be counted.
  for (const Slot disk : {Slot{16}, Slot{100}, Slot{1000}, unbounded}) {
    Costs costs;
    costs.tiers = {{.name = "memory", .slots = 8},
                   {.name = "disk", .slots = disk, .write = 5, .read = 5}};
    ResumePoint point{.steps = 300'000, .end = 300'000, .turned = true, .tiers = rooms(costs)};
    point.tiers[1].slots = std::min<Slot>(disk, unbounded - 8);
    for (Step i = 0; i < 10; ++i) point.stored.push_back({i * 20'000, 8 + i});
    const auto found = replan_long(costs, point);
    REQUIRE(found);
    const double cost = cost_from(*found, point, costs);
    CAPTURE(disk);
    CHECK(found->cost - 0x1p-30 * static_cast<double>(point.end) <= cost);
    CHECK(cost <= 1.001 * found->cost);
    CHECK(cost <= 1.000001 * resume_from(costs, point).cost);

    // The first commands of a continuation that nobody could run through.
    point.steps = point.end = 1'000'000'000'000;
    Schedule schedule = continuation(costs, point);
    Interpreter machine(point);
    for (int i = 0; i < 100'000; ++i) machine.apply(schedule.next_command());
    CHECK(machine.counts().tiers[1].peak > (disk == 16 ? 15 : 50));
  }
}

TEST_CASE("States may lie in any slot of tiers without a bound, and after them", "[unit]") {
  constexpr Slot half = unbounded / 2;
  Costs costs;
  for (const bool weighted : {false, true}) {
    if (weighted) costs.weights.assign(12, 1.5);
    for (const std::vector<TierSlots>& tiers : std::vector<std::vector<TierSlots>>{
             {{"memory", unbounded}, {"disk", unbounded}},
             {{"memory", 3}, {"disk", unbounded}, {"archive", 8}, {"tape", unbounded}},
             {{"memory", half}, {"disk", 4}},
             {{"memory", half}, {"disk", half}, {"archive", 4}}}) {
      costs.tiers.clear();
      for (const TierSlots& tier : tiers) {
        costs.tiers.push_back({.name = tier.name, .slots = tier.slots, .write = 0.1});
      }
      ResumePoint point{.steps = 12, .end = 12, .tiers = tiers};
      point.stored = {{0, half}, {3, half + 2}, {7, 0}, {9, 2}};
      for (const Plan& plan : {resume_from(costs, point), Plan{resume_from(point), {}}}) {
        ResumePoint numbered = point;
        numbered.tiers = plan.schedule.tiers();
        Interpreter machine(numbered, costs.weights);
        for (Schedule copy = plan.schedule; const auto action = copy.next();) {
          machine.apply(*action);
        }
        machine.finish();
        CHECK(machine.counts().records == 12);
        // With room for all states each step is run once more at most.
        CHECK(machine.counts().advances <= 2 + 3 + 1 + 2);
        if (!plan.counts.tiers.empty()) CHECK(machine.counts() == plan.counts);
      }
    }
  }
}

TEST_CASE("Many tiers do not take long", "[unit]") {
  Costs costs;
  for (const Slot slots : {2, 9, 1, 6, 7, 3}) {
    const auto number = static_cast<double>(costs.tiers.size());
    costs.tiers.push_back(
        {.name = "tier", .slots = slots, .write = number, .read = 3 - number / 2});
  }
  std::vector<GapTier> tiers;
  for (const TierCosts& tier : costs.tiers) tiers.push_back({tier.slots, tier.write, tier.read});
  CHECK(EqualGapTables::effort(tiers, 9) > exact_effort);
  const ResumePoint point{.steps = 9, .end = 9, .live = 0, .tiers = rooms(costs)};
  check_counted(resume_from(costs, point), costs, point);
  costs.weights.assign(9, 1.0);
  CHECK(WeightedGapTables::effort(tiers, 9) > exact_effort);
  check_counted(resume_from(costs, point), costs, point);
}

TEST_CASE("Bad input of the continuation by costs is refused with a reason", "[unit]") {
  Costs costs;
  costs.tiers = {{.name = "memory", .slots = 2},
                 {.name = "disk", .slots = 3, .write = 1, .read = 1}};
  const ResumePoint point{.steps = 5, .end = 5, .live = 0};
  CHECK(resume_from(costs, point).counts.records == 5);
  ResumePoint wrong = point;
  wrong.tiers = {{"memory", 2}};
  CHECK_THROWS_WITH(resume_from(costs, wrong), "resume: 1 tiers, but costs of 2");
  wrong = point;
  wrong.stored = {{3, 5}};
  CHECK_THROWS_WITH(resume_from(costs, wrong), "resume: there is no slot #5");
  wrong = point;
  wrong.steps = wrong.end = 2 * most_resumed;
  CHECK_THROWS_AS(resume_from(costs, wrong), InvalidArgument);
  CHECK(continuation(costs, wrong).steps() == wrong.steps);
  wrong.stored = {{3, 5}};
  CHECK_THROWS_WITH(continuation(costs, wrong), "resume: there is no slot #5");
  costs.tiers[1].read = -1;
  CHECK_THROWS_AS(resume_from(costs, point), InvalidArgument);
}
