// A gradient whose process ends again and again, in both sweeps, has the bits of one in one go.

#include <optional>
#include <type_traits>

#include "costate/hdf5/run_directory.hpp"
#include "costate/sweep/run.hpp"
#include "support/catch.hpp"
#include "support/ode_bits.hpp"
#include "support/temp_folder.hpp"

using namespace costate;

namespace {

using S = problems::LotkaVolterra::State;
using P = problems::LotkaVolterra::Parameters;

template <class Method>
void check_resumed(const Method& method) {
  INFO(Method::tableau.name);
  const problems::LotkaVolterra f;
  const RunOf<problems::LotkaVolterra> run{
      .t0 = 0, .t1 = 2, .y0 = {1.2, 0.7}, .p = {1.5, 1.1, 2.7, 0.9}};
  const auto target = ode_bits::objective<S, P>(run.t0, run.t1);
  const auto expected = value_and_gradient(f, method, target, run);

  int resumed_forward = 0;
  int resumed_reverse = 0;
  // The first processes live shortest, so that some end in the forward sweep.
  for (const int patience : {20, 60}) {
    CAPTURE(patience);
    const test::TempFolder folder;
    int calls = 0;
    std::optional<
        OdeStepper<problems::LotkaVolterra, Method, std::remove_const_t<decltype(target)>>>
        stepper;
    Bytes memory = 1;  // then the least that is possible and a little more: many short commands
    for (bool finished = false; !finished; ++calls) {
      REQUIRE(calls < 2000);
      // As a new process would: nothing is left but the directory.
      stepper.emplace(f, method, target, run.t0, run.t1, run.y0, run.p);
      int asked = 0;
      const RunOptions options{
          .store = run_directory(
              {.directory = folder.path(), .capacity = 64_KiB, .durability = Durability::none}),
          .identity = "test",
          .memory = memory,
          .stop_when = [&] { return ++asked > (calls < 8 ? 1 : patience); }};
      RunResult result;
      try {
        result = run_or_resume(*stepper, options);
      } catch (const BudgetError& error) {
        REQUIRE(memory == 1);
        memory = error.least + 64;
        continue;
      }
      finished = result.finished;
      if (result.resumed && result.resumed_phase == RunRecord::Phase::forward) ++resumed_forward;
      if (result.resumed && result.resumed_phase == RunRecord::Phase::reverse) ++resumed_reverse;
    }
    CHECK(stepper->value() == expected.value);
    CHECK(stepper->adjoint() == expected.dy0);
    CHECK(stepper->parameter_gradient() == expected.dp);
  }
  CHECK(resumed_forward > 0);
  CHECK(resumed_reverse > 0);
}

}  // namespace

TEST_CASE("A gradient that is interrupted has the bits of one that is not", "[ode][fault]") {
  check_resumed(RungeKutta4{.steps = 300});
  check_resumed(Dopri5{.rtol = 1e-9, .atol = 1e-9, .max_step = 0.003});
  check_resumed(BogackiShampine32{.rtol = 1e-8, .atol = 1e-8, .first_step = 1});
}
