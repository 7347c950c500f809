// Tapes of implicit steps: the bits and the counts do not depend on them but for what they spare.

#include <type_traits>
#include <vector>

#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/fully_implicit.hpp"
#include "costate/integrate/imex.hpp"
#include "costate/integrate/sparse_solver.hpp"
#include "costate/ode/ode_stepper.hpp"
#include "costate/ode/value_and_gradient.hpp"
#include "costate/schedule/mixed.hpp"
#include "support/ode_bits.hpp"
#include "support/stiff_problems.hpp"

using namespace costate;

namespace {

// Reaction and diffusion on a circle, with a sparse Jacobian.
struct Diffusion {
  using State = Eigen::VectorXd;
  using Parameters = Eigen::VectorXd;
  using Jacobian = Eigen::SparseMatrix<double>;

  static Eigen::Index left(Eigen::Index i, Eigen::Index n) { return i == 0 ? n - 1 : i - 1; }
  static Eigen::Index right(Eigen::Index i, Eigen::Index n) { return i + 1 == n ? 0 : i + 1; }
  void rhs(double, const State& y, const Parameters& p, State& out) const {
    const Eigen::Index n = y.size();
    for (Eigen::Index i = 0; i < n; ++i) {
      out[i] = p[0] * (y[left(i, n)] - 2 * y[i] + y[right(i, n)]) + p[1] * y[i] * (1 - y[i] * y[i]);
    }
  }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    const Eigen::Index n = y.size();
    for (Eigen::Index i = 0; i < n; ++i) {
      y_bar[i] =
          p[0] * (w[left(i, n)] - 2 * w[i] + w[right(i, n)]) + p[1] * w[i] * (1 - 3 * y[i] * y[i]);
      p_bar[0] += w[i] * (y[left(i, n)] - 2 * y[i] + y[right(i, n)]);
      p_bar[1] += w[i] * y[i] * (1 - y[i] * y[i]);
    }
  }
  void jacobian(double, const State& y, const Parameters& p, Jacobian& j) const {
    const Eigen::Index n = y.size();
    std::vector<Eigen::Triplet<double>> entries;
    for (Eigen::Index i = 0; i < n; ++i) {
      entries.emplace_back(i, i, -2 * p[0] + p[1] * (1 - 3 * y[i] * y[i]));
      entries.emplace_back(i, left(i, n), p[0]);
      entries.emplace_back(i, right(i, n), p[0]);
    }
    j.setFromTriplets(entries.begin(), entries.end());
  }
};

template <class F, class Method, class O>
auto run_with(const F& f, const Method& method, const O& target, const RunOf<F>& run,
              const SweepOptions& options, Report& report) {
  OdeStepper<F, Method, O> stepper(f, method, target, run.t0, run.t1, run.y0, run.p);
  report = sweep(stepper, options);
  return GradientOf<F>{.value = stepper.value(),
                       .dy0 = stepper.adjoint(),
                       .dp = stepper.parameter_gradient(),
                       .grid = stepper.grid()};
}

// All budgets from one state to all tapes, and a schedule that restarts from tapes.
template <class F, class Method, class O>
void check_tapes(const F& f, const Method& method, const O& target, const RunOf<F>& run,
                 Slot sigma) {
  const std::size_t row = static_cast<std::size_t>(run.y0.size()) * sizeof(run.y0[0]);
  OdeStepper<F, Method, O> stepper(f, method, target, run.t0, run.t1, run.y0, run.p);
  CHECK(stepper.tape_bytes() == static_cast<std::size_t>(sigma) * row);
  const Step n = stepper.steps();
  Report report;
  const auto plain = run_with(f, method, target, run, {.tapes = false}, report);
  REQUIRE(report.advances == n - 1);
  Step last = saturated;
  for (const Slot slots : {Slot{1}, Slot{2}, Slot{3}, Slot{7}, n, 2 * n, sigma * (n - 1) + 1}) {
    CAPTURE(slots);
    const Budget budget{.memory = memory_for(slots, row)};
    const auto got = run_with(f, method, target, run, {.budget = budget}, report);
    CHECK(ode_bits::same_bits(got, plain));
    CHECK(report.memory_peak <= budget.memory);
    CHECK(report.advances == report.predicted.advances);
    CHECK(report.advances <= last);
    last = report.advances;
  }
  CHECK(last == 0);
  Costs costs;
  costs.state_bytes = row;
  costs.tape_bytes = stepper.tape_bytes();
  costs.tiers = {{.name = "memory", .slots = sigma + 3}};
  const Plan plan = mixed(costs, n, stepper.tape_has_next());
  const auto got = run_with(f, method, target, run, {.schedule = plan.schedule}, report);
  CHECK(report.advances == plan.counts.advances);
  CHECK(ode_bits::same_bits(got, plain));
}

// J = y_1(t1).
template <class F>
auto first_entry() {
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  return terminal(
      [](const State& y, const Parameters&) { return y[0]; },
      [](const State&, const Parameters&, State& y_bar, Parameters&) { y_bar[0] += 1; });
}

const RunOf<problems::Forced> large{.t0 = 0,
                                    .t1 = 2,
                                    .y0 = Eigen::VectorXd::LinSpaced(21, 0.1, 1.3),
                                    .p = Eigen::Vector2d(-2.8, 9.1)};
const RunOf<Diffusion> sparse{
    .t0 = 0, .t1 = 2, .y0 = Eigen::VectorXd::LinSpaced(21, -0.8, 1.3), .p = Eigen::Vector2d(3, 2)};

template <class Method>
void check_method(Slot sigma) {
  INFO(Method::tableau.name);
  using namespace problems;
  // Matrices that are cheap to factor, that are not, and sparse ones.
  const RunOf<LotkaVolterra> small{.t0 = 0, .t1 = 2, .y0 = {1.2, 0.7}, .p = {1.5, 1.1, 2.7, 0.9}};
  const auto target = ode_bits::objective<Eigen::VectorXd, Eigen::VectorXd>(0, 2);
  check_tapes(LotkaVolterra{}, Method{.steps = 13},
              ode_bits::objective<Eigen::Vector2d, Eigen::Vector4d>(0, 2), small, sigma);
  check_tapes(Forced{}, Method{.steps = 13}, target, large, sigma);
  check_tapes(Diffusion{}, Method{.steps = 13}, target, sparse, sigma);
  // Steps so large that Newton's iteration asks for new matrices.
  RunOf<StiffVanDerPol> stiff{.t0 = 0, .t1 = 0.6, .y0 = {2, 5}, .p = {}};
  stiff.p[0] = 100;
  check_tapes(StiffVanDerPol{}, Method{.steps = 13}, first_entry<StiffVanDerPol>(), stiff, sigma);
}

}  // namespace

TEST_CASE("Tapes of diagonally implicit steps change no bit", "[ode][property]") {
  check_method<BackwardEuler>(2);
  check_method<ImplicitMidpoint>(2);
  check_method<CrankNicolson>(2);
  check_method<Sdirk2>(3);
  check_method<Sdirk43>(6);
  check_method<Esdirk32>(4);
  check_method<Esdirk43>(6);
}

TEST_CASE("Tapes of fully implicit steps change no bit", "[ode][property]") {
  check_method<Gauss4>(3);
  check_method<Radau3>(3);
  check_method<Radau5>(4);
}

TEST_CASE("Tapes of IMEX steps change no bit", "[ode][property]") {
  const auto f = split(Diffusion{}, problems::Forced{});
  const RunOf<std::remove_const_t<decltype(f)>> run{
      .t0 = 0, .t1 = 2, .y0 = sparse.y0, .p = sparse.p};
  check_tapes(f, Ars222{.steps = 29}, first_entry<Diffusion>(), run, 3);
  check_tapes(f, Ark43{.steps = 29}, ode_bits::objective<Eigen::VectorXd, Eigen::VectorXd>(0, 2),
              run, 6);
}

TEST_CASE("With a mass matrix, too", "[ode][property]") {
  const Eigen::DiagonalMatrix<double, Eigen::Dynamic> mass(Eigen::VectorXd::LinSpaced(21, 0.5, 2));
  const auto f = with_mass(Diffusion{}, Eigen::SparseMatrix<double>(mass));
  const RunOf<std::remove_const_t<decltype(f)>> run{
      .t0 = 0, .t1 = 2, .y0 = sparse.y0, .p = sparse.p};
  const auto target = ode_bits::objective<Eigen::VectorXd, Eigen::VectorXd>(0, 2);
  check_tapes(f, CrankNicolson{.steps = 13}, target, run, 2);
  check_tapes(f, Esdirk43{.steps = 13}, target, run, 6);
  check_tapes(f, Sdirk43{.steps = 13}, target, run, 6);
  check_tapes(f, Radau5{.steps = 13}, target, run, 4);
}

TEST_CASE("Adaptive runs keep no tapes, their recorded steps do", "[ode][unit]") {
  const auto target = first_entry<Diffusion>();
  Report report;
  const auto chosen =
      run_with(Diffusion{}, Esdirk43{.rtol = 1e-5, .atol = 1e-5}, target, sparse, {}, report);
  CHECK(report.advances == report.steps - 1);
  const auto again =
      run_with(Diffusion{}, Esdirk43{.grid = chosen.times()}, target, sparse, {}, report);
  CHECK(report.schedule == "taped");
  CHECK(report.advances == 0);
  CHECK(ode_bits::same_bits(chosen, again));
}

TEST_CASE("The solver door has tapes, which can be left out", "[ode][unit]") {
  RunOf<Diffusion> run = sparse;
  const auto target = first_entry<Diffusion>();
  const auto with = value_and_gradient(Diffusion{}, Sdirk2{.steps = 40}, target, run);
  run.tapes = false;
  const auto without = value_and_gradient(Diffusion{}, Sdirk2{.steps = 40}, target, run);
  CHECK(with.report.advances == 0);
  CHECK(without.report.advances == 39);
  CHECK(ode_bits::same_bits(with, without));
}
