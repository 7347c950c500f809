#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "binomial_table.hpp"
#include "costate/core/step.hpp"
#include "costate/schedule/replan.hpp"
#include "near_tables.hpp"
#include "tier_rule.hpp"
#include "tier_tables.hpp"

namespace costate {

/// What gaps between stored states cost to reverse, for two tiers, in steps. Transfers to and from
/// memory are not counted.
class GapCosts {
 public:
  /// @param levels  costs in steps
  explicit GapCosts(std::vector<TierLevel> levels);

  /// The reversal of l steps whose start is live and kept in tier k, with `a` slots in memory and
  /// `b` on disk free above it.
  [[nodiscard]] double kept(std::size_t k, Step l, Slot a, Slot b);
  /// The same if the start is live and not kept.
  [[nodiscard]] double unkept(Step l, Slot a, Slot b);
  /// What n steps cost that are known beforehand.
  [[nodiscard]] double offline(Step n);

  [[nodiscard]] Slot memory() const noexcept { return levels_[0].slots; }
  [[nodiscard]] Slot disk() const noexcept { return levels_[1].slots; }
  [[nodiscard]] double write() const noexcept { return levels_[1].write; }
  [[nodiscard]] double read() const noexcept { return levels_[1].read; }
  [[nodiscard]] const std::shared_ptr<const NearTables>& near() const noexcept { return near_; }
  /// A rule for gaps of up to `longest` steps above states on disk with all the memory free.
  [[nodiscard]] std::shared_ptr<const TierRule> rule(Step longest);

 private:
  // P(1, l, s) of tier_tables.hpp: from tables that grow, and beyond what is affordable by a power
  // law.
  [[nodiscard]] double on_disk(Step l, Slot s);
  void grow(Step longest) {
    tables_ = std::make_shared<TierTables>(levels_, 1.0, longest);
    powers_.clear();
  }

  std::vector<TierLevel> levels_;
  Step longest_;
  std::shared_ptr<const TierTables> tables_;  // shared by copies; never changes
  std::vector<double> powers_;                // of the power law, by slots; 0: not known yet
  std::shared_ptr<const NearTables> near_;
  BinomialTable table_;
};

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
};

/// The best of some weights, found by trying them on the first few hundred steps.
[[nodiscard]] TieredWeights tuned(GapCosts& costs);

/// What to do at a live state before the next step is made.
struct TieredMove {
  std::size_t lost = 0;          ///< index of the state in memory that is given up there, 0: none
  std::size_t lost_on_disk = 0;  ///< likewise on disk
  std::size_t moved = none;      ///< the state that moves from memory to disk
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
  [[nodiscard]] bool idle() const noexcept {
    return moved == none && lost_on_disk == 0 && !to_memory && !to_disk;
  }
  [[nodiscard]] bool only_frees() const noexcept {
    return lost_on_disk != 0 && moved == none && !to_memory && !to_disk;
  }
};

/// The states kept by online_tiered.hpp and the decision what to do at each live state.
class TieredSet {
 public:
  /// @param states  all in memory, ascending from 0, as many as it holds
  TieredSet(GapCosts costs, TieredWeights weights, const std::vector<Stored>& states);

  /// What is best at the live state, if the run goes on. To be asked again after a move that only
  /// frees a slot (`only_frees`).
  [[nodiscard]] TieredMove decide(Step live);
  /// Does it. What is saved is saved in these slots: of the live state, and of the one moved.
  struct Slots {
    Slot memory = unknown;
    Slot disk = unknown;
    Slot moved = unknown;
  };
  void apply(const TieredMove& move, Step live, Slots slots);

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
  [[nodiscard]] double gap(const Kept& start, Step end, Slot a, Slot b);
  void sum_from(std::size_t first);
  [[nodiscard]] std::size_t lost_on_disk();
  [[nodiscard]] std::array<std::size_t, 3> least_lost(Step live, std::size_t first);
  // What a trial comes to, or anything above `best` if it is more.
  [[nodiscard]] double score(const Trial& trial, Step live, double best);

  GapCosts costs_;
  TieredWeights weights_;
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
};

}  // namespace costate
