#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "costate/core/step.hpp"

/// @file
/// The times t_0 … t_n of a run. Everything else is keyed by the index k; times are data that is
/// computed or recorded once.

namespace costate {

/// Step k in time: from t to t_next by h. `t_next` is not always t + h to the last bit, so whatever
/// happens at the end of the step uses it instead of the sum.
struct Interval {
  double t;
  double h;
  double t_next;
  Step k = unknown;
};

/// A sequence of times from t0 to t1, in either direction. Equal steps cost no memory; a listed or
/// a recorded grid takes 8 bytes a step.
///
/// @par Why the intervals come from a compiled function
/// t0 + k h may be rounded once or twice, as the compiler likes. One compiled copy always gives the
/// same bits; `fill` serves a block of steps a call, which makes the call free.
class TimeGrid {
 public:
  /// No steps: t0 only. Grows by `push_back`.
  explicit TimeGrid(double t0 = 0);

  /// `steps` equal steps from t0 to t1, with the times `stops` inserted where they are not on the
  /// grid already (to 1e-9 of a step).
  /// @param steps  >= 1, or >= 0 if t0 == t1
  /// @param stops  any order, between t0 and t1, repetitions allowed
  static TimeGrid with_steps(double t0, double t1, Step steps, std::span<const double> stops = {});

  /// Steps of size h, the last one shortened to land on t1; if h divides the interval to 1e-9
  /// (relative), equal steps.
  /// @param h  > 0, whatever the direction
  static TimeGrid with_step_size(double t0, double t1, double h,
                                 std::span<const double> stops = {});

  /// Exactly these times.
  /// @param times  at least one, strictly monotone
  static TimeGrid listed(std::vector<double> times);

  [[nodiscard]] Step steps() const noexcept { return steps_; }
  /// Time of index k, 0 <= k <= steps().
  [[nodiscard]] double operator[](Step k) const;
  /// All steps() + 1 times.
  [[nodiscard]] std::vector<double> times() const;
  /// The steps from … to-1, into out[0 …].
  void fill(Step from, Step to, Interval* out) const;
  [[nodiscard]] Interval interval(Step k) const {
    Interval out{};
    fill(k, k + 1, &out);
    return out;
  }

  /// The index whose time is t to 1e-9 of a neighbouring step (or to rounding), `unknown` if none.
  [[nodiscard]] Step index_of(double t) const;

  /// Adds a time after the last one; turns any grid into a listed one.
  void push_back(double t);

 private:
  void insert(std::span<const double> stops);

  struct Extra {  // a point between the equally spaced ones
    Step index;
    double t;
  };
  double t0_ = 0;
  double t1_ = 0;
  double h_ = 0;       // signed
  Step equal_ = 0;     // points of the equally spaced grid, t1 not counted
  Step steps_ = 0;     // all steps
  bool whole_ = true;  // the last equally spaced step has size h_, too
  std::vector<Extra> extra_;
  std::vector<double> times_;  // if listed
};

}  // namespace costate
