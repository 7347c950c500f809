#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "costate/core/error.hpp"
#include "costate/sundials/vector.hpp"
#include "costate/sundials/windows.hpp"
#include "sundials/messages.hpp"

namespace costate::sundials {

/// What the solvers behind a `WindowStepper` have in common: vectors, the time, how they fail.
class WindowMemory : public WindowSolver {
 public:
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;

  [[nodiscard]] N_Vector state() const override { return state_.get(); }
  [[nodiscard]] N_Vector adjoint() const override { return adjoint_.get(); }
  [[nodiscard]] std::span<double> parameter_gradient() override {
    return entries(parameter_gradient_.get()).first(parameters_);
  }

 protected:
  WindowMemory(SUNContext context, N_Vector y0, std::size_t parameters)
      : messages_(context),
        state_(clone(y0)),
        adjoint_(clone(y0)),
        integral_(make_vector(1, context)),
        // Of at least one entry, which vectors need.
        parameter_gradient_(make_vector(std::max<std::size_t>(parameters, 1), context)),
        parameters_(parameters) {
    N_VScale(1, y0, state_.get());
    N_VConst(0, adjoint_.get());
  }

  static Vector clone(N_Vector v) { return Vector(checked(N_VClone(v), "N_VClone")); }

  // Of a function that fails only if it is called wrongly.
  void must(int flag, const char* function) const {
    if (flag >= 0) return;
    throw SundialsError(
        std::string(function) + " failed with code " + std::to_string(flag) + messages_.last(),
        flag);
  }
  // Of the integration itself.
  void go_on(int flag, const char* function, double t) const {
    if (flag >= 0) return;
    throw IntegrationError(std::string(function) + " gave up near t = " + std::to_string(t) +
                               " with code " + std::to_string(flag) + messages_.last(),
                           unknown, t);
  }
  static void one_check_point(int check_points, const char* solver) {
    if (check_points == 0) return;
    throw SundialsError(std::string(solver) + " began a second check point inside a window",
                        check_points);
  }
  // Where recorded data end: the last step may end next to the stop time by a rounding error.
  [[nodiscard]] double end_of_data(double last_step_end, double t_start) const {
    return std::abs(last_step_end - t_start) > std::abs(t_ - t_start) ? t_ : last_step_end;
  }

  Messages messages_;
  Vector state_;
  Vector adjoint_;
  Vector integral_;
  Vector parameter_gradient_;
  std::size_t parameters_;
  int which_ = 0;          // the backward problem
  bool begun_ = false;     // it has been set up
  bool recorded_ = false;  // the window is being recorded
  double t_ = 0;           // of the live state, while a window runs
};

}  // namespace costate::sundials
