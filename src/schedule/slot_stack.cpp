#include "slot_stack.hpp"

#include <string>

#include "costate/core/error.hpp"
#include "costate/schedule/costs.hpp"

namespace costate {

SlotStack::SlotStack(const std::vector<Slot>& slots) {
  for (const Slot slot : slots) push(slot, 1);
}

SlotStack::SlotStack(const std::vector<TierSlots>& tiers, Slot most) {
  const std::vector<TierSlots> needed = needed_tiers(tiers, most);
  Slot first_slot = 0;
  for (const TierSlots& tier : needed) first_slot += tier.slots;
  for (auto tier = needed.rbegin(); tier != needed.rend(); ++tier) {
    first_slot -= tier->slots;
    push(first_slot, tier->slots);
  }
}

SlotStack SlotStack::shifted(Slot by) const {
  SlotStack moved(*this);
  for (Piece& piece : moved.pieces_) piece.first_slot += by;
  return moved;
}

void SlotStack::push(Slot first_slot, Slot count) {
  if (count == 0) return;
  Piece& last = pieces_.back();
  if (last.end == 0) {
    last = {0, count, first_slot};
  } else if (last.first_slot + (last.end - last.begin) == first_slot) {
    last.end += count;
  } else {
    pieces_.push_back({last.end, last.end + count, first_slot});
  }
}

std::vector<TierSlots> needed_tiers(std::vector<TierSlots> tiers, Slot most) {
  if (tiers.empty()) throw InvalidArgument("a schedule needs at least one tier");
  Slot height = 0;
  for (TierSlots& tier : tiers) {
    if (tier.slots < 0) {
      throw InvalidArgument("tier " + tier.name + " has " + std::to_string(tier.slots) + " slots");
    }
    tier.slots = std::min(tier.slots, most - height);
    height += tier.slots;
  }
  return tiers;
}

std::vector<TierSlots> numbered_tiers(std::vector<TierSlots> tiers) {
  Slot left = unbounded;
  for (TierSlots& tier : tiers) {
    tier.slots = std::min(tier.slots, left);
    left -= std::max<Slot>(0, tier.slots);
  }
  return tiers;
}

}  // namespace costate
