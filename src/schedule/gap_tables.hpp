#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "chain.hpp"
#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"

namespace costate {

/// A tier as these tables see it.
struct GapTier {
  Slot slots;
  double write;
  double read;
};

/// The best reversal of gaps between stored states for any number of tiers, by how many slots are
/// free in each of them. A start may be stored in several tiers at once, in a set m of them. With f
/// the free slots, the start's own not among them, e_t one slot of tier t, W(b, k) the cost of the
/// steps b … k-1, and r_m the least read of the tiers in m,
///
///     G(m, b, e, f) = min of
///         min over k of  W(b, k) + A(k, e, f) + r_m + G(m, b, k, f),
///         w_t + G(m + t, b, e, f - e_t)                      copied to tier t,
///         G(m - t, b, e, f + e_t)                            dropped from tier t,
///     A(b, e, f) = min over t of  w_t + G({t}, b, e, f - e_t)  start live and not stored,
///
/// and G = A = 0 for e = b+1. In G the start is live and stored. So a start may move from tier to
/// tier whenever it is live. A write costs a little more than stated, so that of schedules that
/// cost the same the one of the fewest writes is chosen.
class GapTables {
 public:
  using Set = unsigned;      ///< of tiers: bit t
  using Free = std::size_t;  ///< numbers of free slots, as one number

  virtual ~GapTables() = default;
  GapTables(const GapTables&) = delete;
  GapTables& operator=(const GapTables&) = delete;

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

  /// W(b, e).
  [[nodiscard]] virtual double steps(Step b, Step e) const noexcept = 0;
  /// G(m, b, e, f) for all m and f that belong together, at row(m, f).
  [[nodiscard]] virtual const double* kept(Step b, Step e) const = 0;
  [[nodiscard]] std::size_t row(Set m, Free f) const noexcept { return (m - 1) * columns_ + f; }

  /// What to do with the start.
  struct Next {
    enum Kind : std::uint8_t { advance, copy, drop } kind;
    Step ahead;        ///< `advance`: how far to the next state
    std::size_t tier;  ///< where that is stored, unless it is the last; where to copy, or drop
  };
  /// @param free  slots in each tier
  [[nodiscard]] virtual Next next(Set m, Step b, Step e, const std::vector<Slot>& free) const = 0;

 protected:
  static constexpr std::uint8_t splits = 0xff;  // else a code is 2 t: copy, or 2 t + 1: drop

  /// @param tie      by which a write is dearer than stated
  /// @param longest  of each tier so many slots are looked at, at most
  GapTables(std::vector<GapTier> tiers, double tie, Step longest);

  // As one number, not counting slots that are never taken.
  [[nodiscard]] Free number(const std::vector<Slot>& free) const noexcept;
  // Slots of tier t that are free besides those of such a number.
  [[nodiscard]] Slot besides(std::size_t t) const noexcept { return besides_[t]; }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
  [[nodiscard]] std::size_t rows() const noexcept { return all() * columns_; }
  [[nodiscard]] Slot slots(std::size_t t) const noexcept { return tiers_[t].slots; }
  [[nodiscard]] std::size_t stride(std::size_t t) const noexcept { return stride_[t]; }
  [[nodiscard]] static Next move(std::uint8_t code) {
    return {code % 2 == 0 ? Next::copy : Next::drop, 0, static_cast<std::size_t>(code / 2)};
  }

 private:
  std::vector<GapTier> tiers_;
  std::vector<Slot> besides_;  // by tier
  std::size_t columns_ = 1;
  std::vector<std::size_t> stride_;  // by tier
  std::vector<std::size_t> weight_;  // by set
  std::vector<double> write_;        // by set
  std::vector<double> read_;         // by set
};

/// For steps that cost the same, where only the length of a gap matters.
///
/// Time O(longest² sets free) with all numbers of free slots, memory O(longest sets free).
class EqualGapTables final : public GapTables {
 public:
  EqualGapTables(std::vector<GapTier> tiers, double step, Step longest);

  /// How many additions these tables take.
  [[nodiscard]] static double effort(const std::vector<GapTier>& tiers, Step longest);

  [[nodiscard]] double steps(Step b, Step e) const noexcept override {
    return step_ * static_cast<double>(e - b);
  }
  [[nodiscard]] const double* kept(Step b, Step e) const override {
    return by_length_.data() + at(e - b) * rows();
  }
  [[nodiscard]] Next next(Set m, Step b, Step e, const std::vector<Slot>& free) const override {
    return next_of(m, e - b, number(free));
  }
  [[nodiscard]] Next next_of(Set m, Step l, Free f) const;

  [[nodiscard]] Step longest() const noexcept { return longest_; }
  [[nodiscard]] double step() const noexcept { return step_; }
  /// G(m, l, f) of l steps.
  [[nodiscard]] double kept_of(Set m, Step l, Free f) const noexcept {
    return by_length_[at(l) * rows() + row(m, f)];
  }
  /// So many slots, or more, are free in each tier: gaps need no more than these tables have.
  template <typename Slots>
  [[nodiscard]] Free index(const Slots& free) const noexcept {
    Free f = 0;
    for (std::size_t t = 0; t < tiers(); ++t) {
      f += stride(t) * static_cast<std::size_t>(std::min(free[t], slots(t)));
    }
    return f;
  }
  /// Where to store a start of l >= 2 steps that is live and not stored; some slot is free.
  [[nodiscard]] std::size_t place(Step l, Free f) const noexcept {
    std::size_t tier = 0;
    static_cast<void>(unkept(l, f, tier));
    return tier;
  }

 private:
  [[nodiscard]] static std::size_t at(Step l) noexcept { return static_cast<std::size_t>(l); }
  [[nodiscard]] std::size_t backwards(Step l) const noexcept { return at(longest_ - l); }
  void relax(Step l);
  [[nodiscard]] double unkept(Step l, Free f, std::size_t& tier) const noexcept;

  double step_;
  Step longest_;
  std::vector<std::vector<double>> kept_;        // by row, then length
  std::vector<std::vector<double>> left_;        // l u + r_m + G, likewise
  std::vector<std::vector<double>> unkept_;      // by f, then longest - length
  std::vector<std::vector<std::uint8_t>> code_;  // by row, then length
  std::vector<double> by_length_;                // kept_ by length, then row
};

/// For a weight of each step.
///
/// Time O(n³ sets free), or O(n² free) with one tier whose writes cost nothing, by Knuth's bounds
/// (weighted.hpp). Memory O(n² sets free).
class WeightedGapTables final : public GapTables {
 public:
  explicit WeightedGapTables(std::vector<GapTier> tiers, const std::vector<double>& weights);

  /// The time these tables take, in additions of `EqualGapTables`; infinity if they take more than
  /// 512 MiB.
  [[nodiscard]] static double effort(const std::vector<GapTier>& tiers, Step n);

  [[nodiscard]] double steps(Step b, Step e) const noexcept override { return chain_.span(b, e); }
  [[nodiscard]] const double* kept(Step b, Step e) const override {
    return kept_.data() + cell(b, e) * rows();
  }
  [[nodiscard]] Next next(Set m, Step b, Step e, const std::vector<Slot>& free) const override;

 private:
  // Column e holds all b < e.
  [[nodiscard]] static std::size_t cell(Step b, Step e) noexcept {
    return static_cast<std::size_t>(e * (e - 1) / 2 + b);
  }
  struct Group;
  void solve(Group& group);
  void relax(Group& group, std::size_t here);

  Chain chain_;
  bool monotone_;
  std::vector<double> kept_;                 // by cell, then row
  std::vector<std::uint8_t> code_;           // likewise
  std::vector<std::vector<double>> unkept_;  // by f, then cell
};

/// Additions that take about a second at most.
inline constexpr double exact_effort = 3e8;

/// The tables for the first n steps, or nothing if they take more than `most` additions.
[[nodiscard]] std::unique_ptr<const GapTables> gap_tables(const std::vector<GapTier>& tiers,
                                                          const Costs& costs, Step n, double most);

}  // namespace costate
