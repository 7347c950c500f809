#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "costate/core/bytes.hpp"
#include "costate/core/step.hpp"
#include "costate/storage/pool.hpp"
#include "costate/sweep/sweep.hpp"

namespace costate::detail {

/// The hashes of states that will be replayed, and the rule when to take them.
///
/// Sampled: when an advance leaves a state behind that is not stored, or one that was is dropped on
/// the way forward, it is certain to be replayed, because its step has to be reversed; such states,
/// and the last but one of a long advance (where its replay will end), are hashed as far as the
/// credit goes. A hash and the comparison to come cost as much as some steps; every step run earns
/// credit, so the share of the guard is bounded whatever the schedule. The rule does not look at
/// the clock, so a failure can be repeated.
///
/// Every step: each state is hashed on the first pass and compared at each replay.
class Guard {
 public:
  /// @param reserve  most indices to hash in every_step mode
  Guard(ReplayGuard mode, Step reserve);

  [[nodiscard]] bool on() const noexcept { return mode_ != ReplayGuard::off; }
  [[nodiscard]] bool every_step() const noexcept { return mode_ == ReplayGuard::every_step; }

  /// The first index in (from, to] at which an advance has to stop, so that `see` can be called;
  /// `to` if there is none. `mark` is what `mark_for` returned.
  [[nodiscard]] Step stop(Step from, Step to, bool replay, Step mark) const noexcept {
    if (mode_ == ReplayGuard::off) return to;
    if (mode_ == ReplayGuard::every_step) return from + 1;
    Step end = mark > from && mark < to ? mark : to;
    if (replay) {
      for (std::size_t i = count_; i > 0 && marks_[i - 1].at > from; --i) {
        end = std::min(end, marks_[i - 1].at);
      }
    }
    return end;
  }

  /// Which state of an advance should be hashed, `unknown` for none: the last but one, if it can be
  /// afforded.
  [[nodiscard]] Step mark_for(Step from, Step to) const noexcept {
    if (mode_ != ReplayGuard::sampled || to - from < 2 || credit_ < cost) return unknown;
    return find(to - 1) == nullptr ? to - 1 : unknown;
  }

  /// Whether the state that is left behind should be hashed.
  [[nodiscard]] bool wants(Step at) const noexcept {
    return mode_ == ReplayGuard::sampled && credit_ >= cost && find(at) == nullptr;
  }

  /// Whether there is a hash to compare this state with.
  [[nodiscard]] bool knows(Step at) const noexcept {
    if (mode_ == ReplayGuard::every_step) return at >= 0 && at < known_;
    return mode_ == ReplayGuard::sampled && find(at) != nullptr;
  }

  /// Keeps the hash of a state.
  void add(Step at, std::uint64_t hash);

  /// Whether the hash is the one kept of index `at`; true if none is kept.
  [[nodiscard]] bool same(Step at, std::uint64_t hash) const noexcept;

  /// So much work has been done.
  void earn(Step steps) noexcept { credit_ += steps; }

  /// States from index k on will not be replayed.
  void forget_from(Step k) noexcept {
    while (count_ > 0 && marks_[count_ - 1].at >= k) --count_;
  }

  /// Calls `compare(at)` for every index in [from, to) of which a hash is kept.
  template <typename Compare>
  void each_known(Step from, Step to, Compare compare) const {
    if (mode_ == ReplayGuard::every_step) {
      for (Step at = from; at < to && at < known_; ++at) compare(at);
      return;
    }
    for (std::size_t i = 0; i < count_; ++i) {
      if (marks_[i].at >= from && marks_[i].at < to) compare(marks_[i].at);
    }
  }

  /// What every_step takes of a budget.
  [[nodiscard]] static Bytes bytes_per_step() noexcept { return sizeof(std::uint64_t); }

 private:
  struct Mark {
    Step at;
    std::uint64_t hash;
  };
  [[nodiscard]] const Mark* find(Step at) const noexcept;

  ReplayGuard mode_;
  // What keeping a hash and comparing it later costs, in steps: twice a copy and a hash of the
  // state. For large states (measured for Gray-Scott 512^2, RK4: 1.3 steps) 128 steps make it 1 %
  // of the cheapest step there is, one that only streams through the state. For states of a few
  // numbers a hash takes about as long as a step, so the same holds.
  static constexpr Step cost = 128;

  Step credit_;                   // steps run and not yet spent
  std::array<Mark, 64> marks_{};  // ascending in `at`
  std::size_t count_ = 0;
  Pool hashes_;  // every_step: by index
  Step reserve_;
  Step known_ = 0;  // every_step: indices below have a hash
};

}  // namespace costate::detail
