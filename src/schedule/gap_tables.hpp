#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "costate/core/step.hpp"

namespace costate {

/// A tier as these tables see it.
struct GapTier {
  Slot slots;
  double write;
  double read;
};

/// The best reversal of gaps between stored states for any number of tiers, by how many slots are
/// free in each of them. A start may be stored in several tiers at once, in a set m of them. With f
/// the free slots, the start's own not among them, e_t one slot of tier t, and r_m the least read
/// of the tiers in m,
///
///     G(m, l, f) = min of   min over j of  j u + A(l-j, f) + r_m + G(m, j, f),
///                           w_t + G(m + t, l, f - e_t)      copied to tier t,
///                           G(m - t, l, f + e_t)            dropped from tier t,
///     A(l, f)    = min over t of  w_t + G({t}, l, f - e_t)  start live and not stored,
///
/// and G = A = 0 for l = 1. In G the start is live and stored. So a start may move from tier to
/// tier whenever it is live. A write costs a little more than stated, so that of schedules that
/// cost the same the one of the fewest writes is chosen.
///
/// Time O(longest² sets free) with all numbers of free slots, memory O(longest sets free).
class GapTables {
 public:
  using Set = unsigned;      ///< of tiers: bit t
  using Free = std::size_t;  ///< numbers of free slots, as one number

  /// @param longest  longest gap; of each tier so many slots are looked at, at most
  GapTables(std::vector<GapTier> tiers, double step, Step longest);

  /// How many additions these tables take.
  [[nodiscard]] static double effort(const std::vector<GapTier>& tiers, Step longest);

  [[nodiscard]] std::size_t tiers() const noexcept { return tiers_.size(); }
  [[nodiscard]] Set all() const noexcept { return (Set{1} << tiers_.size()) - 1; }
  [[nodiscard]] Free all_free() const noexcept { return columns_ - 1; }
  [[nodiscard]] Slot free(Free f, std::size_t t) const noexcept {
    return static_cast<Slot>(f / stride_[t]) % (tiers_[t].slots + 1);
  }
  /// Whether the tiers of a set have a free slot each, and what is free when they are taken.
  [[nodiscard]] bool fits(Set set, Free f) const noexcept;
  [[nodiscard]] Free less(Free f, Set set) const noexcept { return f - weight_[set]; }
  [[nodiscard]] Free more(Free f, Set set) const noexcept { return f + weight_[set]; }

  [[nodiscard]] double write(Set set) const noexcept { return write_[set]; }
  [[nodiscard]] double read(Set set) const noexcept { return read_[set]; }
  /// The tier of the set that is read from.
  [[nodiscard]] std::size_t source(Set set) const noexcept;

  /// G(m, l, f).
  [[nodiscard]] double kept(Set m, Step l, Free f) const noexcept {
    return kept_[row(m, f)][at(l)];
  }

  /// What to do with the start.
  struct Next {
    enum Kind : std::uint8_t { split, copy, drop } kind;
    Step ahead;        ///< `split`: how far to the next state
    std::size_t tier;  ///< where that is stored, unless it is the last; where to copy, or drop
  };
  [[nodiscard]] Next next(Set m, Step l, Free f) const;

 private:
  static constexpr std::uint8_t splits = 0xff;

  [[nodiscard]] static std::size_t at(Step l) noexcept { return static_cast<std::size_t>(l); }
  [[nodiscard]] std::size_t row(Set m, Free f) const noexcept { return (m - 1) * columns_ + f; }
  [[nodiscard]] std::size_t backwards(Step l) const noexcept { return at(longest_ - l); }
  void relax(Step l);
  [[nodiscard]] double unkept(Step l, Free f, std::size_t& tier) const noexcept;

  std::vector<GapTier> tiers_;
  double step_;
  Step longest_;
  std::size_t columns_ = 1;
  std::vector<std::size_t> stride_;              // by tier
  std::vector<std::size_t> weight_;              // by set
  std::vector<double> write_;                    // by set
  std::vector<double> read_;                     // by set
  std::vector<std::vector<double>> kept_;        // by row, then length
  std::vector<std::vector<double>> left_;        // l u + r_m + G, likewise
  std::vector<std::vector<double>> unkept_;      // by f, then longest - length
  std::vector<std::vector<std::uint8_t>> code_;  // by row, then length: `splits`, 2 t, 2 t + 1
};

}  // namespace costate
