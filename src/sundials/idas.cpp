#include "costate/sundials/idas.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/sundials/vector.hpp"
#include "sundials/messages.hpp"

namespace costate::sundials {

namespace {

class IdasSolver final : public WindowSolver {
 public:
  IdasSolver(const IdasProblem& problem, double t0, Step window_steps)
      : problem_(problem),
        messages_(problem.context),
        state_(clone(problem.y0)),
        slope_(clone(problem.y0)),
        adjoint_(clone(problem.y0)),
        adjoint_slope_(clone(problem.y0)),
        differential_(clone(problem.y0)),
        integral_(make_vector(1, problem.context)),
        parameter_gradient_(
            make_vector(std::max<std::size_t>(problem.parameters, 1), problem.context)),
        bytes_(packed_bytes(state_.get())) {
    N_VScale(1, problem.y0, state_.get());
    N_VScale(1, problem.yp0, slope_.get());
    N_VConst(0, adjoint_.get());
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
  IdasSolver(const IdasSolver&) = delete;
  IdasSolver& operator=(const IdasSolver&) = delete;

  [[nodiscard]] N_Vector state() const override { return state_.get(); }
  [[nodiscard]] N_Vector adjoint() const override { return adjoint_.get(); }
  [[nodiscard]] std::span<double> parameter_gradient() override {
    return entries(parameter_gradient_.get()).first(problem_.parameters);
  }
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
    if (flag < 0) fail(recorded_ ? "IDASolveF" : "IDASolve", flag, t_);
    if (check_points > 0) {
      throw SundialsError("IDAS began a second check point inside a window", check_points);
    }
    t_ = flag == IDA_TSTOP_RETURN ? stop : t;
    return t_;
  }

  void after_jump(double t, double t_next) override {
    must(IDAReInit(idas_, t, state_.get(), slope_.get()), "IDAReInit");
    if (const int flag = IDACalcIC(idas_, IDA_YA_YDP_INIT, t_next); flag < 0) {
      fail("IDACalcIC", flag, t);
    }
    must(IDAGetConsistentIC(idas_, state_.get(), slope_.get()), "IDAGetConsistentIC");
  }

  double integral() override {
    if (problem_.integrand == nullptr) return 0;
    double t = 0;
    must(IDAGetQuad(idas_, &t, integral_.get()), "IDAGetQuad");
    return entries(integral_.get())[0];
  }

  void reverse(double t_start) override {
    // The last step may end next to the stop time by a rounding error; data end where it does.
    double end = t_;
    must(IDAGetCurrentTime(idas_, &end), "IDAGetCurrentTime");
    if (std::abs(end - t_start) > std::abs(t_ - t_start)) end = t_;
    const bool quadrature = problem_.parameters > 0;
    // Both are functions of the adjoint's differential entries, whatever was there before.
    N_VProd(adjoint_.get(), differential_.get(), adjoint_.get());
    N_VConst(0, adjoint_slope_.get());
    if (!begun_) {
      begin_adjoint(end);
    } else {
      must(IDAReInitB(idas_, which_, end, adjoint_.get(), adjoint_slope_.get()), "IDAReInitB");
      if (quadrature) {
        must(IDAQuadReInitB(idas_, which_, parameter_gradient_.get()), "IDAQuadReInitB");
      }
    }
    if (const int flag = IDACalcICB(idas_, which_, t_start, state_.get(), slope_.get()); flag < 0) {
      fail("IDACalcICB", flag, end);
    }
    if (const int flag = IDASolveB(idas_, t_start, IDA_NORMAL); flag < 0) {
      fail("IDASolveB", flag, end);
    }
    double t = 0;
    must(IDAGetB(idas_, which_, &t, adjoint_.get(), adjoint_slope_.get()), "IDAGetB");
    if (quadrature) {
      must(IDAGetQuadB(idas_, which_, &t, parameter_gradient_.get()), "IDAGetQuadB");
    }
  }

 private:
  static Vector clone(N_Vector v) { return Vector(checked(N_VClone(v), "N_VClone")); }

  void listen(void* memory) {
#if SUNDIALS_VERSION_MAJOR < 7
    must(IDASetErrHandlerFn(memory, Messages::handle, &messages_), "IDASetErrHandlerFn");
#else
    static_cast<void>(memory);
#endif
  }

  void must(int flag, const char* function) const {
    if (flag >= 0) return;
    throw SundialsError(
        std::string(function) + " failed with code " + std::to_string(flag) + messages_.last(),
        flag);
  }
  [[noreturn]] void fail(const char* function, int flag, double t) const {
    throw IntegrationError(std::string(function) + " gave up near t = " + std::to_string(t) +
                               " with code " + std::to_string(flag) + messages_.last(),
                           unknown, t);
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
  Messages messages_;
  Vector state_;
  Vector slope_;
  Vector adjoint_;
  Vector adjoint_slope_;
  Vector differential_;
  Vector integral_;
  Vector parameter_gradient_;
  std::size_t bytes_;
  void* idas_ = nullptr;
  int which_ = 0;
  bool begun_ = false;
  bool recorded_ = false;
  double t_ = 0;
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
