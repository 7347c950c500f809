#include "replan_exact.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>

#include "gap_reversal.hpp"

namespace costate {
namespace {

using Set = GapTables::Set;
using Free = GapTables::Free;

constexpr double infinite = std::numeric_limits<double>::infinity();

using Copies = GapReversal::Copies;

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
  // All is said in numbers of places, from here on.
  Exact(const ResumePoint& point, const GapTables& tables, std::vector<Step> places)
      : places_(std::move(places)),
        end_(static_cast<Step>(places_.size()) - 1),
        live_(point.live == unknown ? unknown : number(point.live)),
        tables_(tables),
        reversal_(point, tables),
        copies_(static_cast<std::size_t>(end_)),
        sets_(static_cast<std::size_t>(end_), 0),
        below_(static_cast<std::size_t>(end_), unknown) {
    for (const Stored& stored : point.stored) {
      const std::size_t tier = reversal_.claim(stored.slot);
      const Step at = number(stored.at);
      Copies& copies = copies_[index(at)];
      copies.resize(tables_.tiers(), unknown);
      copies[tier] = stored.slot;
      sets_[index(at)] |= Set{1} << tier;
    }
    for (Step at = 1; at < end_; ++at) {
      below_[index(at)] = sets_[index(at - 1)] != 0 ? at - 1 : below_[index(at - 1)];
    }
  }

  ExactPlan plan() {
    ExactPlan made;
    // Putting in order may lack the room to begin with; without copying and replacing it never
    // does.
    for (const bool simple : {false, true}) {
      Exact attempt = *this;
      attempt.simple_ = simple;
      auto [cost, bases] = attempt.best();
      if (!simple) made.cost = cost;
      if (!attempt.arrange(bases)) continue;
      made.commands = std::move(attempt.reversal_).reverse();
      break;
    }
    return made;
  }

 private:
  static std::size_t index(Step at) { return static_cast<std::size_t>(at); }
  [[nodiscard]] Step number(Step at) const {
    return std::lower_bound(places_.begin(), places_.end(), at) - places_.begin();
  }
  [[nodiscard]] Step place(Step at) const { return places_[index(at)]; }
  [[nodiscard]] double steps(Step b, Step p) const { return tables_.steps(place(b), place(p)); }
  [[nodiscard]] const double* gap(Step b, Step p) const { return tables_.kept(place(b), place(p)); }

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
      each_tier(Source::live, steps(live_, p), from_live);
    }
    if (from_live || simple_) return;
    const Step q = below_[index(p)];
    if (q != unknown && q > b) {
      const double cost = tables_.read(sets_[index(q)]) + steps(q, p);
      each_tier(Source::replaced, cost, true);
    }
  }

  [[nodiscard]] std::pair<double, std::vector<Base>> best() const {
    auto found = best(false);
    if (live_ == unknown || live_ >= end_) return found;
    auto other = best(true);
    return other.first < found.first ? other : found;
  }
  // The bases of the least cost, ascending. If `from_live`, nothing is read before the reversal
  // begins; otherwise the live state is lost by then.
  std::pair<double, std::vector<Base>> best(bool from_live) const {
    const Set sets = tables_.all();
    const std::size_t columns = tables_.all_free() + 1;
    // V without the read that the gap begins with, by b, then as G.
    std::vector<std::vector<double>> rest(index(end_));
    // What remains if x_p is kept in that way, and whether nothing is kept above it.
    const auto above = [&](Step p, const Way& way, Free f) -> std::pair<double, bool> {
      if (!tables_.fits(way.set, f)) return {infinite, false};
      if (way.set == 0) return {way.cost, false};
      const Free left = tables_.less(f, way.set);
      const std::size_t cell = tables_.row(way.set, left);
      const double whole = gap(p, end_)[cell];
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
    const auto cheapest = [&](Step b, Step p) -> const std::vector<double>& {
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
        const double* const least = cheapest(b, p).data();
        for (Set m = 1; m <= sets; ++m) {
          const double* const whole = gap(b, p) + tables_.row(m, 0);
          double* const out = mine.data() + tables_.row(m, 0);
          for (Free f = 0; f < columns; ++f) out[f] = std::min(out[f], least[f] + whole[f]);
        }
      }
    }
    std::pair<double, std::vector<Base>> found{infinite, {}};
    found.first = cheapest(unknown, 0)[tables_.all_free()];
    // Backwards through the same sums.
    const auto way_of = [&](Step b, Step p, Free f) {
      ways(b, p, from_live, all);
      return *std::find_if(all.begin(), all.end(), [&](const Way& way) {
        return above(p, way, f).first == cheapest(b, p)[f];
      });
    };
    Free f = tables_.all_free();
    for (Step b = unknown, p = 0;;) {
      const Way way = way_of(b, p, f);
      found.second.push_back({p, way});
      if (way.set == 0 || above(p, way, f).second) break;
      f = tables_.less(f, way.set);
      b = p;
      const std::size_t cell = tables_.row(way.set, f);
      const double read = from_live && b == live_ ? 0 : tables_.read(way.set);
      if (read + gap(b, end_)[cell] <= tables_.read(way.set) + rest[index(b)][cell]) break;
      do {
        ++p;
      } while (cheapest(b, p)[f] + gap(b, p)[cell] != rest[index(b)][cell]);
    }
    return found;
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
    for (Step at = 0; at < end_; ++at) reversal_.keep_only(copies_[index(at)], needed[index(at)]);
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
        const bool live = base->way.source == Source::live;
        if (base == &bases.back() && !live && open.size() > 1) return false;
        return live == (open.front()->way.source == Source::live) && fits(*base, needed);
      });
      if (next == open.end()) return false;
      make(**next, needed);
      open.erase(next);
    }
    for (const Base& base : bases) {
      if (base.way.set == 0) continue;
      reversal_.add_frame(place(base.at), base.way.set, copies_[index(base.at)]);
    }
    return true;
  }
  [[nodiscard]] bool fits(const Base& base, const std::vector<Set>& needed) const {
    const Set there = base.way.source == Source::live || base.way.source == Source::replaced
                          ? 0
                          : sets_[index(base.at)] & base.way.set;
    for (std::size_t t = 0; t < tables_.tiers(); ++t) {
      if (((base.way.set & ~there) >> t & 1U) == 0 || reversal_.free(t) > 0) continue;
      const bool freed =
          base.way.source == Source::replaced && needed[index(replaced_by(base))] == Set{1} << t;
      if (!freed) return false;
    }
    return true;
  }
  void make(const Base& base, const std::vector<Set>& needed) {
    Copies& copies = copies_[index(base.at)];
    copies.resize(tables_.tiers(), unknown);
    if (base.way.source == Source::copied) {
      reversal_.load(place(base.at), copies[tables_.source(needed[index(base.at)])]);
      reversal_.keep_only(copies, base.way.set);
    } else if (base.way.source == Source::replaced) {
      const Step q = replaced_by(base);
      Copies& given_up = copies_[index(q)];
      reversal_.load(place(q), given_up[tables_.source(needed[index(q)])]);
      reversal_.keep_only(given_up, 0);
    }
    reversal_.advance(place(base.at));
    for (std::size_t t = 0; t < tables_.tiers(); ++t) {
      if ((base.way.set >> t & 1U) != 0 && copies[t] == unknown) reversal_.save(copies, t);
    }
  }

  std::vector<Step> places_;  // where states may be kept, ascending, and the end
  Step end_;                  // the number of places
  Step live_;
  const GapTables& tables_;
  GapReversal reversal_;
  std::vector<Copies> copies_;  // by index
  std::vector<Set> sets_;       // of the tiers with a copy, as they were found
  std::vector<Step> below_;     // the highest index stored below, likewise
  bool simple_ = false;         // nothing is copied or replaced
};

}  // namespace

std::optional<ExactPlan> replan_exact(const ResumePoint& point, const std::vector<GapTier>& tiers,
                                      const Costs& costs, double most) {
  const auto tables = gap_tables(tiers, costs, point.end, most);
  if (!tables) return std::nullopt;
  std::vector<Step> all(static_cast<std::size_t>(point.end));
  std::iota(all.begin(), all.end(), Step{0});
  return replan_at(point, *tables, std::move(all));
}

ExactPlan replan_at(const ResumePoint& point, const GapTables& tables, std::vector<Step> places) {
  places.push_back(point.end);
  return Exact(point, tables, std::move(places)).plan();
}

}  // namespace costate
