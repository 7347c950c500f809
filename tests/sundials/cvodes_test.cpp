#include "costate/sundials/cvodes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <unistd.h>
#ifdef COSTATE_SANITIZED
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();  // GCC comes without its header
#else
#include <malloc.h>
#endif

#include "costate/costate.hpp"
#include "costate/hdf5/run_directory.hpp"
#include "costate/sundials/vector.hpp"
#include "support/catch.hpp"

using costate::Step;
using costate::sundials::Borders;
using costate::sundials::Context;
using costate::sundials::CvodesProblem;
using costate::sundials::LinearSolver;
using costate::sundials::Matrix;
using costate::sundials::Terminal;
using costate::sundials::Vector;
using costate::sundials::WindowStepper;

namespace {

double* at(N_Vector v) {
  return N_VGetArrayPointer(v);
}

// Dense solvers for both problems, as a user attaches them.
struct DenseSolvers {
  explicit DenseSolvers(N_Vector like, SUNContext context)
      : forward_matrix(SUNDenseMatrix(N_VGetLength(like), N_VGetLength(like), context)),
        backward_matrix(SUNDenseMatrix(N_VGetLength(like), N_VGetLength(like), context)),
        forward(SUNLinSol_Dense(like, forward_matrix.get(), context)),
        backward(SUNLinSol_Dense(like, backward_matrix.get(), context)) {}
  void attach(CvodesProblem& problem) {
    problem.configure = [this](void* cvodes) {
      costate::sundials::check(CVodeSetLinearSolver(cvodes, forward.get(), forward_matrix.get()),
                               "CVodeSetLinearSolver");
    };
    problem.configure_adjoint = [this](void* cvodes, int which) {
      costate::sundials::check(
          CVodeSetLinearSolverB(cvodes, which, backward.get(), backward_matrix.get()),
          "CVodeSetLinearSolverB");
    };
  }
  Matrix forward_matrix, backward_matrix;
  LinearSolver forward, backward;
};

struct Result {
  double value = 0;
  std::vector<double> dy0;
  std::vector<double> dp;
  costate::Report report;
  std::vector<double> windows;
  Step solver_steps = 0;
  friend bool operator==(const Result& a, const Result& b) {
    return a.value == b.value && a.dy0 == b.dy0 && a.dp == b.dp && a.windows == b.windows;
  }
};

Result result_of(const WindowStepper& stepper, costate::Report report) {
  Result out;
  out.value = stepper.value();
  out.report = std::move(report);
  const auto dy0 = costate::sundials::entries(stepper.adjoint());
  out.dy0.assign(dy0.begin(), dy0.end());
  const auto dp = stepper.parameter_gradient();
  out.dp.assign(dp.begin(), dp.end());
  out.windows = stepper.window_times();
  out.solver_steps = stepper.solver_steps();
  return out;
}

// ----- Robertson, G = ∫ y3 dt, three rates -----

struct Robertson {
  std::array<double, 3> p = {0.04, 1e4, 3e7};
  long calls = 0;
};
int robertson_rhs(double, N_Vector y, N_Vector out, void* user) {
  const auto& p = static_cast<Robertson*>(user)->p;
  ++static_cast<Robertson*>(user)->calls;
  const double* u = at(y);
  at(out)[0] = -p[0] * u[0] + p[1] * u[1] * u[2];
  at(out)[2] = p[2] * u[1] * u[1];
  at(out)[1] = -at(out)[0] - at(out)[2];
  return 0;
}
int robertson_integrand(double, N_Vector y, N_Vector out, void*) {
  at(out)[0] = at(y)[2];
  return 0;
}
int robertson_adjoint(double, N_Vector y, N_Vector l, N_Vector out, void* user) {
  const auto& p = static_cast<Robertson*>(user)->p;
  const double* u = at(y);
  const double a = at(l)[0] - at(l)[1];
  const double b = at(l)[2] - at(l)[1];
  at(out)[0] = p[0] * a;
  at(out)[1] = -(p[1] * u[2] * a + 2 * p[2] * u[1] * b);
  at(out)[2] = -p[1] * u[1] * a - 1;
  return 0;
}
int robertson_parameters(double, N_Vector y, N_Vector l, N_Vector out, void*) {
  const double* u = at(y);
  const double a = at(l)[0] - at(l)[1];
  const double b = at(l)[2] - at(l)[1];
  at(out)[0] = u[0] * a;
  at(out)[1] = -u[1] * u[2] * a;
  at(out)[2] = -u[1] * u[1] * b;
  return 0;
}

Result robertson(double t1, Step window_steps, const costate::SweepOptions& options) {
  const Context context;
  Robertson data;
  std::vector<double> y0 = {1, 0, 0};
  const Vector y = costate::sundials::wrap(y0, context);
  DenseSolvers solvers(y.get(), context);
  CvodesProblem problem{.context = context,
                        .y0 = y.get(),
                        .user_data = &data,
                        .rhs = robertson_rhs,
                        .rtol = 1e-9,
                        .atol = 1e-14,
                        .integrand = robertson_integrand,
                        .adjoint_rhs = robertson_adjoint,
                        .parameter_rhs = robertson_parameters,
                        .parameters = 3,
                        .adjoint_rtol = 1e-8,
                        .adjoint_atol = 1e-10};
  solvers.attach(problem);
  WindowStepper stepper(costate::sundials::cvodes_solver(problem, 0, window_steps), 0, t1,
                        window_steps, {}, {});
  auto report = costate::sweep(stepper, options);
  return result_of(stepper, std::move(report));
}

// ----- y' = -p y², J = y(1): the problem of case C90 -----

struct Decay {
  double p = 0;
};
int decay_rhs(double, N_Vector y, N_Vector out, void* user) {
  at(out)[0] = -static_cast<Decay*>(user)->p * at(y)[0] * at(y)[0];
  return 0;
}
int decay_adjoint(double, N_Vector y, N_Vector l, N_Vector out, void* user) {
  at(out)[0] = 2 * static_cast<Decay*>(user)->p * at(y)[0] * at(l)[0];
  return 0;
}
int decay_parameters(double, N_Vector y, N_Vector l, N_Vector out, void*) {
  at(out)[0] = at(y)[0] * at(y)[0] * at(l)[0];
  return 0;
}
CvodesProblem decay(SUNContext context, N_Vector y, Decay& data, DenseSolvers& solvers,
                    double rtol) {
  CvodesProblem problem{.context = context,
                        .y0 = y,
                        .user_data = &data,
                        .rhs = decay_rhs,
                        .rtol = rtol,
                        .atol = 1e-2 * rtol,
                        .adjoint_rhs = decay_adjoint,
                        .parameter_rhs = decay_parameters,
                        .parameters = 1};
  solvers.attach(problem);
  return problem;
}

Terminal value_of_first() {
  return {.value = [](N_Vector y) { return at(y)[0]; },
          .gradient = [](N_Vector, N_Vector y_bar, std::span<double>) { at(y_bar)[0] += 1; }};
}

// Bytes that have been allocated and not freed. What the C library keeps for the next call counts
// as allocated, so its number grows in the first hundred calls and moves a little later; that of
// the sanitizers is exact.
std::size_t allocated_bytes() {
#ifdef COSTATE_SANITIZED
  return __sanitizer_get_current_allocated_bytes();
#else
  return mallinfo2().uordblks;
#endif
}
#ifdef COSTATE_SANITIZED
constexpr std::size_t slack_a_call = 0;
#else
constexpr std::size_t slack_a_call = 32;
#endif

}  // namespace

TEST_CASE("Robertson by CVODES in windows, to its tolerances", "[reference]") {
  const auto near = [](const Result& result, std::array<double, 3> right, double tolerance) {
    for (std::size_t i = 0; i < 3; ++i) {
      INFO(i << ": " << result.dp[i] << " " << right[i]);
      CHECK(std::abs(result.dp[i] / right[i] - 1) < tolerance);
    }
  };
  const auto at40 = robertson(40, 50, {});
  CHECK(std::abs(at40.value / 7.9885858622949 - 1) < 1e-6);
  near(at40, {129.7764828616, -3.626383373e-4, 6.044293421e-8}, 1e-5);
  const auto at50 = robertson(50, 50, {});
  CHECK(std::abs(at50.value / 10.948648480575 - 1) < 1e-6);
  near(at50, {173.4140891450, -5.059191406e-4, 8.432346465e-8}, 1e-5);
  const auto late = robertson(4e7, 100, {});
  near(late, {7.68377326602e5, -3.06892092, 5.11488997882e-4}, 1e-4);
}

TEST_CASE("Windows of CVODES give the same bits in every budget", "[bits]") {
  const auto whole = robertson(40, 20, {});
  CHECK(whole.report.steps > 10);
  CHECK(to_string(whole.report).find("gradient   accurate to the tolerances") != std::string::npos);
  CHECK(whole.report.advances == whole.report.steps - 1 + 1);
  for (const costate::Slot slots : {2, 3, 5}) {
    const auto bounded =
        robertson(40, 20, {.budget = {.memory = costate::memory_for(slots, 3 * sizeof(double))}});
    INFO(slots);
    CHECK(bounded.report.advances > whole.report.advances);
    CHECK(bounded == whole);
  }
}

TEST_CASE("Case C90: one object, called again and again, and memory that stays", "[case]") {
  const Context context;
  Decay data;
  std::vector<double> y0 = {1.5};
  const Vector y = costate::sundials::wrap(y0, context);
  DenseSolvers solvers(y.get(), context);
  const auto gradient = [&](double p) {
    data.p = p;
    const CvodesProblem problem = decay(context, y.get(), data, solvers, 1e-10);
    WindowStepper stepper(costate::sundials::cvodes_solver(problem, 0, 25), 0, 1, 25, {},
                          value_of_first());
    auto report = costate::sweep(stepper, {.budget = {.memory = costate::memory_for(3, 8)}});
    return result_of(stepper, std::move(report));
  };
  const auto first = gradient(0.6);
  CHECK(std::abs(first.value / 0.78947368421052631579 - 1) < 1e-6);
  CHECK(std::abs(first.dp[0] / -0.62326869806094182825 - 1) < 1e-5);
  CHECK(std::abs(first.dy0[0] / 0.27700831024930747922 - 1) < 1e-5);
  const auto second = gradient(1.4);
  CHECK(std::abs(second.value / 0.48387096774193548387 - 1) < 1e-6);
  CHECK(std::abs(second.dp[0] / -0.23413111342351716961 - 1) < 1e-5);
  CHECK(std::abs(second.dy0[0] / 0.10405827263267429761 - 1) < 1e-5);
  CHECK(gradient(0.6) == first);
  for (int i = 0; i < 100; ++i) gradient(0.6);
  const auto before = allocated_bytes();
  for (int i = 0; i < 100; ++i) gradient(0.6);
  CHECK(allocated_bytes() <= before + 100 * slack_a_call);
}

TEST_CASE("One stepper of CVODES swept hundreds of times, and memory that stays", "[case][bits]") {
  const Context context;
  Decay data{.p = 0.6};
  std::vector<double> y0 = {1.5};
  const Vector y = costate::sundials::wrap(y0, context);
  DenseSolvers solvers(y.get(), context);
  const CvodesProblem problem = decay(context, y.get(), data, solvers, 1e-8);
  WindowStepper stepper(costate::sundials::cvodes_solver(problem, 0, 10), 0, 1, 10, {},
                        value_of_first());
  // A sweep leaves x_0 live.
  const auto gradient = [&](double p) {
    data.p = p;
    stepper.restart();
    return result_of(stepper, costate::sweep(stepper, {.budget = {.memory = 1024}}));
  };
  const auto first = gradient(0.6);
  const auto second = gradient(1.4);
  CHECK(first.report.steps > 3);
  const auto all_same = [&](int pairs) {
    bool same = true;
    for (int i = 0; i < pairs; ++i) {
      same = gradient(0.6) == first && same;
      same = gradient(1.4) == second && same;
    }
    return same;
  };
  CHECK(all_same(50));
  const auto before = allocated_bytes();
  CHECK(all_same(150));
  CHECK(allocated_bytes() <= before + 300 * slack_a_call);
}

// ----- y' = -r y with a jump at a known time: case C39 -----

namespace {

struct JumpCase {
  double r = 0.3;
  double amount = 0.25;
};
int jump_rhs(double, N_Vector y, N_Vector out, void* user) {
  at(out)[0] = -static_cast<JumpCase*>(user)->r * at(y)[0];
  return 0;
}
int jump_integrand(double, N_Vector y, N_Vector out, void*) {
  at(out)[0] = at(y)[0] * at(y)[0];
  return 0;
}
int jump_adjoint(double, N_Vector y, N_Vector l, N_Vector out, void* user) {
  at(out)[0] = static_cast<JumpCase*>(user)->r * at(l)[0] - 2 * at(y)[0];
  return 0;
}
int jump_parameters(double, N_Vector y, N_Vector l, N_Vector out, void*) {
  at(out)[0] = at(y)[0] * at(l)[0];  // r
  at(out)[1] = 0;                    // the amount acts in the jump only
  return 0;
}

}  // namespace

TEST_CASE("Case C39: a jump at a known time, with 1 and 3 slots", "[case]") {
  const Context context;
  JumpCase data;
  std::vector<double> y0 = {1};
  const Vector y = costate::sundials::wrap(y0, context);
  std::vector<Result> results;
  for (const costate::Slot slots : {costate::Slot{1}, costate::Slot{3}, costate::Slot{100}}) {
    DenseSolvers solvers(y.get(), context);
    CvodesProblem problem{.context = context,
                          .y0 = y.get(),
                          .user_data = &data,
                          .rhs = jump_rhs,
                          .rtol = 1e-11,
                          .atol = 1e-13,
                          .integrand = jump_integrand,
                          .adjoint_rhs = jump_adjoint,
                          .parameter_rhs = jump_parameters,
                          .parameters = 2};
    solvers.attach(problem);
    std::vector<double> before_jump;
    std::vector<double> after_jump;
    Borders borders{
        .times = {0.7},
        .jump =
            [&](std::size_t, double t, N_Vector v) {
              CHECK(t == 0.7);
              before_jump.push_back(at(v)[0]);
              at(v)[0] += data.amount;
              after_jump.push_back(at(v)[0]);
            },
        .jump_adjoint =
            [&](std::size_t, double, N_Vector v, N_Vector y_bar, std::span<double> p_bar) {
              CHECK(at(v)[0] == before_jump.front());
              p_bar[1] += at(y_bar)[0];
            }};
    WindowStepper stepper(costate::sundials::cvodes_solver(problem, 0, 40), 0, 2, 40, borders, {});
    auto report = costate::sweep(stepper, {.budget = {.memory = costate::memory_for(slots, 8)}});
    const auto result = result_of(stepper, std::move(report));
    INFO(slots);
    CHECK(std::abs(result.value / 1.5869319830921535607 - 1) < 1e-8);
    CHECK(std::abs(result.dy0[0] / 2.6951922560827775189 - 1) < 1e-7);
    CHECK(std::abs(result.dp[0] / -2.6086651460026500073 - 1) < 1e-7);
    CHECK(std::abs(result.dp[1] / 1.9146868404061184101 - 1) < 1e-7);
    CHECK(std::abs(before_jump.front() / 0.81058424597018709984 - 1) < 1e-8);
    CHECK(std::abs(after_jump.front() / 1.0605842459701870998 - 1) < 1e-8);
    for (const double value : before_jump) CHECK(value == before_jump.front());
    results.push_back(result);
  }
  CHECK(results[1] == results[0]);
  CHECK(results[2] == results[0]);
}

// ----- A forced van der Pol oscillator observed at t = 1 … 8: crashes plain CVODES -----

namespace {

struct Forced {
  double mu = 2;
  double force = 1.2;
};
int forced_rhs(double t, N_Vector y, N_Vector out, void* user) {
  const auto& d = *static_cast<Forced*>(user);
  const double* u = at(y);
  at(out)[0] = u[1];
  at(out)[1] = d.mu * (1 - u[0] * u[0]) * u[1] - u[0] + d.force * std::sin(t);
  return 0;
}
int forced_adjoint(double, N_Vector y, N_Vector l, N_Vector out, void* user) {
  const auto& d = *static_cast<Forced*>(user);
  const double* u = at(y);
  at(out)[0] = -(-2 * d.mu * u[0] * u[1] - 1) * at(l)[1];
  at(out)[1] = -(at(l)[0] + d.mu * (1 - u[0] * u[0]) * at(l)[1]);
  return 0;
}
int forced_parameters(double t, N_Vector y, N_Vector l, N_Vector out, void*) {
  const double* u = at(y);
  at(out)[0] = -(1 - u[0] * u[0]) * u[1] * at(l)[1];
  at(out)[1] = -std::sin(t) * at(l)[1];
  return 0;
}

Result forced(Forced data, Step window_steps, costate::Bytes memory) {
  const Context context;
  std::vector<double> y0 = {1, 0};
  const Vector y = costate::sundials::wrap(y0, context);
  DenseSolvers solvers(y.get(), context);
  CvodesProblem problem{.context = context,
                        .y0 = y.get(),
                        .user_data = &data,
                        .rhs = forced_rhs,
                        .rtol = 1e-10,
                        .atol = 1e-12,
                        .adjoint_rhs = forced_adjoint,
                        .parameter_rhs = forced_parameters,
                        .parameters = 2};
  solvers.attach(problem);
  Borders borders{
      .times = {1, 2, 3, 4, 5, 6, 7, 8},
      .observe = [](std::size_t, double, N_Vector v) { return 0.5 * at(v)[0] * at(v)[0]; },
      .observe_gradient = [](std::size_t, double, N_Vector v, N_Vector y_bar,
                             std::span<double>) { at(y_bar)[0] += at(v)[0]; }};
  WindowStepper stepper(costate::sundials::cvodes_solver(problem, 0, window_steps), 0, 8,
                        window_steps, borders, {});
  auto report = costate::sweep(stepper, {.budget = {.memory = memory}});
  return result_of(stepper, std::move(report));
}

}  // namespace

TEST_CASE("Stop times 1, 2, … 8 with a forced oscillator", "[oracle]") {
  const Forced data;
  const auto whole = forced(data, 60, costate::Bytes{1} << 20);
  CHECK(forced(data, 60, costate::memory_for(3, 16)) == whole);
  // Central differences of the value, which is good to 1e-9 or so.
  const double e = 1e-4;
  const auto value = [&](double mu, double force) {
    return forced({.mu = mu, .force = force}, 60, costate::Bytes{1} << 20).value;
  };
  const double by_mu = (value(2 + e, 1.2) - value(2 - e, 1.2)) / (2 * e);
  const double by_force = (value(2, 1.2 + e) - value(2, 1.2 - e)) / (2 * e);
  CHECK(std::abs(whole.dp[0] - by_mu) < 1e-4 * std::abs(by_mu));
  CHECK(std::abs(whole.dp[1] - by_force) < 1e-4 * std::abs(by_force));
  // The other window length is another discretisation, equal to tolerance.
  const auto longer = forced(data, 400, costate::Bytes{1} << 20);
  CHECK(std::abs(longer.dp[0] / whole.dp[0] - 1) < 1e-6);
  CHECK(longer.windows.size() < whole.windows.size());
  for (int t = 0; t <= 8; ++t) {
    CHECK(std::find(whole.windows.begin(), whole.windows.end(), double(t)) != whole.windows.end());
  }
}

TEST_CASE("Observations at both ends, and a run of no length") {
  const Context context;
  Decay data{.p = 0.6};
  std::vector<double> y0 = {1.5};
  const Vector y = costate::sundials::wrap(y0, context);
  const auto run = [&](double t1, std::vector<double> times) {
    DenseSolvers solvers(y.get(), context);
    const CvodesProblem problem = decay(context, y.get(), data, solvers, 1e-10);
    Borders borders{.times = std::move(times),
                    .observe = [](std::size_t, double, N_Vector v) { return 2 * at(v)[0]; },
                    .observe_gradient = [](std::size_t, double, N_Vector, N_Vector y_bar,
                                           std::span<double>) { at(y_bar)[0] += 2; }};
    WindowStepper stepper(costate::sundials::cvodes_solver(problem, 0, 25), 0, t1, 25, borders,
                          value_of_first());
    auto report = costate::sweep(stepper);
    return result_of(stepper, std::move(report));
  };
  // y(1) = y0 / (1 + p y0): 0.789…, with the derivative 0.277… and seen three times.
  const auto both = run(1, {0, 1});
  CHECK(std::abs(both.value - (3 * 0.78947368421052631579 + 2 * 1.5)) < 1e-6);
  CHECK(std::abs(both.dy0[0] - (3 * 0.27700831024930747922 + 2)) < 1e-5);
  const auto nothing = run(0, {0});
  CHECK(nothing.value == 3 * 1.5);
  CHECK(nothing.dy0[0] == 3);
  CHECK(nothing.dp[0] == 0);
}

TEST_CASE("Windows go on after an interruption with the same bits", "[bits]") {
  const auto whole = robertson(40, 20, {});
  const auto directory =
      std::filesystem::temp_directory_path() / ("costate-windows-" + std::to_string(::getpid()));
  std::filesystem::remove_all(directory);
  const Context context;
  Robertson data;
  std::vector<double> y0 = {1, 0, 0};
  const Vector y = costate::sundials::wrap(y0, context);
  int interruptions = 0;
  // Each attempt may work longer than the last, so that there is an end.
  for (long limit = 2000;; limit += limit / 2, ++interruptions) {
    REQUIRE(interruptions < 40);
    data.calls = 0;
    DenseSolvers solvers(y.get(), context);
    CvodesProblem problem{.context = context,
                          .y0 = y.get(),
                          .user_data = &data,
                          .rhs = robertson_rhs,
                          .rtol = 1e-9,
                          .atol = 1e-14,
                          .integrand = robertson_integrand,
                          .adjoint_rhs = robertson_adjoint,
                          .parameter_rhs = robertson_parameters,
                          .parameters = 3,
                          .adjoint_rtol = 1e-8,
                          .adjoint_atol = 1e-10};
    solvers.attach(problem);
    WindowStepper stepper(costate::sundials::cvodes_solver(problem, 0, 20), 0, 40, 20, {}, {});
    const auto run = costate::run_or_resume(
        stepper, {.store = costate::run_directory({.directory = directory.string()}),
                  .identity = "Robertson, windows of 20 steps",
                  .memory = costate::memory_for(4, 24) + (costate::Bytes{1} << 20),
                  .stop_when = [&] { return data.calls > limit; }});
    if (!run.finished) continue;
    CHECK(result_of(stepper, run.report) == whole);
    break;
  }
  CHECK(interruptions > 2);
  std::filesystem::remove_all(directory);
}

TEST_CASE("What is wrong with a problem for CVODES is refused") {
  const Context context;
  std::vector<double> y0 = {1};
  const Vector y = costate::sundials::wrap(y0, context);
  CvodesProblem problem{.context = context, .y0 = y.get(), .rhs = decay_rhs};
  CHECK_THROWS_AS(costate::sundials::cvodes_solver(problem, 0, 10), costate::InvalidArgument);
  problem.adjoint_rhs = decay_adjoint;
  problem.parameters = 1;
  CHECK_THROWS_AS(costate::sundials::cvodes_solver(problem, 0, 10), costate::InvalidArgument);
  problem.parameters = 0;
  CHECK_THROWS_AS(costate::sundials::cvodes_solver(problem, 0, 0), costate::InvalidArgument);
  const auto stepper = [&](Borders borders) {
    WindowStepper(costate::sundials::cvodes_solver(problem, 0, 10), 0, 1, 10, std::move(borders),
                  value_of_first());
  };
  const auto nothing = [](std::size_t, double, N_Vector) {};
  const auto no_adjoint = [](std::size_t, double, N_Vector, N_Vector, std::span<double>) {};
  CHECK_THROWS_AS(stepper({.times = {0.5, 0.5}}), costate::InvalidArgument);
  CHECK_THROWS_AS(stepper({.times = {0.5, 0.2}}), costate::InvalidArgument);
  CHECK_THROWS_AS(stepper({.times = {2}}), costate::InvalidArgument);
  CHECK_THROWS_AS(stepper({.times = {0}, .jump = nothing, .jump_adjoint = no_adjoint}),
                  costate::InvalidArgument);
  CHECK_THROWS_AS(stepper({.times = {0.5}, .jump = nothing}), costate::InvalidArgument);
}

TEST_CASE("A window of more steps than planned is an error of costate's", "[oracle]") {
  const Context context;
  std::vector<double> y0 = {1.5};
  const Vector y = costate::sundials::wrap(y0, context);
  Decay data{.p = 0.6};
  DenseSolvers solvers(y.get(), context);
  const CvodesProblem problem = decay(context, y.get(), data, solvers, 1e-10);
  {
    // Room for 5 steps, windows of 25.
    WindowStepper stepper(costate::sundials::cvodes_solver(problem, 0, 5), 0, 1, 25, {},
                          value_of_first());
    CHECK_THROWS_AS(costate::sweep(stepper), costate::sundials::SundialsError);
  }
  {
    // A problem that is another one after the first pass.
    Terminal other = value_of_first();
    other.value = [&](N_Vector v) {
      data.p = 30;
      return at(v)[0];
    };
    WindowStepper stepper(costate::sundials::cvodes_solver(problem, 0, 25), 0, 1, 25, {}, other);
    CHECK_THROWS_AS(costate::sweep(stepper), costate::ReplayError);
  }
}

TEST_CASE("CVODES' reason is part of the error") {
  const Context context;
  std::vector<double> y0 = {1};
  const Vector y = costate::sundials::wrap(y0, context);
  Decay data{.p = -1};  // blows up at t = 1
  DenseSolvers solvers(y.get(), context);
  CvodesProblem problem{.context = context,
                        .y0 = y.get(),
                        .user_data = &data,
                        .rhs = decay_rhs,
                        .adjoint_rhs = decay_adjoint};
  solvers.attach(problem);
  WindowStepper stepper(costate::sundials::cvodes_solver(problem, 0, 50), 0, 2, 50, {},
                        value_of_first());
  try {
    costate::sweep(stepper);
    FAIL("no error");
  } catch (const costate::IntegrationError& error) {
    CHECK(std::abs(error.t - 1) < 0.01);
    CHECK(std::string(error.what()).find("CVode") != std::string::npos);
  }
}
