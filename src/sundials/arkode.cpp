#include "costate/sundials/arkode.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <arkode/arkode_arkstep.h>
#include <arkode/arkode_butcher.h>
#include <sundials/sundials_linearsolver.h>

#include "costate/core/error.hpp"
#include "costate/sundials/vector.hpp"
#include "sundials/messages.hpp"

namespace costate::sundials::detail {

namespace {

// Version 7 has one set of functions for all of ARKODE's steppers.
#if SUNDIALS_VERSION_MAJOR >= 7
constexpr auto free_arkode = ARKodeFree;
constexpr auto set_tolerances = ARKodeSStolerances;
constexpr auto set_user_data = ARKodeSetUserData;
constexpr auto set_linear_solver = ARKodeSetLinearSolver;
constexpr auto set_deduce_implicit_rhs = ARKodeSetDeduceImplicitRhs;
constexpr auto set_predictor = ARKodeSetPredictorMethod;
constexpr auto set_max_nonlinear_iterations = ARKodeSetMaxNonlinIters;
constexpr auto set_nonlinear_coefficient = ARKodeSetNonlinConvCoef;
constexpr auto set_max_steps = ARKodeSetMaxNumSteps;
constexpr auto set_max_warnings = ARKodeSetMaxHnilWarns;
constexpr auto set_max_step = ARKodeSetMaxStep;
constexpr auto set_first_step = ARKodeSetInitStep;
constexpr auto set_stop_time = ARKodeSetStopTime;
constexpr auto evolve = ARKodeEvolve;
constexpr auto get_attempts = ARKodeGetNumStepAttempts;
constexpr auto get_nonlinear_data = ARKodeGetNonlinearSystemData;
#else
constexpr auto free_arkode = ARKStepFree;
constexpr auto set_tolerances = ARKStepSStolerances;
constexpr auto set_user_data = ARKStepSetUserData;
constexpr auto set_linear_solver = ARKStepSetLinearSolver;
constexpr auto set_deduce_implicit_rhs = ARKStepSetDeduceImplicitRhs;
constexpr auto set_predictor = ARKStepSetPredictorMethod;
constexpr auto set_max_nonlinear_iterations = ARKStepSetMaxNonlinIters;
constexpr auto set_nonlinear_coefficient = ARKStepSetNonlinConvCoef;
constexpr auto set_max_steps = ARKStepSetMaxNumSteps;
constexpr auto set_max_warnings = ARKStepSetMaxHnilWarns;
constexpr auto set_max_step = ARKStepSetMaxStep;
constexpr auto set_first_step = ARKStepSetInitStep;
constexpr auto set_stop_time = ARKStepSetStopTime;
constexpr auto evolve = ARKStepEvolve;
constexpr auto get_attempts = ARKStepGetNumStepAttempts;
constexpr auto get_nonlinear_data = ARKStepGetNonlinearSystemData;
#endif

// One run of ARKODE. An exception of the user's function is kept while C code is on the stack.
class Chooser {
 public:
  Chooser(const ArkodeProblem& problem, const ArkodeMethod& method, const StepControl& control,
          double t0, double t1, const double* y0, const ArkodeOptions& options)
      : problem_(problem),
        messages_(context_),
        state_(make_vector(problem.size, context_)),
        steps_{.times = {t0}} {
    std::copy_n(y0, problem.size, entries(state_.get()).begin());
    const bool has_explicit = method.explicit_table.stages > 0;
    const bool has_implicit = method.implicit_table.stages > 0;
    arkode_ =
        checked(ARKStepCreate(has_explicit ? explicit_rhs : nullptr,
                              has_implicit ? implicit_rhs : nullptr, t0, state_.get(), context_),
                "ARKStepCreate");
#if SUNDIALS_VERSION_MAJOR < 7
    check(ARKStepSetErrHandlerFn(arkode_, Messages::handle, &messages_), "ARKStepSetErrHandlerFn");
#endif
    check(set_user_data(arkode_, this), "ARKodeSetUserData");
    check(set_tolerances(arkode_, control.rtol, control.atol), "ARKodeSStolerances");
    const Table implicit_table = made(method.implicit_table, method);
    const Table explicit_table = made(method.explicit_table, method);
    check(ARKStepSetTables(arkode_, method.order, method.embedded_order, implicit_table.get(),
                           explicit_table.get()),
          "ARKStepSetTables");
    if (has_implicit) {
      solver_.reset(checked(SUNLinSolNewEmpty(context_), "SUNLinSolNewEmpty"));
      solver_->content = this;
      solver_->ops->gettype = [](SUNLinearSolver) { return SUNLINEARSOLVER_MATRIX_EMBEDDED; };
      solver_->ops->solve = solve;
      solver_->ops->free = [](SUNLinearSolver s) {
        s->content = nullptr;
        SUNLinSolFreeEmpty(s);
        return 0;
      };
      check(set_linear_solver(arkode_, solver_.get(), nullptr), "ARKodeSetLinearSolver");
      // On stiff problems f(t, Y) is known worse than (Y - B) / (h a_ii), and steps chosen by the
      // difference are many times too small.
      check(set_deduce_implicit_rhs(arkode_, SUNTRUE), "ARKodeSetDeduceImplicitRhs");
      check(set_predictor(arkode_, 0), "ARKodeSetPredictorMethod");
      check(set_max_nonlinear_iterations(arkode_, 8), "ARKodeSetMaxNonlinIters");
      check(set_nonlinear_coefficient(arkode_, 0.01), "ARKodeSetNonlinConvCoef");
    }
    check(set_max_steps(arkode_, -1), "ARKodeSetMaxNumSteps");
    check(set_max_warnings(arkode_, -1), "ARKodeSetMaxHnilWarns");  // prints nothing
    check(set_max_step(arkode_, control.max_step), "ARKodeSetMaxStep");
    check(set_first_step(arkode_, std::copysign(control.first_step, t1 - t0)), "ARKodeSetInitStep");
    if (options.configure) options.configure(arkode_, state_.get());
  }
  ~Chooser() {
    free_arkode(&arkode_);
  }
  Chooser(const Chooser&) = delete;
  Chooser& operator=(const Chooser&) = delete;

  // Goes on until exactly `stop`.
  void run_to(double stop, Step max_steps) {
    check(set_stop_time(arkode_, stop), "ARKodeSetStopTime");
    for (;;) {
      const double before = steps_.times.back();
      double t = before;
      if (static_cast<Step>(steps_.times.size()) > max_steps) {
        fail("the limit of " + std::to_string(max_steps) + " steps is reached");
      }
      const int flag = evolve(arkode_, stop, state_.get(), &t, ARK_ONE_STEP);
      if (thrown_) std::rethrow_exception(thrown_);
      if (flag < 0) {
        fail("ARKODE gave up with code " + std::to_string(flag) + messages_.last());
      }
      const bool arrived = flag == ARK_TSTOP_RETURN;
      steps_.times.push_back(arrived ? stop : t);
      if (arrived) return;
    }
  }

  ArkodeSteps result() {
    long attempts = 0;
    check(get_attempts(arkode_, &attempts), "ARKodeGetNumStepAttempts");
    steps_.attempts = attempts;
    return std::move(steps_);
  }

 private:
  struct FreeTable {
    void operator()(ARKodeButcherTable table) const { ARKodeButcherTable_Free(table); }
  };
  using Table = std::unique_ptr<std::remove_pointer_t<ARKodeButcherTable>, FreeTable>;

  static Table made(const ArkodeTable& table, const ArkodeMethod& method) {
    if (table.stages == 0) return nullptr;
    auto copy = table;
    return Table(checked(
        ARKodeButcherTable_Create(table.stages, method.order, method.embedded_order, copy.c.data(),
                                  copy.a.data(), copy.b.data(), copy.b_hat.data()),
        "ARKodeButcherTable_Create"));
  }

  [[noreturn]] void fail(const std::string& reason) const {
    const auto k = static_cast<Step>(steps_.times.size()) - 1;
    throw IntegrationError("ARKODE, step " + std::to_string(k) +
                               " at t = " + std::to_string(steps_.times.back()) + ": " + reason,
                           k, steps_.times.back());
  }

  static int call(Chooser& self, const ArkodeProblem::Rhs& rhs, double t, N_Vector y,
                  N_Vector out) noexcept {
    try {
      ++self.steps_.rhs_evaluations;
      const auto slope = entries(out);
      rhs(t, entries(y).data(), slope.data());
      // What is not finite becomes a smaller step.
      return std::all_of(slope.begin(), slope.end(), [](double x) { return std::isfinite(x); }) ? 0
                                                                                                : 1;
    } catch (...) {
      self.thrown_ = std::current_exception();
      return -1;
    }
  }
  static int explicit_rhs(double t, N_Vector y, N_Vector out, void* self) {
    auto& chooser = *static_cast<Chooser*>(self);
    return call(chooser, chooser.problem_.explicit_rhs, t, y, out);
  }
  static int implicit_rhs(double t, N_Vector y, N_Vector out, void* self) {
    auto& chooser = *static_cast<Chooser*>(self);
    return call(chooser, chooser.problem_.implicit_rhs, t, y, out);
  }

  // The matrix of a trial step is that of its first iteration: all implicit stages have one
  // diagonal coefficient, and an iteration that does not converge makes the step smaller.
  static int solve(SUNLinearSolver s, SUNMatrix, N_Vector x, N_Vector b, double) {
    auto& self = *static_cast<Chooser*>(s->content);
    try {
      double t = 0;
      double gamma = 0;
      N_Vector predicted = nullptr;
      N_Vector y = nullptr;
      N_Vector slope = nullptr;
      N_Vector data = nullptr;
      void* user = nullptr;
      if (get_nonlinear_data(self.arkode_, &t, &predicted, &y, &slope, &gamma, &data, &user) < 0) {
        return SUNLS_PSOLVE_FAIL_UNREC;
      }
      long attempts = 0;
      get_attempts(self.arkode_, &attempts);
      if (attempts != self.prepared_attempt_ || gamma != self.prepared_gamma_) {
        if (!self.problem_.prepare(t, entries(y).data(), gamma)) return SUNLS_PACKAGE_FAIL_REC;
        self.prepared_attempt_ = attempts;
        self.prepared_gamma_ = gamma;
      }
      N_VScale(1, b, x);
      self.problem_.solve(entries(x).data());
      return 0;
    } catch (...) {
      self.thrown_ = std::current_exception();
      return SUNLS_PSOLVE_FAIL_UNREC;
    }
  }

  const ArkodeProblem& problem_;
  Context context_;
  Messages messages_;
  Vector state_;
  LinearSolver solver_;
  void* arkode_ = nullptr;
  std::exception_ptr thrown_;
  long prepared_attempt_ = -1;
  double prepared_gamma_ = 0;
  ArkodeSteps steps_;
};

}  // namespace

ArkodeSteps choose_steps(const ArkodeProblem& problem, const ArkodeMethod& method,
                         const StepControl& control, double t0, double t1, const double* y0,
                         std::span<const double> stops, const ArkodeOptions& options) {
  if (!control.adaptive()) {
    throw InvalidArgument("ARKODE chooses steps by rtol and atol: give them to the method");
  }
  if (t0 == t1) return {.times = {t0}};
  std::vector<double> ends(stops.begin(), stops.end());
  ends.push_back(t1);
  std::sort(ends.begin(), ends.end());
  if (t1 < t0) std::reverse(ends.begin(), ends.end());
  Chooser chooser(problem, method, control, t0, t1, y0, options);
  double last = t0;
  for (const double end : ends) {
    // Two observations nearer than rounding share an index, as on every grid.
    if (std::abs(end - last) <= 1e-14 * std::max(std::abs(end), std::abs(last))) continue;
    chooser.run_to(end, control.max_steps);
    last = end;
  }
  return chooser.result();
}

}  // namespace costate::sundials::detail
