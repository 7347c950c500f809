#pragma once

#include <algorithm>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/schedule.hpp"

namespace costate {

/// Which slots a stack of checkpoints uses, from the bottom (height 0) to the top. Held as runs of
/// consecutive slots, so a stack of any height takes little room.
class SlotStack {
 public:
  /// The slots as listed, the bottom first.
  explicit SlotStack(const std::vector<Slot>& slots);

  /// The top in the fastest tier, as much of it as fits, the bottom in the slowest.
  /// @param tiers  fastest first
  /// @param most   how high the stack can become; rooms beyond it are given up, slowest first
  SlotStack(const std::vector<TierSlots>& tiers, Slot most);

  /// The same with all slots moved up by `by`.
  [[nodiscard]] SlotStack shifted(Slot by) const;

  [[nodiscard]] Slot height() const noexcept { return pieces_.back().end; }
  [[nodiscard]] Slot slot(Slot height) const noexcept {
    const Piece& here = piece(height);
    return here.first_slot + (height - here.begin);
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
    if (height < pieces_.front().end || pieces_.size() == 1) return pieces_.front();
    return *std::partition_point(pieces_.begin(), pieces_.end() - 1,
                                 [height](const Piece& p) { return p.end <= height; });
  }
  void push(Slot first_slot, Slot count);

  std::vector<Piece> pieces_{{0, 0, 0}};
};

/// The tiers with no more slots than a stack of height `most` needs, fastest first.
/// @throws InvalidArgument if there is no tier or one has a negative number of slots
[[nodiscard]] std::vector<TierSlots> needed_tiers(std::vector<TierSlots> tiers, Slot most);

/// The tiers with no more slots than can be numbered: those after an unbounded one have none.
/// Negative ones stay.
[[nodiscard]] std::vector<TierSlots> numbered_tiers(std::vector<TierSlots> tiers);

}  // namespace costate
