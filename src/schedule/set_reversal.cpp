#include "set_reversal.hpp"

#include <algorithm>
#include <utility>

#include "costate/schedule/binomial.hpp"

namespace costate {
namespace {

using Kind = Command::Kind;

Command command(Kind kind, Step from, Step to, Slot slot = 0) {
  return {kind, Content::state, from, to, slot};
}

}  // namespace

SlotPool::SlotPool(const std::vector<TierSlots>& tiers) {
  for (const TierSlots& tier : tiers) {
    const Slot end = free_ + tier.slots;
    tiers_.push_back({end, tier.slots, {{free_, end}}, 0, {}});
    free_ = end;
  }
}

std::size_t SlotPool::tier_of(Slot slot) const noexcept {
  std::size_t i = 0;
  while (slot >= tiers_[i].end) ++i;
  return i;
}

void SlotPool::claim_first(Slot count) {
  free_ -= count;
  for (Tier& tier : tiers_) {
    const Slot taken = std::min(count, tier.untouched);
    tier.fresh.front().begin += taken;
    tier.touch(taken);
    count -= taken;
  }
}

void SlotPool::claim(Slot slot) {
  Tier& tier = tiers_[tier_of(slot)];
  const auto range = std::partition_point(tier.fresh.begin(), tier.fresh.end(),
                                          [slot](const Range& r) { return r.end <= slot; });
  if (range == tier.fresh.end() || slot < range->begin) {
    tier.returned.erase(std::find(tier.returned.begin(), tier.returned.end(), slot));
  } else {
    const Range above{slot + 1, range->end};
    range->end = slot;
    tier.fresh.insert(range + 1, above);
    tier.touch(1);
  }
  --free_;
}

SlotPool::Share SlotPool::share(Slot need) const noexcept {
  Share last{0, 0};
  for (std::size_t i = 0; i < tiers_.size() && need > 0; ++i) {
    const Slot room = tiers_[i].free();
    if (room == 0) continue;
    last = {i, std::min(room, need)};
    need -= room;
  }
  return last;
}

Slot SlotPool::contiguous(std::size_t i, Slot most) const noexcept {
  const Tier& tier = tiers_[i];
  Slot count = 0;
  Slot next = unknown;
  for (auto j = tier.returned.size(); j-- > 0 && count < most; ++count, ++next) {
    if (next != unknown && tier.returned[j] != next) return count;
    next = tier.returned[j];
  }
  if (count == most || tier.untouched == 0) return count;
  const Range& fresh = tier.fresh[tier.first_fresh];
  if (next != unknown && next != fresh.begin) return count;
  return std::min(most, count + (fresh.end - fresh.begin));
}

Slot SlotPool::take(std::size_t i, Slot count) {
  Tier& tier = tiers_[i];
  free_ -= count;
  const Slot first =
      tier.returned.empty() ? tier.fresh[tier.first_fresh].begin : tier.returned.back();
  for (; count > 0 && !tier.returned.empty(); --count) tier.returned.pop_back();
  if (count > 0) {
    tier.fresh[tier.first_fresh].begin += count;
    tier.touch(count);
  }
  return first;
}

void SlotPool::give_back(Slot slot) {
  tiers_[tier_of(slot)].returned.push_back(slot);
  ++free_;
}

SetReversal::SetReversal(Start start, SlotPool pool)
    : steps_(start.steps),
      end_(start.end),
      live_(start.live),
      turned_(start.turned),
      stack_(std::move(start.kept)),
      drops_(std::move(start.drops)),
      placements_(std::move(start.placements)),
      rule_(std::move(start.rule)),
      near_(std::move(start.near)),
      pool_(std::move(pool)) {}

Command SetReversal::next() {
  if (given_ == queued_) {
    given_ = queued_ = 0;
    plan_next();
    if (queued_ == 0) return {};
  }
  return queue_[given_++];
}

void SetReversal::make_live(Step at, Slot slot) {
  if (live_ != at) emit(command(Kind::load, at, 0, slot));
  live_ = at;
}

// Saves the live state.
void SetReversal::save(Step at, std::size_t tier) {
  const Slot slot = pool_.take(tier);
  emit(command(Kind::save, at, 0, slot));
  const StoredRun run{at, at + 1, slot};
  // Placements do not come in order.
  stack_.insert(
      std::upper_bound(stack_.begin(), stack_.end(), run,
                       [](const StoredRun& a, const StoredRun& b) { return a.from < b.from; }),
      run);
}

// Where a state goes above which, itself included, at most `need` are stored at once.
std::size_t SetReversal::tier_for(Slot need) const {
  return pool_.share(std::min(need, pool_.free())).tier;
}

// x_{end-1} is live.
void SetReversal::reverse_live() {
  const Step k = end_ - 1;
  if (!stack_.empty() && stack_.back().to == end_) {  // it is stored, too
    StoredRun& top = stack_.back();
    const Slot slot = top.slot + (k - top.from);
    emit(command(Kind::drop, 0, 0, slot));
    pool_.give_back(slot);
    if (--top.to == top.from) stack_.pop_back();
  }
  emit(command(Kind::record, k, 0));
  if (!turned_) emit(command(Kind::turn, steps_, 0));
  turned_ = true;
  emit(command(Kind::reverse, k, 0));
  end_ = k;
}

// x_{end-1} is stored.
void SetReversal::reverse_stored() {
  const StoredRun top = stack_.back();
  if (!turned_) {  // the last step: Turn comes between Record and Reverse
    make_live(end_ - 1, top.slot + (end_ - 1 - top.from));
    return reverse_live();
  }
  stack_.pop_back();
  for (Step k = top.to; k-- > top.from && !stack_.empty();) {
    pool_.give_back(top.slot + (k - top.from));
  }
  end_ = stack_.empty() ? 0 : top.from;
  live_ = top.from;
  emit(command(Kind::unwind, top.from, top.to, top.slot));
}

// The second copy of a state, which is reversed.
void SetReversal::drop_copy() {
  const Slot slot = stack_.back().slot;
  emit(command(Kind::drop, 0, 0, slot));
  pool_.give_back(slot);
  stack_.pop_back();
}

// Goes on by the near tables if they know something better than memory alone; x_at is stored.
bool SetReversal::near_by(Step at, Slot slot) {
  const Step length = end_ - at;
  const Slot a = pool_.free(0);
  const Slot b = pool_.free(1);
  const std::size_t tier = pool_.tier_of(slot);
  if (!near_ || !near_->knows(length, a)) return false;
  if (tier == 0 && !((*near_)(0, length, a, b) + 1e-9 < near_->in_memory(length, a))) return false;
  const NearTables::Next next = near_->next(tier, length, a, b);
  make_live(at, slot);
  if (next.ahead == 0) {
    save(at, 0);
    return true;
  }
  live_ = at + next.ahead;
  emit(command(Kind::advance, at, live_));
  if (end_ - live_ >= 2) save(live_, next.tier);
  return true;
}

// x_at is stored on disk.
void SetReversal::from_disk(Step at, Slot slot) {
  const auto free = [this] { return rule_->levels()[1].open() ? 0 : pool_.free(1); };
  const bool below = pool_.free(0) < rule_->levels()[0].slots;  // states in memory
  if (below && near_by(at, slot)) return;
  make_live(at, slot);
  if (below) {
    if (pool_.free(0) > 0) return save(at, 0);
    live_ = end_ - 1;
    return emit(command(Kind::advance, at, live_));
  }
  const Step ahead = rule_->split(1, end_ - at, rule_->levels()[1].open() ? 0 : 1 + free());
  if (ahead == 0) return save(at, 0);
  live_ = at + ahead;
  emit(command(Kind::advance, at, live_));
  const Step left = end_ - live_;
  if (left < 2) return;
  const bool to_disk = rule_->any_free(1, free()) && rule_->keeps(1, left, free());
  save(live_, to_disk ? 1 : 0);
}

void SetReversal::plan_next() {
  if (!drops_.empty()) {
    emit(command(Kind::drop, 0, 0, drops_.back()));
    pool_.give_back(drops_.back());
    drops_.pop_back();
    return;
  }
  if (!turned_ && live_ == steps_) {
    emit(command(Kind::turn, steps_, 0));
    turned_ = true;
    return;
  }
  if (end_ == 0) {
    if (!stack_.empty()) drop_copy();
    return;
  }
  if (live_ == end_ - 1) return reverse_live();
  const bool from_live = placed_ < placements_.size() && placements_[placed_].slot < 0;
  if (!from_live && !stack_.empty() && stack_.back().to == end_) return reverse_stored();
  if (placed_ < placements_.size()) {
    const Placement& place = placements_[placed_++];
    if (place.slot >= 0) make_live(place.start, place.slot);
    if (place.drop_start) {
      emit(command(Kind::drop, 0, 0, place.slot));
      pool_.give_back(place.slot);
    }
    if (place.at > place.start) emit(command(Kind::advance, place.start, place.at));
    live_ = place.at;
    if (place.at < end_ - 1) {
      save(place.at, tier_for(end_ - 1 - place.at));
    }
    return;
  }

  const StoredRun top = stack_.back();
  const Step p = top.to - 1;
  const Slot slot = top.slot + (p - top.from);
  if (top.to > end_) return drop_copy();
  if (rule_ && pool_.tier_of(slot) > 0) return from_disk(p, slot);
  if (rule_ && near_by(p, slot)) return;
  const Step length = end_ - p;
  const Slot free = rule_ ? pool_.free(0) : pool_.free();
  if (length - 2 <= free) {  // all states between can be kept
    if (live_ != p + 1) {
      make_live(p, slot);
      emit(command(Kind::advance, p, p + 1));
      live_ = p + 1;
    }
    if (length == 2) return;
    const SlotPool::Share share = pool_.share(length - 2);
    const Slot count = pool_.contiguous(share.tier, share.count);
    const Slot first = pool_.take(share.tier, count);
    emit(command(Kind::keep, p + 1, p + 1 + count, first));
    live_ = p + 1 + count;
    if (first == slot + 1 && pool_.tier_of(slot) == share.tier) {
      stack_.back().to += count;
    } else {
      stack_.push_back({p + 1, p + 1 + count, first});
    }
    return;
  }
  make_live(p, slot);
  const Step k = p + binomial_split(length, 1 + free);
  emit(command(Kind::advance, p, k));
  live_ = k;
  if (end_ - k >= 2) save(k, rule_ ? 0 : tier_for(end_ - 1 - k));
}

}  // namespace costate
