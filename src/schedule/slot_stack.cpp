#include "slot_stack.hpp"

#include <algorithm>
#include <string>

#include "costate/core/error.hpp"

namespace costate {

SlotStack::SlotStack(const std::vector<TierSlots>& tiers, Slot most) : tiers_(tiers) {
  if (tiers.empty()) throw InvalidArgument("a schedule needs at least one tier");
  for (TierSlots& tier : tiers_) {
    if (tier.slots < 0) {
      throw InvalidArgument("tier " + tier.name + " has " + std::to_string(tier.slots) + " slots");
    }
    tier.slots = std::min(tier.slots, most - height_);
    height_ += tier.slots;
  }
  Slot begin = 0;
  Slot first_slot = height_;
  for (std::size_t i = tiers_.size(); i-- > 0;) {
    first_slot -= tiers_[i].slots;
    if (tiers_[i].slots > 0) pieces_.push_back({begin, begin + tiers_[i].slots, first_slot});
    begin += tiers_[i].slots;
  }
  if (pieces_.empty()) pieces_.push_back({0, 0, 0});
}

}  // namespace costate
