#pragma once

#include <limits>
#include <vector>

#include "costate/core/step.hpp"

/// @file
/// The arithmetic of binomial checkpointing: the least recomputation for a known number of steps of
/// equal cost.
///
/// With `s` slots, the one that holds `x_0` included, and no step advanced more than `r` times, the
/// longest chain that can be reversed has
///
///     beta(s, r) = (s + r)! / (s! r!)      steps,
///
/// and reversing `l` steps takes at least
///
///     t(l, s) = r l - beta(s + 1, r - 1)   advances, where beta(s, r - 1) < l <= beta(s, r).
///
/// All results are exact below `saturated` and never wrap; none takes longer than some hundred
/// operations, whatever the arguments.
///
/// Source: A. Griewank, A. Walther, "Algorithm 799: revolve", ACM Trans. Math. Softw. 26(1), 2000,
/// doi:10.1145/347837.347846 (t: eq. 2; optimal splits: fig. 4; the split of least writes: p. 34).

namespace costate {

/// What counts and binomials become that do not fit: the largest `Step`. It stands for itself or
/// anything larger, and is the flag that a result is only a lower bound.
inline constexpr Step saturated = std::numeric_limits<Step>::max();

/// `a + b` and `a b` of non-negative numbers, or `saturated`.
[[nodiscard]] constexpr Step saturating_add(Step a, Step b) noexcept {
  return a > saturated - b ? saturated : a + b;
}
[[nodiscard]] constexpr Step saturating_multiply(Step a, Step b) noexcept {
  return b != 0 && a > saturated / b ? saturated : a * b;
}

/// beta(s, r): the number of steps that `s` slots can reverse with at most `r` advances of each;
/// 0 if either is negative.
[[nodiscard]] Step beta(Slot s, Step r) noexcept;

/// The `r` with beta(s, r-1) < l <= beta(s, r): how often the step that is advanced most often has
/// to be advanced, at least.
/// @param l  steps, >= 1
/// @param s  slots, >= 1
/// @throws InvalidArgument outside these ranges
[[nodiscard]] Step repetitions(Step l, Slot s);

/// t(l, s): the least number of advances that reverses `l` steps with `s` slots.
/// @param l  steps, >= 0
/// @param s  slots, >= 1 (>= 0 if l <= 1: nothing need be kept)
/// @throws InvalidArgument outside these ranges
[[nodiscard]] Step binomial_advances(Step l, Slot s);

/// The least number of checkpoints written, `x_0` included, by a schedule of t(l, s) advances:
/// max(beta(s-1, r-1), l - beta(s, r-1)); 0 if l <= 1. The number read is always l - 1.
/// @throws InvalidArgument as `binomial_advances`
[[nodiscard]] Step binomial_writes(Step l, Slot s);

/// So many steps are advanced so often.
struct RunCount {
  Step runs = 0;
  Step steps = 0;
  friend bool operator==(const RunCount&, const RunCount&) = default;
};

/// Lists of runs are given up if more than so many numbers occur.
inline constexpr Step most_run_counts = 10'000;

/// How many steps are advanced how often, ascending, by any schedule of t(l, s) advances: beta(s-1,
/// k) steps k times for k < r, the others r times. At most beta(s, k) steps can be advanced at most
/// k times, so t(l, s) = sum over k of max(0, l - beta(s, k)) leaves no choice. Empty if l is 0 or
/// if r >= `most_run_counts`.
/// @throws InvalidArgument as `binomial_advances`
[[nodiscard]] std::vector<RunCount> binomial_runs(Step l, Slot s);

/// How far to advance before the next checkpoint when `l` steps are to be reversed and their start
/// is kept in one of `s` slots. Of the optimal distances it is the one that leads to the fewest
/// writes.
/// @param l  steps, >= 2
/// @param s  slots, >= 1
/// @throws InvalidArgument outside these ranges
[[nodiscard]] Step binomial_split(Step l, Slot s);

/// The shortest and the longest optimal distance to the next checkpoint; all between are optimal.
struct SplitRange {
  Step shortest;
  Step longest;
  friend bool operator==(const SplitRange&, const SplitRange&) = default;
};
/// @throws InvalidArgument as `binomial_split`
[[nodiscard]] SplitRange binomial_splits(Step l, Slot s);

/// How often the schedule of `binomial_split` writes and reads the checkpoints at one height of its
/// stack.
struct Traffic {
  Step writes = 0;
  Step reads = 0;
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

/// In several slots traffic is counted if no step is run more often.
inline constexpr Step most_traffic_runs = 10'000'000;

/// The traffic of each height of the stack of checkpoints, the height of `x_0` first; shape
/// (min(s, l-1)), empty if l <= 1. Counted without running through the schedule, in
/// O(r s) operations, r = `repetitions(l, s)`.
/// @throws InvalidArgument as `binomial_advances`, or if r > `most_traffic_runs`
[[nodiscard]] std::vector<Traffic> binomial_traffic(Step l, Slot s);

}  // namespace costate
