#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/replan.hpp"
#include "gap_tables.hpp"
#include "set_reversal.hpp"

namespace costate {

/// Makes the commands of a continuation by `GapTables`: first whatever puts the stored states in
/// order, then the reversal of the gaps between them from the top.
class GapReversal {
 public:
  using Set = GapTables::Set;
  /// The slots that hold a state, by tier; `unknown`: none.
  using Copies = std::vector<Slot>;

  /// @param tables  outlives this
  GapReversal(const ResumePoint& point, const GapTables& tables);

  [[nodiscard]] Slot free(std::size_t tier) const noexcept { return pool_.free(tier); }
  /// A slot of the point is taken.
  /// @returns its tier
  std::size_t claim(Slot slot);

  void load(Step at, Slot slot);
  void advance(Step to);
  /// Saves the live state, and adds the slot.
  void save(Copies& copies, std::size_t tier);
  /// Drops the copies outside the set.
  void keep_only(Copies& copies, Set set);

  /// From here up to the next frame, or the end, the reversal goes by the tables. Ascending.
  void add_frame(Step at, Set set, Copies copies) {
    frames_.push_back({at, set, std::move(copies)});
  }
  /// This state, which is above the live one, is stored when it is passed, but not read, and
  /// dropped when it is reversed; not so if it becomes the start of a gap. Ascending.
  void store_unread(Step at, std::size_t tier);

  /// Reverses everything.
  /// @returns all commands
  [[nodiscard]] std::vector<Command> reverse() &&;

 private:
  struct Frame {
    Step at;
    Set set;
    Copies copies;
  };

  void emit(Command::Kind kind, Step from = 0, Step to = 0, Slot slot = 0) {
    commands_.push_back({kind, Content::state, from, to, slot});
  }
  void record(Step at);
  void reverse_top();

  Step steps_;
  Step end_;
  Step live_;
  bool turned_;
  const GapTables& tables_;
  SlotPool pool_;
  std::vector<Slot> free_;  // by tier; of the pool, but for those that `ahead_` will take
  std::vector<Frame> frames_;
  struct Unread {
    Step at;
    std::size_t tier;
    Slot slot;
  };
  std::vector<Unread> passed_;  // unread states that are stored
  std::deque<Unread> ahead_;    // and those that will be
  std::vector<Command> commands_;
};

}  // namespace costate
