#include "gap_costs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "costate/schedule/binomial.hpp"

namespace costate {
namespace {

constexpr double affordable = 1e8;        // additions for complete tables
constexpr Step most_planned = 2'000'000;  // steps of a plan
constexpr Slot many = 1'000'000'000'000;

}  // namespace

GapCosts::GapCosts(std::vector<TierLevel> levels)
    : levels_(std::move(levels)), table_(levels_[0].slots + 1) {
  const double columns = levels_[1].open() ? 1 : static_cast<double>(levels_[1].slots);
  longest_ = static_cast<Step>(std::sqrt(2 * affordable / columns));
  grow(64);
  near_ = std::make_shared<NearTables>(levels_, 1.0);
}

void GapCosts::grow(Step longest) {
  if (longest <= longest_) {
    tables_ = std::make_shared<TierTables>(levels_, 1.0, longest);
    return;
  }
  covered_ = saturating_multiply(longest, 16);
  bounds_ = std::make_shared<TierBounds>(
      TierTables(levels_, 1.0, std::clamp<Step>(longest_, 64, 4096)), covered_);
}

double GapCosts::on_disk(Step l, Slot s) {
  if (l > std::max(tables_->longest(), covered_))
    grow(l <= longest_ ? std::min(longest_, 2 * l) : l);
  return l <= tables_->longest() ? tables_->kept(1, l, s) : bounds_->kept_bound(1, l, s);
}

double GapCosts::kept(std::size_t k, Step l, Slot a, Slot b) {
  if (l <= 1) return 0;
  if (k == 1 && a == memory()) {
    return on_disk(l, levels_[1].open() ? 0 : std::min(b + 1, disk()));
  }
  if (near_->knows(l, a)) return (*near_)(k, l, a, b);
  const Slot slots = k == 0 ? a + 1 : a;  // on disk: copied to memory, if it can be
  return slots > 0 ? static_cast<double>(table_.advances(l, slots)) : never;
}

double GapCosts::unkept(Step l, Slot a, Slot b) {
  if (l <= 1) return 0;
  const double in_memory = a > 0 ? kept(0, l, a - 1, b) : never;
  return b > 0 ? std::min(in_memory, write() + kept(1, l, a, b - 1)) : in_memory;
}

std::vector<Pin> GapCosts::best_set(Step n) {
  if (n > most_planned) return {};
  const auto best = rule(n);
  std::vector<Pin> pins;
  Step at = 0;
  Slot s = best->all_slots(1);
  while (n - at > 1 && best->any_free(1, s) && best->keeps(1, n - at, s)) {
    const Step split = best->split(1, n - at, s);
    if (split == 0) break;
    pins.push_back({at, 1});
    at += split;
    s = best->one_less(1, s);
  }
  for (Slot a = memory(); n - at > 1 && a > 0; --a) {
    pins.push_back({at, 0});
    at += a == 1 ? n - at - 1 : binomial_splits(n - at, a).longest;
  }
  return pins;
}

double GapCosts::offline(Step n) {
  return unkept(n, memory(), levels_[1].open() ? many : disk());
}

std::shared_ptr<const TierRule> GapCosts::rule(Step longest) {
  if (longest > std::max(tables_->longest(), covered_)) grow(longest);
  if (longest <= tables_->longest()) return tables_;
  return bounds_;
}

}  // namespace costate
