// The complete programme of weighted.hpp.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "bounded_programme.hpp"
#include "chain.hpp"
#include "costate/schedule/binomial.hpp"
#include "programme.hpp"

namespace costate {
namespace {

// Without writes to pay for, a write is taken to cost this part of the whole, so that among equal
// splits the one with fewer writes wins: far below any difference that matters, far above rounding.
constexpr double tie = 0x1p-46;

constexpr Step most_exact = 4000;   // steps
constexpr double most_plain = 1e8;  // cells of T that are all computed, some nanoseconds each
constexpr double most_cells = 1e9;  // of T if less effort is wanted
constexpr double most_tries = 2e9;  // splits looked at if writes cost something
constexpr double few_tries = 5e7;   // and always affordable, some tenths of a second
constexpr Step all_splits = 200;    // steps up to which all are tried if writes cost something
constexpr Step wide = 16;           // room around Knuth's bounds beyond that
constexpr Step narrow = 4;

// In place of no cost of writes.
double tie_cost(const Chain& chain, Step i, Step j, Slot slots) {
  const double mean = chain.span(i, j) / static_cast<double>(j - i);
  return tie * mean * static_cast<double>(binomial_advances(j - i, slots));
}

// The cells of T that are computed: if writes cost something, also of intervals whose states all
// fit.
double cells(Step n, Slot slots, double write) {
  const auto c = std::min<Slot>(slots, n - 1);
  if (write > 0) {
    const auto cube = [](Step x) { return std::pow(static_cast<double>(x), 3); };
    return (cube(n) - cube(n - c)) / 6;
  }
  const auto rest = static_cast<double>(n - c);
  return 0.5 * rest * rest * static_cast<double>(c);
}

}  // namespace

void split_exactly(const Chain& chain, Step i, Step j, Slot slots, double write,
                   std::vector<Decision>& plan) {
  const Step n = j - i;
  if (n < 2) return;
  std::vector<Step> steps(static_cast<std::size_t>(n) + 1);
  std::iota(steps.begin(), steps.end(), i);
  const Slot c = std::min<Slot>(slots, n - 1);
  const auto free = [](Step, Slot) { return 0.0; };
  const auto nothing = [](Step, Slot, std::vector<Decision>&) {};
  if (write <= 0 && c > 1 && cells(n, c, write) > most_plain) {
    return split_within_bounds(chain, i, j, c, tie_cost(chain, i, j, slots), plan);
  }
  if (write <= 0) {
    Programme<MonotoneSplits>(chain, {steps, c, tie_cost(chain, i, j, slots), 0}, free)
        .append(0, n, plan, nothing);
    return;
  }
  const double tries = cells(n, slots, write) * (2 * wide + 2);
  const Step slack = n <= all_splits ? n : tries <= most_tries ? wide : narrow;
  Programme<AnySplits>(chain, {steps, c, write, slack}, free).append(0, n, plan, nothing);
}

bool splits_exactly(Step n, Slot slots, double write, double effort) {
  if (n > most_exact) return false;
  if (write <= 0 && effort >= 1) return true;
  if (n <= all_splits || write <= 0) return cells(n, slots, write) <= most_cells * effort;
  return cells(n, slots, write) * (2 * narrow + 2) <= std::max(most_tries * effort, few_tries);
}

bool split(const Chain& chain, Step i, Step j, Slot slots, double write, double effort,
           std::vector<Decision>& plan) {
  if (j - i < 2) return true;
  if (slots == 1) {
    split_by_mean(chain, i, j, 1, write, effort, plan);
    return true;
  }
  if (splits_exactly(j - i, slots, write, effort)) {
    split_exactly(chain, i, j, slots, write, plan);
    return write <= 0 || j - i <= all_splits;
  }
  std::vector<Decision> one;
  split_by_mean(chain, i, j, slots, write, effort, one);
  constexpr Slot most_block_slots = 1024;
  if (slots <= most_block_slots) {
    std::vector<Decision> other;
    split_by_blocks(chain, i, j, slots, write, effort, other);
    if (cost_of(chain, i, j, write, other, 0) < cost_of(chain, i, j, write, one, 0)) {
      one = std::move(other);
    }
  }
  plan.insert(plan.end(), one.begin(), one.end());
  return false;
}

}  // namespace costate
