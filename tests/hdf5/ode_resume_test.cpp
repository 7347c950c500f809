// A gradient whose process ends again and again, in both sweeps, has the bits of one in one go,
// whatever the method.

#include <array>
#include <cmath>
#include <string>

#include "costate/costate.hpp"
#include "costate/hdf5/run_directory.hpp"
#include "costate/integrate/bdf.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/fully_implicit.hpp"
#include "costate/integrate/imex.hpp"
#include "costate/integrate/more_explicit_methods.hpp"
#include "costate/integrate/multistep.hpp"
#include "costate/integrate/reversible.hpp"
#include "costate/integrate/rosenbrock.hpp"
#include "costate/integrate/separable.hpp"
#include "costate/integrate/symplectic.hpp"
#include "support/catch.hpp"
#include "support/ode_bits.hpp"
#include "support/temp_folder.hpp"

using namespace costate;

namespace {

// The memory with which the run starts, and a little more: many short commands.
template <class F, class Method, class O>
Bytes least_memory(const F& f, const Method& method, const O& target, RunOf<F> run,
                   const std::string& directory) {
  run.budget.memory = 1;
  try {
    value_and_gradient_or_resume(
        f, method, target, run,
        {.store = run_directory({.directory = directory, .capacity = 64_KiB}), .identity = "none"});
  } catch (const BudgetError& error) {
    return error.least + 64;
  }
  FAIL("one byte was enough");
  return 0;
}

template <class F, class Method, class O>
void check_resumed(const F& f, const Method& method, RunOf<F> run, const O& target) {
  INFO(method.control().method);
  const auto expected = value_and_gradient(f, method, target, run);

  int resumed_forward = 0;
  int resumed_reverse = 0;
  // The first processes live shortest, so that some end in the forward sweep.
#ifdef COSTATE_SANITIZED  // each process makes a thread, which is dear there
  constexpr std::array patiences = {150};
#else
  constexpr std::array patiences = {20, 60};
#endif
  for (const int patience : patiences) {
    CAPTURE(patience);
    const test::TempFolder folder;
    run.budget.memory = least_memory(f, method, target, run, folder.path());
    for (int calls = 0;; ++calls) {
      REQUIRE(calls < 2000);
      int asked = 0;
      const auto result = value_and_gradient_or_resume(
          f, method, target, run,
          {.store = run_directory(
               {.directory = folder.path(), .capacity = 64_KiB, .durability = Durability::none}),
           .identity = "test",
           .stop_when = [&] { return ++asked > (calls < 8 ? 1 : patience); }});
      CHECK(result.damage.empty());
      CHECK(result.finished == result.gradient.has_value());
      if (result.resumed) {
        ++(result.resumed_phase == RunRecord::Phase::forward ? resumed_forward : resumed_reverse);
      }
      if (!result.finished) continue;
      CHECK(ode_bits::same_bits(*result.gradient, expected));
      CHECK(result.gradient->rejected == expected.rejected);
      break;
    }
    // Another call finds it finished, with the same gradient and the same times.
    const auto again = value_and_gradient_or_resume(
        f, method, target, run,
        {.store = run_directory({.directory = folder.path(), .capacity = 64_KiB}),
         .identity = "test"});
    REQUIRE(again.finished);
    CHECK(again.report.advances == 0);
    CHECK(ode_bits::same_bits(*again.gradient, expected));
    CHECK(again.gradient->rejected == expected.rejected);
  }
  CHECK(resumed_forward > 0);
  CHECK(resumed_reverse > 0);
}

template <class F, class Method>
void check_resumed(const F& f, const Method& method, const RunOf<F>& run) {
  check_resumed(f, method, run,
                ode_bits::objective<typename F::State, typename F::Parameters>(run.t0, run.t1));
}

// For methods without a quadrature for a running integral.
template <class F>
auto observed(const RunOf<F>& run) {
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  return observations(
      {run.t0, 0.3 * run.t0 + 0.7 * run.t1, run.t1},
      [](std::size_t, const State& y, const Parameters& p) { return y[0] * y[1] * p[0]; },
      [](std::size_t, const State& y, const Parameters& p, State& y_bar, Parameters& p_bar) {
        y_bar[0] += y[1] * p[0];
        y_bar[1] += y[0] * p[0];
        p_bar[0] += y[0] * y[1];
      });
}

using problems::LotkaVolterra;

// With the second derivatives that Rosenbrock methods need.
struct Smooth : LotkaVolterra {
  static constexpr bool autonomous = true;
  void jacobian_vjp(double, const State& y, const Parameters& p, const State& v, const State& w,
                    State& y_bar, Parameters& p_bar) const {
    const double product = v[0] * y[1] + y[0] * v[1];
    const double both = -p[1] * w[0] + p[3] * w[1];
    y_bar[0] += both * v[1];
    y_bar[1] += both * v[0];
    p_bar[0] += w[0] * v[0];
    p_bar[1] -= w[0] * product;
    p_bar[2] -= w[1] * v[1];
    p_bar[3] += w[1] * product;
  }
};
const RunOf<LotkaVolterra> predators{.t0 = 0, .t1 = 2, .y0 = {1.2, 0.7}, .p = {1.5, 1.1, 2.7, 0.9}};

// H = p_0 (1 - cos q) + p_1 v² / 2, a pendulum; q, then v.
struct Pendulum {
  using Half = Eigen::Matrix<double, 1, 1>;
  using Parameters = Eigen::Vector2d;
  void force(const Half& q, const Parameters& p, Half& out) const {
    out[0] = -p[0] * std::sin(q[0]);
  }
  void force_vjp(const Half& q, const Parameters& p, const Half& w, Half& q_bar,
                 Parameters& p_bar) const {
    q_bar[0] = -p[0] * std::cos(q[0]) * w[0];
    p_bar[0] -= std::sin(q[0]) * w[0];
  }
  void velocity(const Half& v, const Parameters& p, Half& out) const { out[0] = p[1] * v[0]; }
  void velocity_vjp(const Half& v, const Parameters& p, const Half& w, Half& v_bar,
                    Parameters& p_bar) const {
    v_bar[0] = p[1] * w[0];
    p_bar[1] += v[0] * w[0];
  }
};

}  // namespace

TEST_CASE("Interrupted explicit methods end with the bits of one in one go", "[ode][fault]") {
  check_resumed(LotkaVolterra{}, RungeKutta4{.steps = 300}, predators);
  check_resumed(LotkaVolterra{}, Dopri5{.rtol = 1e-9, .atol = 1e-9, .max_step = 0.003}, predators);
  check_resumed(LotkaVolterra{}, BogackiShampine32{.rtol = 1e-8, .atol = 1e-8, .first_step = 1},
                predators);
  check_resumed(LotkaVolterra{}, Verner65{.rtol = 1e-9, .atol = 1e-9, .max_step = 0.003},
                predators);
}

TEST_CASE("Interrupted multistep methods end with the bits of one in one go", "[ode][fault]") {
  check_resumed(LotkaVolterra{}, AdamsBashforth2{.steps = 300}, predators);
  check_resumed(LotkaVolterra{}, AdamsBashforth3{.steps = 300}, predators);
  check_resumed(LotkaVolterra{}, Leapfrog{.filter = 0.05, .steps = 300}, predators);
  check_resumed(LotkaVolterra{}, Bdf2{.steps = 300}, predators);
  check_resumed(LotkaVolterra{}, Bdf5{.steps = 300}, predators);
}

TEST_CASE("Interrupted implicit methods end with the bits of one in one go", "[ode][fault]") {
  check_resumed(LotkaVolterra{}, CrankNicolson{.steps = 300}, predators);
  check_resumed(LotkaVolterra{}, Esdirk43{.rtol = 1e-8, .atol = 1e-8, .max_step = 0.003},
                predators);
  check_resumed(LotkaVolterra{}, Radau5{.steps = 200}, predators);
  const RunOf<Smooth> smooth = predators;
  check_resumed(Smooth{}, Rodas43{.rtol = 1e-8, .atol = 1e-8, .max_step = 0.003}, smooth,
                observed<Smooth>(smooth));
  const auto two_parts = split(LotkaVolterra{}, LotkaVolterra{});
  check_resumed(two_parts, Ark43{.rtol = 1e-8, .atol = 1e-8, .max_step = 0.003},
                {.t0 = 0, .t1 = 1, .y0 = predators.y0, .p = predators.p});
}

TEST_CASE("Interrupted methods for separable problems end with the bits of one in one go",
          "[ode][fault]") {
  const auto pendulum = separable(Pendulum{});
  const RunOf<decltype(separable(Pendulum{}))> run{
      .t0 = 0, .t1 = 3, .y0 = {1.2, -0.3}, .p = {1.5, 0.8}};
  check_resumed(pendulum, SymplecticEuler{.steps = 300}, run);
  check_resumed(pendulum, Yoshida4{.steps = 300}, run,
                observed<decltype(separable(Pendulum{}))>(run));
  check_resumed(pendulum, ReversibleVerlet{.steps = 300}, run);
}

TEST_CASE("C83: another method, option, time, start or parameter is another run", "[ode][golden]") {
  const test::TempFolder folder;
  const auto target = ode_bits::objective<LotkaVolterra::State, LotkaVolterra::Parameters>(0, 2);
  const auto call = [&](const auto& method, RunOf<LotkaVolterra> run, bool stop,
                        const std::string& identity = "predators") {
    run.budget.memory = 2_KiB;
    return value_and_gradient_or_resume(
        LotkaVolterra{}, method, target, run,
        {.store = run_directory({.directory = folder.path(), .capacity = 64_KiB}),
         .identity = identity,
         .stop_when = [&] { return stop; }});
  };
  REQUIRE_FALSE(call(Leapfrog{.filter = 0.05, .steps = 300}, predators, true).finished);

  const auto refused = [&](const auto& method, const RunOf<LotkaVolterra>& run,
                           const std::string& word, const std::string& identity = "predators") {
    CAPTURE(word);
    try {
      call(method, run, false, identity);
      FAIL_CHECK("the run of another problem was taken up");
    } catch (const StorageError& error) {
      CHECK(std::string(error.what()).find(word) != std::string::npos);
    }
  };
  const Leapfrog same{.filter = 0.05, .steps = 300};
  refused(AdamsBashforth2{.steps = 300}, predators, "Adams-Bashforth 2");
  refused(Leapfrog{.filter = 0.06, .steps = 300}, predators, "0.059999999999999998");
  refused(Leapfrog{.filter = 0.05, .steps = 301}, predators, "301 steps");
  refused(same, predators, "'prey", "prey");
  RunOf<LotkaVolterra> other = predators;
  other.t1 = 2.5;
  CHECK_THROWS_AS(call(same, other, false), StorageError);
  other = predators;
  other.y0[1] = std::nextafter(other.y0[1], 1);
  CHECK_THROWS_AS(call(same, other, false), StorageError);
  other = predators;
  other.p[3] = 0.8;
  CHECK_THROWS_AS(call(same, other, false), StorageError);
  // The budget does not belong to the problem.
  other = predators;
  other.guard = ReplayGuard::off;
  const auto result = call(same, other, false);
  CHECK(result.resumed);
  CHECK(ode_bits::same_bits(*result.gradient,
                            value_and_gradient(LotkaVolterra{}, same, target, predators)));
}

TEST_CASE("A second disk, or a schedule, is refused", "[ode][unit]") {
  const test::TempFolder folder;
  const auto target = ode_bits::objective<LotkaVolterra::State, LotkaVolterra::Parameters>(0, 2);
  const ResumeOptions options{.store = run_directory({.directory = folder.path()}),
                              .identity = "x"};
  RunOf<LotkaVolterra> run = predators;
  run.budget.disk = hdf5({.directory = folder.path()});
  CHECK_THROWS_AS(
      value_and_gradient_or_resume(LotkaVolterra{}, RungeKutta4{.steps = 10}, target, run, options),
      InvalidArgument);
  run = predators;
  run.schedule = revolve(10, 3);
  CHECK_THROWS_AS(
      value_and_gradient_or_resume(LotkaVolterra{}, RungeKutta4{.steps = 10}, target, run, options),
      InvalidArgument);
}
