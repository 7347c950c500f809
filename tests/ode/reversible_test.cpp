// Störmer's and Verlet's method in fixed-point numbers: reversibility, gradients, memory.

#include "costate/integrate/reversible.hpp"

#include <cmath>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "costate/costate.hpp"
#include "costate/integrate/symplectic.hpp"
#include "costate/schedule/revolve.hpp"
#include "support/catch.hpp"
#include "support/chain.hpp"
#include "support/ode_battery.hpp"

using namespace costate;
using battery::Complex;
using battery::ComplexVector;
using Mixed = battery::Objective;
using battery::Trajectory;

namespace {

using Small = problems::Chain<Eigen::Vector2d>;
using Large = problems::Chain<Eigen::VectorXd>;

// The textbook's method with rounded real parts: what is differentiated is the step at the states
// of the run. Rounding the sums is rounding the increments, as the other addend is on the grid.
struct Textbook {
  double unit;

  void round(ComplexVector& y) const {
    for (Complex& z : y) z = {std::round(z.real() / unit) * unit, z.imag()};
  }
  template <class F, class G>
  Trajectory operator()(const F& f, const std::vector<double>& t, ComplexVector y,
                        const G& g) const {
    round(y);
    Trajectory run{{y}, 0};
    const Eigen::Index d = y.size() / 2;
    for (std::size_t n = 0; n + 1 < t.size(); ++n) {
      const double h = t[n + 1] - t[n];
      run.integral += h / 2 * g(t[n], y);
      y.tail(d) += h / 2 * f(0, y).tail(d);
      round(y);
      y.head(d) += h * f(0, y).head(d);
      round(y);
      y.tail(d) += h / 2 * f(0, y).tail(d);
      round(y);
      run.integral += h / 2 * g(t[n + 1], y);
      run.y.push_back(y);
    }
    return run;
  }
};

const Eigen::Vector4d small_start(1.1, -0.4, 0.3, 0.8);
const Eigen::VectorXd large_start = Eigen::VectorXd::LinSpaced(22, -0.9, 1.3);
const Eigen::Vector3d rates(1.3, 0.7, 0.9);

}  // namespace

TEST_CASE("The fixed-point method steps back to the last bit", "[ode][property]") {
  const Small f;
  const Mixed objective{};
  const ReversibleVerlet method{.steps = 20000};
  OdeStepper<Small, ReversibleVerlet, Mixed> stepper(f, method, objective, 0, 1000, small_start,
                                                     rates);
  REQUIRE(stepper.can_step_back());
  std::vector<std::byte> start(stepper.state_bytes());
  std::vector<std::byte> middle(stepper.state_bytes());
  std::vector<std::byte> again(stepper.state_bytes());
  stepper.save(start);
  stepper.advance(0, 12345, Pass::first);
  stepper.save(middle);
  stepper.advance(12345, 20000, Pass::first);

  stepper.step_back(20000, 12345);
  stepper.save(again);
  CHECK(again == middle);
  stepper.step_back(12345, 0);
  stepper.save(again);
  CHECK(again == start);
}

TEST_CASE("Its gradient is the derivative of the steps at the rounded states", "[ode][oracle]") {
  const std::vector<double> times = {0.2, 0.3, 0.55, 0.6, 0.9, 1.0, 1.1, 1.3};
  // As for the method without rounding: some hundred roundings. With a coarse grid the two agree
  // only if the states do.
  for (const int bits : {12, 30, 44}) {
    CAPTURE(bits);
    const Textbook textbook{std::ldexp(1.0, -bits)};
    const ReversibleVerlet method{.fraction_bits = bits, .grid = times};
    battery::check_against_textbook<Small>(method, textbook, times, {0.55, 0.2}, small_start, rates,
                                           2000);
    battery::check_against_textbook<Large>(method, textbook, times, {1.3}, large_start, rates,
                                           2000);
  }
}

TEST_CASE("It differs from the method in real numbers by the resolution", "[ode][property]") {
  const auto run = [](const auto& method) {
    return battery::flat(value_and_gradient(Small{}, method, Mixed{},
                                            {.t0 = 0, .t1 = 5, .y0 = small_start, .p = rates}));
  };
  const Eigen::VectorXd real = run(StoermerVerlet{.steps = 100});
  // 300 roundings of at most half a unit each, amplified by the flow's condition over 5 time units,
  // which is below exp(5) for rates of order 1; the second derivatives of J are of order 10.
  for (const int bits : {20, 30, 40}) {
    const double bound = std::ldexp(1.0, -bits) * 150 * std::exp(5) * 10;
    const double difference =
        (run(ReversibleVerlet{.fraction_bits = bits, .steps = 100}) - real).norm();
    CHECK(difference < bound);
    CHECK(difference > 0);
  }
}

TEST_CASE("A reversible sweep has the bits of every schedule, and stores nothing",
          "[ode][property]") {
  const auto check = [](const auto& problem, const auto& y0, const std::vector<double>& seen) {
    using F = std::decay_t<decltype(problem)>;
    const Step n = 40;
    const ReversibleVerlet method{.steps = n};
    const auto run = [&](std::optional<Schedule> schedule) {
      return value_and_gradient(problem, method, Mixed{seen},
                                RunOf<F>{.t0 = 0,
                                         .t1 = 2,
                                         .y0 = y0,
                                         .p = rates,
                                         .guard = ReplayGuard::every_step,
                                         .schedule = std::move(schedule)});
    };
    const auto free = run(std::nullopt);
    CHECK(free.report.schedule == "reversible");
    CHECK(free.report.back_steps == n);
    CHECK(free.report.guard_checks == n);
    CHECK(free.report.tiers.at(0).writes == 0);
    for (const Slot slots : {1, 2, 3, 5, 40}) {
      CAPTURE(slots);
      const auto kept = run(revolve(n, slots));
      CHECK(kept.report.back_steps == 0);
      CHECK(battery::bits(kept.value, battery::flat(kept)) ==
            battery::bits(free.value, battery::flat(free)));
    }
  };
  check(Small{}, small_start, {});
  check(Small{}, small_start, {0.5, 1, 2});
  check(Large{}, large_start, {1});
}

TEST_CASE("A hundred thousand steps are reversed in a kilobyte", "[ode][property]") {
  const auto result = value_and_gradient(
      Small{}, ReversibleVerlet{.steps = 100000}, Mixed{},
      {.t0 = 0, .t1 = 10, .y0 = small_start, .p = rates, .budget = {.memory = 1_KiB}});
  CHECK(result.report.memory_peak <= 1_KiB);
  CHECK(result.report.guard_checks > 30);
  // The same by checkpoints of the method in real numbers: 3e5 roundings of 2^-45 at most.
  const auto real = value_and_gradient(Small{}, StoermerVerlet{.steps = 100000}, Mixed{},
                                       {.t0 = 0, .t1 = 10, .y0 = small_start, .p = rates});
  CHECK((battery::flat(result) - battery::flat(real)).norm() < 1e-4 * battery::flat(real).norm());
}

TEST_CASE("The reversible method passes the Taylor test and has order 2", "[ode][oracle]") {
  battery::check_taylor<Small>(ReversibleVerlet{.steps = 40}, 0, 1, small_start, rates);
  const auto orders = battery::orders<Small>([](Step n) { return ReversibleVerlet{.steps = n}; }, 0,
                                             2, small_start, rates, 160);
  CHECK(std::abs(orders.value - 2) < 0.1);
  CHECK(std::abs(orders.gradient - 2) < 0.1);
}

TEST_CASE("Numbers out of range are refused", "[ode][fault]") {
  const auto run = [](const ReversibleVerlet& method, const Eigen::Vector4d& y0) {
    return value_and_gradient(Small{}, method, Mixed{}, {.t0 = 0, .t1 = 100, .y0 = y0, .p = rates});
  };
  CHECK_THROWS_AS(run({.fraction_bits = 61, .steps = 10}, small_start), InvalidArgument);
  CHECK_THROWS_AS(run({.fraction_bits = 60, .steps = 10}, {3, 0, 0, 0}), InvalidArgument);
  CHECK_THROWS_AS(run({.fraction_bits = 60, .steps = 10}, {1, 0, 0, 1}), IntegrationError);
}

TEST_CASE("verify proves the reversible method", "[ode][property]") {
  const Verification result = verify(Small{}, ReversibleVerlet{.steps = 30}, Mixed{{0.5}},
                                     {.t0 = 0, .t1 = 2, .y0 = small_start, .p = rates});
  INFO(to_string(result));
  CHECK(result.ok);
}
