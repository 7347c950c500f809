#pragma once

#include <utility>

#include "tier_bounds.hpp"
#include "tier_rule.hpp"

namespace costate {

/// A rule for very long runs: what `TierBounds` says of grains of steps. Levels above the first
/// keep states only where a whole number of grains, or the rest of one, lies behind; level 0 is
/// binomial.
class CoarseRule final : public TierRule {
 public:
  /// @param bounds  for runs of (number of steps / grain, rounded up), made from tables of this
  /// grain
  CoarseRule(TierBounds bounds, Step grain)
      : TierRule(bounds.levels(), true), bounds_(std::move(bounds)), grain_(grain) {}

  [[nodiscard]] bool keeps(std::size_t k, Step l, Slot s) const override {
    const Step grains = grains_of(l);
    return grains > 1 && bounds_.keeps(k, grains, s);
  }
  [[nodiscard]] Step split(std::size_t k, Step l, Slot s) const override {
    const Step grains = grains_of(l);
    const Step first = grains > 1 ? bounds_.split(k, grains, s) : 0;
    return first == 0 ? 0 : l - (grains - first) * grain_;
  }

 private:
  [[nodiscard]] Step grains_of(Step l) const noexcept { return (l - 1) / grain_ + 1; }

  TierBounds bounds_;
  Step grain_;
};

}  // namespace costate
