#include "near_tables.hpp"

#include <algorithm>
#include <limits>

namespace costate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr Step short_gap = 128;
constexpr Slot few_slots = 16;

}  // namespace

NearTables::NearTables(const std::vector<TierLevel>& levels, double step)
    : step_(step),
      write_(levels[1].write),
      read_(levels[1].read),
      open_(levels[1].open()),
      longest_(short_gap),
      memory_(std::min(levels[0].slots, few_slots) + 1),
      disk_(open_ ? 1 : std::min(levels[1].slots, few_slots) + 1) {
  cost_.assign(static_cast<std::size_t>(2 * (longest_ + 1) * memory_ * disk_), 0.0);
  for (Step l = 2; l <= longest_; ++l) {
    for (Slot a = 0; a < memory_; ++a) {
      for (Slot b = 0; b < disk_; ++b) {
        Next ignored{};
        cost_[index(0, l, a, b)] = best(0, l, a, b, ignored);
        cost_[index(1, l, a, b)] = best(1, l, a, b, ignored);
      }
    }
  }
}

double NearTables::above(Step l, Slot a, Slot b, std::size_t& tier) const noexcept {
  tier = 0;
  if (l == 1) return 0;
  double cost = a > 0 ? cost_[index(0, l, a - 1, b)] : infinite;
  if (open_ || b > 0) {
    const double on_disk = write_ + cost_[index(1, l, a, open_ ? 0 : b - 1)];
    if (on_disk < cost) {
      cost = on_disk;
      tier = 1;
    }
  }
  return cost;
}

double NearTables::best(std::size_t k, Step l, Slot a, Slot b, Next& next) const noexcept {
  const double read = k == 1 ? read_ : 0;
  double least = infinite;
  for (Step j = 1; j < l; ++j) {
    std::size_t tier = 0;
    const double cost =
        static_cast<double>(j) * step_ + read + cost_[index(k, j, a, b)] + above(l - j, a, b, tier);
    if (cost < least) {
      least = cost;
      next = {j, tier};
    }
  }
  if (k == 1 && a > 0) {
    const double copied = cost_[index(0, l, a - 1, b)];
    if (copied < least) {
      least = copied;
      next = {0, 0};
    }
  }
  return least;
}

NearTables::Next NearTables::next(std::size_t k, Step l, Slot a, Slot b) const {
  Next next{};
  static_cast<void>(best(k, l, a, b, next));
  return next;
}

}  // namespace costate
