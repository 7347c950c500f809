#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/schedule.hpp"
#include "near_tables.hpp"
#include "tier_rule.hpp"

namespace costate {

/// The empty slots of some tiers, fastest tier first. Slots that were never taken are kept as
/// ranges, so that a pool costs memory only for those that were.
class SlotPool {
 public:
  SlotPool() = default;
  explicit SlotPool(const std::vector<TierSlots>& tiers);

  /// Takes this slot. O(slots ever taken), less in ascending order; for setting up.
  void claim(Slot slot);
  /// Takes the slots [0, count) of an untouched pool.
  void claim_first(Slot count);

  [[nodiscard]] Slot free() const noexcept { return free_; }
  [[nodiscard]] Slot free(std::size_t tier) const noexcept { return tiers_[tier].free(); }
  [[nodiscard]] std::size_t tier_of(Slot slot) const noexcept;

  /// The fastest tier so that it and the faster ones have room for `need` more checkpoints, or the
  /// slowest with any room; and how many of them this tier has to take.
  struct Share {
    std::size_t tier;
    Slot count;
  };
  [[nodiscard]] Share share(Slot need) const noexcept;

  /// How many slots, at most `most`, the next calls of `take` will hand out in ascending order
  /// without a gap.
  [[nodiscard]] Slot contiguous(std::size_t tier, Slot most) const noexcept;
  /// Takes so many slots, at least one and at most `contiguous`, and returns the first.
  Slot take(std::size_t tier, Slot count = 1);
  void give_back(Slot slot);

 private:
  struct Range {
    Slot begin;
    Slot end;
  };
  struct Tier {
    Slot end;
    Slot untouched;              // how many slots were never taken
    std::vector<Range> fresh;    // those, ascending
    std::size_t first_fresh;     // the first one with any
    std::vector<Slot> returned;  // used as a stack
    [[nodiscard]] Slot free() const noexcept {
      return untouched + static_cast<Slot>(returned.size());
    }
    void touch(Slot count) noexcept {
      untouched -= count;
      while (untouched > 0 && fresh[first_fresh].begin == fresh[first_fresh].end) ++first_fresh;
    }
  };
  std::vector<Tier> tiers_;
  Slot free_ = 0;
};

/// States of consecutive indices in consecutive slots: [from, to) in slot, slot+1, …
struct StoredRun {
  Step from;
  Step to;
  Slot slot;
};

/// Before the reversal: fetch the state at `start` (from its slot, or live), advance to `at`, and
/// save there, in the fastest tier that leaves room for the rest, unless `at` is the last step that
/// is to be reversed.
struct Placement {
  Step start;
  Slot slot;        ///< where the start is stored, -1: it is live
  bool drop_start;  ///< the start is not needed any more
  Step at;
};

/// Emits the reversal of the steps [0, end) from a set of stored states: in each gap between them
/// binomially with the slots that are free by then. Every family of schedules for an unknown number
/// of steps ends in one of these, and so does a resumed run. The live state, if any, is used if it
/// is `end`-1 or the last stored one.
///
/// With a rule for two tiers, the gaps above states on disk that have no state in memory below them
/// are reversed by it, all others binomially in memory, or if they are short by the near tables.
class SetReversal {
 public:
  struct Start {
    Step steps = 0;               ///< n
    Step end = 0;                 ///< the steps [0, end) remain
    Step live = unknown;          ///< index of the live state
    bool turned = false;          ///< `Turn` has been emitted
    std::vector<StoredRun> kept;  ///< ascending
    std::vector<Slot> drops;      ///< slots to be emptied first
    std::vector<Placement> placements;
    std::shared_ptr<const TierRule> rule;    ///< level i is tier i
    std::shared_ptr<const NearTables> near;  ///< for short gaps above states in memory
  };
  SetReversal() = default;
  /// @param pool  in which the slots of `kept`, `drops` and the placements' starts are taken
  SetReversal(Start start, SlotPool pool);

  /// The next command, `Kind::end` after the last.
  Command next();

 private:
  void plan_next();
  void emit(Command command) { queue_[queued_++] = command; }
  void save(Step at, std::size_t tier);
  [[nodiscard]] std::size_t tier_for(Slot need) const;
  void drop_copy();
  void from_disk(Step at, Slot slot);
  bool near_by(Step at, Slot slot);
  void make_live(Step at, Slot slot);
  void reverse_live();
  void reverse_stored();

  Step steps_ = 0;
  Step end_ = 0;
  Step live_ = unknown;
  bool turned_ = true;
  std::vector<StoredRun> stack_;
  std::vector<Slot> drops_;  // last one first
  std::vector<Placement> placements_;
  std::shared_ptr<const TierRule> rule_;
  std::shared_ptr<const NearTables> near_;
  std::size_t placed_ = 0;
  SlotPool pool_;
  std::array<Command, 8> queue_{};
  std::size_t queued_ = 0;
  std::size_t given_ = 0;
};

}  // namespace costate
