#include "costate/sundials/cvodes.hpp"

#include "costate/core/error.hpp"
#include "costate/sundials/vector.hpp"
#include "sundials/window_memory.hpp"

namespace costate::sundials {

namespace {

class CvodesSolver final : public WindowMemory {
 public:
  CvodesSolver(const CvodesProblem& problem, double t0, Step window_steps)
      : WindowMemory(problem.context, problem.y0, problem.parameters),
        problem_(problem),
        bytes_(packed_bytes(state_.get())) {
    cvodes_ = checked(CVodeCreate(problem.method, problem.context), "CVodeCreate");
    try {
      listen(cvodes_);
      must(CVodeInit(cvodes_, problem.rhs, t0, state_.get()), "CVodeInit");
      must(CVodeSStolerances(cvodes_, problem.rtol, problem.atol), "CVodeSStolerances");
      must(CVodeSetUserData(cvodes_, problem.user_data), "CVodeSetUserData");
      must(CVodeSetMaxNumSteps(cvodes_, -1), "CVodeSetMaxNumSteps");
      must(CVodeSetMaxHnilWarns(cvodes_, -1), "CVodeSetMaxHnilWarns");  // prints nothing
      if (problem.integrand != nullptr) {
        must(CVodeQuadInit(cvodes_, problem.integrand, integral_.get()), "CVodeQuadInit");
      }
      if (problem.configure) problem.configure(cvodes_);
      // One step more than a window has: no check point but the first, ever.
      must(CVodeAdjInit(cvodes_, window_steps + 1, problem.interpolation), "CVodeAdjInit");
      must(CVodeCreateB(cvodes_, problem.adjoint_method, &which_), "CVodeCreateB");
    } catch (...) {
      CVodeFree(&cvodes_);
      throw;
    }
  }
  ~CvodesSolver() override { CVodeFree(&cvodes_); }

  [[nodiscard]] std::size_t state_bytes() const override { return bytes_; }
  void save(std::span<std::byte> out) const override { pack(state_.get(), out); }
  void load(std::span<const std::byte> in) override { unpack(state_.get(), in); }

  void restart(double t, bool recorded) override {
    recorded_ = recorded;
    t_ = t;
    must(CVodeReInit(cvodes_, t, state_.get()), "CVodeReInit");
    if (problem_.integrand != nullptr) {
      N_VConst(0, integral_.get());
      must(CVodeQuadReInit(cvodes_, integral_.get()), "CVodeQuadReInit");
    }
    if (recorded) must(CVodeAdjReInit(cvodes_), "CVodeAdjReInit");
  }

  double step(double stop) override {
    must(CVodeSetStopTime(cvodes_, stop), "CVodeSetStopTime");
    double t = t_;
    int check_points = 0;
    const int flag = recorded_ ? CVodeF(cvodes_, stop, state_.get(), &t, CV_ONE_STEP, &check_points)
                               : CVode(cvodes_, stop, state_.get(), &t, CV_ONE_STEP);
    go_on(flag, recorded_ ? "CVodeF" : "CVode", t_);
    one_check_point(check_points, "CVODES");
    t_ = flag == CV_TSTOP_RETURN ? stop : t;
    return t_;
  }

  double integral() override {
    if (problem_.integrand == nullptr) return 0;
    double t = 0;
    must(CVodeGetQuad(cvodes_, &t, integral_.get()), "CVodeGetQuad");
    return entries(integral_.get())[0];
  }

  void reverse(double t_start) override {
    double end = t_;
    must(CVodeGetCurrentTime(cvodes_, &end), "CVodeGetCurrentTime");
    end = end_of_data(end, t_start);
    const bool quadrature = problem_.parameters > 0;
    if (!begun_) {
      begin_adjoint(end);
    } else {
      must(CVodeReInitB(cvodes_, which_, end, adjoint_.get()), "CVodeReInitB");
      if (quadrature) {
        must(CVodeQuadReInitB(cvodes_, which_, parameter_gradient_.get()), "CVodeQuadReInitB");
      }
    }
    go_on(CVodeB(cvodes_, t_start, CV_NORMAL), "CVodeB", end);
    double t = 0;
    must(CVodeGetB(cvodes_, which_, &t, adjoint_.get()), "CVodeGetB");
    if (quadrature) {
      must(CVodeGetQuadB(cvodes_, which_, &t, parameter_gradient_.get()), "CVodeGetQuadB");
    }
  }

 private:
  void listen(void* memory) {
#if SUNDIALS_VERSION_MAJOR < 7
    must(CVodeSetErrHandlerFn(memory, Messages::handle, &messages_), "CVodeSetErrHandlerFn");
#else
    static_cast<void>(memory);
#endif
  }

  void begin_adjoint(double end) {
    must(CVodeInitB(cvodes_, which_, problem_.adjoint_rhs, end, adjoint_.get()), "CVodeInitB");
    const double rtol = problem_.adjoint_rtol > 0 ? problem_.adjoint_rtol : problem_.rtol;
    const double atol = problem_.adjoint_atol > 0 ? problem_.adjoint_atol : problem_.atol;
    must(CVodeSStolerancesB(cvodes_, which_, rtol, atol), "CVodeSStolerancesB");
    must(CVodeSetUserDataB(cvodes_, which_,
                           problem_.adjoint_user_data != nullptr ? problem_.adjoint_user_data
                                                                 : problem_.user_data),
         "CVodeSetUserDataB");
    must(CVodeSetMaxNumStepsB(cvodes_, which_, 1'000'000'000), "CVodeSetMaxNumStepsB");
    if (problem_.parameters > 0) {
      must(CVodeQuadInitB(cvodes_, which_, problem_.parameter_rhs, parameter_gradient_.get()),
           "CVodeQuadInitB");
      must(CVodeQuadSStolerancesB(cvodes_, which_, rtol, atol), "CVodeQuadSStolerancesB");
      must(CVodeSetQuadErrConB(cvodes_, which_, SUNTRUE), "CVodeSetQuadErrConB");
    }
    listen(CVodeGetAdjCVodeBmem(cvodes_, which_));
    if (problem_.configure_adjoint) problem_.configure_adjoint(cvodes_, which_);
    begun_ = true;
  }

  CvodesProblem problem_;
  std::size_t bytes_;
  void* cvodes_ = nullptr;
};

}  // namespace

std::unique_ptr<WindowSolver> cvodes_solver(const CvodesProblem& problem, double t0,
                                            Step window_steps) {
  if (problem.context == nullptr || problem.y0 == nullptr || problem.rhs == nullptr ||
      problem.adjoint_rhs == nullptr) {
    throw InvalidArgument("a problem for CVODES needs a context, y0, rhs and adjoint_rhs");
  }
  if ((problem.parameters > 0) != (problem.parameter_rhs != nullptr)) {
    throw InvalidArgument("parameters need parameter_rhs, and it needs their number");
  }
  if (window_steps < 1) throw InvalidArgument("a window needs at least one step");
  return std::make_unique<CvodesSolver>(problem, t0, window_steps);
}

}  // namespace costate::sundials
