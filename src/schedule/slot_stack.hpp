#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/schedule.hpp"

namespace costate {

/// Where a stack of checkpoints lies: its top in the fastest tier, as much of it as fits, its
/// bottom in the slowest. Heights count from the bottom.
class SlotStack {
 public:
  /// @param tiers  fastest first
  /// @param most   how high the stack can become; rooms beyond it are given up, slowest first
  /// @throws InvalidArgument if there is no tier or one has a negative number of slots
  SlotStack(const std::vector<TierSlots>& tiers, Slot most);

  /// The tiers with the slots that are used.
  [[nodiscard]] const std::vector<TierSlots>& tiers() const noexcept { return tiers_; }
  [[nodiscard]] Slot height() const noexcept { return height_; }
  [[nodiscard]] Slot slot(Slot height) const noexcept {
    return pieces_.size() == 1 ? height : piece(height).first_slot + (height - piece(height).begin);
  }
  /// The end of the heights whose slots follow that of `height` one by one.
  [[nodiscard]] Slot contiguous_end(Slot height) const noexcept { return piece(height).end; }

 private:
  struct Piece {
    Slot begin;  // heights [begin, end)
    Slot end;
    Slot first_slot;
  };
  [[nodiscard]] const Piece& piece(Slot height) const noexcept {
    std::size_t i = 0;
    while (i + 1 < pieces_.size() && height >= pieces_[i].end) ++i;
    return pieces_[i];
  }

  std::vector<TierSlots> tiers_;
  std::vector<Piece> pieces_;  // bottom first
  Slot height_ = 0;
};

}  // namespace costate
