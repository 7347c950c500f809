#pragma once

#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/schedule.hpp"
#include "slot_stack.hpp"

namespace costate {

/// Emits the binomial reversal of the steps `begin … end-1`, in O(1) time a command: the core of
/// every schedule that has to recompute a stretch of steps of equal cost.
class Reversal {
 public:
  struct Segment {
    Step begin;
    Step end;            ///< > begin
    bool turns = false;  ///< `end` is the end of the run: `Turn` precedes the first `Reverse`
    bool kept = false;   ///< x_begin lies in the slot at the bottom of the stack
    bool live = false;   ///< x_begin is live
  };

  /// Nothing to reverse.
  Reversal() = default;
  /// @param stack  the slots to use, that of x_begin first; none is needed for a single live step
  Reversal(const Segment& segment, SlotStack stack);

  /// The next command, `Kind::end` after the last. At the end all slots of the stack are empty and
  /// x_begin is live.
  Command next();

 private:
  using Kind = Command::Kind;

  // A checkpoint of the stack, whose height is its index. `below` = beta(c, r-1) for the c slots
  // from it upwards and the r of the segment from it to the end: neighbours of `below` in the table
  // of binomials follow by one multiplication and one division, which is what makes a split O(1).
  struct Kept {
    Step at;
    Step r;
    Step below;
  };

  [[nodiscard]] Slot height() const noexcept { return static_cast<Slot>(kept_.size()) - 1; }
  void emit(Kind kind, Step from = 0, Step to = 0, Slot slot = 0) {
    if (kind == Kind::advance && to == from + 1 && joins_last(from)) return;
    ready_.push_back({kind, Content::state, from, to, slot});
  }
  bool joins_last(Step from);
  void prepare();
  void begin();
  void keep(const Kept& checkpoint);
  void descend();
  void reverse(Step k);
  void dense(Step b, Slot height, bool kept);
  void unwind(Step from, Step to, Slot height);
  static Step split(Kept& top, Step l, Slot c, Kept& right) noexcept;

  Segment segment_{};
  Step end_ = 0;  // the steps from here on are reversed
  SlotStack stack_{std::vector<Slot>{}};
  bool begun_ = true;
  bool descending_ = false;  // the top of the stack is live and the descent goes on from it
  std::vector<Kept> kept_;
  std::vector<Command> ready_;
  std::size_t given_ = 0;
};

}  // namespace costate
