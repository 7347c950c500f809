#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Core>

#include "costate/integrate/one_instance.hpp"
#include "costate/integrate/time_grid.hpp"

/// @file
/// Iterations of Newton's kind that are carried on until rounding stops them.
///
/// The derivative of an implicit step is that of its exact solution, so what the iteration leaves
/// over is an error of the value that the gradient does not know of. Every choice below depends on
/// the numbers of the step alone: a replay repeats it to the bit.

namespace costate {

/// Judges an iteration by the relative sizes of its corrections.
class NewtonMonitor {
 public:
  enum class Verdict {
    go_on,      ///< correct once more with the same matrix
    refresh,    ///< the matrix is too far off: evaluate it where the iteration is now
    converged,  ///< the next correction would be rounding
    failed
  };

  /// @param epsilon  the rounding unit of the numbers
  explicit NewtonMonitor(double epsilon) : epsilon_(epsilon) {}

  /// @param correction  size of the correction just made, relative to the solution
  Verdict judge(double correction) noexcept;

 private:
  double epsilon_;
  double last_ = 0;
  int corrections_ = 0;
  int stalls_ = 0;
  bool refreshed_ = false;  // the matrix of the last correction was evaluated right before it
};

/// How an iteration has ended.
struct NewtonResult {
  bool converged;
  double correction;  ///< relative size of the last correction
};

/// Says that a stage at time t of step s was not found.
/// @throws IntegrationError
[[noreturn]] void not_converged(const char* method, const Interval& s, double t, double correction);

/// The largest |d_i| / (|x_i| + ε^¼ |x|_max), ε the rounding unit: relative in each entry that is
/// not tiny against the others. 0 / 0 counts as 0.
template <class V>
COSTATE_ONE_INSTANCE double relative_size(const V& d, const V& x) {
  using Scalar = typename V::Scalar;
  const Scalar tiny = std::sqrt(std::sqrt(std::numeric_limits<Scalar>::epsilon()));
  const Scalar floor = std::max(tiny * x.cwiseAbs().maxCoeff(), std::numeric_limits<Scalar>::min());
  // A NaN propagates.
  return static_cast<double>(
      (d.array().abs() / (x.array().abs() + floor)).template maxCoeff<Eigen::PropagateNaN>());
}

/// Finds the x with residual(x) = 0 by x ← x + W⁻¹ residual(x).
/// @param x         the start; the solution
/// @param r         work space
/// @param residual  (x, r), writes r
/// @param correct   (r), r ← W⁻¹ r
/// @param refresh   (x) -> bool, evaluates W at x; false if it cannot be inverted
template <class V, class Residual, class Correct, class Refresh>
NewtonResult newton(V& x, V& r, const Residual& residual, const Correct& correct,
                    const Refresh& refresh) {
  using Verdict = NewtonMonitor::Verdict;
  NewtonMonitor monitor(static_cast<double>(std::numeric_limits<typename V::Scalar>::epsilon()));
  for (;;) {
    residual(x, r);
    correct(r);
    x += r;
    const double size = relative_size(r, x);
    const Verdict verdict = monitor.judge(size);
    if (verdict == Verdict::converged) return {true, size};
    if (verdict == Verdict::failed) return {false, size};
    if (verdict == Verdict::refresh && !refresh(x)) return {false, size};
  }
}

}  // namespace costate
