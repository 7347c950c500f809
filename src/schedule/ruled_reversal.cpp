#include "ruled_reversal.hpp"

#include <algorithm>
#include <utility>

#include "costate/schedule/binomial.hpp"
#include "listed.hpp"

namespace costate {
namespace {

using Kind = Command::Kind;

Command command(Kind kind, Step from, Step to, Slot slot = 0) {
  return {kind, Content::state, from, to, slot};
}

}  // namespace

std::unique_ptr<Generator> listed(std::vector<Command> first, RuledReversal rest) {
  return std::make_unique<Listed<RuledReversal>>(std::move(first), std::move(rest));
}

RuledReversal::RuledReversal(Start start, SlotPool pool)
    : steps_(start.steps),
      end_(start.end),
      live_(start.live),
      turned_(start.turned),
      bases_(std::move(start.bases)),
      near_(std::move(start.near)),
      pool_(std::move(pool)) {
  for (const Stored& each : start.kept) stack_.push_back({each.at, each.at + 1, each.slot});
}

Command RuledReversal::next() {
  if (given_ == queued_) {
    given_ = queued_ = 0;
    plan_next();
    if (queued_ == 0) return {};
  }
  return queue_[given_++];
}

void RuledReversal::plan_next() {
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
  if (stack_.back().to > end_) return drop_copy();
  if (stack_.back().to == end_) return reverse_stored();
  while (!bases_.empty() && bases_.back().at >= end_) bases_.pop_back();
  const Top state = top();
  if (keeping_) return binomially(state, state.tier);
  if (state.length <= near_->longest()) {
    return binomial_is_best(state) ? binomially(state, 0) : by_tables(state);
  }
  by_rule(state);
}

RuledReversal::Top RuledReversal::top() const {
  Top found{stack_.back().to - 1, 0, 0, 0, 0};
  found.length = end_ - found.at;
  for (auto run = stack_.rbegin(); run != stack_.rend() && run->to - 1 == found.at; ++run) {
    const Slot slot = run->slot + (found.at - run->from);
    const std::size_t tier = pool_.tier_of(slot);
    found.set |= Set{1} << tier;
    if (near_->source(found.set) == tier) {
      found.source = slot;
      found.tier = tier;
    }
  }
  return found;
}

GapTables::Free RuledReversal::free() const {
  std::array<Slot, 32> slots{};
  for (std::size_t t = 0; t < near_->tiers(); ++t) slots[t] = pool_.free(t);
  return near_->index(slots);
}

void RuledReversal::make_live(const Top& top) {
  if (live_ != top.at) emit(command(Kind::load, top.at, 0, top.source));
  live_ = top.at;
}

void RuledReversal::advance(Step to) {
  emit(command(Kind::advance, live_, to));
  live_ = to;
}

// Saves the live state, which is that on top or one above it.
void RuledReversal::save(Step at, std::size_t tier) {
  const Slot slot = pool_.take(tier);
  emit(command(Kind::save, at, 0, slot));
  stack_.push_back({at, at + 1, slot});
}

// Drops one of several copies of the state on top.
void RuledReversal::forget(Step at, std::size_t tier) {
  auto run = stack_.end();
  Slot slot = 0;
  do {
    --run;
    slot = run->slot + (at - run->from);
  } while (pool_.tier_of(slot) != tier);
  emit(command(Kind::drop, 0, 0, slot));
  pool_.give_back(slot);
  if (--run->to == run->from) stack_.erase(run);
}

// x_{end-1} is live.
void RuledReversal::reverse_live() {
  const Step k = end_ - 1;
  if (!stack_.empty() && stack_.back().to == end_) drop_copy();  // it is stored, too
  emit(command(Kind::record, k, 0));
  if (!turned_) emit(command(Kind::turn, steps_, 0));
  turned_ = true;
  emit(command(Kind::reverse, k, 0));
  end_ = k;
}

// x_{end-1} is stored.
void RuledReversal::reverse_stored() {
  if (!turned_) {  // the last step: Turn comes between Record and Reverse
    make_live(top());
    return reverse_live();
  }
  const StoredRun run = stack_.back();
  stack_.pop_back();
  for (Step k = run.to; k-- > run.from;) pool_.give_back(run.slot + (k - run.from));
  end_ = live_ = run.from;
  emit(command(Kind::unwind, run.from, run.to, run.slot));
}

// The last of the states on top, which is reversed.
void RuledReversal::drop_copy() {
  StoredRun& run = stack_.back();
  const Slot slot = run.slot + (run.to - 1 - run.from);
  emit(command(Kind::drop, 0, 0, slot));
  pool_.give_back(slot);
  if (--run.to == run.from) stack_.pop_back();
}

// Whether the tables know nothing better than tier 0 alone.
bool RuledReversal::binomial_is_best(const Top& top) const {
  if (top.set != 1) return false;
  const Slot slots = pool_.free(0) + 1;
  const double cost =
      static_cast<double>(binomial_advances(top.length, slots)) * near_->step() +
      static_cast<double>(binomial_writes(top.length, slots) - 1) * near_->write(1) +
      static_cast<double>(top.length - 1) * near_->read(1);
  return cost <= near_->kept_of(1, top.length, free()) * (1 + 0x1p-40);
}

// In one tier alone, where the start is.
void RuledReversal::binomially(const Top& top, std::size_t tier) {
  const Slot room = pool_.free(tier);
  if (top.length - 2 > room) {
    make_live(top);
    advance(top.at + binomial_split(top.length, 1 + room));
    if (end_ - live_ >= 2) save(live_, tier);
    return;
  }
  // All states between can be kept.
  if (live_ != top.at + 1) {
    make_live(top);
    advance(top.at + 1);
  }
  if (top.length == 2) return;
  const Slot count = pool_.contiguous(tier, top.length - 2);
  const Slot first = pool_.take(tier, count);
  emit(command(Kind::keep, live_, live_ + count, first));
  StoredRun& below = stack_.back();
  if (below.to == live_ && below.slot + (below.to - below.from) == first &&
      pool_.tier_of(below.slot) == tier) {
    below.to += count;
  } else {
    stack_.push_back({live_, live_ + count, first});
  }
  live_ += count;
  keeping_ = live_ < end_ - 1;
}

void RuledReversal::by_tables(const Top& top) {
  const GapTables::Next next = near_->next_of(top.set, top.length, free());
  if (next.kind == GapTables::Next::drop) return forget(top.at, next.tier);
  make_live(top);
  if (next.kind == GapTables::Next::copy) return save(top.at, next.tier);
  advance(top.at + next.ahead);
  if (end_ - live_ >= 2) save(live_, next.tier);
}

void RuledReversal::by_rule(const Top& top) {
  const Base& base = bases_.back();
  if (top.at == base.at && (top.set >> base.tier & 1U) == 0) {
    make_live(top);
    save(top.at, base.tier);
    return forget(top.at, top.tier);
  }
  const Set memory = top.set & 1U;
  if (!base.rule) {
    if (memory != 0) return binomially(top, 0);
    make_live(top);
    if (pool_.free(0) > 0) return save(top.at, 0);
    return advance(end_ - 1);
  }
  const TierRule& rule = *base.rule;
  std::size_t level = 0;
  while ((top.set >> rule.levels()[level].tier & 1U) == 0) ++level;
  if (level == 0 && rule.binomial_bottom()) return binomially(top, rule.levels()[0].tier);
  const TierLevel& mine = rule.levels()[level];
  const Slot s = mine.open() ? 0 : std::min(1 + pool_.free(mine.tier), mine.slots);
  const Step ahead = rule.split(level, top.length, s);
  make_live(top);
  if (ahead == 0) return keep_at(top.at, level - 1, rule.all_slots(level - 1), rule);
  advance(top.at + ahead);
  if (end_ - live_ < 2) return;
  keep_at(live_, level, rule.one_less(level, s), rule);
}

// Saves the live state in the level that the rule says, not above this one.
void RuledReversal::keep_at(Step at, std::size_t level, Slot s, const TierRule& rule) {
  if (at > stack_.back().to - 1 && end_ - at <= near_->longest()) {
    return save(at, near_->place(end_ - at, free()));
  }
  const auto can_keep = [&] {  // an open level may be open in the rule only
    return rule.any_free(level, s) && pool_.free(rule.levels()[level].tier) > 0;
  };
  while (level > 0 && !(can_keep() && rule.keeps(level, end_ - at, s))) {
    --level;
    s = rule.all_slots(level);
  }
  save(at, rule.levels()[level].tier);
}

}  // namespace costate
