// The methods of weighted.hpp for long chains.

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "binomial_table.hpp"
#include "chain.hpp"
#include "costate/schedule/binomial.hpp"
#include "programme.hpp"

namespace costate {

Chain::Chain(const std::vector<double>& weights) : sums_{0}, double_sums_{0} {
  sums_.reserve(weights.size() + 1);
  for (const double weight : weights) sums_.push_back(sums_.back() + weight);
  double_sums_.reserve(sums_.size() + 1);
  for (const double sum : sums_) double_sums_.push_back(double_sums_.back() + sum);
}

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double block_cells = 8e7;  // of the programme on blocks
constexpr Step block_slack = 3;

}  // namespace

void split_by_mean(const Chain& chain, Step first, Step end, Slot slots, double write,
                   double effort, std::vector<Decision>& plan) {
  const Step small = effort < 1 ? 16 : 64;  // intervals that are solved exactly
  struct Interval {
    Step i;
    Step j;
    Slot c;
  };
  BinomialTable table(std::min<Slot>(slots, end - first));
  const auto estimate = [&](Step i, Step j, Slot c) {
    const Price price = table.price(j - i, c);
    if (price.advances == saturated) return never;
    const double mean = chain.span(i, j) / static_cast<double>(j - i);
    return static_cast<double>(price.advances) * mean + static_cast<double>(price.writes) * write;
  };
  std::vector<Interval> open{{first, end, std::min<Slot>(slots, end - first)}};
  while (!open.empty()) {
    const auto [i, j, c] = open.back();
    open.pop_back();
    if (j - i <= 1) continue;
    if (j - i <= small && c > 1) {
      split_exactly(chain, i, j, c, write, plan);
      continue;
    }
    Step best_k = j - 1;
    double best = chain.span(i, best_k) + estimate(i, best_k, c);
    const auto try_all = [&, i = i, j = j, c = c](Step from, Step to, Step stride) {
      for (Step k = from; k < to; k += stride) {
        const double value = chain.span(i, k) + estimate(i, k, c) + write + estimate(k, j, c - 1);
        if (value < best) {
          best = value;
          best_k = k;
        }
      }
    };
    if (c > 1) {
      // Long intervals are searched coarsely first.
      const Step stride = std::max<Step>(1, (j - i) / (effort < 1 ? 256 : 2048));
      try_all(i + 1, j - 1, stride);
      if (stride > 1) {
        try_all(std::max(i + 1, best_k - stride), std::min(j - 1, best_k + stride), 1);
      }
    }
    plan.push_back(Decision::cut(best_k));
    if (j - best_k > 1) plan.push_back(Decision::store(0));
    open.push_back({i, best_k, c});
    open.push_back({best_k, j, c - 1});
  }
}

std::vector<Step> even_borders(const Chain& chain, Step first, Step end, Step count) {
  const auto n = static_cast<double>(end - first);
  const double whole = chain.span(first, end);
  std::vector<Step> borders{first};
  for (Step k = first + 1; k < end; ++k) {
    const double steps = static_cast<double>(k - first) / n;
    const double share = whole > 0 ? 0.5 * (steps + chain.span(first, k) / whole) : steps;
    if (share * static_cast<double>(count) >= static_cast<double>(borders.size())) {
      borders.push_back(k);
    }
  }
  borders.push_back(end);
  return borders;
}

void split_by_blocks(const Chain& chain, Step i, Step j, Slot slots, double write, double effort,
                     std::vector<Decision>& plan) {
  const auto most =
      static_cast<Step>(std::sqrt(2 * block_cells * effort / static_cast<double>(slots)));
  const std::vector<Step> borders =
      even_borders(chain, i, j, std::clamp<Step>(most, 1, (j - i) / 2));
  BinomialTable table(std::min<Slot>(slots, j - i));
  const auto begin = [&](Step block) { return borders[static_cast<std::size_t>(block)]; };
  const auto end = [&](Step block) { return borders[static_cast<std::size_t>(block) + 1]; };
  const auto inside = [&](Step block, Slot c) {
    const Step length = end(block) - begin(block);
    const double mean = chain.span(begin(block), end(block)) / static_cast<double>(length);
    const Price price = table.price(length, std::min<Slot>(c, length));
    return mean * static_cast<double>(price.advances) + write * static_cast<double>(price.writes);
  };
  const auto leaf = [&](Step block, Slot c, std::vector<Decision>& out) {
    split_by_mean(chain, begin(block), end(block), c, write, effort, out);
  };
  // Steps inside a block do cost something, so Knuth's bounds need some room.
  Programme<AnySplits>(chain, {borders, slots, write, block_slack}, inside)
      .append(0, static_cast<Step>(borders.size()) - 1, plan, leaf);
}

double cost_of(const Chain& chain, Step i, Step j, double write, const std::vector<Decision>& plan,
               std::size_t begin) {
  double cost = 0;
  std::vector<std::pair<Step, Step>> open{{i, j}};
  for (std::size_t next = begin; !open.empty();) {
    const auto [from, to] = open.back();
    open.pop_back();
    if (to - from == 1) continue;
    const Step k = plan[next++].split;
    cost += chain.span(from, k);
    open.emplace_back(from, k);
    if (to - k > 1) {
      cost += write;
      ++next;
      open.emplace_back(k, to);
    }
  }
  return cost;
}

}  // namespace costate
