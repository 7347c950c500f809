#include "costate/sundials/idas.hpp"

#include <string>

#include "costate/core/error.hpp"
#include "costate/sundials/vector.hpp"
#include "sundials/window_memory.hpp"

namespace costate::sundials {

namespace {

class IdasSolver final : public WindowMemory {
 public:
  IdasSolver(const IdasProblem& problem, double t0, Step window_steps)
      : WindowMemory(problem.context, problem.y0, problem.parameters),
        problem_(problem),
        slope_(clone(problem.y0)),
        adjoint_slope_(clone(problem.y0)),
        differential_(clone(problem.y0)),
        bytes_(packed_bytes(state_.get())) {
    N_VScale(1, problem.yp0, slope_.get());
    if (problem.differential != nullptr) {
      N_VScale(1, problem.differential, differential_.get());
    } else {
      N_VConst(1, differential_.get());
    }
    idas_ = checked(IDACreate(problem.context), "IDACreate");
    try {
      listen(idas_);
      must(IDAInit(idas_, problem.residual, t0, state_.get(), slope_.get()), "IDAInit");
      must(IDASStolerances(idas_, problem.rtol, problem.atol), "IDASStolerances");
      must(IDASetUserData(idas_, problem.user_data), "IDASetUserData");
      must(IDASetMaxNumSteps(idas_, -1), "IDASetMaxNumSteps");
      must(IDASetId(idas_, differential_.get()), "IDASetId");
      if (problem.integrand != nullptr) {
        must(IDAQuadInit(idas_, problem.integrand, integral_.get()), "IDAQuadInit");
      }
      if (problem.configure) problem.configure(idas_);
      // One step more than a window has: no check point but the first, ever.
      must(IDAAdjInit(idas_, window_steps + 1, problem.interpolation), "IDAAdjInit");
      must(IDACreateB(idas_, &which_), "IDACreateB");
    } catch (...) {
      IDAFree(&idas_);
      throw;
    }
  }
  ~IdasSolver() override { IDAFree(&idas_); }

  [[nodiscard]] std::size_t state_bytes() const override { return 2 * bytes_; }
  void save(std::span<std::byte> out) const override {
    pack(state_.get(), out.first(bytes_));
    pack(slope_.get(), out.subspan(bytes_));
  }
  void load(std::span<const std::byte> in) override {
    unpack(state_.get(), in.first(bytes_));
    unpack(slope_.get(), in.subspan(bytes_));
  }

  void restart(double t, bool recorded) override {
    recorded_ = recorded;
    t_ = t;
    must(IDAReInit(idas_, t, state_.get(), slope_.get()), "IDAReInit");
    if (problem_.integrand != nullptr) {
      N_VConst(0, integral_.get());
      must(IDAQuadReInit(idas_, integral_.get()), "IDAQuadReInit");
    }
    if (recorded) must(IDAAdjReInit(idas_), "IDAAdjReInit");
  }

  double step(double stop) override {
    must(IDASetStopTime(idas_, stop), "IDASetStopTime");
    double t = t_;
    int check_points = 0;
    const int flag =
        recorded_
            ? IDASolveF(idas_, stop, &t, state_.get(), slope_.get(), IDA_ONE_STEP, &check_points)
            : IDASolve(idas_, stop, &t, state_.get(), slope_.get(), IDA_ONE_STEP);
    go_on(flag, recorded_ ? "IDASolveF" : "IDASolve", t_);
    one_check_point(check_points, "IDAS");
    t_ = flag == IDA_TSTOP_RETURN ? stop : t;
    return t_;
  }

  void after_jump(double t, double t_next) override {
    must(IDAReInit(idas_, t, state_.get(), slope_.get()), "IDAReInit");
    go_on(IDACalcIC(idas_, IDA_YA_YDP_INIT, t_next), "IDACalcIC", t);
    must(IDAGetConsistentIC(idas_, state_.get(), slope_.get()), "IDAGetConsistentIC");
  }

  double integral() override {
    if (problem_.integrand == nullptr) return 0;
    double t = 0;
    must(IDAGetQuad(idas_, &t, integral_.get()), "IDAGetQuad");
    return entries(integral_.get())[0];
  }

  void reverse(double t_start) override {
    double end = t_;
    must(IDAGetCurrentTime(idas_, &end), "IDAGetCurrentTime");
    end = end_of_data(end, t_start);
    const bool quadrature = problem_.parameters > 0;
    refuse_algebraic_seeds(end);
    N_VConst(0, adjoint_slope_.get());
    if (!begun_) {
      begin_adjoint(end);
    } else {
      must(IDAReInitB(idas_, which_, end, adjoint_.get(), adjoint_slope_.get()), "IDAReInitB");
      if (quadrature) {
        must(IDAQuadReInitB(idas_, which_, parameter_gradient_.get()), "IDAQuadReInitB");
      }
    }
    go_on(IDACalcICB(idas_, which_, t_start, state_.get(), slope_.get()), "IDACalcICB", end);
    go_on(IDASolveB(idas_, t_start, IDA_NORMAL), "IDASolveB", end);
    double t = 0;
    must(IDAGetB(idas_, which_, &t, adjoint_.get(), adjoint_slope_.get()), "IDAGetB");
    // The algebraic ones follow from the others, at the end of each window anew.
    N_VProd(adjoint_.get(), differential_.get(), adjoint_.get());
    if (quadrature) {
      must(IDAGetQuadB(idas_, which_, &t, parameter_gradient_.get()), "IDAGetQuadB");
    }
  }

 private:
  void listen(void* memory) {
#if SUNDIALS_VERSION_MAJOR < 7
    must(IDASetErrHandlerFn(memory, Messages::handle, &messages_), "IDASetErrHandlerFn");
#else
    static_cast<void>(memory);
#endif
  }

  // An objective of algebraic entries at a moment has no adjoint of this form.
  void refuse_algebraic_seeds(double t) {
    N_VProd(adjoint_.get(), differential_.get(), adjoint_slope_.get());
    N_VLinearSum(1, adjoint_.get(), -1, adjoint_slope_.get(), adjoint_slope_.get());
    if (N_VMaxNorm(adjoint_slope_.get()) == 0) return;
    throw InvalidArgument("IDAS: a gradient or an adjoint of a jump at t = " + std::to_string(t) +
                          " has written to an algebraic entry; observations, jumps and the "
                          "terminal part act on differential entries");
  }

  void begin_adjoint(double end) {
    must(IDAInitB(idas_, which_, problem_.adjoint_residual, end, adjoint_.get(),
                  adjoint_slope_.get()),
         "IDAInitB");
    const double rtol = problem_.adjoint_rtol > 0 ? problem_.adjoint_rtol : problem_.rtol;
    const double atol = problem_.adjoint_atol > 0 ? problem_.adjoint_atol : problem_.atol;
    must(IDASStolerancesB(idas_, which_, rtol, atol), "IDASStolerancesB");
    must(IDASetUserDataB(idas_, which_,
                         problem_.adjoint_user_data != nullptr ? problem_.adjoint_user_data
                                                               : problem_.user_data),
         "IDASetUserDataB");
    must(IDASetMaxNumStepsB(idas_, which_, 1'000'000'000), "IDASetMaxNumStepsB");
    must(IDASetIdB(idas_, which_, differential_.get()), "IDASetIdB");
    if (problem_.parameters > 0) {
      must(IDAQuadInitB(idas_, which_, problem_.parameter_rhs, parameter_gradient_.get()),
           "IDAQuadInitB");
      must(IDAQuadSStolerancesB(idas_, which_, rtol, atol), "IDAQuadSStolerancesB");
      must(IDASetQuadErrConB(idas_, which_, SUNTRUE), "IDASetQuadErrConB");
    }
    listen(IDAGetAdjIDABmem(idas_, which_));
    if (problem_.configure_adjoint) problem_.configure_adjoint(idas_, which_);
    begun_ = true;
  }

  IdasProblem problem_;
  Vector slope_;
  Vector adjoint_slope_;
  Vector differential_;
  std::size_t bytes_;
  void* idas_ = nullptr;
};

}  // namespace

std::unique_ptr<WindowSolver> idas_solver(const IdasProblem& problem, double t0,
                                          Step window_steps) {
  if (problem.context == nullptr || problem.y0 == nullptr || problem.yp0 == nullptr ||
      problem.residual == nullptr || problem.adjoint_residual == nullptr) {
    throw InvalidArgument(
        "a problem for IDAS needs a context, y0, yp0, residual and adjoint_residual");
  }
  if ((problem.parameters > 0) != (problem.parameter_rhs != nullptr)) {
    throw InvalidArgument("parameters need parameter_rhs, and it needs their number");
  }
  if (window_steps < 1) throw InvalidArgument("a window needs at least one step");
  return std::make_unique<IdasSolver>(problem, t0, window_steps);
}

}  // namespace costate::sundials
