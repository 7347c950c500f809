#include "replan_long.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>

#include "gap_rules.hpp"

namespace costate {
namespace {

using Kind = Command::Kind;
using Set = GapTables::Set;
using Room = GapRules::Room;

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double most_looks = 2e6;  // at gaps, some tenths of a second for each million
constexpr int most_rounds = 6;
constexpr std::size_t few = 32;  // states of which each copy is looked at
constexpr double least_gain = 1e-4;
constexpr int live_uses = 2;  // states placed from the live one

// A state to begin with: stored in some tiers, or live.
struct Found {
  Step at;
  Set set;  // empty: live
  std::array<Slot, GapRules::most_tiers> slots;
};

// A state that is kept: a found one as it is, copied to another tier, or given up for one above it.
struct Base {
  Step at;
  std::size_t tier;
  std::size_t from;  // which of those that are found
};
using Bases = std::vector<Base>;

class LongReplan {
 public:
  LongReplan(const Costs& costs, const ResumePoint& point, Step near)
      : point_(point),
        end_(point.end),
        tiers_(costs.tiers.size()),
        slots_(room_of(point)),
        gaps_(costs, slots_, point.end, near) {
    const SlotPool pool(point.tiers);
    std::vector<Stored> stored = point.stored;
    std::sort(stored.begin(), stored.end(),
              [](const Stored& a, const Stored& b) { return a.at < b.at; });
    for (const Stored& each : stored) {
      if (found_.empty() || found_.back().at != each.at) found_.push_back({each.at, 0, {}});
      const std::size_t tier = pool.tier_of(each.slot);
      found_.back().set |= Set{1} << tier;
      found_.back().slots[tier] = each.slot;
    }
    if (point.live != unknown && point.live < end_) {
      found_.insert(found_.end(), live_uses, Found{point.live, 0, {}});
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.at < b.at; });
  }

  LongReversal plan() {
    for (std::size_t i = 0; i < found_.size(); ++i) candidates_.push_back(i);
    Bases best;
    double least = infinite;
    const auto attempt = [&](bool moves, bool live) {
      moves_ = moves;
      uses_live_ = live;
      if (!limit()) return false;
      Bases bases = programme();
      if (bases.empty()) return false;
      double cost = price(bases);
      const bool has_room = cost < infinite;
      improve(bases, cost);
      if (cost < least) {
        least = cost;
        best = std::move(bases);
      }
      return has_room;
    };
    for (int round = 0; round < most_rounds; ++round) {
      const double before = least;
      // Everything at once may lack the room that moves take for a while.
      if (!attempt(true, true)) {
        if (found_.front().set != 0) attempt(true, false);
        attempt(false, true);
      } else if (is_limited()) {
        attempt(false, true);
      }
      if (!is_limited() || !(least < before * (1 - least_gain)) || looks_left_ < most_looks / 8)
        break;
      // More can be dropped of what has been kept.
      std::erase_if(candidates_, [&](std::size_t i) {
        return found_[i].set != 0 && std::none_of(best.begin(), best.end(),
                                                  [i](const Base& base) { return base.from == i; });
      });
    }
    LongReversal made;
    made.cost = least;
    if (least < infinite) arrange(best, made);
    return made;
  }

 private:
  static Room room_of(const ResumePoint& point) {
    Room room{};
    for (std::size_t t = 0; t < point.tiers.size(); ++t) room[t] = point.tiers[t].slots;
    return room;
  }
  [[nodiscard]] double gap_cost(std::size_t tier, Step l, const Room& free) {
    --looks_left_;
    return gaps_.kept(tier, l, free).cost;
  }
  [[nodiscard]] double read(Set set) const { return set == 0 ? 0 : gaps_.near()->read(set); }
  [[nodiscard]] bool in(const Found& state, std::size_t tier) const {
    return (state.set >> tier & 1U) != 0;  // in none beyond the last
  }
  [[nodiscard]] bool is_kept(const Base& base) const {
    const Found& from = found_[base.from];
    return base.at == from.at && in(from, base.tier);
  }
  [[nodiscard]] bool may(std::size_t from, std::size_t tier) const {
    const Found& state = found_[from];
    if (state.set == 0) return uses_live_;
    if (moves_) return true;
    return candidates_.size() <= few ? in(state, tier) : tier == gaps_.near()->source(state.set);
  }

  // What it costs to put x_at into a tier.
  [[nodiscard]] double place(std::size_t from, Step at, std::size_t tier) const {
    const Found& state = found_[from];
    if (at == state.at && in(state, tier)) return 0;
    return read(state.set) + static_cast<double>(at - state.at) * gaps_.step() + gaps_.write(tier);
  }

  // What a set of bases costs.
  double cost_of(const Bases& bases) {
    Room free = slots_;
    double cost = 0;
    bool loads = false;  // before the top is placed
    Step live = point_.live;
    for (std::size_t i = 0; i < bases.size(); ++i) {
      const Base& base = bases[i];
      const bool top = i + 1 == bases.size();
      const bool from_live = found_[base.from].set == 0;
      double placing = place(base.from, base.at, base.tier);
      if (from_live) {
        placing -= static_cast<double>(live - point_.live) * gaps_.step();
        live = base.at;
      }
      if (top && base.at == end_ - 1 && !is_kept(base)) {  // reversed at once
        return cost + placing - gaps_.write(base.tier);
      }
      if (--free[base.tier] < 0) return infinite;
      cost += placing;
      if (!is_kept(base) && !from_live && !top) loads = true;
      const bool is_live = is_kept(base) ? base.at == live && !loads : !from_live || !loads;
      if (!top || !is_live) cost += gaps_.read(base.tier);
      cost += gap_cost(base.tier, (top ? end_ : bases[i + 1].at) - base.at, free);
    }
    return cost;
  }

  // The programme of the header, from x_0 down.
  struct Cell {
    double cost = infinite;
    std::size_t next = 0;  // 0: none, or the one that is placed above all
    std::size_t tier = 0;  // of the next one
    Step placed = unknown;
  };
  struct Node {
    Step at;
    std::size_t from;
    std::size_t rank;  // of that among the candidates
  };
  struct Stand {
    std::size_t i;  // of the nodes
    std::size_t tier;
    Room used;
  };
  struct Hash {
    std::size_t operator()(const Stand& stand) const noexcept {
      std::uint64_t h = stand.i * GapRules::most_tiers + stand.tier;
      for (const Slot used : stand.used) {
        h = (h ^ static_cast<std::uint64_t>(used)) * 0x9e3779b97f4a7c15U;
        h ^= h >> 32U;
      }
      return h;
    }
  };
  struct Same {
    bool operator()(const Stand& a, const Stand& b) const noexcept {
      return a.i == b.i && a.tier == b.tier && a.used == b.used;
    }
  };

  Bases programme() {
    // Everything that can be come to, then what it costs from the top down.
    cells_.clear();
    std::vector<std::vector<Stand>> stands(nodes_.size());
    const auto reach = [&](std::size_t i, std::size_t t, Room used) {
      ++used[t];
      if (used[t] > slots_[t] || !may(nodes_[i].from, t)) return;
      const Stand stand{i, t, used};
      if (cells_.emplace(stand, Cell{}).second) stands[i].push_back(stand);
    };
    std::size_t bottom = 0;
    for (; bottom < nodes_.size() && nodes_[bottom].at == 0; ++bottom) {
      for (std::size_t t = 0; t < tiers_; ++t) reach(bottom, t, {});
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const Stand& at : stands[i]) {
        each_next(at, [&](std::size_t j) {
          for (std::size_t t = 0; t < tiers_; ++t) reach(j, t, at.used);
        });
      }
    }
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      for (const Stand& at : stands[i]) cells_[at] = best_of(at);
    }
    double least = infinite;
    Stand at{};
    for (std::size_t i = 0; i < bottom; ++i) {
      for (const Stand& first : stands[i]) {
        const double cost = place(nodes_[i].from, 0, first.tier) + from(first);
        if (!(cost < least)) continue;
        least = cost;
        at = first;
      }
    }
    Bases best;
    if (least == infinite) return best;
    best.push_back({0, at.tier, nodes_[at.i].from});
    for (;;) {
      const Cell& cell = cells_.at(at);
      if (!(cell.cost < top_cost(at))) break;
      if (cell.placed != unknown) {
        best.push_back({cell.placed, cell.tier, candidates_.back()});
        break;
      }
      if (cell.next == 0) break;
      best.push_back({nodes_[cell.next].at, cell.tier, nodes_[cell.next].from});
      at.i = cell.next;
      at.tier = cell.tier;
      ++at.used[cell.tier];
    }
    return best;
  }
  // What remains from there, all that is kept above having been placed.
  double from(const Stand& at) { return std::min(cells_.at(at).cost, top_cost(at)); }
  [[nodiscard]] std::size_t dropped_below(const Stand& at) const {
    std::size_t used = 0;
    for (const Slot each : at.used) used += static_cast<std::size_t>(each);
    return nodes_[at.i].rank + 1 - used;
  }
  // The nodes that may be kept next.
  template <typename Visit>
  void each_next(const Stand& at, const Visit& visit) const {
    const Node& mine = nodes_[at.i];
    const std::size_t dropped = dropped_below(at);
    for (std::size_t j = at.i + 1; j < nodes_.size(); ++j) {
      const Node& node = nodes_[j];
      if (node.at == mine.at || node.rank <= mine.rank) continue;
      if (dropped + (node.rank - mine.rank - 1) > most_dropped_) break;
      visit(j);
    }
  }
  // Which states may be dropped or moved, and to where: all to many places, if that is affordable.
  // Returns whether they can be moved at all.
  bool limit() {
    const auto m = static_cast<double>(candidates_.size());
    const auto kinds = static_cast<double>(tiers_);
    // How many slots are taken in each tier, but for one that follows from how many are dropped.
    double others = 1;
    double largest = 1;
    for (std::size_t t = 0; t < tiers_; ++t) {
      const double kept = std::min(static_cast<double>(slots_[t]), m) + 1;
      others *= std::min(kept, largest);
      largest = std::max(kept, largest);
    }
    most_dropped_ = candidates_.size();
    Step places = moves_ ? 32 : 1;
    const auto too_many = [&] {
      const double d = static_cast<double>(most_dropped_) + 1;
      const double here =
          moves_ ? std::min(d, largest) * others * kinds * kinds : std::min(d * d, d * others) / 2;
      const auto each = static_cast<double>(places);
      return m * each * each * here * d / 2 > looks_left_ / 3;
    };
    while (places > 1 && too_many()) --places;
    while (most_dropped_ > 16 && too_many()) most_dropped_ = most_dropped_ * 3 / 4;
    while (most_dropped_ > 0 && too_many()) --most_dropped_;
    if (moves_ && too_many()) return false;
    if (point_.live != unknown) most_dropped_ += live_uses;
    lay_out(places);
    return true;
  }
  [[nodiscard]] bool is_limited() const { return most_dropped_ < candidates_.size(); }
  void lay_out(Step places) {
    nodes_.clear();
    for (std::size_t rank = 0; rank < candidates_.size(); ++rank) {
      const std::size_t i = candidates_[rank];
      const Step p = found_[i].at;
      if (found_[i].set == 0 && i > 0 && found_[i - 1].set == 0) continue;  // live once more
      std::size_t j = rank + 1;
      while (j < candidates_.size() && found_[candidates_[j]].at == p) ++j;
      const Step next = j < candidates_.size() ? found_[candidates_[j]].at : end_;
      nodes_.push_back({p, i, rank});
      if (p == 0 && found_[i].set != 0) continue;
      // Near both ends more of them.
      const auto length = static_cast<double>(next - p);
      Step last = p;
      for (Step k = 1; k < places; ++k) {
        const double x = static_cast<double>(k) / static_cast<double>(places);
        const Step at = p + static_cast<Step>(length * x * x * (3 - 2 * x));
        if (at > last && at < next) nodes_.push_back({at, i, rank});
        last = std::max(last, at);
      }
    }
    std::stable_sort(nodes_.begin(), nodes_.end(),
                     [](const Node& a, const Node& b) { return a.at < b.at; });
  }
  [[nodiscard]] Room free_at(const Stand& at) const {
    Room free = slots_;
    for (std::size_t t = 0; t < tiers_; ++t) free[t] -= at.used[t];
    return free;
  }
  // If it is the top, and live because it was placed.
  double top_cost(const Stand& at) {
    const Node& node = nodes_[at.i];
    const Found& from = found_[node.from];
    if (node.at == from.at && in(from, at.tier) && node.at != point_.live) return infinite;
    return gap_cost(at.tier, end_ - node.at, free_at(at));
  }
  Cell best_of(const Stand& at) {
    const Step p = nodes_[at.i].at;
    const Room free = free_at(at);
    Cell best;
    best.cost = gaps_.read(at.tier) + gap_cost(at.tier, end_ - p, free);
    double gap = infinite;
    Step to = unknown;
    each_next(at, [&](std::size_t j) {
      const Node& node = nodes_[j];
      if (node.at != to) {
        gap = gaps_.read(at.tier) + gap_cost(at.tier, node.at - p, free);
        to = node.at;
      }
      for (std::size_t t = 0; t < tiers_; ++t) {
        if (free[t] == 0 || !may(node.from, t)) continue;
        const double above = gap + place(node.from, node.at, t);
        if (!(above < best.cost)) continue;
        Stand next{j, t, at.used};
        ++next.used[t];
        const double cost = above + from(next);
        if (cost < best.cost) best = {cost, j, t, unknown};
      }
    });
    const std::size_t last = candidates_.size() - 1;
    const std::size_t rank = nodes_[at.i].rank;
    if (rank < last && dropped_below(at) + (last - rank - 1) <= most_dropped_) {
      place_above(at, free, best);
    }
    return best;
  }
  // A new one above all, from the highest.
  void place_above(const Stand& at, const Room& free, Cell& best) {
    const std::size_t last = candidates_.back();
    if (!may(last, tiers_)) return;
    const Step p = nodes_[at.i].at;
    const Step q = found_[last].at;
    Room rest = free;
    std::size_t tier = 0;
    const auto placed = [&](Step k) {
      const double gap = read(found_[last].set) + static_cast<double>(k - q) * gaps_.step() +
                         gaps_.read(at.tier) + gap_cost(at.tier, k - p, free);
      if (k == end_ - 1) return gap;
      double least = infinite;
      for (std::size_t t = 0; t < tiers_; ++t) {
        if (free[t] == 0) continue;
        --rest[t];
        const double cost = gaps_.write(t) + gap_cost(t, end_ - k, rest);
        ++rest[t];
        if (cost < least) {
          least = cost;
          tier = t;
        }
      }
      return gap + least;
    };
    const auto look = [&](Step k) {
      const double cost = placed(k);
      if (cost < best.cost) best = {cost, 0, tier, k};
    };
    along(q, end_ - 1, look, [&] { return best.placed; });
  }
  // Looks at some positions in [from, to], then closer around the best of them.
  template <typename Look, typename Best>
  void along(Step from, Step to, const Look& look, const Best& best) {
    for (Step d = 0; from + d <= to; d += 1 + d / 3) look(from + d);
    for (Step d = 0; to - d > from; d += 1 + d / 3) look(to - d);
    for (Step width = (to - from) / 8; width > 0; width /= 2) {
      const Step k = best();
      if (k == unknown) return;
      if (k - width >= from) look(k - width);
      if (k + width <= to) look(k + width);
    }
  }

  // Changes one thing at a time as long as that helps.
  void improve(Bases& best, double& cost) {
    stop_ = looks_left_ / 2;
    for (bool better = true; better && looks_left_ > stop_;) {
      better = false;
      for (std::size_t from = 0; from < found_.size() && looks_left_ > stop_; ++from) {
        if (try_all(from, best, cost)) better = true;
      }
    }
  }
  // Other ways to use what was found there.
  bool try_all(std::size_t from, Bases& best, double& cost) {
    const double before = cost;
    Bases rest = best;
    std::erase_if(rest, [from](const Base& base) { return base.from == from; });
    const Step p = found_[from].at;
    const auto attempt = [&](const Bases& bases) {
      if (!(cost_of(bases) < cost - 1e-9 * gaps_.step())) return false;
      const double here = price(bases);
      if (!(here < cost - 1e-9 * gaps_.step())) return false;
      cost = here;
      best = bases;
      return true;
    };
    if (p > 0) attempt(rest);
    const auto above =
        std::find_if(rest.begin(), rest.end(), [p](const Base& base) { return base.at > p; });
    const Step below = above == rest.begin() ? unknown : (above - 1)->at;
    const Step lowest = std::max(p, below + 1);
    const Step to = p == 0 && below == unknown ? 0 : (above == rest.end() ? end_ : above->at) - 1;
    if (lowest > to) return cost < before;
    const auto where = above - rest.begin();
    Bases with = rest;
    with.insert(with.begin() + where, Base{p, 0, from});
    for (std::size_t t = 0; t < tiers_; ++t) {
      if (slots_[t] == 0 || !may(from, t)) continue;
      Step chosen = unknown;
      double least = infinite;
      const auto look = [&](Step k) {
        if (looks_left_ <= stop_) return;
        Base& mine = with[static_cast<std::size_t>(where)];
        mine.at = k;
        mine.tier = t;
        attempt(with);
        const double here = cost_of(with);
        if (here < least) {
          least = here;
          chosen = k;
        }
      };
      along(lowest, moves_ || found_[from].set == 0 ? to : lowest, look, [&] { return chosen; });
    }
    return cost < before;
  }

  [[nodiscard]] bool at_once(const Bases& bases, std::size_t i) const {
    return i + 1 == bases.size() && bases[i].at == end_ - 1 && !is_kept(bases[i]);
  }
  // The copy of a found state that is read, or stays.
  [[nodiscard]] std::size_t source(const Base& base) const {
    return is_kept(base) ? base.tier : gaps_.near()->source(found_[base.from].set);
  }
  // The same with what it takes to put them in order.
  double price(const Bases& bases) {
    for (const bool top_last : {true, false}) {
      if (order(bases, top_last))
        return cost_of(bases) + (top_last ? 0 : gaps_.read(bases.back().tier));
    }
    return infinite;
  }
  // In which order to place the bases that are not kept as they are so that there is room; nothing
  // if there is none. What is placed from the live state comes first, the top, if possible, last.
  [[nodiscard]] std::optional<std::vector<std::size_t>> order(const Bases& bases,
                                                              bool top_last) const {
    Room free = slots_;
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < bases.size(); ++i) {
      const bool is_live = found_[bases[i].from].set == 0;
      if (!is_live && --free[source(bases[i])] < 0) return std::nullopt;
      if (!is_kept(bases[i])) open.push_back(i);
    }
    std::stable_partition(open.begin(), open.end(),
                          [&](std::size_t i) { return found_[bases[i].from].set == 0; });
    std::vector<std::size_t> order;
    while (!open.empty()) {
      const bool live_first = found_[bases[open.front()].from].set == 0;
      const auto next = std::find_if(open.begin(), open.end(), [&](std::size_t i) {
        const bool is_live = found_[bases[i].from].set == 0;
        if (i + 1 == bases.size() && open.size() > 1 && (top_last || at_once(bases, i)))
          return false;
        if (live_first && (!is_live || i != open.front())) return false;
        const std::size_t t = bases[i].tier;
        return at_once(bases, i) || free[t] > 0 || (!is_live && source(bases[i]) == t);
      });
      if (next == open.end()) return std::nullopt;
      if (!at_once(bases, *next)) --free[bases[*next].tier];
      if (found_[bases[*next].from].set != 0) ++free[source(bases[*next])];
      order.push_back(*next);
      open.erase(next);
    }
    return order;
  }

  // The commands that lead to the bases; what they are goes to the reversal.
  void arrange(const Bases& bases, LongReversal& made) {
    const auto emit = [&made](Kind kind, Step from, Step to, Slot slot) {
      made.first.push_back({kind, Content::state, from, to, slot});
    };
    SlotPool pool(point_.tiers);
    std::vector<Stored> stored = point_.stored;
    std::sort(stored.begin(), stored.end(),
              [](const Stored& a, const Stored& b) { return a.slot < b.slot; });
    for (const Stored& each : stored) pool.claim(each.slot);
    const auto drop = [&](Slot slot) {
      emit(Kind::drop, 0, 0, slot);
      pool.give_back(slot);
    };
    std::vector<Set> needed(found_.size(), 0);
    for (const Base& base : bases) {
      if (found_[base.from].set != 0) needed[base.from] = Set{1} << source(base);
    }
    for (std::size_t i = 0; i < found_.size(); ++i) {
      for (std::size_t t = 0; t < tiers_; ++t) {
        if (in(found_[i], t) && (needed[i] >> t & 1U) == 0) drop(found_[i].slots[t]);
      }
    }
    RuledReversal::Start start{point_.steps, end_, point_.live, point_.turned,
                               {},           {},   gaps_.near()};
    std::vector<Slot> slots(bases.size(), unknown);
    for (std::size_t i = 0; i < bases.size(); ++i) {
      if (is_kept(bases[i])) slots[i] = found_[bases[i].from].slots[bases[i].tier];
    }
    auto ordered = order(bases, true);
    if (!ordered) ordered = order(bases, false);
    for (const std::size_t i : *ordered) {
      const Base& base = bases[i];
      const Found& from = found_[base.from];
      const bool is_stored = from.set != 0;
      const Slot given_up = is_stored ? from.slots[source(base)] : unknown;
      if (is_stored) {
        if (start.live != from.at) emit(Kind::load, from.at, 0, given_up);
        start.live = from.at;
      }
      // A copy is there before the other one goes, if there is room for both.
      const bool at_first = at_once(bases, i) || pool.free(base.tier) == 0;
      if (is_stored && at_first) drop(given_up);
      if (base.at > start.live) emit(Kind::advance, start.live, base.at, 0);
      start.live = base.at;
      if (!at_once(bases, i)) {
        slots[i] = pool.take(base.tier);
        emit(Kind::save, base.at, 0, slots[i]);
      }
      if (is_stored && !at_first) drop(given_up);
    }
    Room free = slots_;
    for (std::size_t i = 0; i < bases.size(); ++i) {
      if (at_once(bases, i)) break;
      const Base& base = bases[i];
      --free[base.tier];
      start.kept.push_back({base.at, slots[i]});
      const Step gap = (i + 1 < bases.size() ? bases[i + 1].at : end_) - base.at;
      const std::size_t tier = gaps_.kept(base.tier, gap, free).tier;
      Room above = free;
      if (tier != base.tier) {
        ++above[base.tier];
        --above[tier];
      }
      start.bases.push_back({base.at, tier, gaps_.rule(tier, gap, above)});
    }
    made.reversal = RuledReversal(std::move(start), std::move(pool));
  }

  const ResumePoint& point_;
  Step end_;
  std::size_t tiers_;
  Room slots_;
  GapRules gaps_;
  std::vector<Found> found_;             // ascending
  std::vector<std::size_t> candidates_;  // those that may be kept
  std::vector<Node> nodes_;              // at or above these, ascending
  std::size_t most_dropped_ = 0;
  bool moves_ = true;
  bool uses_live_ = true;
  double looks_left_ = most_looks;
  double stop_ = 0;  // of trials
  std::unordered_map<Stand, Cell, Hash, Same> cells_;
};

}  // namespace

std::optional<LongReversal> replan_long(const Costs& costs, const ResumePoint& point, Step near) {
  if (point.tiers.size() > GapRules::most_tiers) return std::nullopt;
  LongReversal made = LongReplan(costs, point, near).plan();
  if (made.cost == infinite) return std::nullopt;
  return made;
}

}  // namespace costate
