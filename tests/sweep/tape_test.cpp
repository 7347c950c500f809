#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/mixed.hpp"
#include "costate/schedule/revolve.hpp"
#include "costate/sweep/make_stepper.hpp"
#include "costate/sweep/sweep.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

// x_{k+1} = x_k + sin(p z_k) / 2 with z_k = exp(-x_k²) as the dear part of a step; J = x_n². The
// tape holds x_k and z_k, or z_k and x_{k+1}.
template <bool next_on_tape>
class Model {
 public:
  explicit Model(Step n) : n_(n) {}

  double x = 0.4;
  double x_bar = 0;
  double p_bar = 0;
  Step forwards = 0;  // times that z was computed
  Step firsts = 0;    // steps of the first pass
  bool noisy = false;

  void step(Step k, Pass pass) {
    if (pass == Pass::first) {
      CHECK(k == firsts);
      ++firsts;
    }
    take(dear());
  }
  void turn(Step n) {
    CHECK(n == n_);
    x_bar = 2 * x;
    p_bar = 0;
  }
  void reverse(Step) { pull(x, dear()); }
  [[nodiscard]] std::span<double> state() { return {&x, 1}; }
  [[nodiscard]] Step steps() const { return n_; }

  [[nodiscard]] std::size_t tape_bytes() const { return next_on_tape ? 24 : 16; }
  void save_tape(Step k, Pass pass, std::span<std::byte> out) {
    if (pass == Pass::first) {
      CHECK(k == firsts);
      ++firsts;
    }
    std::vector<double> tape{x, dear()};
    take(tape[1]);
    if (next_on_tape) tape.push_back(x);
    REQUIRE(out.size() == 8 * tape.size());
    std::memcpy(out.data(), tape.data(), out.size());
  }
  void reverse_tape(Step, std::span<const std::byte> in) {
    double tape[2];
    std::memcpy(tape, in.data(), sizeof tape);
    x = std::nan("");  // nobody may rely on it
    pull(tape[0], tape[1]);
  }
  void load_tape(Step, std::span<const std::byte> in) requires next_on_tape {
    std::memcpy(&x, in.data() + 16, 8);
  }

  [[nodiscard]] std::vector<std::uint64_t> bits() const {
    return {std::bit_cast<std::uint64_t>(x_bar), std::bit_cast<std::uint64_t>(p_bar)};
  }

 private:
  double dear() {
    ++forwards;
    return std::exp(-x * x) + (noisy ? 1e-9 * static_cast<double>(forwards) : 0);
  }
  void take(double z) { x += 0.5 * std::sin(p_ * z); }
  void pull(double at, double z) {
    const double c = 0.5 * std::cos(p_ * z) * x_bar;
    p_bar += c * z;
    x_bar -= c * p_ * 2 * at * z;
  }

  Step n_;
  double p_ = 1.7;
};

// Of a schedule that keeps tapes of so many states in so many slots.
Costs costs_of(Bytes states, Slot slots) {
  Costs costs;
  costs.state_bytes = 8;
  costs.tape_bytes = 8 * states;
  costs.tiers = {{.name = "memory", .slots = slots}};
  return costs;
}

// Those that the driver may use with so many slots, besides one or two spare rows.
Budget budget_for(Slot slots) {
  return {.memory = memory_for(slots, 8)};
}

template <bool next_on_tape>
void check_all_budgets(Step n) {
  Model<next_on_tape> all(n);
  auto plain = make_stepper(all);
  sweep(plain, {.guard = ReplayGuard::off, .tapes = false});
  CHECK(all.forwards == 2 * n - 1 + 1);
  const Slot sigma = next_on_tape ? 3 : 2;
  for (const ReplayGuard guard :
       {ReplayGuard::off, ReplayGuard::sampled, ReplayGuard::every_step}) {
    Step last = saturated;
    for (Slot slots = 1; slots <= sigma * n + 2; slots += 1 + slots / 5) {
      CAPTURE(n, slots, sigma, guard);
      Budget budget = budget_for(slots);
      if (guard == ReplayGuard::every_step) budget.memory += 8 * static_cast<Bytes>(n);
      Model<next_on_tape> model(n);
      auto stepper = make_stepper(model);
      const Report report = sweep(stepper, {.budget = budget, .guard = guard});
      CHECK(model.bits() == all.bits());
      CHECK(model.firsts == n);
      CHECK(report.memory_peak <= budget.memory);
      CHECK(report.advances == report.predicted.advances);
      CHECK(report.advances <= binomial_advances(n, slots));
      CHECK(report.advances <= last);
      CHECK(report.tiers[0].writes == report.predicted.tiers[0].writes);
      CHECK(report.tiers[0].reads == report.predicted.tiers[0].reads);
      // Besides, the last step runs once for the objective and once for its reverse.
      CHECK(model.forwards == report.advances + n + 1 + report.guard_steps);
      CHECK((guard == ReplayGuard::off ? report.guard_checks == 0 : report.guard_checks > 0));
      if (slots > sigma * (n - 1)) CHECK(report.advances == 0);
      last = report.advances;
    }
  }
}

}  // namespace

TEST_CASE("Tapes change no bit and spare steps, whatever the budget", "[sweep][property]") {
  for (const Step n : {2, 3, 5, 17, 60}) {
    check_all_budgets<false>(n);
    check_all_budgets<true>(n);
  }
}

TEST_CASE("A run can be told to keep states only", "[sweep][unit]") {
  Model<true> model(40);
  auto stepper = make_stepper(model);
  const Report report = sweep(stepper, {.tapes = false});
  CHECK(report.schedule == "revolve");
  CHECK(report.advances == 39);
}

TEST_CASE("A mixed schedule can be given", "[sweep][property]") {
  const Step n = 30;
  Model<true> all(n);
  auto plain = make_stepper(all);
  sweep(plain, {.tapes = false});
  for (const bool has_next : {false, true}) {
    for (const Slot slots : {1, 3, 4, 7, 12, 40, 90}) {
      CAPTURE(has_next, slots);
      const Plan plan = mixed(costs_of(3, slots), n, has_next);
      Model<true> model(n);
      auto stepper = make_stepper(model);
      const Report report =
          sweep(stepper, {.budget = budget_for(slots + 1), .schedule = plan.schedule});
      CHECK(report.advances == plan.counts.advances);
      CHECK(model.bits() == all.bits());
    }
  }
}

TEST_CASE("Where nothing is replayed the guard still looks at a step", "[sweep][fault]") {
  Model<false> model(20);
  model.noisy = true;
  auto stepper = make_stepper(model);
  CHECK_THROWS_AS(sweep(stepper), ReplayError);
}

TEST_CASE("Tapes in a schedule for a stepper without them are refused", "[sweep][unit]") {
  struct Plain {
    double x = 1;
    void step(Step) {}
    void turn(Step) {}
    void reverse(Step) {}
    std::span<double> state() { return {&x, 1}; }
    [[nodiscard]] Step steps() const { return 5; }
  };
  Plain model;
  auto stepper = make_stepper(model);
  CHECK(stepper.tape_bytes() == 0);
  CHECK_FALSE(stepper.tape_has_next());
  CHECK_THROWS_AS(sweep(stepper, {.schedule = mixed(costs_of(1, 5), 5).schedule}), Unsupported);
  CHECK_THROWS_AS(stepper.save_tape(0, Pass::first, {}), Unsupported);
  CHECK_THROWS_AS(stepper.reverse_tape(0, {}), Unsupported);
  CHECK_THROWS_AS(stepper.load_tape(0, {}), Unsupported);
}

TEST_CASE("A schedule planned for smaller tapes is refused", "[sweep][fault]") {
  Model<false> model(6);  // tapes of two states
  auto stepper = make_stepper(model);
  CHECK_THROWS_AS(sweep(stepper, {.schedule = mixed(costs_of(1, 5), 6).schedule}), ScheduleError);
}
