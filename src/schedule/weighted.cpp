#include "costate/schedule/weighted.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "binomial_table.hpp"
#include "chain.hpp"
#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "least_cost.hpp"

namespace costate {

Chain::Chain(const std::vector<double>& weights) : sums_{0}, double_sums_{0} {
  sums_.reserve(weights.size() + 1);
  for (const double weight : weights) sums_.push_back(sums_.back() + weight);
  double_sums_.reserve(sums_.size() + 1);
  for (const double sum : sums_) double_sums_.push_back(double_sums_.back() + sum);
}

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
// Without writes to pay for, a write is taken to cost this part of the whole, so that among equal
// splits the one with fewer writes wins: far below any difference that matters, far above rounding.
constexpr double tie = 0x1p-46;

constexpr Step most_exact = 4000;  // steps
constexpr double most_work = 3e9;  // cells of T times candidates
constexpr Step all_splits = 200;   // steps up to which all are tried if writes cost something
constexpr Step small = 64;         // intervals that the methods for long chains solve exactly
constexpr Step most_blocks = 512;
constexpr Slot most_block_slots = 128;

// The splits of one number of slots, monotone in j: row i is K(i, i+2), …, K(i, n) in unary, the
// increments as ones, each closed by a zero. Two bits a split instead of sixteen.
class MonotoneSplits {
 public:
  explicit MonotoneSplits(Step n) : starts_(static_cast<std::size_t>(n)) {}

  // Rows come in any order, each as a whole.
  void begin_row(Step i) {
    starts_[static_cast<std::size_t>(i)] = size_;
    last_ = i + 1;
  }
  void append(Step k) {
    for (; last_ < k; ++last_) push(true);
    push(false);
  }
  [[nodiscard]] Step operator()(Step i, Step j) const {
    // The ones before the (j-i-1)-th zero of the row, counted from 1.
    std::size_t bit = starts_[static_cast<std::size_t>(i)];
    Step zeros = j - i - 1;
    Step ones = 0;
    for (;;) {
      const std::size_t offset = bit % 64;
      const std::uint64_t word = bits_[bit / 64] >> offset;
      const auto length = static_cast<Step>(64 - offset);
      const Step here = length - std::popcount(word);  // zeros, the shifted-in ones of `length`
      if (here >= zeros) {
        for (std::uint64_t rest = word;; rest >>= 1) {
          if ((rest & 1) != 0) {
            ++ones;
          } else if (--zeros == 0) {
            return i + 1 + ones;
          }
        }
      }
      zeros -= here;
      ones += length - here;
      bit += static_cast<std::size_t>(length);
    }
  }

 private:
  void push(bool one) {
    if (size_ % 64 == 0) bits_.push_back(0);
    if (one) bits_.back() |= std::uint64_t{1} << (size_ % 64);
    ++size_;
  }

  std::vector<std::uint64_t> bits_;
  std::vector<std::size_t> starts_;
  std::size_t size_ = 0;
  Step last_ = 0;
};

// The splits if they need not be monotone.
class AnySplits {
 public:
  explicit AnySplits(Step n) : rows_(static_cast<std::size_t>(n)) {}
  void begin_row(Step i) { row_ = i; }
  void append(Step k) {
    rows_[static_cast<std::size_t>(row_)].push_back(static_cast<std::uint16_t>(k - row_));
  }
  [[nodiscard]] Step operator()(Step i, Step j) const {
    return i + rows_[static_cast<std::size_t>(i)][static_cast<std::size_t>(j - i - 2)];
  }

 private:
  std::vector<std::vector<std::uint16_t>> rows_;
  Step row_ = 0;
};

// T_c(i, j) for all i < j, by columns, so that T_{c-1}(k, j) is contiguous in k.
class Triangle {
 public:
  explicit Triangle(Step n)
      : cells_(static_cast<std::size_t>(n) * (static_cast<std::size_t>(n) + 1) / 2) {}
  // Column j, j >= 1: element i is (i, j).
  [[nodiscard]] double* column(Step j) noexcept {
    const auto u = static_cast<std::size_t>(j);
    return cells_.data() + u * (u - 1) / 2;
  }

 private:
  std::vector<double> cells_;
};

// The programme on steps [first, first + n) of the chain.
template <typename Splits>
class Exact {
 public:
  Exact(const Chain& chain, Step first, Step n, Slot slots, double write, Step slack)
      : chain_(chain),
        first_(first),
        n_(n),
        slots_(std::min<Slot>(slots, n - 1)),
        write_(write),
        slack_(slack) {
    Triangle below(n);
    Triangle here(n);
    for (Step j = 1; j <= n; ++j) {
      double* column = below.column(j);
      for (Step i = 0; i < j; ++i) {
        column[i] = chain.triangle(first + i, first + j) + (j - i > 1 ? write : 0);
      }
    }
    for (Slot c = 2; c < slots_; ++c) {
      splits_.emplace_back(n);
      layer(below, here);
      std::swap(below, here);
    }
    if (slots_ >= 2) top(below);
  }

  void append(std::vector<Decision>& plan) const {
    struct Interval {
      Step i;
      Step j;
      Slot c;
    };
    std::vector<Interval> open{{0, n_, slots_}};
    while (!open.empty()) {
      const Interval at = open.back();
      open.pop_back();
      if (at.j - at.i == 1) continue;
      const Step k = split(at.i, at.j, at.c);
      plan.push_back(Decision::cut(first_ + k));
      if (at.j - k > 1) plan.push_back(Decision::store(0));
      open.push_back({at.i, k, at.c});
      open.push_back({k, at.j, at.c - 1});
    }
  }

 private:
  [[nodiscard]] Step split(Step i, Step j, Slot c) const {
    if (c <= 1) return j - 1;
    if (j - i == 2) return i + 1;
    if (c == slots_) return top_[static_cast<std::size_t>(j)];
    return splits_[static_cast<std::size_t>(c - 2)](i, j);
  }

  // All T_c(i, j) from T_{c-1}; columns hold what storing x_i costs besides.
  void layer(Triangle& below, Triangle& here) {
    const auto n = static_cast<std::size_t>(n_);
    Splits& splits = splits_.back();
    // Rows are gathered eight at a time before they go into the columns, a cache line each.
    constexpr Step block = 8;
    std::vector<double> rows(static_cast<std::size_t>(block) * (n + 1));
    std::vector<Step> upper(n + 1);    // K(i+1, j)
    std::vector<double> reach(n + 1);  // W(0, k) + T_c(i, k)
    for (Step low = ((n_ - 1) / block) * block; low >= 0; low -= block) {
      const Step high = std::min(n_, low + block);
      for (Step i = high - 1; i >= low; --i) {
        splits.begin_row(i);
        double* row = rows.data() + static_cast<std::size_t>(i - low) * (n + 1);
        const double start = chain_.at(first_ + i);
        row[i + 1] = 0;
        reach[static_cast<std::size_t>(i) + 1] = chain_.at(first_ + i + 1);
        Step lower = i + 1;
        for (Step j = i + 2; j <= n_; ++j) {
          const double* column = below.column(j);
          // Rounding and ties may turn Knuth's bounds round.
          Step from = lower;
          Step to = j == i + 2 ? i + 1 : std::max(lower, upper[static_cast<std::size_t>(j)]);
          if (slack_ > 0) {
            from = std::max(i + 1, from - slack_);
            to = std::min(j - 1, to + slack_);
          }
          double best = never;
          Step k_best = from;
          for (Step k = from; k <= to; ++k) {
            const double value = reach[static_cast<std::size_t>(k)] + column[k];
            if (value < best) {
              best = value;
              k_best = k;
            }
          }
          if (slack_ > 0) {
            const double value = reach[static_cast<std::size_t>(j - 1)] + column[j - 1];
            if (value < best) {
              best = value;
              k_best = j - 1;
            }
          }
          splits.append(k_best);
          lower = k_best;
          upper[static_cast<std::size_t>(j)] = k_best;
          const double cost = best - start;
          row[j] = cost + write_;
          reach[static_cast<std::size_t>(j)] = chain_.at(first_ + j) + cost;
        }
      }
      for (Step j = low + 1; j <= n_; ++j) {
        double* column = here.column(j);
        for (Step i = low; i < std::min(high, j); ++i) {
          column[i] =
              rows[static_cast<std::size_t>(i - low) * (n + 1) + static_cast<std::size_t>(j)];
        }
      }
    }
  }

  // With all slots only intervals that start at the first step occur. Their splits are monotone in
  // j, too; there is no upper bound, so all k are tried.
  void top(Triangle& below) {
    std::vector<double> reach(static_cast<std::size_t>(n_) + 1);
    top_.resize(reach.size());
    reach[1] = chain_.at(first_ + 1);
    Step lower = 1;
    for (Step j = 2; j <= n_; ++j) {
      const double* column = below.column(j);
      double best = never;
      for (Step k = slack_ > 0 ? 1 : lower; k < j; ++k) {
        const double value = reach[static_cast<std::size_t>(k)] + column[k];
        if (value < best) {
          best = value;
          lower = k;
        }
      }
      top_[static_cast<std::size_t>(j)] = lower;
      reach[static_cast<std::size_t>(j)] = chain_.at(first_ + j) + best - chain_.at(first_);
    }
  }

  const Chain& chain_;
  Step first_;
  Step n_;
  Slot slots_;
  double write_;
  Step slack_;
  std::vector<Splits> splits_;  // [c - 2]
  std::vector<Step> top_;       // K_slots(0, j)
};

// In place of no cost of writes.
double tie_cost(const Chain& chain, Step i, Step j, Slot slots) {
  const double mean = chain.span(i, j) / static_cast<double>(j - i);
  return tie * mean * static_cast<double>(binomial_advances(j - i, slots));
}

}  // namespace

void split_exactly(const Chain& chain, Step i, Step j, Slot slots, double write,
                   std::vector<Decision>& plan) {
  const Step n = j - i;
  if (n < 2) return;
  if (write <= 0) {
    Exact<MonotoneSplits>(chain, i, n, slots, tie_cost(chain, i, j, slots), 0).append(plan);
    return;
  }
  const double cells = 0.5 * static_cast<double>(n * n) * static_cast<double>(slots);
  const Step slack = n <= all_splits ? n : cells * 34 <= most_work ? 16 : 4;
  Exact<AnySplits>(chain, i, n, slots, write, slack).append(plan);
}

void split_by_mean(const Chain& chain, Step first, Step end, Slot slots, double write,
                   std::vector<Decision>& plan) {
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
      const Step stride = std::max<Step>(1, (j - i) / 2048);
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

namespace {

// The programme on a chain of blocks.
class Blocks {
 public:
  Blocks(const Chain& chain, Step first, Step end, Slot slots, double write)
      : chain_(chain), slots_(slots), write_(write), table_(std::min<Slot>(slots, end - first)) {
    // Equal increments of half the share of the steps and half the share of their cost.
    const Step n = end - first;
    const Step count = std::min<Step>(most_blocks, n / 8);
    const double whole = chain.span(first, end);
    const auto share = [&](Step k) {
      const double steps = static_cast<double>(k - first) / static_cast<double>(n);
      return whole > 0 ? 0.5 * (steps + chain.span(first, k) / whole) : steps;
    };
    borders_.push_back(first);
    for (Step k = first + 1; k < end; ++k) {
      const auto passed = static_cast<double>(borders_.size());
      if (share(k) * static_cast<double>(count) >= passed) borders_.push_back(k);
    }
    borders_.push_back(end);
    solve();
  }

  void append(std::vector<Decision>& plan) const {
    struct Interval {
      Step i;
      Step j;
      Slot c;
    };
    std::vector<Interval> open{{0, blocks(), slots_}};
    while (!open.empty()) {
      const auto [i, j, c] = open.back();
      open.pop_back();
      if (j - i == 1 || c == 1) {
        split_by_mean(chain_, border(i), border(j), c, write_, plan);
        continue;
      }
      const Step k = splits_[cell(c, i, j)];
      plan.push_back(Decision::cut(border(k)));
      if (border(j) - border(k) > 1) plan.push_back(Decision::store(0));
      open.push_back({i, k, c});
      open.push_back({k, j, c - 1});
    }
  }

 private:
  [[nodiscard]] Step blocks() const { return static_cast<Step>(borders_.size()) - 1; }
  [[nodiscard]] Step border(Step i) const { return borders_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] std::size_t cell(Slot c, Step i, Step j) const {
    const auto m = borders_.size();
    return (static_cast<std::size_t>(c) * m + static_cast<std::size_t>(i)) * m +
           static_cast<std::size_t>(j);
  }
  [[nodiscard]] double stored(Step i, Step j) const {
    return border(j) - border(i) > 1 ? write_ : 0;
  }
  double inside(Step i, Slot c) {
    const Step length = border(i + 1) - border(i);
    const double mean = chain_.span(border(i), border(i + 1)) / static_cast<double>(length);
    return mean * static_cast<double>(table_.advances(length, std::min(c, length)));
  }

  void solve() {
    const Step m = blocks();
    const auto width = static_cast<std::size_t>(m) + 1;
    std::vector<double> below(width * width);  // [i][j] of one slot less
    std::vector<double> here(below.size());
    const auto at = [width](Step i, Step j) {
      return static_cast<std::size_t>(i) * width + static_cast<std::size_t>(j);
    };
    splits_.resize(cell(slots_ + 1, 0, 0));
    for (Step i = 0; i < m; ++i) {
      for (Step j = i + 1; j <= m; ++j) below[at(i, j)] = chain_.triangle(border(i), border(j));
    }
    for (Slot c = 2; c <= slots_; ++c) {
      for (Step i = m; i-- > 0;) {
        here[at(i, i + 1)] = inside(i, c);
        for (Step j = i + 2; j <= m; ++j) {
          // Inside the blocks steps do cost something, so Knuth's bounds need some room.
          const Step lower = j == i + 2 ? i + 1 : splits_[cell(c, i, j - 1)];
          const Step upper = j == i + 2 ? i + 1 : splits_[cell(c, i + 1, j)];
          const Step from = std::max(i + 1, std::min(lower, upper) - 4);
          const Step to = std::min(j - 1, std::max(lower, upper) + 4);
          double best = never;
          Step best_k = from;
          for (Step k = from; k <= to; ++k) {
            const double value =
                chain_.at(border(k)) + here[at(i, k)] + below[at(k, j)] + stored(k, j);
            if (value < best) {
              best = value;
              best_k = k;
            }
          }
          here[at(i, j)] = best - chain_.at(border(i));
          splits_[cell(c, i, j)] = static_cast<std::uint16_t>(best_k);
        }
      }
      std::swap(below, here);
    }
  }

  const Chain& chain_;
  Slot slots_;
  double write_;
  BinomialTable table_;
  std::vector<Step> borders_;
  std::vector<std::uint16_t> splits_;
};

}  // namespace

void split_by_blocks(const Chain& chain, Step i, Step j, Slot slots, double write,
                     std::vector<Decision>& plan) {
  Blocks(chain, i, j, slots, write).append(plan);
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

bool splits_exactly(Step n, Slot slots, double write) {
  const double cells =
      0.5 * static_cast<double>(n * n) * static_cast<double>(std::clamp<Slot>(slots - 1, 1, n));
  return n <= most_exact && cells * (write > 0 && n > all_splits ? 10 : 1) <= most_work;
}

void split(const Chain& chain, Step i, Step j, Slot slots, double write,
           std::vector<Decision>& plan) {
  if (j - i < 2) return;
  if (slots == 1 || splits_exactly(j - i, slots, write)) {
    if (slots == 1) {
      split_by_mean(chain, i, j, 1, write, plan);
    } else {
      split_exactly(chain, i, j, slots, write, plan);
    }
    return;
  }
  std::vector<Decision> one;
  split_by_mean(chain, i, j, slots, write, one);
  if (slots <= most_block_slots) {
    std::vector<Decision> other;
    split_by_blocks(chain, i, j, slots, write, other);
    if (cost_of(chain, i, j, write, other, 0) < cost_of(chain, i, j, write, one, 0)) {
      one = std::move(other);
    }
  }
  plan.insert(plan.end(), one.begin(), one.end());
}

Plan weighted(const Costs& costs, Step n) {
  const auto start = std::chrono::steady_clock::now();
  check(costs, n);
  const std::vector<TierSlots> tiers = rooms(costs);
  if (tiers.size() != 1) {
    throw InvalidArgument("weighted() is for one tier, not " + std::to_string(tiers.size()));
  }
  if (tiers.front().slots < 1 && n > 1) throw InvalidArgument("there is no slot for state 0");
  const std::vector<double> weights =
      costs.weights.empty() ? std::vector<double>(static_cast<std::size_t>(n), costs.step)
                            : costs.weights;
  const Chain chain(weights);
  const Slot slots = std::min<Slot>(tiers.front().slots, std::max<Step>(1, n - 1));
  const double write = costs.tiers.front().write;
  std::vector<Decision> decisions;
  if (n > 1) decisions.push_back(Decision::store(0));
  split(chain, 0, n, slots, write, decisions);

  Plan plan{Schedule("weighted", n, {{tiers.front().name, slots}},
                     carry_out(n, std::move(decisions), {{tiers.front().name, slots}})),
            {}};
  plan.counts = interpret(plan.schedule);
  plan.cost = interpret_cost(plan.schedule, costs);
  plan.fixed_cost = static_cast<double>(n) * (costs.record + costs.reverse);
  const bool exact =
      slots == 1 || (splits_exactly(n, slots, write) && (write <= 0 || n <= all_splits));
  plan.lower_bound = exact ? plan.cost : std::min(plan.cost, least_cost(costs, n));
  plan.planning_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return plan;
}

}  // namespace costate
