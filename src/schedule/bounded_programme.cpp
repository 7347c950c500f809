#include "bounded_programme.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "costate/schedule/binomial.hpp"

namespace costate {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

}  // namespace

BoundedProgramme::BoundedProgramme(const Chain& chain, Step first, Step end, Slot slots, double tie)
    : chain_(chain),
      first_(first),
      m_(end - first),
      slots_(slots),
      tie_(tie),
      outside_(cell(0, m_)),
      cells_(std::make_unique_for_overwrite<double[]>(cell(0, m_))),
      lowest_(static_cast<std::size_t>(m_)),
      below_(static_cast<std::size_t>(m_)),
      bounds_(static_cast<std::size_t>(m_)),
      end_(static_cast<std::size_t>(m_)),
      end_best_(static_cast<std::size_t>(m_)),
      end_from_(static_cast<std::size_t>(m_)),
      top_(static_cast<std::size_t>(m_) + 1) {
  bound_outside();
}

// L is the sum over r of the q_r lightest of the steps that are left, but for the last one, where
// q_r is their number plus one less beta(s, r). Each step that is left out makes q_r one less: it
// is either among the lightest, or the heaviest of them no longer belongs to them.
void BoundedProgramme::bound_outside() {
  const auto weight = [this](std::size_t k) {
    return sum(static_cast<Step>(k) + 1) - sum(static_cast<Step>(k));
  };
  const auto others = static_cast<std::size_t>(m_) - 1;
  std::vector<std::size_t> by_weight(others);
  std::iota(by_weight.begin(), by_weight.end(), std::size_t{0});
  std::stable_sort(by_weight.begin(), by_weight.end(),
                   [&](std::size_t a, std::size_t b) { return weight(a) < weight(b); });
  std::vector<std::size_t> rank(others);  // from 1
  std::vector<double> sums{0};            // of the lightest
  for (std::size_t i = 0; i < others; ++i) {
    rank[by_weight[i]] = i + 1;
    sums.push_back(sums.back() + weight(by_weight[i]));
  }
  std::vector<std::size_t> lightest;  // q_r, which is the rank of the heaviest of them
  for (Step r = 0; beta(slots_, r) < m_; ++r) {
    lightest.push_back(static_cast<std::size_t>(m_ - beta(slots_, r)));
    lower_bound_ += sums[lightest.back()];
  }
  std::vector<std::size_t> before(others + 1);  // the next lighter one that is left
  std::vector<std::size_t> after(others + 2);
  std::vector<std::size_t> heaviest;
  for (std::size_t i = 0; i < others; ++i) {
    std::iota(after.begin(), after.end(), std::size_t{1});
    for (std::size_t at = 1; at <= others; ++at) before[at] = at - 1;
    heaviest = lightest;
    double bound = lower_bound_;
    for (std::size_t j = i + 1; j <= others; ++j) {
      const std::size_t out = rank[j - 1];
      for (std::size_t& last : heaviest) {
        if (last == 0) continue;
        bound -= weight(by_weight[std::min(out, last) - 1]);
        if (out >= last) last = before[last];
      }
      after[before[out]] = after[out];
      if (after[out] <= others) before[after[out]] = before[out];
      outside_[cell(static_cast<Step>(i), static_cast<Step>(j))] = bound;
    }
  }
}

double BoundedProgramme::solve(double most) {
  most_ = most;
  splits_.clear();
  end_splits_.clear();
  base();
  for (Slot c = 2; c < slots_; ++c) layer(c);
  return top();
}

void BoundedProgramme::base() {
  const Step low = slots_ - 1;
  lowest(low) = low;
  for (Step j = low + 1; j < m_; ++j) {
    double* column = cells_.get() + cell(0, j);
    Step i = j - 1;
    for (; i >= std::max(low, lowest(j - 1)); --i) {
      column[i] = chain_.triangle(first_ + i, first_ + j);
      if (!of_use(i, j, column[i])) break;
    }
    lowest(j) = i + 1;
    looked_at_ += static_cast<double>(j - i);
  }
  for (Step i = low; i < m_; ++i) {
    end_[static_cast<std::size_t>(i)] = chain_.triangle(first_ + i, first_ + m_);
  }
}

// All T_c(i, j) that may be of use, from T_{c-1}.
void BoundedProgramme::layer(Slot c) {
  const Step low = slots_ - c;
  splits_.emplace_back(m_, c + 2);
  std::fill(end_best_.begin(), end_best_.end(), never);
  lowest(low) = low;
  for (Step j = low + 1; j < m_; ++j) {
    column(c, j, splits_.back());
    to_the_end(c, j);
  }
  splits_.back().end_layer();
  close_end(c);
}

void BoundedProgramme::column(Slot c, Step j, MonotoneSplits& splits) {
  const Step low = std::max(slots_ - c, lowest(j - 1));
  const Step available = lowest(j);  // of T_{c-1}(k, j)
  double* column = cells_.get() + cell(0, j);
  for (Step k = available; k <= j - c; ++k) {
    below_[static_cast<std::size_t>(k)] = sum(k) + column[k] + tie_;
  }
  splits.begin_column(j);
  // All states fit: T_{c-1} if one less is enough.
  Step i = std::max(available, j - c) - 1;
  const Step first = i;
  for (const Step end = std::max(low, j - (c + 1)); i >= end; --i) {
    column[i] = sum(j - 1) - sum(i) + tie_ * static_cast<double>(std::max<Step>(0, j - i - 2));
    bounds_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i + 1);
    if (!of_use(i, j, column[i])) break;
  }
  if (i == j - (c + 1) - 1) {
    Step upper = i + 2;
    for (; i >= low; --i) {
      // Rounding and ties may turn Knuth's bounds round.
      Step k = std::max(std::min<Step>(bounds_[static_cast<std::size_t>(i)], upper), available);
      if (k > upper) break;
      const double* reach = cells_.get() + cell(i, k);
      double best = *reach + below_[static_cast<std::size_t>(k)];
      Step k_best = k;
      while (k < upper) {
        reach += k;  // from column k to column k+1
        ++k;
        const double value = *reach + below_[static_cast<std::size_t>(k)];
        if (value < best) {
          best = value;
          k_best = k;
        }
      }
      column[i] = best - sum(i);
      if (!of_use(i, j, column[i])) break;
      splits.append(k_best);
      upper = k_best;
      bounds_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(k_best);
    }
  }
  lowest(j) = std::max(i + 1, low);
  looked_at_ += static_cast<double>(first - i + 1);
}

// Tries k for all T_c(i, m) whose states do not fit.
void BoundedProgramme::to_the_end(Slot c, Step k) {
  const double rest = sum(k) + end_[static_cast<std::size_t>(k)] + (m_ - k > 1 ? tie_ : 0.0);
  const auto from = static_cast<double>(k);
  const auto begin = static_cast<std::size_t>(lowest(k));
  const auto end = static_cast<std::size_t>(std::max(lowest(k), std::min(k, m_ - c - 1)));
  const double* column = cells_.get() + cell(0, k);
  double* best = end_best_.data();
  double* best_from = end_from_.data();
  for (std::size_t i = begin; i < end; ++i) {
    const double value = column[i] + rest;
    const bool better = value < best[i];
    best[i] = better ? value : best[i];
    best_from[i] = better ? from : best_from[i];
  }
}

void BoundedProgramme::close_end(Slot c) {
  const Step low = slots_ - c;
  for (Step i = low; i < m_; ++i) {
    end_[static_cast<std::size_t>(i)] =
        m_ - i <= c + 1
            ? sum(m_ - 1) - sum(i) + tie_ * static_cast<double>(std::max<Step>(0, m_ - i - 2))
            : end_best_[static_cast<std::size_t>(i)] - sum(i);
  }
  std::vector<std::uint16_t>& splits = end_splits_.emplace_back();
  for (Step i = low; i < m_ - c - 1; ++i) {
    splits.push_back(static_cast<std::uint16_t>(end_from_[static_cast<std::size_t>(i)]));
  }
}

// With all slots only intervals that start at the first step occur. All splits are tried.
double BoundedProgramme::top() {
  std::vector<double> whole(static_cast<std::size_t>(m_), never);  // T_slots(0, j)
  double cost = never;
  for (Step j = 1; j < m_; ++j) {
    const double* column = cells_.get() + cell(0, j);
    double best = j == 1 ? 0 : never;
    for (Step k = std::max<Step>(1, lowest(j)); k < j; ++k) {
      const double value = whole[static_cast<std::size_t>(k)] + sum(k) - sum(0) + column[k] +
                           (j - k > 1 ? tie_ : 0.0);
      if (value < best) {
        best = value;
        top_[static_cast<std::size_t>(j)] = static_cast<std::uint16_t>(k);
      }
    }
    if (!of_use(0, j, best)) break;
    whole[static_cast<std::size_t>(j)] = best;
    const double value =
        best + sum(j) - sum(0) + end_[static_cast<std::size_t>(j)] + (m_ - j > 1 ? tie_ : 0.0);
    if (value < cost) {
      cost = value;
      top_[static_cast<std::size_t>(m_)] = static_cast<std::uint16_t>(j);
    }
  }
  return cost;
}

void BoundedProgramme::append(std::vector<Decision>& plan) const {
  struct Interval {
    Step i;
    Step j;
    Slot c;
  };
  std::vector<Interval> open{{0, m_, slots_}};
  while (!open.empty()) {
    const auto [i, j, c] = open.back();
    open.pop_back();
    if (j - i == 1) continue;
    if (c == 1) {
      for (Step k = j - 1; k > i; --k) plan.push_back(Decision::cut(first_ + k));
      continue;
    }
    Step k = i + 1;
    if (c == slots_) {
      k = top_[static_cast<std::size_t>(j)];
    } else if (j - i > c + 1) {
      const auto at = static_cast<std::size_t>(c - 2);
      k = j == m_ ? end_splits_[at][static_cast<std::size_t>(i - (slots_ - c))] : splits_[at](i, j);
    }
    plan.push_back(Decision::cut(first_ + k));
    if (j - k > 1) plan.push_back(Decision::store(0));
    open.push_back({i, k, c});
    open.push_back({k, j, c - 1});
  }
}

void split_within_bounds(const Chain& chain, Step i, Step j, Slot slots, double tie,
                         std::vector<Decision>& plan) {
  BoundedProgramme programme(chain, i, j, slots, tie);
  constexpr double rounding = 0x1p-26;  // of sums, and all ties
  const double bound = programme.lower_bound();
  double share = 0x1p-11;
  double most = bound * (1 + share);
  for (;;) {
    const double cost = programme.solve(most * (1 + rounding));
    if (cost <= most * (1 + rounding)) break;
    share *= 4;
    most = std::isfinite(cost) ? cost : bound * (1 + share);
  }
  programme.append(plan);
}

}  // namespace costate
