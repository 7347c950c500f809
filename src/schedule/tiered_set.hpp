#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/replan.hpp"
#include "gap_costs.hpp"

namespace costate {

/// A state that is kept.
struct Kept {
  Step at = 0;
  Slot memory = unknown;  ///< its slot in memory, `unknown`: not there
  Slot disk = unknown;    ///< its slot on disk; both are possible
  [[nodiscard]] bool in_memory() const noexcept { return memory != unknown; }
  [[nodiscard]] bool on_disk() const noexcept { return disk != unknown; }
};

/// What is weighed against what when it is decided what to keep.
struct TieredWeights {
  double now = 3;      ///< of the cost if the run ends at the next step, against each later end
  double most = 1.08;  ///< ratio to the offline optimum that the cost, if the run ends at the next
                       ///< step, may have without a penalty
  double move = 8;     ///< what it costs at most, in steps, to have the live state outlast a move
  Step apart = 0;      ///< how far a state on disk is from the one below it there, at least
  bool regular = false;  ///< each live state that is just so far from it is written, no other one
};

/// A guess of the number of steps. As long as it may be right the states of its best plan are kept
/// and the disk is used for nothing else; in memory, which costs nothing, the other states are
/// those that are best if the run ends early.
struct Guess {
  Step steps = unknown;
  std::vector<Pin> pins = {};  ///< `GapCosts::best_set`; empty: no guess
};

/// What to do at a live state before the next step is made.
struct TieredMove {
  std::size_t lost = 0;          ///< index of the state in memory that is given up there, 0: none
  std::size_t lost_on_disk = 0;  ///< likewise on disk
  std::size_t moved = none;      ///< the state that moves from memory to disk
  bool copies = false;           ///< it stays in memory, too
  bool to_memory = false;        ///< the live state is saved in memory
  bool to_disk = false;          ///< and on disk
  enum Return : unsigned char {
    stays,    ///< the live state need not be overwritten, or is saved in memory before
    waits,    ///< it waits on disk
    repeated  ///< it is recomputed from the highest one that is left in memory
  } back = stays;
  double cost = 0;  ///< in steps
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  /// Whether nothing is done.
  [[nodiscard]] bool idle() const noexcept { return !only_frees() && !keeps(); }
  [[nodiscard]] bool only_frees() const noexcept {
    return (lost != 0 || lost_on_disk != 0) && !keeps();
  }

 private:
  [[nodiscard]] bool keeps() const noexcept { return moved != none || to_memory || to_disk; }
};

/// What a move comes to: ratios of the cost to the offline optimum, less 1.
struct TriedMove {
  TieredMove move;
  double now = 0;    ///< if the run ends with the next step
  double later = 0;  ///< mean over some later ends, the rest of the run then being at its best
};

/// The states kept by online_tiered.hpp and the decision what to do at each live state.
class TieredSet {
 public:
  /// @param states  all in memory, ascending from 0
  TieredSet(GapCosts costs, TieredWeights weights, const std::vector<Stored>& states,
            Guess guess = {});

  /// What is best at the live state, if the run goes on. To be asked again after a move that only
  /// frees a slot (`only_frees`).
  [[nodiscard]] TieredMove decide(Step live) { return weigh(live, nullptr); }
  /// All the moves that come into question. There are none after freeing what `decide` would free
  /// first.
  [[nodiscard]] std::vector<TriedMove> options(Step live);
  /// Does it. What is saved is saved in these slots: of the live state, and of the one moved.
  struct Slots {
    Slot memory = unknown;
    Slot disk = unknown;
    Slot moved = unknown;
  };
  void apply(const TieredMove& move, Step live, Slots slots);
  /// A set that can be gone back to.
  struct Mark {
    std::vector<Kept> states;
    double spent = 0;
  };
  [[nodiscard]] Mark mark() const { return {states_, spent_}; }
  void go_back(const Mark& mark);

  /// From now on.
  void use(const TieredWeights& weights) noexcept { weights_ = weights; }

  /// When the run has turned out to have n steps, of which [0, end) remain: the states to go back
  /// with. Some are left out if they take slots from others that have more use for them.
  [[nodiscard]] std::vector<Kept> best_kept(Step n, Step end);

  /// The cost if the run turns out to have n steps, live being n-1 and nothing done there.
  [[nodiscard]] double cost_if(Step n);
  [[nodiscard]] GapCosts& costs() noexcept { return costs_; }
  [[nodiscard]] const std::vector<Kept>& states() const noexcept { return states_; }

 private:
  struct Trial;
  struct Sum {
    double below;  // the gaps below a state
    Slot a;        // free in memory and on disk above what lies below it
    Slot b;
  };
  struct End {
    double cost;
    Slot a;
    Slot b;
  };
  // What is best, or all that was tried.
  [[nodiscard]] TieredMove weigh(Step live, std::vector<TriedMove>* all);
  [[nodiscard]] double gap(const Kept& start, Step end, Slot a, Slot b);
  void sum_from(std::size_t first);
  // Of the plan for the guess, if it is followed.
  [[nodiscard]] const Pin* pin_at(Step at) const;
  [[nodiscard]] bool belongs_on_disk(const Kept& state) const;
  [[nodiscard]] bool must_move(Step live, const Pin* pin, Slot waiting) const;
  [[nodiscard]] std::size_t lost_on_disk();
  [[nodiscard]] std::array<std::size_t, 3> least_lost(Step live, std::size_t first);
  // What a trial comes to, or anything above `best` if it is more.
  [[nodiscard]] double score(const Trial& trial, Step live, double best, TriedMove* tried);
  [[nodiscard]] Step last_on_disk() const noexcept;
  // If there is room on disk or can be had.
  [[nodiscard]] TieredMove regular_write();

  GapCosts costs_;
  TieredWeights weights_;
  Guess guess_;
  double spent_ = 0;
  std::vector<Kept> states_;  // ascending
  std::vector<Sum> sums_;     // by state, and one for all
  std::vector<End> ends_;     // of a trial: which lower states are kept when a run goes on
  std::vector<double> above_;
  std::size_t lost_ = 0;  // of lost_on_disk()
  double loss_ = 0;       // what that costs
  double next_loss_ = 0;  // and what the second best loss does
  bool lost_known_ = false;
  double offline_ = 0;  // of the run that ends at the next step
  bool follows_;        // the guess may still be right
};

}  // namespace costate
