// The driver against schedules: any valid one gives the same bits, any broken one is an error.

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/revolve.hpp"
#include "costate/sweep/sweep.hpp"
#include "support/catch.hpp"
#include "support/map_stepper.hpp"

using namespace costate;
using costate::test::Ending;
using costate::test::MapOptions;
using costate::test::MapStepper;

namespace {

using Kind = Command::Kind;

class Listed final : public Generator {
 public:
  explicit Listed(std::vector<Command> commands) : commands_(std::move(commands)) {}
  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<Listed>(*this);
  }
  Command next() override { return at_ < commands_.size() ? commands_[at_++] : Command{}; }

 private:
  std::vector<Command> commands_;
  std::size_t at_ = 0;
};

Schedule listed(Step n, Slot slots, std::vector<Command> commands) {
  return {"listed", n, {{"memory", slots}}, std::make_unique<Listed>(std::move(commands))};
}

// A valid schedule that nobody would call good: random splits, random slots, states saved or not.
class Dice {
 public:
  Dice(Step n, Slot slots, unsigned seed) : n_(n), random_(seed) {
    for (Slot s = 0; s < slots; ++s) free_.push_back(s);
    std::shuffle(free_.begin(), free_.end(), random_);
  }
  std::vector<Command> roll() {
    reverse_range(0, n_);
    return std::move(out_);
  }

 private:
  void emit(Kind kind, Step from = 0, Step to = 0, Slot slot = 0) {
    out_.push_back({kind, Content::state, from, to, slot});
  }
  void end(Step k) {
    emit(Kind::record, k);
    if (k == n_ - 1) emit(Kind::turn, n_);
    emit(Kind::reverse, k);
  }
  // x_b is live; saves it and reverses the steps [b, e).
  void reverse_range(Step b, Step e) {
    if (e - b == 1) return end(b);
    const Slot slot = free_.back();
    free_.pop_back();
    emit(Kind::save, b, 0, slot);
    bool live = true;
    while (e - b > 1) {
      if (!live) emit(Kind::load, b, 0, slot);
      live = false;
      const Step k = b + 1 + static_cast<Step>(random_() % static_cast<unsigned>(e - b - 1));
      for (Step at = b; at < k;) {
        const Step to = at + 1 + static_cast<Step>(random_() % static_cast<unsigned>(k - at));
        emit(Kind::advance, at, to);
        at = to;
      }
      const Step left = e - k;
      if (left > 1 && !free_.empty()) {
        reverse_range(k, e);
        e = k;
      } else {
        if (left > 1) emit(Kind::advance, k, e - 1);
        end(e - 1);
        --e;
      }
    }
    emit(Kind::load, b, 0, slot);
    emit(Kind::drop, 0, 0, slot);
    free_.push_back(slot);
    end(b);
  }

  Step n_;
  std::vector<Slot> free_;
  std::vector<Command> out_;
  std::mt19937 random_;
};

std::vector<std::uint64_t> bits_of(Step n) {
  MapStepper stepper({.steps = n});
  sweep(stepper);
  return stepper.bits();
}

}  // namespace

TEST_CASE("Any valid schedule gives the same bits and the counts of the interpreter",
          "[sweep][property]") {
  const auto seed = static_cast<unsigned>(GENERATE(Catch::range(1, 40)));
  std::mt19937 random(seed);
  const Step n = 2 + static_cast<Step>(random() % 40);
  const Slot slots = 1 + static_cast<Slot>(random() % 8);
  const ReplayGuard guard =
      std::vector{ReplayGuard::off, ReplayGuard::sampled, ReplayGuard::every_step}.at(random() % 3);
  CAPTURE(seed, n, slots, static_cast<int>(guard));
  const Schedule schedule = listed(n, slots, Dice(n, slots, seed).roll());
  const Counts counts = interpret(schedule);
  MapStepper stepper({.steps = n});

  const Report report = sweep(stepper, {.guard = guard, .schedule = schedule});

  CHECK(stepper.bits() == bits_of(n));
  CHECK(report.advances == counts.advances);
  CHECK(report.tiers.at(0).writes == counts.tiers.at(0).writes);
  CHECK(report.tiers.at(0).reads == counts.tiers.at(0).reads);
  CHECK(stepper.first_steps == n);
  CHECK(stepper.first_steps + stepper.replay_steps == counts.advances + 1 + report.guard_steps);
}

TEST_CASE("A schedule that lacks any one command is refused", "[sweep][property]") {
  for (const Step n : {1, 2, 5, 11}) {
    for (const Slot slots : {1, 2, 3}) {
      std::vector<Command> commands;
      Schedule whole = revolve(n, slots);
      for (auto c = whole.next_command(); c.kind != Kind::end; c = whole.next_command()) {
        commands.push_back(c);
      }
      for (std::size_t i = 0; i < commands.size(); ++i) {
        CAPTURE(n, slots, i);
        std::vector<Command> fewer = commands;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
        MapStepper stepper({.steps = n});
        CHECK_THROWS_AS(sweep(stepper, {.schedule = listed(n, slots, fewer)}), ScheduleError);
      }
      MapStepper stepper({.steps = n});
      sweep(stepper, {.schedule = listed(n, slots, commands)});
      CHECK(stepper.bits() == bits_of(n));
    }
  }
}

TEST_CASE("A schedule with a wrong index, slot or order is refused", "[sweep][unit]") {
  const auto refused = [](Step n, Slot slots, const std::vector<Command>& commands) {
    MapStepper stepper({.steps = n});
    CHECK_THROWS_AS(sweep(stepper, {.schedule = listed(n, slots, commands)}), ScheduleError);
  };
  const auto s = Content::state;
  refused(3, 1, {{Kind::advance, s, 1, 2, 0}});                           // not live
  refused(3, 1, {{Kind::advance, s, 0, 4, 0}});                           // beyond the end
  refused(3, 1, {{Kind::advance, s, 0, -1, 0}});                          // backwards
  refused(3, 1, {{Kind::save, s, 1, 0, 0}});                              // not live
  refused(3, 1, {{Kind::save, s, 0, 0, 1}});                              // no such slot
  refused(3, 1, {{Kind::save, s, 0, 0, -1}});                             // no such slot
  refused(3, 1, {{Kind::save, s, 0, 0, 0}, {Kind::save, s, 0, 0, 0}});    // taken
  refused(3, 1, {{Kind::save, s, 0, 0, 0}, {Kind::load, s, 1, 0, 0}});    // another index
  refused(3, 1, {{Kind::load, s, 0, 0, 0}});                              // empty
  refused(3, 1, {{Kind::drop, s, 0, 0, 0}});                              // empty
  refused(3, 1, {{Kind::turn, s, 3, 0, 0}});                              // not there yet
  refused(3, 2, {{Kind::keep, s, 0, 3, 0}});                              // more than the slots
  refused(3, 2, {{Kind::keep, s, 1, 2, 0}});                              // not live
  refused(3, 2, {{Kind::unwind, s, 0, 2, 0}});                            // before the turn
  refused(1, 1, {{Kind::record, s, 0, 0, 0}, {Kind::turn, s, 1, 0, 0}});  // never reversed
  refused(1, 1, {{Kind::record, s, 0, 0, 0}, {Kind::turn, s, 1, 0, 0}, {Kind::turn, s, 1, 0, 0}});
  refused(1, 1,
          {{Kind::save, s, 0, 0, 0},
           {Kind::record, s, 0, 0, 0},
           {Kind::turn, s, 1, 0, 0},
           {Kind::reverse, s, 0, 0, 0}});  // something is left
  MapStepper stepper({.steps = 3});
  CHECK_THROWS_AS(sweep(stepper, {.schedule = revolve(4, 2)}), ScheduleError);
  CHECK_THROWS_AS(
      sweep(stepper, {.schedule = listed(3, 1, {{Kind::save, Content::tape, 0, 0, 0}})}),
      Unsupported);
}

TEST_CASE("Known and unknown length, known before or after the last step: the same bits",
          "[sweep][property]") {
  for (const Step n : {0, 1, 2, 3, 4, 5, 8, 16, 17, 40}) {
    for (const Slot slots : {1, 2, 3, 5, 8, 16, 100}) {
      for (const Ending ending : {Ending::known, Ending::before_last, Ending::after_last}) {
        CAPTURE(n, slots, static_cast<int>(ending));
        MapStepper stepper({.steps = n, .ending = ending});
        const Report report = sweep(stepper, {.budget = {.memory = memory_for(slots, 16)}});
        CHECK(stepper.bits() == bits_of(n));
        CHECK(report.steps == n);
        CHECK(stepper.first_steps == n);
        CHECK(report.memory_peak <= memory_for(slots, 16));
      }
    }
  }
}

TEST_CASE("A guess of the length changes no bit; a right one costs the optimum",
          "[sweep][property]") {
  for (const Step n : {2, 17, 40, 90, 300}) {
    for (const Slot slots : {1, 2, 3, 8}) {
      const Bytes memory = memory_for(slots, 16);
      for (const Ending ending : {Ending::known, Ending::before_last, Ending::after_last}) {
        for (const Step guess : {Step{0}, n / 2, n - 1, n, n + 1, 3 * n}) {
          CAPTURE(n, slots, guess, static_cast<int>(ending));
          MapStepper stepper({.steps = n, .ending = ending});
          const Report report =
              sweep(stepper, {.budget = {.memory = memory}, .expected_steps = guess});
          CHECK(stepper.bits() == bits_of(n));
          CHECK(report.memory_peak <= memory);
          // This stepper tells when the last step is tried. Where the guess is not used, a state
          // has perhaps just been given up for the start of that step.
          if (ending == Ending::before_last && guess == n && n > beta(slots, 2)) {
            CHECK(report.advances == binomial_advances(n, slots));
          }
        }
      }
    }
  }
  MapStepper stepper({.steps = 5, .ending = Ending::before_last});
  CHECK_THROWS_AS(sweep(stepper, {.expected_steps = -2}), InvalidArgument);
  CHECK(stepper.first_steps == 0);
}

TEST_CASE("States of varying size are kept within rows of the largest", "[sweep][property]") {
  for (const Slot slots : {1, 2, 3, 7, 30}) {
    CAPTURE(slots);
    MapStepper whole({.steps = 30});
    sweep(whole);
    MapStepper stepper({.steps = 30, .padding = 3, .varying = 2000});
    const Bytes row = 2048 + 8 + 8;  // 16 + 3 + 2000 bytes in a row, its index, its size
    const Report report =
        sweep(stepper, {.budget = {.memory = 2048 + static_cast<Bytes>(slots) * row}});
    CHECK(stepper.bits() == whole.bits());
    CHECK(report.advances == interpret(revolve(30, slots)).advances);
  }
}

TEST_CASE("A budget below the least is refused with the least, before anything has run",
          "[sweep][unit]") {
  for (const std::size_t padding : {0U, 77U, 5000U}) {
    for (const Step n : {1, 2, 100}) {
      CAPTURE(padding, n);
      MapStepper stepper({.steps = n, .padding = padding});
      const std::size_t bytes = stepper.state_bytes();
      const Bytes least = memory_for(n == 1 ? 0 : 1, bytes);
      try {
        sweep(stepper, {.budget = {.memory = least - 1}});
        FAIL_CHECK("less than the least was enough");
      } catch (const BudgetError& error) {
        CHECK(error.least == least);
        CHECK(std::string(error.what()).find(std::to_string(least)) != std::string::npos);
      }
      CHECK(stepper.first_steps == 0);
      const Report report = sweep(stepper, {.budget = {.memory = least}});
      CHECK(report.memory_peak <= least);
    }
  }
  MapStepper stepper({.steps = 10});
  CHECK_THROWS_AS(
      sweep(stepper, {.budget = {.memory = memory_for(2, 16)}, .schedule = revolve(10, 3)}),
      BudgetError);
}

TEST_CASE("Random budgets are never exceeded and change no bit", "[sweep][property]") {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const Step n = 1 + static_cast<Step>(random() % 60);
    const Bytes budget = random() % 4000;
    CAPTURE(n, budget);
    MapStepper stepper({.steps = n, .padding = random() % 100});
    try {
      const Report report = sweep(stepper, {.budget = {.memory = budget}});
      CHECK(report.memory_peak <= budget);
      MapStepper plain({.steps = n});
      sweep(plain);
      CHECK(stepper.bits() == plain.bits());
    } catch (const BudgetError& error) {
      CHECK(error.least > budget);
    }
  }
}

TEST_CASE("A stepper that contradicts itself is refused", "[sweep][fault]") {
  class Liar final : public Stepper {
   public:
    Liar(Step told, Step stop) : told_(told), stop_(stop) {}
    Step advance(Step, Step to, Pass) override { return std::min(to, stop_); }
    void turn(Step) override {}
    void reverse(Step) override {}
    [[nodiscard]] std::size_t state_bytes() const override { return 8; }
    void save(std::span<std::byte>) const override {}
    void load(std::span<const std::byte>) override {}
    [[nodiscard]] Step steps() const override { return told_; }

   private:
    Step told_;
    Step stop_;
  };
  Liar short_run(10, 5);  // says 10, stops at 5
  CHECK_THROWS_AS(sweep(short_run), ScheduleError);
  Liar backwards(unknown, -3);
  CHECK_THROWS_AS(sweep(backwards), ScheduleError);
}

TEST_CASE("An exception from a step passes, and a new sweep works", "[sweep][fault]") {
  for (Step at = 0; at < 20; ++at) {
    MapStepper stepper({.steps = 20});
    stepper.throw_at = at;
    CHECK_THROWS_WITH(sweep(stepper, {.budget = {.memory = memory_for(3, 16)}}), "the step failed");
    stepper.throw_at = -1;
    stepper.start();
    sweep(stepper, {.budget = {.memory = memory_for(3, 16)}});
    CHECK(stepper.bits() == bits_of(20));
  }
}

TEST_CASE("Progress goes forward, then back, and ends", "[sweep][unit]") {
  const Ending ending = GENERATE(Ending::known, Ending::before_last);
  std::vector<Progress> seen;
  MapStepper stepper({.steps = 500, .ending = ending});
  sweep(stepper, {.budget = {.memory = memory_for(5, 16)},
                  .progress = [&](const Progress& p) { seen.push_back(p); },
                  .progress_interval = 0});
  REQUIRE(seen.size() > 20);
  CHECK(seen.front().phase == Progress::Phase::forward);
  CHECK(seen.back().phase == Progress::Phase::reverse);
  CHECK(seen.back().step == 0);
  CHECK(seen.back().steps == 500);
  Step before = 500;
  for (const Progress& p : seen) {
    if (p.phase == Progress::Phase::forward) continue;
    CHECK(p.step <= before);
    before = p.step;
    if (p.step == 500) continue;  // nothing known of the speed yet
    CHECK(p.eta_seconds >= 0);
    CHECK(p.fraction >= 0);
    CHECK(p.fraction <= 1);
  }
  CHECK(stepper.bits() == bits_of(500));
}

TEST_CASE("C43: a new control value is used in the replay too", "[sweep][golden]") {
  // y' = m^2 y by RK4 with h = 1/4: y_{k+1} = R(m^2 / 4) y_k.
  class Growth final : public Stepper {
   public:
    double m = 1;
    double y = 1;
    double y_bar = 0;
    double m_bar = 0;
    Step advance(Step from, Step to, Pass) override {
      for (Step k = from; k < to; ++k) y *= factor();
      return to;
    }
    void turn(Step) override { y_bar = 1, m_bar = 0; }
    void reverse(Step) override {
      const double z = m * m / 4;
      m_bar += y_bar * y * (1 + z + z * z / 2 + z * z * z / 6) * m / 2;
      y_bar *= factor();
    }
    [[nodiscard]] std::size_t state_bytes() const override { return 8; }
    void save(std::span<std::byte> out) const override { std::memcpy(out.data(), &y, 8); }
    void load(std::span<const std::byte> in) override { std::memcpy(&y, in.data(), 8); }
    [[nodiscard]] Step steps() const override { return 4; }

   private:
    [[nodiscard]] double factor() const {
      const double z = m * m / 4;
      return 1 + z + z * z / 2 + z * z * z / 6 + z * z * z * z / 24;
    }
  };
  for (const Slot slots : {1, 2, 4}) {
    CAPTURE(slots);
    Growth growth;
    const auto evaluate = [&](double m) {
      growth.m = m;
      growth.y = 1;
      sweep(growth, {.budget = {.memory = memory_for(slots, 8)}});
      return std::pair(growth.m_bar, growth.y_bar);
    };
    const auto first = evaluate(1);
    CHECK(first.first == Catch::Approx(5.4357307644619185687).epsilon(1e-12));
    CHECK(first.second == Catch::Approx(2.7182099392013232498).epsilon(1e-13));  // J = dJ/dy0
    const auto second = evaluate(1.5);
    CHECK(second.first == Catch::Approx(28.362088098819326452).epsilon(1e-12));
    CHECK(second.second == Catch::Approx(9.4765596619527666657).epsilon(1e-13));
    CHECK(evaluate(1) == first);
  }
}
