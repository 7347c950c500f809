#include "gap_tables.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "least_sum.hpp"

namespace costate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double tie_steps = 0x1p-30;

// What it takes to copy and to drop, for each set of tiers and each number of free slots, in
// additions. With two tiers it is next to nothing.
double moves_effort(std::size_t tiers) {
  const auto kinds = static_cast<double>(tiers);
  return tiers > 2 ? 4 * (kinds - 1) * (kinds - 2) : 0;
}

}  // namespace

GapTables::GapTables(std::vector<GapTier> tiers, double tie, Step longest)
    : tiers_(std::move(tiers)) {
  for (GapTier& tier : tiers_) {
    besides_.push_back(std::max<Slot>(0, tier.slots - longest));
    tier.slots -= besides_.back();
    stride_.push_back(columns_);
    columns_ *= static_cast<std::size_t>(tier.slots) + 1;
  }
  for (Set m = 0; m <= all(); ++m) {
    std::size_t weight = 0;
    double write = 0;
    double read = infinite;
    for (std::size_t t = 0; t < tiers_.size(); ++t) {
      if ((m >> t & 1U) == 0) continue;
      weight += stride_[t];
      write += tiers_[t].write + tie;
      read = std::min(read, tiers_[t].read);
    }
    weight_.push_back(weight);
    write_.push_back(write);
    read_.push_back(read);
  }
}

bool GapTables::fits(Set set, Free f) const noexcept {
  for (std::size_t t = 0; t < tiers_.size(); ++t) {
    if ((set >> t & 1U) != 0 && free(f, t) == 0) return false;
  }
  return true;
}

GapTables::Free GapTables::number(const std::vector<Slot>& free) const noexcept {
  Free f = 0;
  for (std::size_t t = 0; t < tiers(); ++t) {
    f += static_cast<Free>(free[t] - besides_[t]) * stride_[t];
  }
  return f;
}

std::size_t GapTables::source(Set set) const noexcept {
  std::size_t t = 0;
  while ((set >> t & 1U) == 0 || tiers_[t].read != read_[set]) ++t;
  return t;
}

double EqualGapTables::effort(const std::vector<GapTier>& tiers, Step longest) {
  double rows = static_cast<double>((Set{1} << tiers.size()) - 1);
  for (const GapTier& tier : tiers) {
    rows *= static_cast<double>(std::min(tier.slots, longest)) + 1;
  }
  const auto length = static_cast<double>(longest);
  return rows * length * (length / 2 + moves_effort(tiers.size()));
}

EqualGapTables::EqualGapTables(std::vector<GapTier> tiers, double step, Step longest)
    : GapTables(std::move(tiers), step * tie_steps, longest), step_(step), longest_(longest) {
  const std::size_t size = at(longest_) + 1;
  kept_.assign(rows(), std::vector<double>(size, 0.0));
  left_ = kept_;
  code_.assign(rows(), std::vector<std::uint8_t>(size, splits));
  unkept_.assign(columns(), std::vector<double>(size, 0.0));
  for (Step l = 1; l <= longest_; ++l) {
    if (l > 1) {
      for (Set m = 1; m <= all(); ++m) {
        for (Free f = 0; f < columns(); ++f) {
          kept_[row(m, f)][at(l)] =
              least_sum(&left_[row(m, f)][1], &unkept_[f][backwards(l - 1)], at(l - 1));
        }
      }
      relax(l);
      for (Free f = 0; f < columns(); ++f) {
        std::size_t ignored = 0;
        unkept_[f][backwards(l)] = unkept(l, f, ignored);
      }
    }
    for (Set m = 1; m <= all(); ++m) {
      for (Free f = 0; f < columns(); ++f) {
        left_[row(m, f)][at(l)] =
            static_cast<double>(l) * step_ + read(m) + kept_[row(m, f)][at(l)];
      }
    }
  }
  by_length_.resize(size * rows());
  for (std::size_t l = 0; l < size; ++l) {
    for (std::size_t i = 0; i < rows(); ++i) by_length_[l * rows() + i] = kept_[i][l];
  }
}

// Copies and drops, until nothing is gained. What is written down leads somewhere strictly better,
// so following it ends.
void EqualGapTables::relax(Step l) {
  for (bool better = tiers() > 1; better;) {
    better = false;
    for (Set m = 1; m <= all(); ++m) {
      for (std::size_t t = 0; t < tiers(); ++t) {
        const Set bit = Set{1} << t;
        const Set other = m ^ bit;
        if (other == 0) continue;
        const bool copies = (m & bit) == 0;
        const double price = copies ? write(bit) : 0;
        for (Free f = 0; f < columns(); ++f) {
          if (copies ? free(f, t) == 0 : free(f, t) == slots(t)) continue;
          const Free then = copies ? f - stride(t) : f + stride(t);
          const double cost = price + kept_[row(other, then)][at(l)];
          if (!(cost < kept_[row(m, f)][at(l)])) continue;
          kept_[row(m, f)][at(l)] = cost;
          code_[row(m, f)][at(l)] = static_cast<std::uint8_t>(2 * t + (copies ? 0 : 1));
          better = true;
        }
      }
    }
  }
}

double EqualGapTables::unkept(Step l, Free f, std::size_t& tier) const noexcept {
  double least = infinite;
  for (std::size_t t = 0; t < tiers(); ++t) {
    if (free(f, t) == 0) continue;
    const double cost = write(Set{1} << t) + kept_[row(Set{1} << t, f - stride(t))][at(l)];
    if (cost < least) {
      least = cost;
      tier = t;
    }
  }
  return least;
}

GapTables::Next EqualGapTables::next_of(Set m, Step l, Free f) const {
  const std::uint8_t code = code_[row(m, f)][at(l)];
  if (code != splits) return move(code);
  Next next{Next::advance, 1, 0};
  double least = infinite;
  for (Step j = 1; j < l; ++j) {
    const double cost = left_[row(m, f)][at(j)] + unkept_[f][backwards(l - j)];
    if (cost < least) {
      least = cost;
      next.ahead = j;
    }
  }
  if (l - next.ahead > 1) static_cast<void>(unkept(l - next.ahead, f, next.tier));
  return next;
}

namespace {

double mean_of(const std::vector<double>& weights) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  return sum / static_cast<double>(std::max<std::size_t>(1, weights.size()));
}

}  // namespace

// All (m, f) that leave the same slots free once the start is given up, in which copies and drops
// stay. What lies above a start has fewer, so that groups are solved one after the other.
struct WeightedGapTables::Group {
  struct Member {
    Set m;
    Free f;
    std::size_t row;
    std::vector<double> left;  // W(0, k) + r_m + G(m, b, k, f), by b, then k
  };
  Free without;
  std::vector<Member> members;
  std::vector<double> now;  // G(m, b, e, f), by member
};

double WeightedGapTables::effort(const std::vector<GapTier>& tiers, Step n) {
  const auto sets = static_cast<double>((Set{1} << tiers.size()) - 1);
  const auto length = static_cast<double>(n);
  double columns = 1;
  for (const GapTier& tier : tiers) columns *= static_cast<double>(std::min(tier.slots, n)) + 1;
  constexpr double most_bytes = 0x1p29;
  const double cells = length * (length + 1) / 2;
  if (cells * columns * (9 * sets + 8) > most_bytes) return infinite;
  // Along Knuth's bounds they go one by one, a few for each cell; all splits go several at a time.
  if (tiers.size() == 1 && tiers[0].write == 0) return cells * columns * 24;
  return cells * columns * sets * (length / 6 + moves_effort(tiers.size()));
}

WeightedGapTables::WeightedGapTables(std::vector<GapTier> tiers, const std::vector<double>& weights)
    : GapTables(std::move(tiers), tie_steps * mean_of(weights), static_cast<Step>(weights.size())),
      chain_(weights),
      monotone_(this->tiers() == 1 && write(1) == tie_steps * mean_of(weights)) {
  const Step n = chain_.steps();
  const std::size_t cells = cell(0, n + 1);
  kept_.assign(cells * rows(), infinite);
  code_.assign(cells * rows(), splits);
  unkept_.assign(columns(), std::vector<double>(cells, infinite));
  for (std::vector<double>& each : unkept_) {
    for (Step e = 1; e <= n; ++e) each[cell(e - 1, e)] = 0;
  }
  for (Free without = 1; without < columns(); ++without) {
    Group group{without, {}, {}};
    for (Set m = 1; m <= all(); ++m) {
      if (!fits(m, without)) continue;
      const Free f = less(without, m);
      group.members.push_back({m, f, row(m, f), std::vector<double>(cells)});
    }
    group.now.resize(group.members.size());
    solve(group);
  }
}

void WeightedGapTables::solve(Group& group) {
  const Step n = chain_.steps();
  // (b, k) of `left`, k > b.
  const auto start = [n](Step b) { return b * n - b * (b + 1) / 2 - 1; };
  std::vector<Step> best(monotone_ ? static_cast<std::size_t>(n)
                                   : 0);  // k of (b, e-1), then (b, e)
  for (Step e = 1; e <= n; ++e) {
    for (Step b = e - 1; b >= 0; --b) {
      for (std::size_t i = 0; i < group.members.size(); ++i) {
        double& now = group.now[i];
        if (e - b == 1) {
          now = 0;
          if (monotone_) best[static_cast<std::size_t>(b)] = e;
          continue;
        }
        const Group::Member& member = group.members[i];
        const double* const left = member.left.data() + start(b);
        const double* const above = unkept_[member.f].data() + cell(0, e);
        if (monotone_) {
          const Step upper = b + 2 == e ? b + 1 : best[static_cast<std::size_t>(b) + 1];
          Step& k = best[static_cast<std::size_t>(b)];
          Step found = std::min(k, upper);
          for (k = found; k < upper; ++k) {
            if (left[k + 1] + above[k + 1] < left[found] + above[found]) found = k + 1;
          }
          k = found;
          now = left[k] + above[k] - chain_.at(b);
        } else {
          now = least_sum(left + b + 1, above + b + 1, static_cast<std::size_t>(e - b - 1)) -
                chain_.at(b);
        }
      }
      const std::size_t here = cell(b, e);
      if (e - b > 1) relax(group, here);
      double unkept = infinite;
      for (std::size_t i = 0; i < group.members.size(); ++i) {
        Group::Member& member = group.members[i];
        const double now = group.now[i];
        kept_[here * rows() + member.row] = now;
        member.left[static_cast<std::size_t>(start(b) + e)] = chain_.at(e) + read(member.m) + now;
        if ((member.m & (member.m - 1)) == 0) unkept = std::min(unkept, write(member.m) + now);
      }
      if (e - b > 1) unkept_[group.without][here] = unkept;
    }
  }
}

// As `EqualGapTables::relax`.
void WeightedGapTables::relax(Group& group, std::size_t here) {
  for (bool better = group.members.size() > 1; better;) {
    better = false;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      for (std::size_t j = 0; j < group.members.size(); ++j) {
        const Set m = group.members[i].m;
        const Set other = group.members[j].m;
        const Set bit = m ^ other;
        if (bit == 0 || (bit & (bit - 1)) != 0) continue;
        const bool copies = (m & bit) == 0;
        const double cost = (copies ? write(bit) : 0) + group.now[j];
        if (!(cost < group.now[i])) continue;
        group.now[i] = cost;
        std::size_t t = 0;
        while ((bit >> t & 1U) == 0) ++t;
        code_[here * rows() + group.members[i].row] =
            static_cast<std::uint8_t>(2 * t + (copies ? 0 : 1));
        better = true;
      }
    }
  }
}

GapTables::Next WeightedGapTables::next(Set m, Step b, Step e,
                                        const std::vector<Slot>& free) const {
  const Free f = number(free);
  const std::uint8_t code = code_[cell(b, e) * rows() + row(m, f)];
  if (code != splits) return move(code);
  Next next{Next::advance, 1, 0};
  double least = infinite;
  for (Step k = b + 1; k < e; ++k) {
    const double cost = chain_.span(b, k) + unkept_[f][cell(k, e)] + kept(b, k)[row(m, f)];
    if (cost < least) {
      least = cost;
      next.ahead = k - b;
    }
  }
  const Step k = b + next.ahead;
  least = infinite;
  for (std::size_t t = 0; t < tiers() && e - k > 1; ++t) {
    const Set bit = Set{1} << t;
    if (!fits(bit, f)) continue;
    const double cost = write(bit) + kept(k, e)[row(bit, less(f, bit))];
    if (cost < least) {
      least = cost;
      next.tier = t;
    }
  }
  return next;
}

std::unique_ptr<const GapTables> gap_tables(const std::vector<GapTier>& tiers, const Costs& costs,
                                            Step n, double most) {
  if (costs.weights.empty()) {
    if (EqualGapTables::effort(tiers, n) > most) return nullptr;
    return std::make_unique<EqualGapTables>(tiers, costs.step, n);
  }
  if (WeightedGapTables::effort(tiers, n) > most) return nullptr;
  return std::make_unique<WeightedGapTables>(
      tiers, std::vector<double>(costs.weights.begin(), costs.weights.begin() + n));
}

}  // namespace costate
