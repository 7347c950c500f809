#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "binomial_table.hpp"
#include "costate/core/step.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/online.hpp"
#include "costate/schedule/replan.hpp"

namespace costate {

// How far a rule looks ahead at most before it gives out an advance.
inline constexpr Step most_ahead = 65536;

/// States that are kept for a run of a guessed length, whatever the rule says.
struct Pinned {
  std::vector<Step> at;  ///< ascending, fewer than there are slots, without 0; empty: no guess
  Step until = 0;        ///< the guess: beyond it they are as any other
};

/// Level 1: every state of the set is in a final position or waits in line to be given up. O(1) an
// action, because the sets can be large: it lasts for (slots+1)(slots+2)/2 steps.
class FirstLevel {
 public:
  // The set {0, …, slots-1}, each state in the slot of the same number.
  explicit FirstLevel(Slot slots)
      : slots_(slots), next_final_(slots + 1), line_(static_cast<std::size_t>(slots - 1)) {
    settled_.push_back({0, 0});
    for (Slot i = 1; i < slots; ++i) line_[static_cast<std::size_t>(i - 1)] = {i, i};
    waiting_ = line_.size();
  }

  // The first index >= live at which something is to be done.
  [[nodiscard]] Step next_event(Step live) const {
    return std::max(live, std::min(next_final_, last().at + 2));
  }
  // Whether the level ends here: the set then is all final positions.
  [[nodiscard]] bool over(Step live) const {
    return finals_ == static_cast<std::size_t>(slots_) && live >= next_final_;
  }
  // Puts the live state in place of one that is given up. Returns the slot.
  Slot replace(Step live) {
    while (line_[first_].at == settled_.back().at + span(settled_.size() - 1)) {
      settled_.push_back(line_[first_]);
      shift();
    }
    const Slot slot = line_[first_].slot;
    shift();
    line_[(first_ + waiting_++) % line_.size()] = {live, slot};
    if (live == next_final_) next_final_ += span(finals_++);
    return slot;
  }
  // Ascending.
  [[nodiscard]] std::vector<Stored> set() const {
    std::vector<Stored> all = settled_;
    for (std::size_t i = 0; i < waiting_; ++i) all.push_back(line_[(first_ + i) % line_.size()]);
    return all;
  }

 private:
  // beta(j, 1) = j + 1 for the gap above the i-th final position, for which j = slots - i remain.
  [[nodiscard]] Step span(std::size_t i) const { return slots_ - static_cast<Slot>(i) + 1; }
  [[nodiscard]] const Stored& last() const {
    return waiting_ == 0 ? settled_.back() : line_[(first_ + waiting_ - 1) % line_.size()];
  }
  void shift() {
    first_ = (first_ + 1) % line_.size();
    --waiting_;
  }

  Slot slots_;
  Step next_final_;
  std::size_t finals_ = 1;       // the index of next_final_
  std::vector<Stored> settled_;  // in final positions
  std::vector<Stored> line_;     // a ring: the lowest is given up first
  std::size_t first_ = 0;
  std::size_t waiting_ = 0;
};

// The levels above the first. O(slots) an action.
class LaterLevels {
 public:
  LaterLevels(std::vector<Stored> set, OnlineRule rule, Pinned pinned = {})
      : set_(std::move(set)),
        slots_(static_cast<Slot>(set_.size())),
        capped_(rule == OnlineRule::fewest_advances),
        pinned_(std::move(pinned)),
        table_(slots_ + 1),
        above_(set_.size() + 1) {
    analyse();
  }

  // Puts the live state in place of the one to be given up now. Returns its slot, -1 if none is.
  Slot replace(Step live) {
    if (!pinned_.at.empty() && live > pinned_.until) {
      pinned_.at.clear();
      analyse();
    }
    for (;;) {
      const std::size_t victim = best_victim(live);
      const bool may_wait = !must_act(live);
      if (may_wait && (victim == 0 || value_kept(live) <= value_without(victim, live))) return -1;
      if (victim == 0) {
        ++level_;
        analyse();
        continue;
      }
      const Slot slot = set_[victim].slot;
      set_.erase(set_.begin() + static_cast<std::ptrdiff_t>(victim));
      set_.push_back({live, slot});
      analyse();
      return slot;
    }
  }

  // The first index > live, or one before it, at which something is to be done. K is convex in the
  // position of each end of a gap, and what a replacement gains grows with the last gap once it is
  // positive, so that the first index at which it is can be found by bisection.
  [[nodiscard]] Step next_event(Step live) {
    Step end = live + most_ahead;
    if (!pinned_.at.empty()) {
      const auto next = std::upper_bound(pinned_.at.begin(), pinned_.at.end(), live);
      end = std::min(end, next != pinned_.at.end() ? *next : saturating_add(pinned_.until, 1));
    }
    if (capped_) {
      end = std::min(end, last() + level_ + 1);
      const auto final_ = std::upper_bound(finals_.begin(), finals_.end(), live);
      if (final_ != finals_.end()) end = std::min(end, *final_);
    }
    if (inner_ != 0) end = first_gain(inner_, live + 1, end);
    if (last_may_go_) {
      const Step cap = saturating_add(set_[set_.size() - 2].at, last_cap_);
      if (cap > live) {
        const Step stop = std::min(end, cap);
        const Step found = first_gain(set_.size() - 1, live + 1, stop);
        if (found < stop || gains(set_.size() - 1, stop)) end = found;
      }
    }
    return std::max(end, live + 1);
  }

  [[nodiscard]] const std::vector<Stored>& set() const { return set_; }
  [[nodiscard]] BinomialTable& table() { return table_; }

 private:
  [[nodiscard]] Step last() const { return set_.back().at; }
  [[nodiscard]] bool is_final(Step at) const {
    return std::binary_search(finals_.begin(), finals_.end(), at);
  }
  [[nodiscard]] bool is_pinned(Step at) const {
    return std::binary_search(pinned_.at.begin(), pinned_.at.end(), at);
  }
  [[nodiscard]] bool must_act(Step live) const {
    return is_pinned(live) || (capped_ && (live - last() > level_ || is_final(live)));
  }
  // What the reversal costs if the run ends with state live+1 after doing nothing, or after the
  // live state has taken the place of set_[victim].
  [[nodiscard]] Step value_kept(Step live) {
    return saturating_add(kept_, table_.advances(live + 1 - last(), 1));
  }
  [[nodiscard]] Step value_without(std::size_t victim, Step live) {
    return victim == set_.size() - 1
               ? saturating_add(below_last_, table_.advances(live - set_[victim - 1].at, 2))
               : saturating_add(inner_value_, table_.advances(live - last(), 2));
  }
  [[nodiscard]] bool gains(std::size_t victim, Step live) {
    return value_without(victim, live) < value_kept(live);
  }
  // The first index in [from, end) at which giving up set_[victim] gains something, else end.
  [[nodiscard]] Step first_gain(std::size_t victim, Step from, Step end) {
    Step width = 1;
    while (from + width < end && !gains(victim, from + width - 1)) {
      from += width;
      width *= 2;
    }
    Step to = std::min(end, from + width - 1);
    while (from < to) {
      const Step middle = from + (to - from) / 2;
      if (gains(victim, middle)) {
        to = middle;
      } else {
        from = middle + 1;
      }
    }
    return from;
  }
  // Index into set_; 0 (which is never given up): none may go.
  [[nodiscard]] std::size_t best_victim(Step live) {
    const std::size_t outer = set_.size() - 1;
    const bool outer_may = last_may_go_ && live - set_[outer - 1].at <= last_cap_ && live > last();
    if (!outer_may) return inner_;
    if (inner_ == 0) return outer;
    return value_without(outer, live) < value_without(inner_, live) ? outer : inner_;
  }

  // Everything that depends on the set and the level, but not on the live index.
  void analyse() {
    const std::size_t m = set_.size();
    const auto gap = [this](std::size_t i) { return set_[i + 1].at - set_[i].at; };
    const auto left = [this](std::size_t i) { return slots_ - static_cast<Slot>(i); };
    if (capped_ && finals_level_ != level_) {
      finals_.clear();
      Step at = 0;
      for (std::size_t i = 0; i < m; ++i) {
        at = saturating_add(at, table_.reach_of(left(i), level_));
        finals_.push_back(at);
      }
      finals_level_ = level_;
    }
    // above_[i]: the gaps from i on, but for the last, with a slot more.
    above_[m - 1] = 0;
    for (std::size_t i = m - 1; i-- > 1;) {
      above_[i] = saturating_add(above_[i + 1], table_.advances(gap(i), left(i) + 1));
    }
    inner_ = 0;
    inner_value_ = saturated;
    Step below = 0;  // the gaps up to i-2
    for (std::size_t i = 1; i + 1 < m; ++i) {
      const Step merged = gap(i - 1) + gap(i);
      const bool may =
          !is_pinned(set_[i].at) &&
          (!capped_ || (merged <= table_.reach_of(left(i - 1), level_) && !is_final(set_[i].at)));
      if (may) {
        const Step value = saturating_add(
            saturating_add(below, table_.advances(merged, left(i - 1))), above_[i + 1]);
        if (value < inner_value_) {
          inner_value_ = value;
          inner_ = i;
        }
      }
      below = saturating_add(below, table_.advances(gap(i - 1), left(i - 1)));
    }
    below_last_ = below;
    kept_ = saturating_add(below, table_.advances(gap(m - 2), left(m - 2)));
    last_may_go_ = !is_pinned(last()) && !(capped_ && is_final(last()));
    last_cap_ = capped_ ? table_.reach_of(2, level_) : saturated;
  }

  std::vector<Stored> set_;
  Slot slots_;
  bool capped_;
  Pinned pinned_;
  Step level_ = 1;
  BinomialTable table_;
  std::vector<Step> finals_;  // of the level, ascending
  Step finals_level_ = 0;
  std::vector<Step> above_;
  std::size_t inner_ = 0;  // the best to give up below the last one
  Step inner_value_ = 0;   // K of the gaps but the last without it
  Step kept_ = 0;          // K of the gaps but the last
  Step below_last_ = 0;    // K of the gaps but the last two
  bool last_may_go_ = false;
  Step last_cap_ = 0;
};

/// The checkpoints of a rule of online.hpp, from the moment on at which all slots are full for the
/// first time: state i is in slot i for all i < slots.
class OnlineSet {
 public:
  OnlineSet(Slot slots, OnlineRule rule, Pinned pinned = {})
      : rule_(rule), pinned_(std::move(pinned)) {
    if (slots > 1) first_.emplace_back(slots);
  }

  /// The slot whose checkpoint the live state replaces, -1: none.
  Slot replace(Step live) {
    if (!first_.empty() && (first_.front().over(live) || live >= first_pinned())) {
      later_.emplace_back(first_.front().set(), rule_, pinned_);
      first_.clear();
    }
    if (!first_.empty()) {
      return first_.front().next_event(live) == live ? first_.front().replace(live) : -1;
    }
    return later_.empty() ? -1 : later_.front().replace(live);
  }
  /// The first index > live, or one before it, at which something is to be done.
  [[nodiscard]] Step next_event(Step live) {
    if (!first_.empty()) {
      return std::min(std::max(live + 1, first_.front().next_event(live)), first_pinned());
    }
    return later_.empty() ? live + most_ahead : later_.front().next_event(live);
  }
  /// Ascending.
  [[nodiscard]] std::vector<Stored> stored() const {
    if (!first_.empty()) return first_.front().set();
    if (!later_.empty()) return later_.front().set();
    return {{0, 0}};
  }

 private:
  [[nodiscard]] Step first_pinned() const {
    return pinned_.at.empty() ? saturated : pinned_.at.front();
  }

  OnlineRule rule_;
  Pinned pinned_;
  // At most one of them has an element, none with one slot.
  std::vector<FirstLevel> first_;
  std::vector<LaterLevels> later_;
};

}  // namespace costate
