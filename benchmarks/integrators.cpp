// (a) The cost of the adjoint of a step, in forward steps of the same method, from the state before
//     the step (which runs its stages again) and from its tape: Burgers flow, n = 1000; explicit
//     Runge-Kutta methods at most 2.6, diagonally implicit ones from the tape at most 1.0,
//     Crank-Nicolson at most 0.55; for information, what they cost with all factors kept. The same
//     on the Brusselator on a square, where the factorisation is most of a step, and with dense
//     matrices on 32 points, where with all factors kept it is at most 1.0, too. Methods that solve
//     for all stages at once there, symplectic ones on a chain of 500 masses.
// (b) Work and precision of the gradient (work_precision.cpp).
// (d) What tapes save of a whole gradient of a stiff PDE, for several budgets: viscous Burgers
//     flow, where Newton's iteration is most of a step, and the Brusselator on a square, where the
//     factorisation is, which a tape does not spare.
// Processor time, medians of runs in turn. Usage: integrators [rounds]
//                                                 integrators work [picture.svg]

#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <string_view>
#include <vector>

#include "costate/costate.hpp"
#include "costate/integrate/bdf.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/fully_implicit.hpp"
#include "costate/integrate/imex.hpp"
#include "costate/integrate/more_explicit_methods.hpp"
#include "costate/integrate/multistep.hpp"
#include "costate/integrate/reversible.hpp"
#include "costate/integrate/rosenbrock.hpp"
#include "costate/integrate/symplectic.hpp"
#include "support/adjoint_cost.hpp"
#include "support/brusselator.hpp"
#include "support/burgers.hpp"
#include "support/chain.hpp"
#include "support/kept_factors.hpp"
#include "support/measure.hpp"
#include "work_precision.hpp"

namespace {

template <class Parameters>
auto half_square() {
  return costate::terminal(
      [](const Eigen::VectorXd& y, const Parameters&) { return 0.5 * y.squaredNorm(); },
      [](const Eigen::VectorXd& y, const Parameters&, Eigen::VectorXd& y_bar, Parameters&) {
        y_bar += y;
      });
}

// The same with a dense matrix.
struct DenseBurgers : Burgers {
  using Jacobian = Eigen::MatrixXd;
  void jacobian(double, const State& y, const Parameters& p, Jacobian& j) const {
    Burgers::Jacobian band(y.size());
    Burgers::jacobian(0, y, p, band);
    j.setZero();
    each(y.size(), [&](Eigen::Index i, Eigen::Index l, Eigen::Index r) {
      j(i, l) = band.band(i, -1);
      j(i, i) = band.band(i, 0);
      j(i, r) = band.band(i, 1);
    });
  }
};

constexpr double unbounded = 0;

// Rows of table (a).
class AdjointRows {
 public:
  explicit AdjointRows(int rounds) : rounds_(rounds) {}

  // `bound` is on the tape, if there is one, or on the state.
  template <class Method, class F>
  void row(const char* name, const F& model, const costate::RunOf<F>& run, double bound) {
    const auto target = half_square<typename F::Parameters>();
    print(name, bench::adjoint_cost(model, Method{.steps = 100}, target, run, rounds_), bound);
  }

  // Burgers flow.
  template <class Method>
  void flow(const char* name, double bound = unbounded) {
    row<Method>(name, fine_, run(fine_size), bound);
  }
  // The same by a diagonally implicit method.
  template <class Method>
  void implicit_flow(const char* name, double bound) {
    implicit<Method>(name, fine_, run(fine_size), 100, rounds_, bound);
  }
  // The Brusselator, in steps of 0.025.
  template <class Method>
  void implicit_square(const char* name) {
    const Brusselator square{.size = 24};
    implicit<Method>(name, square,
                     {.t0 = 0, .t1 = 0.5, .y0 = square.initial(), .p = {3.4, 1, 0.002}}, 20,
                     (rounds_ + 2) / 3, 1.0);
  }
  // Few points, dense matrices.
  template <class Method>
  void dense_flow(const char* name) {
    row<Method>(name, coarse_, run<DenseBurgers>(coarse_size), unbounded);
  }
  template <class Method>
  void implicit_dense_flow(const char* name) {
    implicit<Method>(name, coarse_, run<DenseBurgers>(coarse_size), 100, rounds_, unbounded, 1.0);
  }
  template <class Method>
  void split_flow(const char* name) {
    Burgers stiff = fine_;
    Burgers nonstiff = fine_;
    stiff.advects = 0;
    nonstiff.diffuses = 0;
    const auto model = costate::split(stiff, nonstiff);
    row<Method>(name, model,
                {.t0 = 0, .t1 = 0.1, .y0 = Burgers::initial(fine_size), .p = viscosity()},
                unbounded);
  }
  template <class Method>
  void chain(const char* name) {
    const auto model = costate::separable(Chain{});
    row<Method>(name, model,
                {.t0 = 0, .t1 = 1, .y0 = Chain::initial(500), .p = Chain::Parameters(0.25)},
                unbounded);
  }

  [[nodiscard]] bool good() const { return good_; }

 private:
  void print(const char* name, const bench::AdjointCost& cost, double bound) {
    const bool taped = cost.from_tape > 0;
    std::printf("(a) %-24s %8.2f us/step   adjoint from state %5.2f", name, cost.forward * 1e6,
                cost.from_state);
    taped ? std::printf("   from tape %5.2f", cost.from_tape) : std::printf("                  ");
    judge(taped ? cost.from_tape : cost.from_state, bound);
  }

  // Ends a line.
  void judge(double cost, double bound) {
    if (bound != unbounded) {
      const bool within = cost <= bound;
      std::printf("   at most %.2f   %s", bound, within ? "ok" : "MISSED");
      good_ = good_ && within;
    }
    std::printf("\n");
  }

  // For information with all factors of the adjoint kept, too, against plain steps that factor as
  // ever.
  template <class Method, class F>
  void implicit(const char* name, const F& model, const costate::RunOf<F>& r, costate::Step steps,
                int rounds, double bound, double kept_bound = unbounded) {
    const auto target = half_square<typename F::Parameters>();
    const Method method{.steps = steps};
    const auto plain = bench::adjoint_cost(model, method, target, r, rounds);
    print(name, plain, bound);
    const bench::KeptFactors<F> keeping{model};
    const auto kept = bench::adjoint_cost(keeping, method, target,
                                          {.t0 = r.t0, .t1 = r.t1, .y0 = r.y0, .p = r.p}, rounds);
    const double from_tape = kept.from_tape * kept.forward / plain.forward;
    std::printf("(a) %-24s with all factors kept: adjoint from tape %23.2f", name, from_tape);
    judge(from_tape, kept_bound);
  }

  static constexpr Eigen::Index fine_size = 1000;
  static constexpr Eigen::Index coarse_size = 32;
  static Burgers::Parameters viscosity() { return Burgers::Parameters(0.005); }
  template <class F = Burgers>
  static costate::RunOf<F> run(Eigen::Index size) {
    return {.t0 = 0, .t1 = 0.1, .y0 = Burgers::initial(size), .p = viscosity()};
  }

  const Burgers fine_{.dx = 2 * std::numbers::pi / fine_size};
  const DenseBurgers coarse_{{.dx = 2 * std::numbers::pi / coarse_size}};
  int rounds_;
  bool good_ = true;
};

bool adjoint_rows(int rounds) {
  AdjointRows table(rounds);
  table.flow<costate::Euler>("Euler", 2.6);
  table.flow<costate::Heun>("Heun", 2.6);
  table.flow<costate::Midpoint>("midpoint", 2.6);
  table.flow<costate::Ssprk3>("SSPRK3", 2.6);
  table.flow<costate::Ssprk43>("SSPRK 4(3)", 2.6);
  table.flow<costate::RungeKutta4>("RK4", 2.6);
  table.flow<costate::CarpenterKennedy4>("Carpenter-Kennedy 4", 2.6);
  table.flow<costate::BogackiShampine32>("Bogacki-Shampine 3(2)", 2.6);
  table.flow<costate::DormandPrince54>("Dormand-Prince 5(4)", 2.6);
  table.flow<costate::Tsitouras54>("Tsitouras 5(4)", 2.6);
  table.flow<costate::Verner65>("Verner 6(5)", 2.6);
  table.flow<costate::DormandPrince853>("Dormand-Prince 8(5,3)", 2.6);
  table.implicit_flow<costate::BackwardEuler>("backward Euler", 1.0);
  table.implicit_flow<costate::ImplicitMidpoint>("implicit midpoint", 1.0);
  table.implicit_flow<costate::CrankNicolson>("Crank-Nicolson", 0.55);
  table.implicit_flow<costate::Sdirk2>("SDIRK2", 1.0);
  table.implicit_flow<costate::Sdirk43>("SDIRK 4(3)", 1.0);
  table.implicit_flow<costate::Esdirk32>("ESDIRK 3(2)", 1.0);
  table.implicit_flow<costate::Esdirk43>("ESDIRK 4(3)", 1.0);
  table.implicit_square<costate::BackwardEuler>("backward Euler, square");
  table.implicit_square<costate::ImplicitMidpoint>("implicit midpoint, square");
  table.implicit_square<costate::CrankNicolson>("Crank-Nicolson, square");
  table.implicit_square<costate::Sdirk2>("SDIRK2, square");
  table.implicit_square<costate::Sdirk43>("SDIRK 4(3), square");
  table.implicit_square<costate::Esdirk32>("ESDIRK 3(2), square");
  table.implicit_square<costate::Esdirk43>("ESDIRK 4(3), square");
  table.implicit_dense_flow<costate::BackwardEuler>("backward Euler, 32 points");
  table.implicit_dense_flow<costate::ImplicitMidpoint>("implicit midpoint, 32 points");
  table.implicit_dense_flow<costate::CrankNicolson>("Crank-Nicolson, 32 points");
  table.implicit_dense_flow<costate::Sdirk2>("SDIRK2, 32 points");
  table.implicit_dense_flow<costate::Sdirk43>("SDIRK 4(3), 32 points");
  table.implicit_dense_flow<costate::Esdirk32>("ESDIRK 3(2), 32 points");
  table.implicit_dense_flow<costate::Esdirk43>("ESDIRK 4(3), 32 points");
  table.split_flow<costate::Ars222>("ARS(2,2,2)");
  table.split_flow<costate::Ark43>("ARK4(3)6L");
  table.flow<costate::Rosenbrock2>("Rosenbrock 2");
  table.flow<costate::Ros3p>("ROS3P");
  table.flow<costate::Rodas43>("RODAS4");
  table.dense_flow<costate::Gauss4>("Gauss 4, 32 points");
  table.dense_flow<costate::Radau3>("Radau IIA 3, 32 points");
  table.dense_flow<costate::Radau5>("Radau IIA 5, 32 points");
  table.flow<costate::AdamsBashforth2>("Adams-Bashforth 2");
  table.flow<costate::AdamsBashforth3>("Adams-Bashforth 3");
  table.flow<costate::Leapfrog>("leapfrog");
  table.flow<costate::Bdf2>("BDF2");
  table.flow<costate::Bdf3>("BDF3");
  table.flow<costate::Bdf4>("BDF4");
  table.flow<costate::Bdf5>("BDF5");
  table.chain<costate::SymplecticEuler>("symplectic Euler");
  table.chain<costate::StoermerVerlet>("Stoermer-Verlet");
  table.chain<costate::Yoshida4>("Yoshida 4");
  table.chain<costate::ReversibleVerlet>("reversible Verlet");
  return table.good();
}

// Rows of table (d): the whole gradient by Crank-Nicolson steps, with room for so many states.
template <class F>
bool tape_savings(const char* name, const F& model, costate::RunOf<F> run, costate::Step steps,
                  const std::vector<costate::Slot>& rooms, int rounds) {
  const auto target = half_square<typename F::Parameters>();
  const costate::CrankNicolson method{.steps = steps};
  const std::size_t row = static_cast<std::size_t>(run.y0.size()) * sizeof(double);
  costate::Workspace workspace;  // no page faults in the times
  run.budget.workspace = &workspace;
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
  if (argc > 1 && std::string_view(argv[1]) == "work") {
    work_precision(argc > 2 ? argv[2] : nullptr);
    return EXIT_SUCCESS;
  }
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
  bool good = adjoint_rows(rounds);
  const auto row = [&](bool within) { good = within && good; };
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
