// Vectors of nvector_parallel: as the state of a simulation, and in CVODES.

#include "costate/mpi/sweep.hpp"
#include "mpi/session.hpp"
#include "support/catch.hpp"

#ifdef COSTATE_HAS_SUNDIALS_PARALLEL
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include <nvector/nvector_parallel.h>
#include <sunlinsol/sunlinsol_spgmr.h>

#include "costate/sundials/cvodes.hpp"
#include "costate/sundials/vector.hpp"
#include "costate/sundials/vector_stepper.hpp"
#include "costate/sundials/windows.hpp"
#include "costate/sweep/budget.hpp"
#include "sundials/logistic.hpp"
#ifdef COSTATE_HAS_HDF5
#include "costate/hdf5/disk.hpp"
#include "mpi/own_runs.hpp"
#include "support/temp_folder.hpp"
#endif

using namespace costate;
using costate::sundials::CvodesProblem;
using costate::sundials::LinearSolver;
using costate::sundials::Vector;
using costate::sundials::VectorStepper;
using costate::sundials::WindowStepper;
using mpi::Ranks;

namespace {

constexpr long size = 24;  // entries of all ranks

struct Part {
  explicit Part(const Ranks& ranks)
      : first(size * ranks.rank() / ranks.size()),
        count(size * (ranks.rank() + 1) / ranks.size() - first) {}
  long first;
  long count;
};

Vector make_vector(const Ranks& ranks, const costate::sundials::Context& context) {
  const Part part(ranks);
  Vector x(N_VNew_Parallel(ranks.communicator(), part.count, size, context));
  for (long i = 0; i < part.count; ++i) {
    const double at = 2 * std::numbers::pi * static_cast<double>(part.first + i) / size;
    N_VGetArrayPointer(x.get())[i] = 0.5 + 0.3 * std::sin(at);
  }
  return x;
}

// The entries of all ranks.
std::vector<double> gathered(Ranks& ranks, N_Vector v) {
  std::vector<double> all(static_cast<std::size_t>(size));
  const Part part(ranks);
  std::copy_n(N_VGetArrayPointer(v), part.count, all.begin() + part.first);
  ranks.sum(all);
  return all;
}

struct Result {
  double value = 0;
  double by_parameter = 0;
  std::vector<double> by_start;
  friend bool operator==(const Result&, const Result&) = default;
};

void check_near(const Result& a, const Result& b, double relative) {
  CHECK(std::abs(a.value - b.value) <= relative * std::abs(b.value));
  CHECK(std::abs(a.by_parameter - b.by_parameter) <= relative * std::abs(b.by_parameter));
  const double largest =
      std::abs(*std::ranges::max_element(b.by_start, {}, [](double x) { return std::abs(x); }));
  for (std::size_t i = 0; i < b.by_start.size(); ++i) {
    CHECK(std::abs(a.by_start[i] - b.by_start[i]) <= relative * largest);
  }
}

Result logistic(Ranks& ranks, const SweepOptions& options) {
  const costate::sundials::Context context;
  const Vector x = make_vector(ranks, context);
  test::Logistic growth(x.get());
  VectorStepper stepper(x.get(), growth.model(50, false));
  mpi::sweep(stepper, options, ranks);
  return {growth.sums[0], growth.sums[1], gathered(ranks, stepper.adjoint())};
}

// ----- CVODES: reaction and diffusion on a ring, u' = d (u_{i+1} - 2 u_i + u_{i-1}) + u (1 - u) p

struct Ring {
  const Ranks& ranks;
  double p = 0.7;
  static constexpr double d = 2.0;
  std::vector<double> work = {};

  // The part of v with one more entry at each end.
  const double* with_neighbours(N_Vector v) {
    const auto count = static_cast<std::size_t>(Part(ranks).count);
    work.resize(count + 2);
    std::copy_n(N_VGetArrayPointer(v), count, work.begin() + 1);
    const int right = (ranks.rank() + 1) % ranks.size();
    const int left = (ranks.rank() + ranks.size() - 1) % ranks.size();
    MPI_Comm comm = ranks.communicator();
    MPI_Sendrecv(&work[count], 1, MPI_DOUBLE, right, 0, &work[0], 1, MPI_DOUBLE, left, 0, comm,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&work[1], 1, MPI_DOUBLE, left, 1, &work[count + 1], 1, MPI_DOUBLE, right, 1, comm,
                 MPI_STATUS_IGNORE);
    return work.data() + 1;
  }
};

int rhs(double, N_Vector y, N_Vector out, void* user) {
  auto& ring = *static_cast<Ring*>(user);
  const double* u = ring.with_neighbours(y);
  for (long i = 0; i < Part(ring.ranks).count; ++i) {
    N_VGetArrayPointer(out)[i] =
        Ring::d * (u[i + 1] - 2 * u[i] + u[i - 1]) + ring.p * u[i] * (1 - u[i]);
  }
  return 0;
}
int adjoint_rhs(double, N_Vector y, N_Vector l, N_Vector out, void* user) {
  auto& ring = *static_cast<Ring*>(user);
  const double* u = N_VGetArrayPointer(y);
  const double* a = ring.with_neighbours(l);
  for (long i = 0; i < Part(ring.ranks).count; ++i) {
    N_VGetArrayPointer(out)[i] =
        -Ring::d * (a[i + 1] - 2 * a[i] + a[i - 1]) - ring.p * (1 - 2 * u[i]) * a[i];
  }
  return 0;
}
// The same number on all ranks, because it takes part in choosing steps.
int parameter_rhs(double, N_Vector y, N_Vector l, N_Vector out, void* user) {
  auto& ring = *static_cast<Ring*>(user);
  double sum = 0;
  for (long i = 0; i < Part(ring.ranks).count; ++i) {
    const double u = N_VGetArrayPointer(y)[i];
    sum -= N_VGetArrayPointer(l)[i] * u * (1 - u);
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, ring.ranks.communicator());
  N_VGetArrayPointer(out)[0] = sum;
  return 0;
}

// J = 1/2 y(1) . y(1), in windows of 10 steps.
struct CvodesRun {
  CvodesRun(Ranks& all, double p)
      : ranks(all),
        ring{.ranks = all, .p = p},
        y0(make_vector(all, context)),
        solver(SUNLinSol_SPGMR(y0.get(), SUN_PREC_NONE, 10, context)),
        backward(SUNLinSol_SPGMR(y0.get(), SUN_PREC_NONE, 10, context)) {
    const CvodesProblem problem{
        .context = context,
        .y0 = y0.get(),
        .user_data = &ring,
        .rhs = rhs,
        .rtol = 1e-8,
        .atol = 1e-10,
        .configure = [this](void* cvodes) { CVodeSetLinearSolver(cvodes, solver.get(), nullptr); },
        .adjoint_rhs = adjoint_rhs,
        .parameter_rhs = parameter_rhs,
        .parameters = 1,
        .configure_adjoint =
            [this](void* cvodes, int which) {
              CVodeSetLinearSolverB(cvodes, which, backward.get(), nullptr);
            }};
    constexpr Step window = 10;
    stepper = std::make_unique<WindowStepper>(
        costate::sundials::cvodes_solver(problem, 0, window), 0, 1, window,
        costate::sundials::Borders{},
        costate::sundials::Terminal{
            .value = [](N_Vector y) { return 0.5 * N_VDotProd(y, y); },
            .gradient = [](N_Vector y, N_Vector y_bar,
                           std::span<double>) { N_VLinearSum(1, y, 1, y_bar, y_bar); }});
  }
  Result result() {
    return {stepper->value(), stepper->parameter_gradient()[0],
            gathered(ranks, stepper->adjoint())};
  }

  Ranks& ranks;
  costate::sundials::Context context;
  Ring ring;
  Vector y0;
  LinearSolver solver;
  LinearSolver backward;
  std::unique_ptr<WindowStepper> stepper;
};

Result windows(Ranks& ranks, double p, const SweepOptions& options) {
  CvodesRun run(ranks, p);
  const Report report = mpi::sweep(*run.stepper, options, ranks);
  CHECK(report.steps > 4);
  return run.result();
}

}  // namespace

TEST_CASE("A parallel vector as the state", "[mpi][property]") {
  Ranks ranks(MPI_COMM_WORLD);
  Ranks alone(MPI_COMM_SELF);
  const Result whole = logistic(ranks, {});
  // Only sums are in another order.
  check_near(whole, logistic(alone, {}), 100 * size * std::numeric_limits<double>::epsilon());
  const std::size_t own = 8 * static_cast<std::size_t>(Part(ranks).count);
  for (const Slot slots : {2, 5, 20}) {
    CAPTURE(slots);
    CHECK(logistic(ranks, {.budget = {.memory = memory_for(slots, own)}}) == whole);
  }
#ifdef COSTATE_HAS_HDF5
  const test::TempFolder folder;
  SweepOptions options;
  options.budget.disk = hdf5({.directory = folder.path(), .capacity = 36_KiB});
  options.budget.memory = memory_for(2, own) + options.budget.disk->memory_bytes(own, 4);
  CHECK(logistic(ranks, options) == whole);
#endif
}

TEST_CASE("CVODES on parallel vectors, in windows", "[mpi][property]") {
  Ranks ranks(MPI_COMM_WORLD);
  Ranks alone(MPI_COMM_SELF);
  const Result whole = windows(ranks, 0.7, {});
  // Steps differ in the last bits, so results agree as tolerances do.
  check_near(whole, windows(alone, 0.7, {}), 1e-6);

  // The derivative by p against a difference of values that are accurate to some 1e-8.
  const double more = windows(ranks, 0.7 + 1e-3, {}).value;
  const double less = windows(ranks, 0.7 - 1e-3, {}).value;
  CHECK(std::abs((more - less) / 2e-3 - whole.by_parameter) <= 1e-4 * std::abs(whole.by_parameter));

  const std::size_t own = 8 * static_cast<std::size_t>(Part(ranks).count);
  for (const Slot slots : {2, 3}) {
    CAPTURE(slots);
    CHECK(windows(ranks, 0.7, {.budget = {.memory = memory_for(slots, own)}}) == whole);
  }
#ifdef COSTATE_HAS_HDF5
  // Interrupted, with the parts of all ranks on disk.
  const test::SharedFolder folder(ranks);
  for (int calls = 0;; ++calls) {
    REQUIRE(calls < 20);
    CvodesRun run(ranks, 0.7);
    RunOptions options = test::own_run(ranks, folder.path(), *run.stepper, 2, 4);
    int asked = 0;
    if (ranks.rank() == 0) options.stop_when = [&] { return ++asked > 3 + calls; };
    if (!mpi::run_or_resume(*run.stepper, options, ranks).finished) continue;
    CHECK(run.result() == whole);
    break;
  }
#endif
}
#endif
