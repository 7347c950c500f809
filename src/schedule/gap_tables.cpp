#include "gap_tables.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "least_sum.hpp"

namespace costate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

}  // namespace

double GapTables::effort(const std::vector<GapTier>& tiers, Step longest) {
  double rows = static_cast<double>((Set{1} << tiers.size()) - 1);
  for (const GapTier& tier : tiers) {
    rows *= static_cast<double>(std::min(tier.slots, longest)) + 1;
  }
  return rows * static_cast<double>(longest) * static_cast<double>(longest) / 2;
}

GapTables::GapTables(std::vector<GapTier> tiers, double step, Step longest)
    : tiers_(std::move(tiers)), step_(step), longest_(longest) {
  const double tie = step * 0x1p-30;
  for (GapTier& tier : tiers_) {
    tier.slots = std::min(tier.slots, longest);
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
  const std::size_t size = at(longest_) + 1;
  kept_.assign(all() * columns_, std::vector<double>(size, 0.0));
  left_ = kept_;
  code_.assign(all() * columns_, std::vector<std::uint8_t>(size, splits));
  unkept_.assign(columns_, std::vector<double>(size, 0.0));
  for (Step l = 1; l <= longest_; ++l) {
    if (l > 1) {
      for (Set m = 1; m <= all(); ++m) {
        for (Free f = 0; f < columns_; ++f) {
          kept_[row(m, f)][at(l)] =
              least_sum(&left_[row(m, f)][1], &unkept_[f][backwards(l - 1)], at(l - 1));
        }
      }
      relax(l);
      for (Free f = 0; f < columns_; ++f) {
        std::size_t ignored = 0;
        unkept_[f][backwards(l)] = unkept(l, f, ignored);
      }
    }
    for (Set m = 1; m <= all(); ++m) {
      for (Free f = 0; f < columns_; ++f) {
        left_[row(m, f)][at(l)] =
            static_cast<double>(l) * step_ + read_[m] + kept_[row(m, f)][at(l)];
      }
    }
  }
}

// Copies and drops, until nothing is gained. What is written down leads somewhere strictly better,
// so following it ends.
void GapTables::relax(Step l) {
  for (bool better = tiers_.size() > 1; better;) {
    better = false;
    for (Set m = 1; m <= all(); ++m) {
      for (std::size_t t = 0; t < tiers_.size(); ++t) {
        const Set bit = Set{1} << t;
        const Set other = m ^ bit;
        if (other == 0) continue;
        const bool copies = (m & bit) == 0;
        const double price = copies ? write_[bit] : 0;
        for (Free f = 0; f < columns_; ++f) {
          if (copies ? free(f, t) == 0 : free(f, t) == tiers_[t].slots) continue;
          const Free then = copies ? f - stride_[t] : f + stride_[t];
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

double GapTables::unkept(Step l, Free f, std::size_t& tier) const noexcept {
  double least = infinite;
  for (std::size_t t = 0; t < tiers_.size(); ++t) {
    if (free(f, t) == 0) continue;
    const double cost = write_[Set{1} << t] + kept(Set{1} << t, l, f - stride_[t]);
    if (cost < least) {
      least = cost;
      tier = t;
    }
  }
  return least;
}

bool GapTables::fits(Set set, Free f) const noexcept {
  for (std::size_t t = 0; t < tiers_.size(); ++t) {
    if ((set >> t & 1U) != 0 && free(f, t) == 0) return false;
  }
  return true;
}

std::size_t GapTables::source(Set set) const noexcept {
  std::size_t t = 0;
  while ((set >> t & 1U) == 0 || tiers_[t].read != read_[set]) ++t;
  return t;
}

GapTables::Next GapTables::next(Set m, Step l, Free f) const {
  const std::uint8_t code = code_[row(m, f)][at(l)];
  if (code != splits) {
    return {code % 2 == 0 ? Next::copy : Next::drop, 0, static_cast<std::size_t>(code / 2)};
  }
  Next next{Next::split, 1, 0};
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

}  // namespace costate
