#include "gap_reversal.hpp"

#include <utility>

namespace costate {

using Kind = Command::Kind;

GapReversal::GapReversal(const ResumePoint& point, const GapTables& tables)
    : steps_(point.steps),
      end_(point.end),
      live_(point.live),
      turned_(point.turned),
      tables_(tables),
      pool_(point.tiers) {
  for (const TierSlots& tier : point.tiers) free_.push_back(tier.slots);
}

std::size_t GapReversal::claim(Slot slot) {
  pool_.claim(slot);
  const std::size_t tier = pool_.tier_of(slot);
  --free_[tier];
  return tier;
}

void GapReversal::load(Step at, Slot slot) {
  if (live_ != at) emit(Kind::load, at, 0, slot);
  live_ = at;
}

void GapReversal::store_unread(Step at, std::size_t tier) {
  ahead_.push_back({at, tier, unknown});
  --free_[tier];
}

void GapReversal::advance(Step to) {
  while (!ahead_.empty() && ahead_.front().at < to) {
    Unread next = ahead_.front();
    ahead_.pop_front();
    if (next.at > live_) emit(Kind::advance, live_, next.at);
    live_ = next.at;
    next.slot = pool_.take(next.tier);
    emit(Kind::save, live_, 0, next.slot);
    passed_.push_back(next);
  }
  if (to > live_) emit(Kind::advance, live_, to);
  live_ = to;
}

void GapReversal::save(Copies& copies, std::size_t tier) {
  copies[tier] = pool_.take(tier);
  --free_[tier];
  emit(Kind::save, live_, 0, copies[tier]);
}

void GapReversal::keep_only(Copies& copies, Set set) {
  for (std::size_t t = 0; t < copies.size(); ++t) {
    if (copies[t] == unknown || (set >> t & 1U) != 0) continue;
    emit(Kind::drop, 0, 0, copies[t]);
    pool_.give_back(copies[t]);
    ++free_[t];
    copies[t] = unknown;
  }
}

void GapReversal::record(Step at) {
  emit(Kind::record, at);
  if (!turned_) emit(Kind::turn, steps_);
  turned_ = true;
  emit(Kind::reverse, at);
  end_ = at;
  while (!passed_.empty() && passed_.back().at >= end_) {
    emit(Kind::drop, 0, 0, passed_.back().slot);
    pool_.give_back(passed_.back().slot);
    ++free_[passed_.back().tier];
    passed_.pop_back();
  }
}

std::vector<Command> GapReversal::reverse() && {
  while (end_ > 0) {
    if (live_ == end_ - 1 && (frames_.empty() || frames_.back().at < live_)) {
      record(live_);
    } else {
      reverse_top();
    }
  }
  return std::move(commands_);
}

void GapReversal::reverse_top() {
  Frame& top = frames_.back();
  const Step length = end_ - top.at;
  load(top.at, top.copies[tables_.source(top.set)]);
  if (length == 1) {
    keep_only(top.copies, 0);
    const Step at = top.at;
    frames_.pop_back();
    return record(at);
  }
  const GapTables::Next next = tables_.next(top.set, top.at, end_, free_);
  const Set bit = Set{1} << next.tier;
  if (next.kind == GapTables::Next::copy) {
    save(top.copies, next.tier);
    top.set |= bit;
  } else if (next.kind == GapTables::Next::drop) {
    top.set &= ~bit;
    keep_only(top.copies, top.set);
  } else {
    advance(top.at + next.ahead);
    if (length - next.ahead == 1) return;
    if (!ahead_.empty() && ahead_.front().at == live_) {
      ++free_[ahead_.front().tier];
      ahead_.pop_front();
    }
    Frame above{live_, bit, Copies(tables_.tiers(), unknown)};
    save(above.copies, next.tier);
    frames_.push_back(std::move(above));
  }
}

}  // namespace costate
