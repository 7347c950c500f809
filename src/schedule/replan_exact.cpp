#include "replan_exact.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "set_reversal.hpp"

namespace costate {
namespace {

using Kind = Command::Kind;
using Set = GapTables::Set;
using Free = GapTables::Free;

constexpr double infinite = std::numeric_limits<double>::infinity();

// The slots that hold a state, by tier; `unknown`: none.
using Copies = std::vector<Slot>;

enum class Source : std::uint8_t { kept, live, copied, replaced };

// How a state comes to be kept.
struct Way {
  Source source;
  Set set;  // empty: it is the last, and reversed at once
  double cost;
  bool live_after;  // it is live when the reversal begins, if nothing is kept above
};

struct Base {
  Step at;
  Way way;
};

class Exact {
 public:
  Exact(const ResumePoint& point, const GapTables& tables, double step)
      : steps_(point.steps),
        end_(point.end),
        live_(point.live),
        turned_(point.turned),
        step_(step),
        tables_(tables),
        pool_(point.tiers),
        copies_(static_cast<std::size_t>(end_)),
        sets_(static_cast<std::size_t>(end_), 0),
        below_(static_cast<std::size_t>(end_), unknown) {
    for (const Stored& stored : point.stored) {
      pool_.claim(stored.slot);
      const std::size_t tier = pool_.tier_of(stored.slot);
      Copies& copies = copies_[index(stored.at)];
      copies.resize(tables_.tiers(), unknown);
      copies[tier] = stored.slot;
      sets_[index(stored.at)] |= Set{1} << tier;
    }
    for (Step at = 1; at < end_; ++at) {
      below_[index(at)] = sets_[index(at - 1)] != 0 ? at - 1 : below_[index(at - 1)];
    }
    const std::size_t columns = tables_.all_free() + 1;
    gaps_.resize(index(end_) + 1);
    for (Step l = 1; l <= end_; ++l) {
      for (Set m = 1; m <= tables_.all(); ++m) {
        for (Free f = 0; f < columns; ++f) gaps_[index(l)].push_back(tables_.kept(m, l, f));
      }
    }
  }

  std::vector<Command> commands() {
    // Putting in order may lack the room to begin with; without copying and replacing it never
    // does.
    for (const bool simple : {false, true}) {
      Exact attempt = *this;
      attempt.simple_ = simple;
      if (!attempt.arrange(attempt.best())) continue;
      attempt.reverse();
      return std::move(attempt.commands_);
    }
    return {};
  }

 private:
  static std::size_t index(Step at) { return static_cast<std::size_t>(at); }

  // The ways to keep x_p with x_b the next one kept below (-1: none).
  void ways(Step b, Step p, bool from_live, std::vector<Way>& out) const {
    out.clear();
    const Set stored = sets_[index(p)];
    const auto each_tier = [&](Source source, double cost, bool live_after) {
      for (Set bit = 1; bit <= tables_.all(); bit <<= 1) {
        out.push_back({source, bit, cost + tables_.write(bit), live_after});
      }
      if (p == end_ - 1 && live_after) out.push_back({source, 0, cost, true});
    };
    for (Set m = 1; m <= tables_.all() && stored != 0; ++m) {
      if ((m & ~stored) == 0) {
        out.push_back({Source::kept, m, 0, false});
      } else if (!from_live && !simple_) {
        const double cost = tables_.read(stored) + tables_.write(m & ~stored);
        out.push_back({Source::copied, m, cost, true});
      }
    }
    if (live_ != unknown && b < live_ && live_ <= p) {
      each_tier(Source::live, step_ * static_cast<double>(p - live_), from_live);
    }
    if (from_live || simple_) return;
    const Step q = below_[index(p)];
    if (q != unknown && q > b) {
      const double cost = tables_.read(sets_[index(q)]) + step_ * static_cast<double>(p - q);
      each_tier(Source::replaced, cost, true);
    }
  }

  [[nodiscard]] std::vector<Base> best() const {
    auto found = best(false);
    if (live_ == unknown || live_ >= end_) return std::move(found.second);
    auto other = best(true);
    return std::move(other.first < found.first ? other.second : found.second);
  }
  // The bases of the least cost, ascending. If `from_live`, nothing is read before the reversal
  // begins; otherwise the live state is lost by then.
  std::pair<double, std::vector<Base>> best(bool from_live) const {
    const Set sets = tables_.all();
    const std::size_t columns = tables_.all_free() + 1;
    const auto row = [&](Set m) { return (m - 1) * columns; };
    // V without the read that the gap begins with, by b, then as `gaps_`.
    std::vector<std::vector<double>> rest(index(end_));
    // What remains if x_p is kept in that way, and whether nothing is kept above it.
    const auto above = [&](Step p, const Way& way, Free f) -> std::pair<double, bool> {
      if (!tables_.fits(way.set, f)) return {infinite, false};
      if (way.set == 0) return {way.cost, false};
      const Free left = tables_.less(f, way.set);
      const std::size_t cell = row(way.set) + left;
      const double whole = gaps_[index(end_ - p)][cell];
      const double read = from_live && p == live_ ? 0 : tables_.read(way.set);
      const double kept = std::min(read + whole, tables_.read(way.set) + rest[index(p)][cell]);
      const double top = way.live_after ? whole : infinite;
      return {way.cost + std::min(kept, top), top <= kept};
    };
    // The least of that over all ways that there are above x_b, which differ with b only in what
    // lies between: by p, then whether the live state does, and a stored one; then by f.
    std::vector<std::vector<double>> placed(index(end_) * 4);
    const auto between = [&](Step b, Step p) {
      const bool live = live_ != unknown && b < live_ && live_ <= p;
      const bool stored = below_[index(p)] != unknown && b < below_[index(p)];
      return index(p) * 4 + (live ? 2U : 0U) + (stored ? 1U : 0U);
    };
    std::vector<Way> all;
    const auto place = [&](Step b, Step p) -> const std::vector<double>& {
      std::vector<double>& least = placed[between(b, p)];
      if (!least.empty()) return least;
      least.assign(columns, infinite);
      ways(b, p, from_live, all);
      for (const Way& way : all) {
        for (Free f = 0; f < columns; ++f) least[f] = std::min(least[f], above(p, way, f).first);
      }
      return least;
    };
    for (Step b = end_ - 1; b >= 0; --b) {
      std::vector<double>& mine = rest[index(b)];
      mine.assign(sets * columns, infinite);
      for (Step p = b + 1; p < end_; ++p) {
        const double* const least = place(b, p).data();
        for (Set m = 1; m <= sets; ++m) {
          const double* const gap = gaps_[index(p - b)].data() + row(m);
          double* const out = mine.data() + row(m);
          for (Free f = 0; f < columns; ++f) out[f] = std::min(out[f], least[f] + gap[f]);
        }
      }
    }
    std::pair<double, std::vector<Base>> found{infinite, {}};
    found.first = place(unknown, 0)[tables_.all_free()];
    // Backwards through the same sums.
    const auto way_of = [&](Step b, Step p, Free f) {
      ways(b, p, from_live, all);
      return *std::find_if(all.begin(), all.end(), [&](const Way& way) {
        return above(p, way, f).first == place(b, p)[f];
      });
    };
    Free f = tables_.all_free();
    for (Step b = unknown, p = 0;;) {
      const Way way = way_of(b, p, f);
      found.second.push_back({p, way});
      if (way.set == 0 || above(p, way, f).second) break;
      f = tables_.less(f, way.set);
      b = p;
      const std::size_t cell = row(way.set) + f;
      const double read = from_live && b == live_ ? 0 : tables_.read(way.set);
      if (read + gaps_[index(end_ - b)][cell] <= tables_.read(way.set) + rest[index(b)][cell])
        break;
      do {
        ++p;
      } while (place(b, p)[f] + gaps_[index(p - b)][cell] != rest[index(b)][cell]);
    }
    return found;
  }

  void emit(Kind kind, Step from = 0, Step to = 0, Slot slot = 0) {
    commands_.push_back({kind, Content::state, from, to, slot});
  }
  void drop(Slot slot) {
    emit(Kind::drop, 0, 0, slot);
    pool_.give_back(slot);
  }
  void turn() {
    emit(Kind::turn, steps_);
    turned_ = true;
  }
  void load(Step at, Slot slot) {
    if (live_ != at) emit(Kind::load, at, 0, slot);
    live_ = at;
  }
  void advance(Step to) {
    if (to > live_) emit(Kind::advance, live_, to);
    live_ = to;
  }
  void save(Copies& copies, std::size_t tier) {
    copies[tier] = pool_.take(tier);
    emit(Kind::save, live_, 0, copies[tier]);
  }
  // Drops the copies outside the set.
  void keep_only(Copies& copies, Set set) {
    for (std::size_t t = 0; t < copies.size(); ++t) {
      if (copies[t] == unknown || (set >> t & 1U) != 0) continue;
      drop(copies[t]);
      copies[t] = unknown;
    }
  }
  [[nodiscard]] Step replaced_by(const Base& base) const {
    Step q = base.at - 1;
    while (sets_[index(q)] == 0) --q;
    return q;
  }

  // Drops, copies and places states so that the bases are stored. Returns whether there was room
  // for all that in some order.
  bool arrange(const std::vector<Base>& bases) {
    std::vector<Set> needed(index(end_), 0);
    for (const Base& base : bases) {
      const Set stored = sets_[index(base.at)];
      if (base.way.source == Source::kept) needed[index(base.at)] = base.way.set;
      if (base.way.source == Source::copied) {
        needed[index(base.at)] = (base.way.set & stored) | Set{1} << tables_.source(stored);
      }
      if (base.way.source != Source::replaced) continue;
      const Step q = replaced_by(base);
      needed[index(q)] = Set{1} << tables_.source(sets_[index(q)]);
    }
    for (Step at = 0; at < end_; ++at) keep_only(copies_[index(at)], needed[index(at)]);
    std::vector<const Base*> open;
    for (const Base& base : bases) {
      if (base.way.source != Source::kept) open.push_back(&base);
    }
    // What is made from the live state comes first, the top last.
    std::stable_sort(open.begin(), open.end(), [](const Base* a, const Base* b) {
      return a->way.source == Source::live && b->way.source != Source::live;
    });
    while (!open.empty()) {
      const auto next = std::find_if(open.begin(), open.end(), [&](const Base* base) {
        if (base == &bases.back() && open.size() > 1) return false;
        return (base->way.source == Source::live) == (open.front()->way.source == Source::live) &&
               fits(*base, needed);
      });
      if (next == open.end()) return false;
      place(**next, needed);
      open.erase(next);
    }
    for (const Base& base : bases) {
      if (base.way.set == 0) continue;
      frames_.push_back({base.at, base.way.set, copies_[index(base.at)]});
    }
    return true;
  }
  [[nodiscard]] bool fits(const Base& base, const std::vector<Set>& needed) const {
    const Set there = base.way.source == Source::live || base.way.source == Source::replaced
                          ? 0
                          : sets_[index(base.at)] & base.way.set;
    for (std::size_t t = 0; t < tables_.tiers(); ++t) {
      if (((base.way.set & ~there) >> t & 1U) == 0 || pool_.free(t) > 0) continue;
      const bool freed =
          base.way.source == Source::replaced && needed[index(replaced_by(base))] == Set{1} << t;
      if (!freed) return false;
    }
    return true;
  }
  void place(const Base& base, const std::vector<Set>& needed) {
    Copies& copies = copies_[index(base.at)];
    copies.resize(tables_.tiers(), unknown);
    if (base.way.source == Source::copied) {
      load(base.at, copies[tables_.source(needed[index(base.at)])]);
      keep_only(copies, base.way.set);
    } else if (base.way.source == Source::replaced) {
      const Step q = replaced_by(base);
      Copies& given_up = copies_[index(q)];
      load(q, given_up[tables_.source(needed[index(q)])]);
      keep_only(given_up, 0);
    }
    advance(base.at);
    for (std::size_t t = 0; t < tables_.tiers(); ++t) {
      if ((base.way.set >> t & 1U) != 0 && copies[t] == unknown) save(copies, t);
    }
  }

  struct Frame {
    Step at;
    Set set;
    Copies copies;
  };

  // Reverses the gaps between the frames from the top.
  void reverse() {
    Free free = tables_.all_free();
    for (const Frame& frame : frames_) free = tables_.less(free, frame.set);
    while (end_ > 0) {
      if (live_ == end_ - 1 && (frames_.empty() || frames_.back().at < live_)) {
        record(live_);
        continue;
      }
      Frame& top = frames_.back();
      const Step l = end_ - top.at;
      load(top.at, top.copies[tables_.source(top.set)]);
      if (l == 1) {
        free = tables_.more(free, top.set);
        keep_only(top.copies, 0);
        const Step at = top.at;
        frames_.pop_back();
        record(at);
        continue;
      }
      const GapTables::Next next = tables_.next(top.set, l, free);
      const Set bit = Set{1} << next.tier;
      if (next.kind == GapTables::Next::copy) {
        save(top.copies, next.tier);
        top.set |= bit;
        free = tables_.less(free, bit);
      } else if (next.kind == GapTables::Next::drop) {
        top.set &= ~bit;
        keep_only(top.copies, top.set);
        free = tables_.more(free, bit);
      } else {
        advance(top.at + next.ahead);
        if (l - next.ahead == 1) continue;
        Frame above{live_, bit, Copies(tables_.tiers(), unknown)};
        save(above.copies, next.tier);
        frames_.push_back(std::move(above));
        free = tables_.less(free, bit);
      }
    }
  }
  void record(Step at) {
    emit(Kind::record, at);
    if (!turned_) turn();
    emit(Kind::reverse, at);
    end_ = at;
  }

  Step steps_;
  Step end_;
  Step live_;
  bool turned_;
  double step_;
  const GapTables& tables_;
  SlotPool pool_;
  std::vector<Copies> copies_;             // by index
  std::vector<Set> sets_;                  // of the tiers with a copy, as they were found
  std::vector<Step> below_;                // the highest index stored below, likewise
  std::vector<std::vector<double>> gaps_;  // G by length, then set and free slots
  bool simple_ = false;                    // nothing is copied or replaced
  std::vector<Frame> frames_;
  std::vector<Command> commands_;
};

}  // namespace

std::optional<std::vector<Command>> replan_exact(const ResumePoint& point,
                                                 const std::vector<GapTier>& tiers, double step,
                                                 double most) {
  if (GapTables::effort(tiers, point.end) > most) return std::nullopt;
  const GapTables tables(tiers, step, point.end);
  return Exact(point, tables, step).commands();
}

}  // namespace costate
