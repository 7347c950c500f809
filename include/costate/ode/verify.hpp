#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/ode/run.hpp"
#include "costate/ode/tangent.hpp"
#include "costate/ode/value_and_gradient.hpp"
#include "costate/ode/verification.hpp"
#include "costate/schedule/revolve.hpp"

namespace costate {

struct VerifyOptions {
  std::uint64_t seed = 1;  ///< of the direction
  double dearest = 20;     ///< leave out slot counts that advance more often than so many times n
};

namespace verify_detail {

/// Numbers in [-1, 1], the same on every machine (splitmix64, S. Vigna).
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  double next() {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return static_cast<double>((z ^ (z >> 31U)) >> 11U) * 0x1p-52 - 1;
  }

 private:
  std::uint64_t state_;
};

/// Entries of the size of x's, and of x's root mean square where x is small.
template <class V>
V direction(const V& x, Numbers& numbers) {
  V d = x;
  const double size =
      x.size() == 0 ? 0 : static_cast<double>(x.norm()) / std::sqrt(static_cast<double>(x.size()));
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    const double scale = std::abs(static_cast<double>(x[i])) + 0.1 * (size > 0 ? size : 1);
    d[i] = static_cast<typename V::Scalar>(scale * numbers.next());
  }
  return d;
}

template <class V>
double dot(const V& a, const V& b) {
  double sum = 0;
  for (Eigen::Index i = 0; i < a.size(); ++i)
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

template <class V>
double absolute_dot(const V& a, const V& b) {
  double sum = 0;
  for (Eigen::Index i = 0; i < a.size(); ++i)
    sum += std::abs(static_cast<double>(a[i]) * static_cast<double>(b[i]));
  return sum;
}

/// Runs a check; what it throws is its failure.
template <class F>
void run_check(Verification& verification, const std::string& name, const F& check) {
  try {
    verification.add(check());
  } catch (const std::exception& error) {
    verification.add({name, false, error.what()});
  }
}

}  // namespace verify_detail

/// Proves on the user's own model what costate promises: runs it some fifty times, so best on a
/// short stretch of the real thing.
///
/// - *Taylor test*: the gradient is the derivative of the value, judged by the order with which the
///   remainder falls along a random direction.
/// - *dot-product test*, if the problem has a `jvp`: tangent and adjoint agree to rounding.
/// - *equal bits*: value and gradient do not change by a bit with 1, 2, 3, 5, √n, n/2 or all slots,
///   with the disk of the run's budget, nor between unknown length (adaptive) and recorded steps.
/// - *replay*: every step run again gives the state of its first run, to the bit.
///
/// Adaptive steps are chosen once; all but the comparison of bits is done on the recorded grid.
/// Never throws for what the model does wrong: that is a failed check.
template <Problem F, class Method, class O>
Verification verify(const F& problem, const Method& method, const O& objective, const RunOf<F>& run,
                    const VerifyOptions& options = {}) {
  using namespace verify_detail;
  using Scalar = typename F::State::Scalar;
  Verification out;
  GradientOf<F> base;
  try {
    base = value_and_gradient(problem, method, objective, run);
  } catch (const std::exception& error) {
    out.add({"gradient", false, error.what()});
    return out;
  }
  const Step n = base.grid.steps();
  out.add(
      {"gradient", true,
       "finite, " + std::to_string(n) + " steps, " + std::to_string(base.rejected) + " rejected"});
  const bool adaptive = method.control().adaptive();
  const Method fixed = [&] {
    if constexpr (requires { Method::on_grid(base.times()); }) {
      if (adaptive) return Method::on_grid(base.times());
    }
    return method;
  }();

  Numbers numbers(options.seed);
  DirectionOf<F> d;
  d.dy0 = direction(run.y0, numbers);
  d.dp = direction(run.p, numbers);
  const double along = dot(base.dy0, d.dy0) + dot(base.dp, d.dp);

  run_check(out, "Taylor test", [&] {
    const double unit = std::numeric_limits<Scalar>::epsilon();
    const auto moved = [&](double e) {
      RunOf<F> there = run;
      there.y0 += static_cast<Scalar>(e) * d.dy0;
      there.p += static_cast<typename F::Parameters::Scalar>(e) * d.dp;
      try {
        return value(problem, fixed, objective, there).value;
      } catch (const Error&) {
        return std::numeric_limits<double>::quiet_NaN();
      }
    };
    TaylorTest test{.value = base.value, .derivative = along, .noise = 0, .e = {}, .values = {}};
    test.noise = unit * std::abs(base.value);
    for (int i = 1; i <= 5; ++i) {
      const double e = 4 * i * unit;
      const double change = std::abs(moved(e) - base.value - e * along);
      if (std::isfinite(change)) test.noise = std::max(test.noise, change);
    }
    for (double e = 1. / 16; e > 4096 * unit; e /= 4) {
      test.e.push_back(e);
      test.values.push_back(moved(e));
    }
    return judge(test);
  });

  if constexpr (TangentProblem<F>) {
    run_check(out, "dot-product test", [&] {
      const double forward = tangent(problem, fixed, objective, run, d).derivative;
      // Each of the n steps may lose some units in the last place, in the worst case all alike.
      const double rounding = 1e3 * std::numeric_limits<Scalar>::epsilon() *
                              static_cast<double>(n + 1) *
                              (absolute_dot(base.dy0, d.dy0) + absolute_dot(base.dp, d.dp));
      return judge_dot_products(forward, along, rounding);
    });
  }

  const auto compare = [&](const std::string& name, const Method& by, RunOf<F> with) {
    run_check(out, name, [&] {
      with.progress = {};
      const GradientOf<F> r = value_and_gradient(problem, by, objective, with);
      const bool value_same = r.value == base.value;
      const bool gradient_same = r.dy0 == base.dy0 && r.dp == base.dp;
      const bool same = value_same && gradient_same;
      const std::string what =
          same ? "same bits" : (value_same ? "the gradient differs" : "the value differs");
      return Check{name, same,
                   what + ", " + std::to_string(r.report.advances) + " advances, " +
                       format_bytes(r.report.memory_peak)};
    });
  };
  const std::size_t row =
      OdeStepper<F, Method, O>(problem, fixed, objective, run.t0, run.t1, run.y0, run.p)
          .state_bytes();
  std::vector<Slot> slots{1,     2, 3, 5, static_cast<Slot>(std::sqrt(static_cast<double>(n))),
                          n / 2, n};
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  for (const Slot s : slots) {
    if (s < 1) continue;
    const double advances =
        static_cast<double>(revolve_counts(std::max<Step>(n, 1), {{"memory", s}}).advances);
    if (advances > options.dearest * static_cast<double>(n)) continue;
    RunOf<F> with = run;
    with.schedule.reset();
    with.budget = {.memory = memory_for(s, row)};
    const std::string name = "bits: " + std::to_string(s) + (s == 1 ? " slot" : " slots");
    compare(name, fixed, with);
    if (adaptive) compare(name + ", length unknown", method, with);
    if (run.budget.disk && s == 2) {
      // Placed by a schedule: the memory that the disk's buffers need could hold all states.
      with.budget.disk = run.budget.disk;
      const Slot there = std::min(run.budget.disk->slots(row), std::max<Slot>(n / 2, 1));
      with.budget.memory += run.budget.disk->memory_bytes(row, there);
      with.schedule = revolve(n, {{"memory", s}, {run.budget.disk->name(), there}});
      compare("bits: 2 slots and disk", fixed, with);
    }
  }
  if (n >= 3) {
    run_check(out, "replay", [&] {
      RunOf<F> with = run;
      with.progress = {};
      with.guard = ReplayGuard::every_step;
      const Slot s = std::max<Slot>(2, n / 4);
      with.schedule = revolve(n, s);
      with.budget = {.memory = memory_for(s, row) + 32 * static_cast<Bytes>(n + 1)};
      const GradientOf<F> r = value_and_gradient(problem, fixed, objective, with);
      return Check{"replay", r.report.guard_checks > 0,
                   std::to_string(r.report.guard_checks) + " replayed states compared"};
    });
  }
  return out;
}

}  // namespace costate
