#include "costate/sundials/arkode.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <arkode/arkode_arkstep.h>
#include <arkode/arkode_butcher.h>
#include <sundials/sundials_linearsolver.h>

#include "costate/core/error.hpp"
#include "costate/sundials/arkode_replay.hpp"
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
constexpr auto set_fixed_step = ARKodeSetFixedStep;
constexpr auto set_setup_frequency = ARKodeSetLSetupFrequency;
constexpr auto set_jacobian_frequency = ARKodeSetJacEvalFrequency;
constexpr auto set_stage_function = ARKodeSetPostprocessStageFn;
constexpr auto reset = ARKodeReset;
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
constexpr auto set_fixed_step = ARKStepSetFixedStep;
constexpr auto set_setup_frequency = ARKStepSetLSetupFrequency;
constexpr auto set_jacobian_frequency = ARKStepSetJacEvalFrequency;
constexpr auto set_stage_function = ARKStepSetPostprocessStageFn;
constexpr auto reset = ARKStepReset;
#endif

// ARKODE with a problem and a table. The functions that it calls find it by `running`, so that what
// they are handed is the user's.
class Arkode {
 public:
  Arkode(const ArkodeProblem& problem, const ArkodeMethod& method, double rtol, double atol,
         double t0, const double* y0, void* user_data)
      : problem_(problem), messages_(context_), state_(make_vector(problem.size, context_)) {
    std::copy_n(y0, problem.size, entries(state_.get()).begin());
    const bool has_explicit = method.explicit_table.stages > 0;
    has_implicit_ = method.implicit_table.stages > 0;
    arkode_ =
        checked(ARKStepCreate(has_explicit ? explicit_rhs : nullptr,
                              has_implicit_ ? implicit_rhs : nullptr, t0, state_.get(), context_),
                "ARKStepCreate");
#if SUNDIALS_VERSION_MAJOR < 7
    check(ARKStepSetErrHandlerFn(arkode_, Messages::handle, &messages_), "ARKStepSetErrHandlerFn");
#endif
    check(set_user_data(arkode_, user_data), "ARKodeSetUserData");
    check(set_tolerances(arkode_, rtol, atol), "ARKodeSStolerances");
    const Table implicit_table = made(method.implicit_table, method);
    const Table explicit_table = made(method.explicit_table, method);
    check(ARKStepSetTables(arkode_, method.order, method.embedded_order, implicit_table.get(),
                           explicit_table.get()),
          "ARKStepSetTables");
    if (has_implicit_) {
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
  }
  ~Arkode() {
    free_arkode(&arkode_);
  }
  Arkode(const Arkode&) = delete;
  Arkode& operator=(const Arkode&) = delete;

  [[nodiscard]] void* memory() const {
    return arkode_;
  }
  [[nodiscard]] N_Vector state() const {
    return state_.get();
  }
  [[nodiscard]] Step evaluations() const {
    return evaluations_;
  }
  [[nodiscard]] Step attempts() const {
    long count = 0;
    check(get_attempts(arkode_, &count), "ARKodeGetNumStepAttempts");
    return count;
  }
  // Nothing of a step depends on the steps before: the matrix is set up in each iteration, the
  // predictor is the state.
  void fix_steps() {
    newton_ = true;
    if (has_implicit_) {
      check(set_predictor(arkode_, 0), "ARKodeSetPredictorMethod");
      check(set_setup_frequency(arkode_, -1), "ARKodeSetLSetupFrequency");
      check(set_jacobian_frequency(arkode_, 1), "ARKodeSetJacEvalFrequency");
    }
    check(set_stage_function(arkode_, keep_stage), "ARKodeSetPostprocessStageFn");
  }
  // Where the stage values of the next step go, one after the other; what is left of it.
  void keep_stages(std::span<double> to) {
    stages_ = to;
  }
  [[nodiscard]] std::size_t left_of_stages() const {
    return stages_.size();
  }
  static int keep_stage(double, N_Vector y, void*) {
    const auto values = entries(y);
    auto& to = running->stages_;
    if (to.size() < values.size()) return -1;
    std::copy(values.begin(), values.end(), to.begin());
    to = to.subspan(values.size());
    return 0;
  }

  // One step towards `stop`; whether it arrived. An exception of the user's function is kept while
  // C code is on the stack.
  bool step(double stop, double& t) {
    struct Running {
      explicit Running(Arkode* now) : before(std::exchange(running, now)) {}
      ~Running() { running = before; }
      Arkode* before;
    };
    const double from = t;
    int flag = 0;
    {
      const Running scope(this);
      flag = evolve(arkode_, stop, state_.get(), &t, ARK_ONE_STEP);
    }
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    if (flag < 0) {
      t = from;
      throw SundialsError("ARKODE gave up with code " + std::to_string(flag) + messages_.last(),
                          flag);
    }
    return flag == ARK_TSTOP_RETURN;
  }

 private:
  struct FreeTable {
    void operator()(ARKodeButcherTable table) const { ARKodeButcherTable_Free(table); }
  };
  using Table = std::unique_ptr<std::remove_pointer_t<ARKodeButcherTable>, FreeTable>;

  static Table made(const ArkodeTable& table, const ArkodeMethod& method) {
    if (table.stages == 0) return nullptr;
    auto copy = table;
    return Table(
        checked(ARKodeButcherTable_Create(table.stages, method.order, method.embedded_order,
                                          copy.c.data(), copy.a.data(), copy.b.data(),
                                          method.embedded_order > 0 ? copy.b_hat.data() : nullptr),
                "ARKodeButcherTable_Create"));
  }

  int call(const ArkodeProblem::Rhs& rhs, double t, N_Vector y, N_Vector out) noexcept {
    try {
      ++evaluations_;
      const auto slope = entries(out);
      rhs(t, entries(y).data(), slope.data());
      // What is not finite becomes a smaller step.
      return std::all_of(slope.begin(), slope.end(), [](double x) { return std::isfinite(x); }) ? 0
                                                                                                : 1;
    } catch (...) {
      thrown_ = std::current_exception();
      return -1;
    }
  }
  static int explicit_rhs(double t, N_Vector y, N_Vector out, void*) {
    return running->call(running->problem_.explicit_rhs, t, y, out);
  }
  static int implicit_rhs(double t, N_Vector y, N_Vector out, void*) {
    return running->call(running->problem_.implicit_rhs, t, y, out);
  }

  // The matrix of a trial step is that of its first iteration: all implicit stages have one
  // diagonal coefficient, and an iteration that does not converge makes the step smaller. Where a
  // step cannot become smaller, it is evaluated in each iteration.
  static int solve(SUNLinearSolver s, SUNMatrix, N_Vector x, N_Vector b, double) {
    auto& self = *static_cast<Arkode*>(s->content);
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
      if (self.newton_ || attempts != self.prepared_attempt_ || gamma != self.prepared_gamma_) {
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

  static thread_local Arkode* running;

  const ArkodeProblem& problem_;
  Context context_;
  Messages messages_;
  Vector state_;
  LinearSolver solver_;
  void* arkode_ = nullptr;
  bool has_implicit_ = false;
  std::exception_ptr thrown_;
  bool newton_ = false;
  long prepared_attempt_ = -1;
  double prepared_gamma_ = 0;
  Step evaluations_ = 0;
  std::span<double> stages_;
};

thread_local Arkode* Arkode::running = nullptr;

[[noreturn]] void fail(Step k, double t, const std::string& reason) {
  throw IntegrationError(
      "ARKODE, step " + std::to_string(k) + " at t = " + std::to_string(t) + ": " + reason, k, t);
}

}  // namespace

ArkodeSteps choose_steps(const ArkodeProblem& problem, const ArkodeMethod& method,
                         const StepControl& control, double t0, double t1, const double* y0,
                         std::span<const double> stops, const ArkodeOptions& options) {
  if (!control.adaptive()) {
    throw InvalidArgument("ARKODE chooses steps by rtol and atol: give them to the method");
  }
  ArkodeSteps steps{.times = {t0}};
  if (t0 == t1) return steps;
  std::vector<double> ends(stops.begin(), stops.end());
  ends.push_back(t1);
  std::sort(ends.begin(), ends.end());
  if (t1 < t0) std::reverse(ends.begin(), ends.end());
  Arkode arkode(problem, method, control.rtol, control.atol, t0, y0, options.user_data);
  check(set_max_step(arkode.memory(), control.max_step), "ARKodeSetMaxStep");
  check(set_first_step(arkode.memory(), std::copysign(control.first_step, t1 - t0)),
        "ARKodeSetInitStep");
  if (options.configure) options.configure(arkode.memory(), arkode.state());
  double t = t0;
  for (const double end : ends) {
    // Two observations nearer than rounding share an index, as on every grid.
    if (std::abs(end - t) <= 1e-14 * std::max(std::abs(end), std::abs(t))) continue;
    check(set_stop_time(arkode.memory(), end), "ARKodeSetStopTime");
    for (bool arrived = false; !arrived;) {
      const auto k = static_cast<Step>(steps.times.size()) - 1;
      if (k >= control.max_steps) {
        fail(k, t, "the limit of " + std::to_string(control.max_steps) + " steps is reached");
      }
      try {
        arrived = arkode.step(end, t);
      } catch (const SundialsError& error) {
        fail(k, t, error.what());
      }
      if (arrived) t = end;
      steps.times.push_back(t);
    }
  }
  steps.attempts = arkode.attempts();
  steps.rhs_evaluations = arkode.evaluations();
  return steps;
}

struct ArkodeStepper::Impl {
  Impl(ArkodeProblem the_problem, const ArkodeMethod& method, double rtol, double atol,
       const ArkodeOptions& options)
      : problem(std::move(the_problem)),
        zero(problem.size),
        stages(static_cast<std::size_t>(method.implicit_table.stages)),
        arkode(problem, method, rtol, atol, 0, zero.data(), options.user_data) {
    if (options.configure) options.configure(arkode.memory(), arkode.state());
    arkode.fix_steps();
  }
  ArkodeProblem problem;
  std::vector<double> zero;
  std::size_t stages;
  Arkode arkode;
};

ArkodeStepper::ArkodeStepper(ArkodeProblem problem, const ArkodeMethod& method, double rtol,
                             double atol, const ArkodeOptions& options) {
  if (!(rtol > 0) || !(atol > 0)) {
    throw InvalidArgument("ARKODE's iterations end at rtol and atol: both must be positive");
  }
  impl_ = std::make_unique<Impl>(std::move(problem), method, rtol, atol, options);
}
ArkodeStepper::~ArkodeStepper() = default;

void ArkodeStepper::step(const Interval& s, const double* y, double* y_next, double* stages) {
  Arkode& arkode = impl_->arkode;
  const auto state = entries(arkode.state());
  std::copy_n(y, state.size(), state.begin());
  check(reset(arkode.memory(), s.t, arkode.state()), "ARKodeReset");
  check(set_fixed_step(arkode.memory(), s.h), "ARKodeSetFixedStep");
  const std::size_t size = state.size();
  const std::size_t all = impl_->stages * size;
  arkode.keep_stages({stages, all});
  double t = s.t;
  try {
    arkode.step(s.t_next, t);
  } catch (const SundialsError& error) {
    fail(s.k, s.t, error.what());
  }
  std::copy(state.begin(), state.end(), y_next);
  // Newer versions do not count a first stage that is y.
  if (arkode.left_of_stages() == size) {
    std::move_backward(stages, stages + all - size, stages + all);
    std::copy_n(y, size, stages);
  } else if (arkode.left_of_stages() != 0) {
    fail(s.k, s.t, "it has not shown all its stages");
  }
}

}  // namespace costate::sundials::detail
