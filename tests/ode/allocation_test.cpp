// Steps allocate nothing: neither through operator new (counted) nor through Eigen (forbidden).

#include <stdexcept>

#define EIGEN_RUNTIME_NO_MALLOC
#define eigen_assert(condition)                                     \
  do {                                                              \
    if (!(condition)) throw std::logic_error("Eigen: " #condition); \
  } while (false)

#include "costate/costate.hpp"
#include "support/catch.hpp"
#include "support/count_allocations.hpp"
#include "support/ode_bits.hpp"
#include "support/problems.hpp"

using namespace costate;
using costate::test::allocations;

namespace {

// Allocations of a sweep, and of its value; the stepper is made before.
template <class F, class Method>
long allocations_of(const F& f, const Method& method, const RunOf<F>& run) {
  const auto target =
      ode_bits::objective<typename F::State, typename F::Parameters>(run.t0, run.t1);
  OdeStepper stepper(f, method, target, run.t0, run.t1, run.y0, run.p);
  const SweepOptions options = run.sweep_options();
  Eigen::internal::set_is_malloc_allowed(false);
  const long before = allocations;
  sweep(stepper, options);
  const long after = allocations;
  Eigen::internal::set_is_malloc_allowed(true);
  return after - before;
}

template <class F>
void check_fixed(const F& f, RunOf<F> run) {
  // Room for all, and room for few: what is allocated is for the sweep, not for its steps.
  const auto row = static_cast<std::size_t>(run.y0.size()) * sizeof(double);
  for (const Slot slots : {5, 2000}) {
    CAPTURE(slots);
    run.budget = {.memory = memory_for(slots, row)};
    const long short_run = allocations_of(f, RungeKutta4{.steps = 100}, run);
    const long long_run = allocations_of(f, RungeKutta4{.steps = 1000}, run);
    // A schedule may hold a stack that grows with the logarithm of the number of steps.
    CHECK(long_run - short_run <= 4);
    const long other = allocations_of(f, DormandPrince54{.steps = 1000}, run);
    CHECK(other == long_run);
  }
}

}  // namespace

TEST_CASE("Fixed steps allocate nothing", "[ode][unit]") {
  check_fixed(problems::LotkaVolterra{},
              {.t0 = 0, .t1 = 2, .y0 = {1.2, 0.7}, .p = {1.5, 1.1, 2.7, 0.9}});
  check_fixed(problems::Forced{}, {.t0 = 0,
                                   .t1 = 2,
                                   .y0 = Eigen::VectorXd::LinSpaced(21, 0.1, 1.3),
                                   .p = Eigen::Vector2d(-2.8, 9.1)});
}

TEST_CASE("Adaptive steps allocate only for the growing record of their times", "[ode][unit]") {
  RunOf<problems::Forced> run{.t0 = 0,
                              .t1 = 2,
                              .y0 = Eigen::VectorXd::LinSpaced(21, 0.1, 1.3),
                              .p = Eigen::Vector2d(-2.8, 9.1),
                              .budget = {.memory = 1_MiB}};
  const Dopri5 loose{.rtol = 1e-4, .atol = 1e-4};
  const Dopri5 tight{.rtol = 1e-11, .atol = 1e-11};
  const auto target = ode_bits::objective<Eigen::VectorXd, Eigen::VectorXd>(0, 2);
  const Step few = value(problems::Forced{}, loose, target, run).grid.steps();
  const Step many = value(problems::Forced{}, tight, target, run).grid.steps();
  REQUIRE(many > 10 * few);
  // Doubling: at most log2(many / few) + 1 for the times, as many for a schedule's stack or two.
  CHECK(allocations_of(problems::Forced{}, tight, run) <
        allocations_of(problems::Forced{}, loose, run) + 30);
}
