#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/replan.hpp"
#include "costate/schedule/schedule.hpp"
#include "gap_tables.hpp"
#include "set_reversal.hpp"
#include "tier_rule.hpp"

namespace costate {

/// Emits the reversal of the steps [0, end) from states stored in several tiers, gap by gap from
/// the top: a short gap by `GapTables`, a longer one by the rule that its base came with, and
/// binomially in the fastest tier where nothing is better. Long runs take O(slots) memory.
class RuledReversal {
 public:
  /// A stored state and how the gap above it is reversed: from `tier`, where it is moved to first,
  /// by `rule`, whose last level is that tier and whose others have no more slots than are free by
  /// then. Without one, binomially in tier 0.
  struct Base {
    Step at;
    std::size_t tier;
    std::shared_ptr<const TierRule> rule;
  };
  struct Start {
    Step steps = 0;            ///< n
    Step end = 0;              ///< the steps [0, end) remain
    Step live = unknown;       ///< index of the live state
    bool turned = false;       ///< `Turn` has been emitted
    std::vector<Stored> kept;  ///< ascending
    std::vector<Base> bases;   ///< the same states
    std::shared_ptr<const EqualGapTables> near;
  };
  RuledReversal() = default;
  /// @param pool  in which the slots of `kept` are taken
  RuledReversal(Start start, SlotPool pool);

  /// The next command, `Kind::end` after the last.
  Command next();

 private:
  using Set = GapTables::Set;
  // The state that is reversed from, its gap, and the slots that hold it.
  struct Top {
    Step at;
    Step length;
    Set set;
    Slot source;
    std::size_t tier;  // of the source
  };

  void plan_next();
  void emit(Command command) { queue_[queued_++] = command; }
  [[nodiscard]] Top top() const;
  [[nodiscard]] GapTables::Free free() const;
  void save(Step at, std::size_t tier);
  void forget(Step at, std::size_t tier);
  void make_live(const Top& top);
  void advance(Step to);
  void reverse_live();
  void reverse_stored();
  void drop_copy();
  [[nodiscard]] bool binomial_is_best(const Top& top) const;
  void binomially(const Top& top, std::size_t tier);
  void by_tables(const Top& top);
  void by_rule(const Top& top);
  void keep_at(Step at, std::size_t level, Slot s, const TierRule& rule);

  Step steps_ = 0;
  Step end_ = 0;
  Step live_ = unknown;
  bool turned_ = true;
  bool keeping_ = false;  // all states from that on top to the live one, and on to the end
  std::vector<StoredRun> stack_;
  std::vector<Base> bases_;
  std::shared_ptr<const EqualGapTables> near_;
  SlotPool pool_;
  std::array<Command, 8> queue_{};
  std::size_t queued_ = 0;
  std::size_t given_ = 0;
};

/// Emits these commands, and then those of the reversal.
[[nodiscard]] std::unique_ptr<Generator> listed(std::vector<Command> first, RuledReversal rest);

}  // namespace costate
