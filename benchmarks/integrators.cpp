// (a) The cost of the adjoint of a step, in forward steps of the same method, from the state before
//     the step (which runs its stages again) and from its tape: Burgers flow, n = 1000; explicit
//     Runge-Kutta methods at most 2.6, diagonally implicit ones from the tape at most 1.0,
//     Crank-Nicolson at most 0.55.
// (d) What tapes save of a whole gradient of a stiff PDE, for several budgets: viscous Burgers
// flow,
//     where Newton's iteration is most of a step, and the Brusselator on a square, where the
//     factorisation is, which a tape does not spare.
// Processor time, medians of runs in turn. Usage: integrators [rounds]

#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <vector>

#include "costate/costate.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "support/adjoint_cost.hpp"
#include "support/brusselator.hpp"
#include "support/burgers.hpp"
#include "support/measure.hpp"

namespace {

template <class Parameters>
auto half_square() {
  return costate::terminal(
      [](const Eigen::VectorXd& y, const Parameters&) { return 0.5 * y.squaredNorm(); },
      [](const Eigen::VectorXd& y, const Parameters&, Eigen::VectorXd& y_bar, Parameters&) {
        y_bar += y;
      });
}

// One row of table (a). Returns whether the bound holds, for the tape if there is one.
template <class Method>
bool adjoint_row(int rounds, double bound) {
  constexpr Eigen::Index size = 1000;
  const Burgers model{.dx = 2 * std::numbers::pi / static_cast<double>(size)};
  const costate::RunOf<Burgers> run{
      .t0 = 0, .t1 = 0.1, .y0 = Burgers::initial(size), .p = Burgers::Parameters(0.005)};
  const auto target = half_square<Burgers::Parameters>();
  const bench::AdjointCost cost =
      bench::adjoint_cost(model, Method{.steps = 100}, target, run, rounds);
  const bool taped = cost.from_tape > 0;
  const double ratio = taped ? cost.from_tape : cost.from_state;
  const bool good = ratio <= bound;
  std::printf("(a) %-26s %8.2f us/step   adjoint from state %5.2f", Method::tableau.name,
              cost.forward * 1e6, cost.from_state);
  taped ? std::printf("   from tape %5.2f", cost.from_tape) : std::printf("                  ");
  std::printf("   at most %.2f   %s\n", bound, good ? "ok" : "MISSED");
  return good;
}

// Rows of table (d): the whole gradient by Crank-Nicolson steps, with room for so many states.
template <class F>
bool tape_savings(const char* name, const F& model, costate::RunOf<F> run, costate::Step steps,
                  const std::vector<costate::Slot>& rooms, int rounds) {
  const auto target = half_square<typename F::Parameters>();
  const costate::CrankNicolson method{.steps = steps};
  const std::size_t row = static_cast<std::size_t>(run.y0.size()) * sizeof(double);
  bool good = true;
  for (const costate::Slot slots : rooms) {
    run.budget.memory = costate::memory_for(slots, row);
    costate::GradientOf<F> a;
    costate::GradientOf<F> b;
    const auto measured = bench::compare(
        rounds,
        [&] {
          run.tapes = false;
          a = costate::value_and_gradient(model, method, target, run);
        },
        [&] {
          run.tapes = true;
          b = costate::value_and_gradient(model, method, target, run);
        });
    const bool same = a.value == b.value && a.dy0 == b.dy0 && a.dp == b.dp;
    std::printf(
        "(d) %s, room for %3lld states: without tapes %7.2f ms, %3lld advances; with "
        "%7.2f ms, %3lld advances (%s); %.2f times faster, %s\n",
        name, static_cast<long long>(slots), measured.a * 1e3,
        static_cast<long long>(a.report.advances), measured.b * 1e3,
        static_cast<long long>(b.report.advances), b.report.schedule.c_str(), measured.ratio,
        same ? "same bits" : "OTHER BITS");
    good = good && same;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  bool good = true;
  const auto row = [&](bool within) { good = within && good; };
  row(adjoint_row<costate::Euler>(rounds, 2.6));
  row(adjoint_row<costate::Heun>(rounds, 2.6));
  row(adjoint_row<costate::RungeKutta4>(rounds, 2.6));
  row(adjoint_row<costate::BogackiShampine32>(rounds, 2.6));
  row(adjoint_row<costate::DormandPrince54>(rounds, 2.6));
  row(adjoint_row<costate::BackwardEuler>(rounds, 1.0));
  row(adjoint_row<costate::ImplicitMidpoint>(rounds, 1.0));
  row(adjoint_row<costate::CrankNicolson>(rounds, 0.55));
  row(adjoint_row<costate::Sdirk2>(rounds, 1.0));
  row(adjoint_row<costate::Sdirk43>(rounds, 1.0));
  row(adjoint_row<costate::Esdirk32>(rounds, 1.0));
  row(adjoint_row<costate::Esdirk43>(rounds, 1.0));
  const Burgers burgers{.dx = 2 * std::numbers::pi / 1000};
  const costate::RunOf<Burgers> thick{
      .t0 = 0, .t1 = 1, .y0 = Burgers::initial(1000), .p = Burgers::Parameters(0.5)};
  row(tape_savings("Burgers, banded LU", burgers, thick, 100, {3, 10, 30, 60, 100, 150, 200},
                   rounds));
  const Brusselator brusselator{.size = 24};
  const costate::RunOf<Brusselator> square{
      .t0 = 0, .t1 = 1, .y0 = brusselator.initial(), .p = {3.4, 1, 0.002}};
  row(tape_savings("Brusselator, sparse LU", brusselator, square, 40, {8, 80}, rounds));
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
