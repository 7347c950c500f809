#include "costate/integrate/newton.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "costate/core/error.hpp"

namespace costate {

namespace {

constexpr int most_corrections = 60;
constexpr int most_stalls = 4;
// Slower than this per correction, a new matrix is cheaper than more corrections.
constexpr double slow = 0.02;
// On the way to a multiple root, or to that of a square from afar, x shrinks by a constant factor
// and corrections stay as large relative to it as they were: only growth is hopeless.
constexpr double hopeless = 1.5;
// Corrections do not shrink any more. If they are below the root of the rounding unit, they are
// rounding, amplified by the condition of the matrix and by entries that are tiny against others: a
// slow iteration, at a rate of 0.9, does not come so far in all its corrections.
constexpr double stalled = 0.9;

}  // namespace

NewtonMonitor::Verdict NewtonMonitor::judge(double correction) noexcept {
  if (!std::isfinite(correction)) return Verdict::failed;
  ++corrections_;
  const bool first = corrections_ == 1;
  const double rate = first ? 1 : correction / last_;
  const bool fresh = refreshed_;
  last_ = correction;
  refreshed_ = false;

  if (correction <= epsilon_) return Verdict::converged;
  if (first) return Verdict::go_on;
  if (rate < stalled && correction * rate <= epsilon_) return Verdict::converged;
  if (rate >= stalled && correction <= std::sqrt(epsilon_) && fresh) {
    return Verdict::converged;
  }
  if (corrections_ >= most_corrections) return Verdict::failed;
  if (rate >= hopeless && fresh && ++stalls_ > most_stalls) return Verdict::failed;
  if (rate < slow) return Verdict::go_on;
  refreshed_ = true;
  return Verdict::refresh;
}

void not_converged(const char* method, const Interval& s, double t, double correction) {
  std::array<char, 80> digits{};
  std::snprintf(digits.data(), digits.size(), " (t = %.17g, relative correction %.3g)", t,
                correction);
  throw IntegrationError(std::string(method) + ": a stage cannot be found in step " +
                             std::to_string(s.k) + digits.data(),
                         s.k, s.t);
}

}  // namespace costate
