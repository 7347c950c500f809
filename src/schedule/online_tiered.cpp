#include "costate/schedule/online_tiered.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "binomial_table.hpp"
#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/online.hpp"
#include "replanner.hpp"
#include "set_reversal.hpp"
#include "tier_bounds.hpp"
#include "tier_tables.hpp"

namespace costate {
namespace {

using Kind = Command::Kind;

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double affordable = 2e8;  // additions for complete tables
constexpr Step most_ahead = 4096;   // steps that are looked ahead for one advance

// P(1, l, s) for any l: from tables that grow, and beyond what is affordable by a power law.
class DiskCosts {
 public:
  DiskCosts(std::vector<TierLevel> levels, double step) : levels_(std::move(levels)), step_(step) {
    const double columns = levels_[1].open() ? 1 : static_cast<double>(levels_[1].slots);
    longest_ = static_cast<Step>(std::sqrt(2 * affordable / columns));
    grow(64);
  }

  // In steps. `slots` counts that of the start.
  [[nodiscard]] double operator()(Step l, Slot slots) {
    if (l <= 1) return 0;
    if (l > tables_->longest() && l <= longest_) grow(std::min(longest_, 2 * l));
    const Slot s = levels_[1].open() ? 0 : slots;
    const Step known = tables_->longest();
    if (l <= known) return tables_->kept(1, l, s) / step_;
    const double last = tables_->kept(1, known, s) / step_;
    const double half = tables_->kept(1, known / 2, s) / step_;
    const double power = std::log2(last / half) /
                         std::log2(static_cast<double>(known) / static_cast<double>(known / 2));
    return last * std::pow(static_cast<double>(l) / static_cast<double>(known), power);
  }

  // A rule for gaps of up to `longest` steps.
  [[nodiscard]] std::shared_ptr<const TierRule> rule(Step longest) {
    if (longest > tables_->longest() && longest <= longest_) grow(longest);
    if (longest <= tables_->longest()) return tables_;
    return std::make_shared<TierBounds>(
        TierTables(levels_, step_, std::clamp<Step>(longest_, 64, 4096)), longest);
  }
  [[nodiscard]] const TierLevel& disk() const { return levels_[1]; }

 private:
  void grow(Step longest) { tables_ = std::make_shared<TierTables>(levels_, step_, longest); }

  std::vector<TierLevel> levels_;
  double step_;
  Step longest_;
  std::shared_ptr<const TierTables> tables_;  // shared by copies; never changes
};

class OnlineTiered final : public Generator {
 public:
  OnlineTiered(std::vector<TierLevel> levels, double step)
      : memory_(levels[0].slots),
        write_((levels[1].write + 2 * levels[0].read) / step),
        read_(levels[1].read / step),
        costs_(levels, step),
        table_(memory_ + 1),
        next_disk_slot_(memory_) {}
  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<OnlineTiered>(*this);
  }

  Command next() override {
    if (reversing_) return reversal_.next();
    if (given_ == ready_.size()) {
      ready_.clear();
      given_ = 0;
      go_on();
    }
    return ready_[given_++];
  }

  void end_at(Step n, Step live, Step saved_end) override {
    SetReversal::Start start;
    start.steps = start.end = n;
    start.live = live;
    std::vector<TierSlots> tiers{{"memory", memory_}, {"disk", costs_.disk().slots}};
    if (costs_.disk().open()) tiers[1].slots = unbounded - memory_;
    SlotPool pool(tiers);
    if (dense_) {
      if (n > 0) start.kept.push_back({0, std::min(saved_end, n), 0});
      if (saved_end > n) start.drops.push_back(n);
      pool.claim_first(saved_end);
    } else {
      std::vector<Stored> all = on_disk_;
      all.insert(all.end(), in_memory_.begin(), in_memory_.end());
      const Step end = live == n ? n : n - 1;
      Step longest = 2;
      for (std::size_t i = 0; i < all.size(); ++i) {
        pool.claim(all[i].slot);
        if (all[i].at >= end) {
          start.drops.push_back(all[i].slot);
          continue;
        }
        start.kept.push_back({all[i].at, all[i].at + 1, all[i].slot});
        const Step above = i + 1 < all.size() ? std::min(end, all[i + 1].at) : end;
        if (i < on_disk_.size()) longest = std::max(longest, above - all[i].at);
      }
      start.rule = costs_.rule(longest);
    }
    if (!start.rule) start.rule = costs_.rule(2);
    reversal_ = SetReversal(std::move(start), std::move(pool));
    reversing_ = true;
  }

 private:
  void emit(Kind kind, Step from = 0, Step to = 0, Slot slot = 0) {
    ready_.push_back({kind, Content::state, from, to, slot});
  }

  // The commands from the live state to the next one at which something is done.
  void go_on() {
    if (!begun_) {
      begun_ = dense_ = true;
      live_ = memory_;
      emit(Kind::keep, 0, memory_, 0);
      return;
    }
    if (dense_) {
      for (Slot i = 0; i < memory_; ++i) in_memory_.push_back({i, i});
      dense_ = false;
    }
    act();
    const Step from = live_++;
    while (live_ - from < most_ahead && plan().kind == Choice::nothing) ++live_;
    emit(Kind::advance, from, live_);
  }

  // How the live state outlasts that the lowest one in memory is loaded and written to disk.
  struct Choice {
    enum Kind : unsigned char {
      nothing,
      add,          // there is room in memory
      replace,      // in memory, in place of the victim
      move,         // likewise, and then the lowest one moves to disk
      move_again,   // it is recomputed from the highest one in memory
      move_on_disk  // it waits on disk
    } kind = nothing;
    std::size_t victim = 0;       // in memory
    std::size_t disk_victim = 0;  // on disk, 0: none
  };

  // What is best at the live state, if the run goes on.
  Choice plan() {
    const std::size_t m = in_memory_.size();
    Choice choice;
    if (static_cast<Slot>(m) < memory_) {
      choice.kind = Choice::add;
      return choice;
    }
    const Step end = live_ + 1;
    const double disk_now = on_disk_.empty() ? 0 : disk_value(in_memory_.front().at);
    double best = memory_value(0, m, end) + disk_now;
    for (std::size_t i = 1; i < m; ++i) {
      const double value = memory_value(0, i, end) + disk_now;
      if (value < best) {
        best = value;
        choice = {Choice::replace, i, 0};
      }
    }
    const auto [on_disk, disk_victim] = disk_value_with(in_memory_.front().at, in_memory_[1].at);
    const bool spare =
        costs_.disk().open() || static_cast<Slot>(on_disk_.size()) + 2 <= costs_.disk().slots;
    const auto again = static_cast<double>(live_ - in_memory_.back().at);
    const double wait = spare ? write_ + read_ : never;
    const double moved = memory_value(1, m + 1, end) + on_disk + write_ + std::min(again, wait);
    if (moved < best) {
      best = moved;
      choice = {again < wait ? Choice::move_again : Choice::move_on_disk, 0, disk_victim};
    }
    for (std::size_t i = 2; i < m; ++i) {
      const double value = memory_value(1, i, end) + on_disk + write_;
      if (value < best) {
        best = value;
        choice = {Choice::move, i, disk_victim};
      }
    }
    return choice;
  }

  // The gaps above the checkpoints in memory from `first` on, without `victim`, for which the live
  // state comes in. If `victim` is their number, nothing changes, if it is beyond, none is lost.
  double memory_value(std::size_t first, std::size_t victim, Step end) {
    const std::size_t m = in_memory_.size();
    double sum = 0;
    Slot left = memory_;
    Step at = unknown;
    const auto next = [&](Step to) {
      if (at != unknown) sum += static_cast<double>(table_.advances(to - at, left--));
      at = to;
    };
    for (std::size_t i = first; i < m; ++i) {
      if (i != victim) next(in_memory_[i].at);
    }
    if (victim != m) next(live_);
    next(end);
    return sum;
  }

  // The gaps above those on disk, the last one ending at `end`.
  double disk_value(Step end) {
    double sum = 0;
    for (std::size_t i = 0; i < on_disk_.size(); ++i) {
      const Step above = i + 1 < on_disk_.size() ? on_disk_[i + 1].at : end;
      sum += read_ + costs_(above - on_disk_[i].at, disk_slots(i));
    }
    return sum;
  }
  [[nodiscard]] Slot disk_slots(std::size_t below) const {
    return costs_.disk().open() ? 0 : costs_.disk().slots - static_cast<Slot>(below);
  }

  // The same with one more at `top`, and the one that has to go if the disk is full.
  std::pair<double, std::size_t> disk_value_with(Step top, Step end) {
    const std::size_t d = on_disk_.size();
    const auto at = [&](std::size_t i) { return i < d ? on_disk_[i].at : i == d ? top : end; };
    if (disk_slots(d) > 0 || costs_.disk().open()) {
      double sum = 0;
      for (std::size_t i = 0; i <= d; ++i) sum += read_ + costs_(at(i + 1) - at(i), disk_slots(i));
      return {sum, 0};
    }
    // suffix: the gaps from i on with one below given up.
    double suffix = 0;
    std::vector<double>& above = scratch_;
    above.assign(d + 2, 0);
    for (std::size_t i = d + 1; i-- > 1;) {
      suffix += read_ + costs_(at(i + 1) - at(i), disk_slots(i - 1));
      above[i] = suffix;
    }
    double below = 0;
    double best = never;
    std::size_t victim = 0;
    for (std::size_t i = 1; i <= d; ++i) {  // give up i: gap i-1 grows
      const double value =
          below + read_ + costs_(at(i + 1) - at(i - 1), disk_slots(i - 1)) + above[i + 1];
      if (i < d + 1 && value < best) {
        best = value;
        victim = i;
      }
      below += read_ + costs_(at(i) - at(i - 1), disk_slots(i - 1));
    }
    return victim < d ? std::pair{best, victim} : std::pair{never, std::size_t{0}};
  }

  // Does what is planned at the live state.
  void act() {
    const Choice choice = plan();
    if (choice.kind == Choice::nothing) return;
    const Stored lowest = in_memory_.front();
    if (choice.kind == Choice::move_again || choice.kind == Choice::move_on_disk) {
      const Stored highest = in_memory_.back();
      const Slot slot = disk_slot(choice);
      const bool waits = choice.kind == Choice::move_on_disk;
      if (waits) emit(Kind::save, live_, 0, next_disk_slot_);
      emit(Kind::load, lowest.at, 0, lowest.slot);
      emit(Kind::save, lowest.at, 0, slot);
      emit(Kind::drop, 0, 0, lowest.slot);
      if (waits) {
        emit(Kind::load, live_, 0, next_disk_slot_);
        emit(Kind::drop, 0, 0, next_disk_slot_);
      } else {
        emit(Kind::load, highest.at, 0, highest.slot);
        emit(Kind::advance, highest.at, live_);
      }
      emit(Kind::save, live_, 0, lowest.slot);
      in_memory_.erase(in_memory_.begin());
      in_memory_.push_back({live_, lowest.slot});
      on_disk_.push_back({lowest.at, slot});
      return;
    }
    Slot slot = free_slot_;
    if (choice.kind != Choice::add) {
      slot = in_memory_[choice.victim].slot;
      emit(Kind::drop, 0, 0, slot);
      in_memory_.erase(in_memory_.begin() + static_cast<std::ptrdiff_t>(choice.victim));
    }
    emit(Kind::save, live_, 0, slot);
    in_memory_.push_back({live_, slot});
    if (choice.kind != Choice::move) return;
    const Slot on_disk = disk_slot(choice);
    emit(Kind::load, lowest.at, 0, lowest.slot);
    emit(Kind::save, lowest.at, 0, on_disk);
    emit(Kind::drop, 0, 0, lowest.slot);
    emit(Kind::load, live_, 0, slot);
    in_memory_.erase(in_memory_.begin());
    on_disk_.push_back({lowest.at, on_disk});
    free_slot_ = lowest.slot;
  }
  // An empty slot on disk.
  Slot disk_slot(const Choice& choice) {
    if (choice.disk_victim == 0) return next_disk_slot_++;
    const Slot slot = on_disk_[choice.disk_victim].slot;
    emit(Kind::drop, 0, 0, slot);
    on_disk_.erase(on_disk_.begin() + static_cast<std::ptrdiff_t>(choice.disk_victim));
    return slot;
  }

  Slot memory_;
  double write_;  // of a move, in steps
  double read_;
  DiskCosts costs_;
  BinomialTable table_;
  Slot next_disk_slot_;
  bool begun_ = false;
  bool dense_ = false;  // all states from 0 on are being kept
  bool reversing_ = false;
  Step live_ = 0;
  std::vector<Stored> on_disk_;
  std::vector<Stored> in_memory_;
  Slot free_slot_ = 0;  // if one in memory is empty
  std::vector<double> scratch_;
  std::vector<Command> ready_;
  std::size_t given_ = 0;
  SetReversal reversal_;
};

}  // namespace

Schedule online_tiered(const Costs& costs) {
  check(costs, static_cast<Step>(costs.weights.size()));
  const std::vector<TierSlots> tiers = rooms(costs);
  if (tiers.size() != 2) {
    throw InvalidArgument("online_tiered() is for two tiers, not " + std::to_string(tiers.size()));
  }
  if (tiers[0].slots < 2 || tiers[1].slots < 2) {
    throw InvalidArgument("online_tiered() needs two slots in each tier; there are " +
                          std::to_string(tiers[0].slots) + " and " +
                          std::to_string(tiers[1].slots));
  }
  if (tiers[0].slots == unbounded) return online(unbounded);
  std::vector<TierLevel> levels;
  for (std::size_t i = 0; i < 2; ++i) {
    levels.push_back({i, tiers[i].slots, costs.tiers[i].write, costs.tiers[i].read});
  }
  std::vector<TierSlots> used = tiers;
  if (used[1].slots == unbounded) used[1].slots = unbounded - used[0].slots;
  return {"online-tiered", unknown, used, std::make_unique<OnlineTiered>(levels, costs.step)};
}

}  // namespace costate
