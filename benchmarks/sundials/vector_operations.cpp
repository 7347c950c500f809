// What the vector operations are worth: one CVODES run with the library's own and with costate's,
// in turns.
//
//   u' = d (u_{i-1} - 2 u_i + u_{i+1}) + u (1 - u) on a ring, BDF, SPGMR without preconditioner

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <span>

#include <cvodes/cvodes.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_spgmr.h>

#include "costate/sundials/context.hpp"
#include "costate/sundials/vector.hpp"
#include "sundials/benchmarks.hpp"

namespace {

namespace cs = costate::sundials;

int rhs(double, N_Vector y, N_Vector out, void*) {
  const std::span<const double> u = cs::entries(y);
  const std::span<double> slope = cs::entries(out);
  const std::size_t n = u.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double left = u[i == 0 ? n - 1 : i - 1];
    const double right = u[i + 1 == n ? 0 : i + 1];
    slope[i] = 20 * (left - 2 * u[i] + right) + u[i] * (1 - u[i]);
  }
  return 0;
}

struct Run {
  double seconds;
  long evaluations;  // of the right-hand side, those of the linear solver included
  double sum;
};

Run run(std::size_t n, bool own) {
  const cs::Context context;
  const cs::Vector y =
      own ? cs::make_vector(n, context)
          : cs::Vector(cs::checked(N_VNew_Serial(static_cast<sunindextype>(n), context), "N_VNew"));
  for (std::size_t i = 0; i < n; ++i) {
    cs::entries(y.get())[i] = 0.5 + 0.3 * std::sin(6.283185307179586 * 50 * static_cast<double>(i) /
                                                   static_cast<double>(n));
  }
  const cs::LinearSolver solver(SUNLinSol_SPGMR(y.get(), SUN_PREC_NONE, 5, context));
  void* cvodes = CVodeCreate(CV_BDF, context);
  cs::check(CVodeInit(cvodes, rhs, 0, y.get()), "CVodeInit");
  cs::check(CVodeSStolerances(cvodes, 1e-6, 1e-9), "CVodeSStolerances");
  cs::check(CVodeSetLinearSolver(cvodes, solver.get(), nullptr), "CVodeSetLinearSolver");
  cs::check(CVodeSetMaxNumSteps(cvodes, 100'000), "CVodeSetMaxNumSteps");
  const auto start = std::chrono::steady_clock::now();
  double t = 0;
  cs::check(CVode(cvodes, 5, y.get(), &t, CV_NORMAL), "CVode");
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Run out{.seconds = seconds, .evaluations = 0, .sum = N_VL1Norm(y.get())};
  long linear = 0;
  CVodeGetNumRhsEvals(cvodes, &out.evaluations);
  CVodeGetNumLinRhsEvals(cvodes, &linear);
  out.evaluations += linear;
  CVodeFree(&cvodes);
  return out;
}

}  // namespace

void vector_operations_table() {
  std::printf("\nCVODES with the library's vector operations and with costate's\n");
  std::printf("%9s %22s %12s %12s %7s\n", "entries", "evaluations, each", "library, s",
              "costate, s", "ratio");
  for (const std::size_t n : {10'000U, 100'000U}) {
    double theirs = std::numeric_limits<double>::infinity();
    double ours = theirs;
    long evaluations[2] = {0, 0};
    for (int repeat = 0; repeat < 5; ++repeat) {  // in turns; the best of each
      const Run a = run(n, false);
      const Run b = run(n, true);
      theirs = std::min(theirs, a.seconds);
      ours = std::min(ours, b.seconds);
      evaluations[0] = a.evaluations;
      evaluations[1] = b.evaluations;
      if (!(std::abs(a.sum - b.sum) <= 1e-5 * a.sum)) std::printf("the results differ\n");
    }
    std::printf("%9zu %11ld%11ld %12.3f %12.3f %7.2f\n", n, evaluations[0], evaluations[1], theirs,
                ours, theirs / ours);
  }
}
