#include "costate/schedule/online.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/online_tiered.hpp"
#include "costate/schedule/revolve.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

constexpr OnlineRule both_rules[] = {OnlineRule::few_writes, OnlineRule::fewest_advances};

// t(l, s) for l <= longest and s <= slots, from its slope: t(l+1, s) - t(l, s) = repetitions.
class Table {
 public:
  Table(Step longest, Slot slots) {
    for (Slot s = 0; s <= slots; ++s) {
      auto& row = rows_.emplace_back(static_cast<std::size_t>(longest) + 2, 0);
      Step r = 0;
      for (Step l = 1; l <= longest && s > 0; ++l) {
        while (beta(s, r) <= l) ++r;
        row[static_cast<std::size_t>(l) + 1] = row[static_cast<std::size_t>(l)] + r;
      }
    }
  }
  [[nodiscard]] Step operator()(Step l, Slot s) const {
    return rows_[static_cast<std::size_t>(s)][static_cast<std::size_t>(l)];
  }

 private:
  std::vector<std::vector<Step>> rows_;
};

// K(S, N): each gap reversed with the slots that are left for it.
Step keep_all(const Table& t, const std::vector<Step>& set, Step end, Slot slots) {
  Step sum = 0;
  for (std::size_t i = 0; i < set.size(); ++i) {
    const Step next = i + 1 < set.size() ? set[i + 1] : end;
    sum += t(next - set[i], slots - static_cast<Slot>(i));
  }
  return sum;
}

// Follows the first pass of a schedule step by step.
class FirstPass {
 public:
  explicit FirstPass(Slot slots, OnlineRule rule) : schedule_(online(slots, rule)) {}
  explicit FirstPass(Schedule schedule) : schedule_(std::move(schedule)) {}

  // The set when the live state is n-1 and no action has been asked for since.
  const std::map<Slot, Step>& arrive(Step n) {
    while (live_ < n) {
      const auto action = schedule_.next();
      REQUIRE(action);
      if (const auto* save = std::get_if<Save>(&*action)) {
        CHECK(save->at == live_);
        CHECK(set_.count(save->slot) == 0);
        set_[save->slot] = save->at;
        ++writes_;
      } else if (const auto* drop = std::get_if<Drop>(&*action)) {
        CHECK(set_.erase(drop->slot) == 1);
      } else {
        const auto& advance = std::get<Advance>(*action);
        CHECK(advance.from == live_);
        live_ = advance.to;
      }
    }
    return set_;
  }
  [[nodiscard]] Step writes() const { return writes_; }

 private:
  Schedule schedule_;
  std::map<Slot, Step> set_;
  Step live_ = 0;
  Step writes_ = 0;
};

std::vector<Step> ascending(const std::map<Slot, Step>& set) {
  std::vector<Step> all;
  for (const auto& [slot, at] : set) all.push_back(at);
  std::sort(all.begin(), all.end());
  return all;
}

// The rules as online.hpp states them, one step at a time, with K evaluated from its definition.
class Rule {
 public:
  Rule(const Table& t, Slot slots, OnlineRule rule) : t_(t), slots_(slots), rule_(rule) {}

  void leave(Step live) {
    if (static_cast<Slot>(set_.size()) < slots_) {
      set_.push_back(live);
      return;
    }
    if (slots_ == 1) return;
    for (;;) {
      const bool capped = rule_ == OnlineRule::fewest_advances || live + 1 < beta(slots_, 2);
      const std::vector<Step> finals = final_positions();
      const auto is_final = [&](Step at) {
        return std::find(finals.begin(), finals.end(), at) != finals.end();
      };
      Step least = saturated;
      std::vector<Step> best;
      for (std::size_t i = 1; i < set_.size(); ++i) {
        const Step gap = (i + 1 < set_.size() ? set_[i + 1] : live) - set_[i - 1];
        const Slot left = slots_ - static_cast<Slot>(i - 1);
        if (capped && (is_final(set_[i]) || gap > beta(left, level_))) continue;
        std::vector<Step> without = set_;
        without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
        without.push_back(live);
        const Step value = keep_all(t_, without, live + 1, slots_);
        if (value < least) {
          least = value;
          best = without;
        }
      }
      const bool may_wait = !capped || (live + 1 - set_.back() <= level_ + 1 && !is_final(live));
      if (may_wait && keep_all(t_, set_, live + 1, slots_) <= least) return;
      if (!best.empty()) {
        set_ = best;
        return;
      }
      ++level_;
    }
  }
  [[nodiscard]] const std::vector<Step>& set() const { return set_; }

 private:
  [[nodiscard]] std::vector<Step> final_positions() const {
    std::vector<Step> finals;
    Step at = 0;
    for (Slot j = slots_; j >= 1; --j) finals.push_back(at = saturating_add(at, beta(j, level_)));
    return finals;
  }

  const Table& t_;
  Slot slots_;
  OnlineRule rule_;
  Step level_ = 1;
  std::vector<Step> set_;
};

}  // namespace

TEST_CASE("Online sets are those of the rules stated, step by step", "[oracle]") {
  const Table t(1500, 20);
  for (const OnlineRule rule : both_rules) {
    for (const Slot slots : {1, 2, 3, 4, 5, 6, 7, 8, 11, 16, 20}) {
      Rule reference(t, slots, rule);
      FirstPass pass(slots, rule);
      const Step longest = slots < 9 ? 1500 : 700;
      for (Step live = 0; live < longest; ++live) {
        CAPTURE(static_cast<int>(rule), slots, live);
        const std::vector<Step> set = ascending(pass.arrive(live));
        // The schedule under test does not arrive at each index, but its sets change only at those
        // at which it arrives.
        if (live > 0) REQUIRE(set == reference.set());
        reference.leave(live);
      }
    }
  }
}

TEST_CASE("Online advances stay within the stated bounds for every n up to 100000", "[property]") {
  constexpr Step longest = 100'000;
  const Table t(longest, 64);
  struct Bound {
    Slot slots;
    double few_writes;
    double fewest_advances;
  };
  // What online.hpp claims; the levels asked for are 1.16, 1.08, 1.05, 1.04, 1.03, 1.02.
  for (const Bound bound :
       {Bound{2, 1.1501, 1.1221}, Bound{4, 1.0683, 1.0667}, Bound{8, 1.0492, 1.0256},
        Bound{16, 1.0392, 1.0035}, Bound{32, 1.0259, 1.0010}, Bound{64, 1.0104, 1.0003}}) {
    for (const OnlineRule rule : both_rules) {
      FirstPass pass(bound.slots, rule);
      std::map<Slot, Step> last;
      std::vector<Step> set;
      double worst = 1;
      for (Step n = 2; n <= longest; ++n) {
        const auto& now = pass.arrive(n - 1);
        if (now != last) {
          last = now;
          set = ascending(now);
        }
        while (!set.empty() && set.back() >= n - 1) set.pop_back();
        const Step advances = n - 1 + keep_all(t, set, n - 1, bound.slots);
        worst =
            std::max(worst, static_cast<double>(advances) / static_cast<double>(t(n, bound.slots)));
        if (n <= beta(bound.slots, 2)) REQUIRE(advances == t(n, bound.slots));
      }
      CAPTURE(bound.slots, static_cast<int>(rule), worst, pass.writes());
      CHECK(worst <= (rule == OnlineRule::few_writes ? bound.few_writes : bound.fewest_advances));
    }
  }
}

TEST_CASE("Online schedules are valid through both doors and cost what the set promises",
          "[property]") {
  const Table t(3000, 40);
  for (const OnlineRule rule : both_rules) {
    for (const Slot slots : {1, 2, 3, 4, 5, 8, 13, 40}) {
      FirstPass pass(slots, rule);
      for (Step n = 0; n <= (slots == 1 ? 100 : 3000); n += n < 70 ? 1 : n / 9) {
        CAPTURE(static_cast<int>(rule), slots, n);
        for (const bool knows : {true, false}) {
          const Counts by_command =
              interpret(online(slots, rule), {.steps = n, .knows_last_step = knows});
          const Counts by_action = interpret(
              online(slots, rule), {.steps = n, .knows_last_step = knows, .single_actions = true});
          CHECK(by_command.advances == by_action.advances);
          CHECK(by_action.tiers.front().peak <= slots);
          if (n < 2) {
            CHECK(by_command.advances == (knows ? 0 : n));
            continue;
          }
          // Otherwise x_n may have taken the place of another before the end was noticed.
          std::vector<Step> set = ascending(pass.arrive(knows ? n - 1 : n + 1));
          const Step end = knows ? n - 1 : n;
          while (!set.empty() && set.back() >= end) set.pop_back();
          // Planning anew can only help, and never beats knowing the length.
          CHECK(by_command.advances <= end + keep_all(t, set, end, slots));
          CHECK(by_command.advances >= t(end + 1, slots));
          if (knows && n <= beta(slots, 2)) CHECK(by_command.advances == t(n, slots));
        }
      }
    }
  }
}

TEST_CASE("A right guess costs the offline optimum, a wrong one no more than the bounds",
          "[property]") {
  struct Bound {
    Slot slots;
    double ratio;  // what is asked of runs without a guess
  };
  for (const Bound bound : {Bound{2, 1.16}, Bound{3, 1.16}, Bound{4, 1.08}, Bound{6, 1.08},
                            Bound{8, 1.05}, Bound{16, 1.04}, Bound{32, 1.03}}) {
    const Step exact = beta(bound.slots, 2);
#ifdef COSTATE_SOAK
    constexpr Step longest = 30'000;
    const double growth = 1.01;
#else
    constexpr Step longest = 4000;
    const double growth = 1.15;
#endif
    const Table t(2 * longest + 50, bound.slots);
    for (Step guess = exact / 2; guess <= longest;
         guess = std::max(guess + 1, static_cast<Step>(static_cast<double>(guess) *
                                                       (guess < exact + 40 ? 1 : growth)))) {
      FirstPass pass(online(bound.slots, guess));
      std::map<Slot, Step> last;
      std::vector<Step> set;
      double worst = 1;
      Step worst_n = 0;
      Step at_guess = unknown;
      for (Step n = 2; n <= 2 * guess + 50; ++n) {
        const auto& now = pass.arrive(n - 1);
        if (now != last) {
          last = now;
          set = ascending(now);
        }
        while (!set.empty() && set.back() >= n - 1) set.pop_back();
        const Step advances = n - 1 + keep_all(t, set, n - 1, bound.slots);
        const double ratio = static_cast<double>(advances) / static_cast<double>(t(n, bound.slots));
        if (n == guess) at_guess = advances;
        if (ratio > worst) {
          worst = ratio;
          worst_n = n;
        }
      }
      CAPTURE(bound.slots, guess, worst_n);
      CHECK(at_guess == t(guess, bound.slots));
      CHECK(worst <= bound.ratio);
    }
  }
}

TEST_CASE("Schedules with a guess are valid through both doors", "[property]") {
  const Table t(3000, 40);
  for (const Slot slots : {1, 2, 3, 4, 5, 8, 13, 40}) {
    const Step longest = slots == 1 ? 60 : 1000;
    for (const Step guess : {Step{0}, Step{1}, beta(slots, 1), beta(slots, 2), beta(slots, 2) + 1,
                             Step{60}, Step{300}, Step{1000}}) {
      for (const Step n : {Step{0}, Step{1}, Step{2}, guess - 2, guess - 1, guess, guess + 1,
                           guess + 2, guess / 2, 3 * guess / 4, 2 * guess + 50}) {
        if (n < 0 || n > 2 * longest + 50) continue;
        for (const bool knows : {true, false}) {
          CAPTURE(slots, guess, n, knows);
          const Counts by_command =
              interpret(online(slots, guess), {.steps = n, .knows_last_step = knows});
          const Counts by_action = interpret(
              online(slots, guess), {.steps = n, .knows_last_step = knows, .single_actions = true});
          CHECK(by_command.advances == by_action.advances);
          CHECK(by_action.tiers.front().peak <= slots);
          if (n >= 2) CHECK(by_command.advances >= t(n, slots));
          if (n >= 2 && n == guess && knows) CHECK(by_command.advances == t(n, slots));
        }
      }
    }
  }
}

TEST_CASE("A guess is used only where it can help", "[unit]") {
  // Up to beta(c, 2) steps the rules are exact without it.
  for (const Step n : {10, 45, 200, 700}) {
    CHECK(interpret(online(8, Step{45}), {.steps = n}) == interpret(online(8), {.steps = n}));
    CHECK(interpret(online(8, unknown), {.steps = n}) == interpret(online(8), {.steps = n}));
  }
  // A run that fits asks nothing of it, however long it is said to be.
  CHECK(interpret(online(1000, saturated), {.steps = 999}).advances == 998);
  CHECK(interpret(online(3, saturated), {.steps = 999}).advances >= binomial_advances(999, 3));
  // With costs, whatever a write costs.
  Costs costs;
  for (const double write : {0.0, 5.0}) {
    costs.tiers = {{.name = "memory", .slots = 8, .write = write}};
    CHECK(interpret(online(costs, 700), {.steps = 700}).advances == binomial_advances(700, 8));
  }
}

TEST_CASE("A run that fits is kept whole and unwound", "[golden]") {
  Schedule schedule = online(1000);
  CHECK(schedule.next_command() == Command{Command::Kind::keep, Content::state, 0, 1000, 0});
  schedule.end_at(500, 499);
  CHECK(schedule.next_command() == Command{Command::Kind::drop, Content::state, 0, 0, 499});
  CHECK(schedule.next_command() == Command{Command::Kind::record, Content::state, 499, 0, 0});
  CHECK(schedule.next_command() == Command{Command::Kind::turn, Content::state, 500, 0, 0});
  CHECK(schedule.next_command() == Command{Command::Kind::reverse, Content::state, 499, 0, 0});
  CHECK(schedule.next_command() == Command{Command::Kind::unwind, Content::state, 0, 499, 0});
  CHECK(schedule.next_command().kind == Command::Kind::end);
}

TEST_CASE("An online run without steps is only turned", "[unit]") {
  Schedule schedule = online(3);
  schedule.end_at(0, 0);
  CHECK(schedule.next() == Action(Turn{0}));
  CHECK_FALSE(schedule.next());
}

TEST_CASE("Copies of an online schedule run on independently", "[unit]") {
  Schedule one = online(3);
  for (int i = 0; i < 40; ++i) one.next();
  Schedule other = one;
  while (true) {
    const auto action = one.next();
    if (const auto* advance = std::get_if<Advance>(&*action)) {
      one.end_at(advance->to + 1, advance->to);
      break;
    }
  }
  while (one.next()) {
  }
  CHECK(one.steps() != unknown);
  CHECK(other.steps() == unknown);
  CHECK(other.next());
}

TEST_CASE("The rule follows the cost of a write", "[unit]") {
  Costs costs;
  costs.state_bytes = 10;
  costs.tiers = {{.name = "memory", .bytes = 89}};
  for (const double write : {0.0, 0.1, 0.2, 5.0}) {
    costs.tiers[0].write = write;
    const OnlineRule rule = write <= 0.1 ? OnlineRule::fewest_advances : OnlineRule::few_writes;
    CAPTURE(write);
    CHECK(interpret(online(costs), {.steps = 2000}) == interpret(online(8, rule), {.steps = 2000}));
  }
}

TEST_CASE("Schedules of unknown length are compared by how they were made", "[unit]") {
  CHECK(online(3) == online(3));
  CHECK_FALSE(online(3) == online(4));
  CHECK_FALSE(online(3) == online(3, OnlineRule::fewest_advances));
  CHECK_FALSE(online(3) == online(3, Step{100}));
  CHECK(online(3, Step{100}) == online(3, Step{100}));
  CHECK_FALSE(online(3) == revolve(5, 3));

  Costs costs;
  costs.tiers = {{.name = "memory", .slots = 3},
                 {.name = "disk", .slots = 4, .write = 1, .read = 1}};
  CHECK(online_tiered(costs) == online_tiered(costs));
  CHECK_FALSE(online_tiered(costs) == online(3));
  CHECK_FALSE(online_tiered(costs) == online_tiered(costs, {.every = 2}));
  CHECK_FALSE(online_tiered(costs) == online_tiered(costs, {.guess = 50}));
  Costs dearer = costs;
  dearer.tiers[1].read = 2;
  CHECK_FALSE(online_tiered(costs) == online_tiered(dearer));

  Schedule ahead = online(3);
  ahead.next();
  const Schedule copy = ahead;
  CHECK(copy == ahead);
  CHECK_FALSE(copy == online(3));
  ahead.next();
  CHECK_FALSE(copy == ahead);

  // Once the length is known, by what they emit.
  Schedule one = online(3);
  Schedule other = online(3, OnlineRule::fewest_advances);
  for (Schedule* each : {&one, &other}) {
    each->next_command();  // the states 0, 1, 2 are saved
    each->end_at(4, 3);
  }
  CHECK(one == other);
  CHECK_FALSE(one == online(3));
}

TEST_CASE("Bad input of online is refused with a reason", "[unit]") {
  CHECK_THROWS_WITH(online(0), "an online schedule needs at least 1 slot, not 0");
  CHECK_THROWS_AS(online(-1), InvalidArgument);
  CHECK_THROWS_WITH(online(3, Step{-2}), "the guess of the number of steps is negative: -2");
  CHECK_THROWS_AS(online(Costs{}), InvalidArgument);
  Costs costs;
  costs.tiers = {{.name = "memory", .slots = 3, .write = -1}};
  CHECK_THROWS_AS(online(costs), InvalidArgument);
  costs.tiers[0].write = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(online(costs), InvalidArgument);
  costs.tiers[0] = {.name = "memory", .bytes = 100};
  CHECK_THROWS_AS(online(costs), InvalidArgument);  // without the size of a state
}
