// The 2D Brusselator on the unit square, no flux through the boundary,
//
//   u' = 1 + u² v - 4.4 u + α Δu,   v' = 3.4 u - u² v + α Δv,
//
// J = ½ ∫ (u - 1)² + (v - 2)² at the end, the gradient with respect to all initial values. Each
// variant runs in a process of its own, so that the peak of the memory is its own.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <cvodes/cvodes.h>
#include <malloc.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sys/wait.h>
#include <unistd.h>

#include "costate/costate.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/sundials/arkode.hpp"
#include "costate/sundials/cvodes.hpp"
#include "costate/sundials/linear_solver.hpp"
#include "costate/sundials/vector.hpp"
#include "sundials/benchmarks.hpp"
#include "support/measure.hpp"

namespace {

namespace cs = costate::sundials;

// Entries (u, v) of point (i, j) at 2 (j side + i).
struct Brusselator {
  explicit Brusselator(int points) : side(points), rate(0.02 * (points - 1) * (points - 1)) {
    factor.resize(static_cast<std::size_t>(points));
  }
  [[nodiscard]] std::size_t size() const {
    return 2 * static_cast<std::size_t>(side) * static_cast<std::size_t>(side);
  }

  void initial(double* y) const {
    const double h = 1. / (side - 1);
    for (int j = 0; j < side; ++j) {
      for (int i = 0; i < side; ++i, y += 2) {
        y[0] = 0.6 + j * h + 0.2 * std::sin(3 * i * h);
        y[1] = 1.2 + 4 * i * h;
      }
    }
  }

  // out = α Δx, or its product with a vector: it is linear and symmetric.
  void diffuse(const double* x, double* out) const {
    const std::ptrdiff_t row = 2 * static_cast<std::ptrdiff_t>(side);
    for (int j = 0; j < side; ++j) {
      const std::ptrdiff_t up = j > 0 ? -row : 0;
      const std::ptrdiff_t down = j + 1 < side ? row : 0;
      for (int i = 0; i < side; ++i) {
        const std::ptrdiff_t k = j * row + 2 * i;
        const std::ptrdiff_t left = i > 0 ? -2 : 0;
        const std::ptrdiff_t right = i + 1 < side ? 2 : 0;
        for (std::ptrdiff_t c = k; c < k + 2; ++c) {
          out[c] = rate * (x[c + up] + x[c + down] + x[c + left] + x[c + right] - 4 * x[c]);
        }
      }
    }
  }
  void rhs(const double* y, double* out) const {
    diffuse(y, out);
    for (std::size_t k = 0; k < size(); k += 2) {
      const double r = y[k] * y[k] * y[k + 1];
      out[k] += 1 + r - 4.4 * y[k];
      out[k + 1] += 3.4 * y[k] - r;
    }
  }
  // out = J x, and out = Jᵀ x
  void jacobian_times(const double* y, const double* x, double* out) const {
    diffuse(x, out);
    for (std::size_t k = 0; k < size(); k += 2) {
      const double r = 2 * y[k] * y[k + 1] * x[k] + y[k] * y[k] * x[k + 1];
      out[k] += r - 4.4 * x[k];
      out[k + 1] += 3.4 * x[k] - r;
    }
  }
  void transpose_times(const double* y, const double* x, double* out) const {
    diffuse(x, out);
    for (std::size_t k = 0; k < size(); k += 2) {
      const double d = x[k] - x[k + 1];
      out[k] += 2 * y[k] * y[k + 1] * d - 4.4 * x[k] + 3.4 * x[k + 1];
      out[k + 1] += y[k] * y[k] * d;
    }
  }

  // z ≈ (I - a α Δ)⁻¹ r, one direction after the other. Symmetric, since the two commute.
  void precondition(double a, const double* r, double* z) {
    if (z != r) std::copy_n(r, size(), z);
    const double g = a * rate;
    const auto row = 2 * static_cast<std::size_t>(side);
    for (std::size_t line = 0; line < static_cast<std::size_t>(side); ++line) {
      tridiagonal(g, z + line * row, 2);
    }
    for (std::size_t line = 0; line < static_cast<std::size_t>(side); ++line) {
      tridiagonal(g, z + 2 * line, row);
    }
  }

  [[nodiscard]] double cell() const { return 1. / ((side - 1) * (side - 1)); }
  double objective(const double* y) const {
    double sum = 0;
    for (std::size_t k = 0; k < size(); k += 2) {
      sum += (y[k] - 1) * (y[k] - 1) + (y[k + 1] - 2) * (y[k + 1] - 2);
    }
    return 0.5 * cell() * sum;
  }
  void objective_gradient(const double* y, double* y_bar) const {
    for (std::size_t k = 0; k < size(); k += 2) {
      y_bar[k] += cell() * (y[k] - 1);
      y_bar[k + 1] += cell() * (y[k + 1] - 2);
    }
  }

  int side;
  double rate;
  double gamma = 0;

 private:
  // Both fields of one line, elimination without pivots.
  void tridiagonal(double g, double* z, std::size_t stride) {
    const auto n = static_cast<std::size_t>(side);
    double pivot = 1 + g;
    factor[0] = g / pivot;
    z[0] /= pivot;
    z[1] /= pivot;
    for (std::size_t i = 1; i < n; ++i) {
      pivot = (i + 1 < n ? 1 + 2 * g : 1 + g) - g * factor[i - 1];
      factor[i] = g / pivot;
      double* here = z + i * stride;
      here[0] = (here[0] + g * here[0 - static_cast<std::ptrdiff_t>(stride)]) / pivot;
      here[1] = (here[1] + g * here[1 - static_cast<std::ptrdiff_t>(stride)]) / pivot;
    }
    for (std::size_t i = n - 1; i-- > 0;) {
      double* here = z + i * stride;
      here[0] += factor[i] * here[stride];
      here[1] += factor[i] * here[stride + 1];
    }
  }
  std::vector<double> factor;
};

// ----- Through CVODES -----

double* at(N_Vector v) {
  return N_VGetArrayPointer(v);
}
Brusselator& model(void* user) {
  return *static_cast<Brusselator*>(user);
}
int rhs(double, N_Vector y, N_Vector out, void* user) {
  model(user).rhs(at(y), at(out));
  return 0;
}
int times(N_Vector v, N_Vector out, double, N_Vector y, N_Vector, void* user, N_Vector) {
  model(user).jacobian_times(at(y), at(v), at(out));
  return 0;
}
int setup(double, N_Vector, N_Vector, sunbooleantype, sunbooleantype* current, double gamma,
          void* user) {
  model(user).gamma = gamma;
  *current = SUNTRUE;
  return 0;
}
int solve(double, N_Vector, N_Vector, N_Vector r, N_Vector z, double gamma, double, int,
          void* user) {
  model(user).precondition(gamma, at(r), at(z));
  return 0;
}
int adjoint_rhs(double, N_Vector y, N_Vector l, N_Vector out, void* user) {
  model(user).transpose_times(at(y), at(l), at(out));
  N_VScale(-1, out, out);
  return 0;
}
int adjoint_times(N_Vector v, N_Vector out, double, N_Vector y, N_Vector, N_Vector, void* user,
                  N_Vector) {
  model(user).transpose_times(at(y), at(v), at(out));
  N_VScale(-1, out, out);
  return 0;
}
int adjoint_setup(double, N_Vector, N_Vector, N_Vector, sunbooleantype, sunbooleantype* current,
                  double, void*) {
  *current = SUNTRUE;
  return 0;
}
int adjoint_solve(double, N_Vector, N_Vector, N_Vector, N_Vector r, N_Vector z, double gamma,
                  double, int, void* user) {
  model(user).precondition(-gamma, at(r), at(z));
  return 0;
}

struct Outcome {
  double value = 0;
  double seconds = 0;  // of the processor
  long steps = 0;
  double peak = 0;  // MiB of resident memory that it added
  double error = 0;
};

constexpr double rtol = 1e-6;
constexpr double atol = 1e-2 * rtol;
constexpr double tight = 1e-9;  // what errors are taken from
constexpr int krylov = 10;

struct Solvers {
  Solvers(N_Vector like, SUNContext context)
      : forward(SUNLinSol_SPGMR(like, SUN_PREC_RIGHT, krylov, context)),
        backward(SUNLinSol_SPGMR(like, SUN_PREC_RIGHT, krylov, context)) {}
  void attach(void* cvodes) const {
    cs::check(CVodeSetLinearSolver(cvodes, forward.get(), nullptr), "CVodeSetLinearSolver");
    cs::check(CVodeSetJacTimes(cvodes, nullptr, times), "CVodeSetJacTimes");
    cs::check(CVodeSetPreconditioner(cvodes, setup, solve), "CVodeSetPreconditioner");
  }
  void attach(void* cvodes, int which) const {
    cs::check(CVodeSetLinearSolverB(cvodes, which, backward.get(), nullptr),
              "CVodeSetLinearSolverB");
    cs::check(CVodeSetJacTimesB(cvodes, which, nullptr, adjoint_times), "CVodeSetJacTimesB");
    cs::check(CVodeSetPreconditionerB(cvodes, which, adjoint_setup, adjoint_solve),
              "CVodeSetPreconditionerB");
  }
  cs::LinearSolver forward, backward;
};

// The adjoint's is of the size of its values.
double adjoint_atol(const Brusselator& f, double relative = rtol) {
  return 1e-2 * relative * f.cell();
}

// How many steps CVODES takes, so that it can be told to keep them all.
long count_steps(Brusselator& f, double end) {
  const cs::Context context;
  const cs::Vector y(N_VNew_Serial(static_cast<sunindextype>(f.size()), context));
  f.initial(at(y.get()));
  const Solvers solvers(y.get(), context);
  void* cvodes = CVodeCreate(CV_BDF, context);
  cs::check(CVodeInit(cvodes, rhs, 0, y.get()), "CVodeInit");
  cs::check(CVodeSStolerances(cvodes, rtol, atol), "CVodeSStolerances");
  cs::check(CVodeSetUserData(cvodes, &f), "CVodeSetUserData");
  cs::check(CVodeSetMaxNumSteps(cvodes, -1), "CVodeSetMaxNumSteps");
  solvers.attach(cvodes);
  cs::check(CVodeSetStopTime(cvodes, end), "CVodeSetStopTime");
  double t = 0;
  cs::check(CVode(cvodes, end, y.get(), &t, CV_NORMAL), "CVode");
  long steps = 0;
  cs::check(CVodeGetNumSteps(cvodes, &steps), "CVodeGetNumSteps");
  CVodeFree(&cvodes);
  return steps;
}

// CVODES as its users have it: vectors of the library, check points every `every` steps.
Outcome plain(Brusselator& f, double end, long every, std::vector<double>& gradient,
              double relative = rtol) {
  const cs::Context context;
  const auto n = static_cast<sunindextype>(f.size());
  const cs::Vector y(N_VNew_Serial(n, context));
  const cs::Vector l(N_VNew_Serial(n, context));
  f.initial(at(y.get()));
  const Solvers solvers(y.get(), context);
  Outcome out;
  out.seconds = bench::seconds_of([&] {
    void* cvodes = CVodeCreate(CV_BDF, context);
    cs::check(CVodeInit(cvodes, rhs, 0, y.get()), "CVodeInit");
    cs::check(CVodeSStolerances(cvodes, relative, 1e-2 * relative), "CVodeSStolerances");
    cs::check(CVodeSetUserData(cvodes, &f), "CVodeSetUserData");
    cs::check(CVodeSetMaxNumSteps(cvodes, -1), "CVodeSetMaxNumSteps");
    solvers.attach(cvodes);
    cs::check(CVodeAdjInit(cvodes, every, CV_HERMITE), "CVodeAdjInit");
    cs::check(CVodeSetStopTime(cvodes, end), "CVodeSetStopTime");
    double t = 0;
    int points = 0;
    cs::check(CVodeF(cvodes, end, y.get(), &t, CV_NORMAL, &points), "CVodeF");
    cs::check(CVodeGetNumSteps(cvodes, &out.steps), "CVodeGetNumSteps");
    out.value = f.objective(at(y.get()));
    N_VConst(0, l.get());
    f.objective_gradient(at(y.get()), at(l.get()));
    int which = 0;
    cs::check(CVodeCreateB(cvodes, CV_BDF, &which), "CVodeCreateB");
    cs::check(CVodeInitB(cvodes, which, adjoint_rhs, end, l.get()), "CVodeInitB");
    cs::check(CVodeSStolerancesB(cvodes, which, relative, adjoint_atol(f, relative)),
              "CVodeSStolerancesB");
    cs::check(CVodeSetUserDataB(cvodes, which, &f), "CVodeSetUserDataB");
    cs::check(CVodeSetMaxNumStepsB(cvodes, which, 1'000'000), "CVodeSetMaxNumStepsB");
    solvers.attach(cvodes, which);
    cs::check(CVodeB(cvodes, 0, CV_NORMAL), "CVodeB");
    cs::check(CVodeGetB(cvodes, which, &t, l.get()), "CVodeGetB");
    CVodeFree(&cvodes);
  });
  gradient.assign(at(l.get()), at(l.get()) + n);
  return out;
}

Outcome in_windows(Brusselator& f, double end, costate::Step window, costate::Bytes memory,
                   std::vector<double>& gradient) {
  const cs::Context context;
  std::vector<double> y0(f.size());
  f.initial(y0.data());
  const cs::Vector y = cs::wrap(y0, context);
  const Solvers solvers(y.get(), context);
  const cs::CvodesProblem problem{
      .context = context,
      .y0 = y.get(),
      .user_data = &f,
      .rhs = rhs,
      .rtol = rtol,
      .atol = atol,
      .configure = [&](void* cvodes) { solvers.attach(cvodes); },
      .adjoint_rhs = adjoint_rhs,
      .adjoint_atol = adjoint_atol(f),
      .configure_adjoint = [&](void* cvodes, int which) { solvers.attach(cvodes, which); }};
  const cs::Terminal terminal{
      .value = [&](N_Vector v) { return f.objective(at(v)); },
      .gradient = [&](N_Vector v, N_Vector y_bar,
                      std::span<double>) { f.objective_gradient(at(v), at(y_bar)); }};
  Outcome out;
  out.seconds = bench::seconds_of([&] {
    cs::WindowStepper stepper(cs::cvodes_solver(problem, 0, window), 0, end, window, {}, terminal);
    costate::sweep(stepper, {.budget = {.memory = memory}});
    out.value = stepper.value();
    out.steps = stepper.solver_steps();
    const auto l = cs::entries(stepper.adjoint());
    gradient.assign(l.begin(), l.end());
  });
  return out;
}

// ----- Through ARKODE and costate's own adjoint -----

using State = Eigen::VectorXd;
struct Problem {
  using State = ::State;
  using Parameters = costate::NoParameters;
  Brusselator* f;
  void rhs(double, const State& y, const Parameters&, State& out) const {
    f->rhs(y.data(), out.data());
  }
  void vjp(double, const State& y, const Parameters&, const State& w, State& y_bar,
           Parameters&) const {
    f->transpose_times(y.data(), w.data(), y_bar.data());
  }
  void jvp(double, const State& y, const Parameters&, const State& dy, const Parameters&,
           State& out) const {
    f->jacobian_times(y.data(), dy.data(), out.data());
  }
};

Outcome exactly(Brusselator& f, double end, costate::Bytes memory, std::vector<double>& gradient) {
  const cs::Context context;
  double a = 0;
  const auto precondition = [&](N_Vector r, N_Vector z) { f.precondition(a, at(r), at(z)); };
  const auto problem = cs::with_linear_solver(
      Problem{&f}, cs::KrylovSolver{.context = context,
                                    .solver =
                                        [&](N_Vector like) {
                                          return cs::LinearSolver(SUNLinSol_SPGMR(
                                              like, SUN_PREC_RIGHT, krylov, context));
                                        },
                                    .setup = [&](double, N_Vector, double factor) { a = factor; },
                                    .precondition = precondition,
                                    .precondition_transpose = precondition});
  const auto objective = costate::terminal(
      [&](const State& y, const costate::NoParameters&) { return f.objective(y.data()); },
      [&](const State& y, const costate::NoParameters&, State& y_bar, costate::NoParameters&) {
        f.objective_gradient(y.data(), y_bar.data());
      });
  State y0(static_cast<Eigen::Index>(f.size()));
  f.initial(y0.data());
  Outcome out;
  out.seconds = bench::seconds_of([&] {
    const auto result =
        cs::value_and_gradient(problem, costate::Esdirk43{.rtol = rtol, .atol = atol}, objective,
                               {.t0 = 0, .t1 = end, .y0 = y0, .budget = {.memory = memory}});
    out.value = result.value;
    out.steps = result.report.steps;
    gradient.assign(result.dy0.data(), result.dy0.data() + result.dy0.size());
  });
  return out;
}

// MiB of resident memory, now or at most since the last reset, by /proc.
double resident(const char* field) {
  std::ifstream file("/proc/self/status");
  std::string word;
  double kib = 0;
  while (file >> word) {
    if (word == field) file >> kib;
  }
  return kib / 1024;
}

// Runs in a process of its own; the gradient comes back through a pipe.
Outcome alone(const std::function<Outcome(std::vector<double>&)>& run, std::size_t size,
              std::vector<double>& gradient) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw costate::Error("pipe failed");
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    std::vector<double> found;
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins here
    const double before = resident("VmRSS:");
    Outcome out = run(found);
    out.peak = resident("VmHWM:") - before;
    FILE* to = fdopen(ends[1], "wb");
    const bool sent = std::fwrite(&out, sizeof out, 1, to) == 1 &&
                      std::fwrite(found.data(), sizeof(double), size, to) == size;
    std::fclose(to);
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  FILE* from = fdopen(ends[0], "rb");
  Outcome out;
  gradient.resize(size);
  const bool received = std::fread(&out, sizeof out, 1, from) == 1 &&
                        std::fread(gradient.data(), sizeof(double), size, from) == size;
  std::fclose(from);
  int status = 0;
  waitpid(child, &status, 0);
  if (!received || status != 0) throw costate::Error("a variant failed");
  return out;
}

}  // namespace

bool brusselator_table(int side, double end) {
  Brusselator f(side);
  const double state = static_cast<double>(f.size()) * sizeof(double) / (1 << 20);
  std::vector<double> first;
  std::vector<double> right;  // none if it would take too long
  std::vector<double> gradient;
  const auto difference = [](const std::vector<double>& x, const std::vector<double>& from) {
    double sum = 0;
    double of = 0;
    for (std::size_t k = 0; k < from.size(); ++k) {
      sum += (x[k] - from[k]) * (x[k] - from[k]);
      of += from[k] * from[k];
    }
    return std::sqrt(sum / of);
  };
  std::printf("\n2D Brusselator, %d x %d, a state is %.2f MiB, to T = %g, rtol %.0e\n\n", side,
              side, state, end, rtol);
  if (side <= 128) {
    const auto best = alone([&](auto& g) { return plain(f, end, 50, g, tight); }, f.size(), right);
    std::printf("Errors are from CVODES at rtol %.0e, %ld steps, %.1f s\n\n", tight, best.steps,
                best.seconds);
  }
  std::printf("| variant | steps | processor seconds | memory, MiB | difference | error |\n");
  std::printf("| --- | --- | --- | --- | --- | --- |\n");
  const auto print = [&](const char* name, const Outcome& out, const std::vector<double>& found) {
    std::printf("| %s | %ld | %.1f | %.0f | %.1e |", name, out.steps, out.seconds, out.peak,
                difference(found, first));
    right.empty() ? std::printf(" |\n") : std::printf(" %.1e |\n", difference(found, right));
  };
  const long steps = count_steps(f, end);
  const auto all = alone([&](auto& g) { return plain(f, end, steps + 1, g); }, f.size(), first);
  print("CVODES, every step kept", all, first);
  const auto some = alone([&](auto& g) { return plain(f, end, 50, g); }, f.size(), gradient);
  print("CVODES, check points every 50 steps", some, gradient);
  // A tenth of the first. CVODES' own work space, forward and backward, is about 70 vectors; what
  // is left is for one window, of two vectors a step, and for states at the starts of windows.
  const double tenth = all.peak / 10;
  const auto states = static_cast<costate::Step>(tenth / state) - 70;
  if (states < 40) {
    std::printf("\nA tenth of the first is not the work space of CVODES: a longer run is needed\n");
    return false;
  }
  bool good = true;
  const costate::Step window = states / 3;
  const auto slots = static_cast<costate::Slot>(states / 5);
  const auto windows = alone(
      [&](auto& g) {
        return in_windows(f, end, window, costate::memory_for(slots, f.size() * 8), g);
      },
      f.size(), gradient);
  print(("CVODES in windows of " + std::to_string(window)).c_str(), windows, gradient);
  const auto exact =
      alone([&](auto& g) { return exactly(f, end, costate::memory_for(slots, f.size() * 8), g); },
            f.size(), gradient);
  print("ARKODE's steps, costate's adjoint", exact, gradient);
  std::printf("\nA tenth of the first: %.0f MiB\n", tenth);
  for (const Outcome& out : {windows, exact}) good = good && out.peak <= tenth;
  return good;
}
