#include "bases.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>

namespace costate {
namespace {

// By how much a price rises with one step.
struct Rise {
  Step advances;
  Step writes;  // 0 or 1
  friend auto operator<=>(const Rise&, const Rise&) = default;
};

constexpr Rise steepest{saturated, 1};

Price times(Step count, Rise rise) {
  return {saturating_multiply(count, rise.advances), count * rise.writes};
}

// By how much G falls with a step up, which a state is moved, if V falls by so much.
Rise moved(Rise fall) {
  return {fall.advances - 1, fall.writes};
}

class Planner {
 public:
  Planner(const std::vector<Step>& stored, Step live, Step end, Slot slots,
          std::size_t most_dropped, BinomialTable& table)
      : live_(live), end_(end), slots_(slots), most_dropped_(most_dropped), table_(table) {
    for (const Step at : stored) {
      if (live != unknown && live < at && (states_.empty() || states_.back().at < live)) {
        states_.push_back({live, false});
      }
      states_.push_back({at, true});
    }
    if (live > states_.back().at) states_.push_back({live, false});
  }

  Bases plan() {
    const std::size_t most_below = std::min(states_.size(), static_cast<std::size_t>(slots_)) - 1;
    most_ = std::min(table_.advances(end_, slots_), saturated - 1);
    layers_.resize(most_below + 2);
    open(most_below + 1);
    for (std::size_t below = most_below + 1; below-- > 0;) sweep(below);
    return path();
  }

 private:
  struct State {
    Step at;
    bool stored;
  };
  // G at `upper`, and how it rises from there downwards, to the next piece or the end of the part.
  struct Piece {
    Step upper;
    Price price;
    Rise rise;
  };
  // Where a base may lie: from `lower` up to the first piece, where G is convex.
  struct Part {
    Step lower;
    std::uint32_t pieces;  // the first of them
    std::uint32_t count;
    std::uint32_t next;   // the part of the layer above in which the base after it lies
    std::uint32_t state;  // from which it is made
  };
  // For so many bases below. Both descend.
  struct Layer {
    std::vector<Part> parts;
    std::vector<Piece> pieces;
  };
  struct Best {
    Price price;
    Step at;
  };
  // A part that is better than the one before it for x <= until, and not for x >= beyond.
  struct Leader {
    std::uint32_t part;
    Step until;
    Step beyond;
  };

  [[nodiscard]] Step end_of_gap(std::size_t i) const {
    return i + 1 < states_.size() ? states_[i + 1].at : end_;
  }

  // t(l + 1, s) - t(l, s), l >= 1.
  Rise rise(Step l, Slot s) {
    const Step r = table_.repetitions(l + 1, s);
    return {r, l >= rises_by({r, 1}, s) ? 1 : 0};
  }
  // The least l from which on it is at least so much. Of the size of rises that occur: the table
  // grows with it.
  Step rises_by(Rise least, Slot s) {
    if (least.advances < 1) return 1;
    return saturating_add(table_.reach_of(s, least.advances - 1),
                          least.writes > 0 ? table_.reach_of(s - 1, least.advances - 1) : 0);
  }
  // The least l from which on it is more.
  Step rises_above(Rise most, Slot s) {
    return rises_by(most.writes > 0 ? Rise{most.advances + 1, 0} : Rise{most.advances, 1}, s);
  }

  void enter(std::size_t below) {
    below_ = below;
    s_ = slots_ - static_cast<Slot>(below);
    above_ = &layers_[below + 1];
  }
  // The longest gap there can be below a base: a longer one takes more than dropping all states.
  // Grows with the slots.
  void widen() {
    const auto fits = [&](Step l) { return table_.advances(l, s_ + 1) <= most_; };
    Step beyond = longest_;
    while (beyond < end_ && fits(beyond)) {
      longest_ = beyond;
      beyond += std::min(beyond, end_ - beyond);
    }
    if (beyond == end_) longest_ = end_;
    while (beyond - longest_ > 1) {
      const Step middle = longest_ + (beyond - longest_) / 2;
      (fits(middle) ? longest_ : beyond) = middle;
    }
  }

  // What every layer has: no base any more, or that of the last step, which takes no slot.
  void open(std::size_t below) {
    Layer& layer = layers_[below];
    layer.parts.push_back({end_, 0, 1, 0, 0});
    layer.pieces.push_back({end_, {0, 0}, steepest});
    // What it is made from takes one, if it has to wait for what is placed from the live state.
    const Step from = states_.back().at;
    if (live_ != unknown && from != live_ && below == static_cast<std::size_t>(slots_)) return;
    layer.parts.push_back({end_ - 1, 1, 1, 0, static_cast<std::uint32_t>(states_.size() - 1)});
    layer.pieces.push_back({end_ - 1, {end_ - 1 - from, 0}, steepest});
  }

  // min over y in the part of t(y - x, s) + G(y).
  Best best(std::uint32_t index, Step x) {
    const Part& part = above_->parts[index];
    const Piece* pieces = &above_->pieces[part.pieces];
    // Down through the pieces along which the gap's price falls by more than G rises.
    std::uint32_t passed = 0;
    for (std::uint32_t high = part.count; passed < high;) {
      const std::uint32_t middle = (passed + high) / 2;
      const Step upper = pieces[middle].upper;
      if (upper > part.lower && rise(upper - 1 - x, s_) > pieces[middle].rise) {
        passed = middle + 1;
      } else {
        high = middle;
      }
    }
    if (passed == 0) return {table_.price(pieces->upper - x, s_) + pieces->price, pieces->upper};
    const Piece& piece = pieces[passed - 1];
    const Step lower = passed < part.count ? pieces[passed].upper : part.lower;
    const Step at = std::max(lower, x + rises_above(piece.rise, s_));
    return {table_.price(at - x, s_) + piece.price + times(piece.upper - at, piece.rise), at};
  }

  void sweep(std::size_t below) {
    enter(below);
    open(below);
    leaders_.assign(1, {0, saturated, saturated});
    leader_ = 0;
    std::uint32_t seen = 1;
    const auto gap = [&](std::size_t i) {
      const Step highest = highest_useful(i);
      while (seen < above_->parts.size() && above_->parts[seen].lower >= end_of_gap(i)) {
        lead(seen++, i, highest);
      }
      fill(i, highest);
    };
    if (below == 0) return gap(0);  // x_0 is a base
    widen();
    const std::size_t last = states_.size() - 1;
    gap(last);
    for (std::size_t i = std::min(last, below + most_dropped_ + 1); i-- > below;) gap(i);
  }

  // Also if both are too much to be counted, as they are then for all x below.
  bool better(std::uint32_t a, std::uint32_t b, Step x) {
    const Price other = best(b, x).price;
    return other.advances == saturated || best(a, x).price < other;
  }
  // Whether the k-th leader is better than the one before it.
  bool leads(std::size_t k, Step x) {
    Leader& leader = leaders_[k];
    if (x > leader.until && x < leader.beyond) {
      (better(leader.part, leaders_[k - 1].part, x) ? leader.until : leader.beyond) = x;
    }
    return x <= leader.until;
  }
  // Another part, below all before, for x up to `highest` above the i-th state.
  void lead(std::uint32_t part, std::size_t i, Step highest) {
    const auto wins = [&](Step x) { return better(part, leaders_.back().part, x); };
    Step lost = std::min(highest, leaders_.back().until);
    for (; wins(lost); lost = std::min(highest, leaders_.back().until)) {
      const std::size_t k = leaders_.size() - 1;
      if (k == leader_) {
        leaders_.back() = {part, saturated, saturated};
        return;
      }
      // The last one leads up to somewhere between these: is it beaten even there?
      Step most = std::min(highest, leaders_.back().beyond - 1);
      bool beaten = true;
      while (lost < most) {
        const Step middle = most - (most - lost) / 2;
        const bool leading = leads(k, middle);
        if (leading != wins(middle)) {
          beaten = !leading;
          lost = middle;
          break;
        }
        if (leading) {
          lost = middle;
        } else {
          most = middle - 1;
        }
      }
      if (!beaten) break;
      leaders_.pop_back();
    }
    // Up to where it wins, to within a gap: usually one that is near, or never.
    const auto at = [&](std::size_t k) { return states_[k].at; };
    while (i > below_ && at(i) >= lost) --i;
    if (at(i) >= lost) return;
    std::size_t above = i + 1;
    for (std::size_t step = 1; !wins(at(i)); step *= 2) {
      if (i == below_ || (step == 4 && !wins(at(below_)))) return;
      lost = at(i);
      above = i;
      i -= std::min(step, i - below_);
    }
    while (above - i > 1) {
      const std::size_t middle = i + (above - i) / 2;
      if (wins(at(middle))) {
        i = middle;
      } else {
        above = middle;
        lost = at(middle);
      }
    }
    leaders_.push_back({part, at(i), lost});
  }
  std::uint32_t leader_at(Step x) {
    while (leader_ + 1 < leaders_.size() && leads(leader_ + 1, x)) ++leader_;
    return leaders_[leader_].part;
  }
  // The least x >= least at which it is the leader.
  Step leads_from(Step least) {
    const std::size_t k = leader_ + 1;
    if (k == leaders_.size() || !leads(k, least)) return least;
    Leader& next = leaders_[k];
    while (next.beyond - next.until > 1) leads(k, next.until + (next.beyond - next.until) / 2);
    return next.beyond;
  }

  // The highest above the i-th state to which it can pay to move it.
  Step highest_useful(std::size_t i) {
    const State& state = states_[i];
    const Rise fall = rise(end_ - state.at, s_);  // V falls by no more, anywhere
    if (below_ == 0 || (state.stored && fall.advances <= 2)) return state.at;
    const Step highest = std::max(
        state.at, std::min({end_of_gap(i), end_ - 1, saturating_add(state.at, longest_)}) - 1);
    if (highest == state.at || moved(fall) > rise(highest - state.at, s_ + 1)) return highest;
    return state.at + rises_by(moved(fall), s_ + 1) - 1;
  }

  // Finds the parts of the i-th gap.
  void fill(std::size_t i, Step highest) {
    const State& state = states_[i];
    found_.parts.clear();
    found_.pieces.clear();
    const Step first = state.at + (state.stored ? 1 : 0);
    for (Step x = highest; x >= first && below_ > 0;) {
      const std::uint32_t leader = leader_at(x);
      const Step from = leads_from(first);
      move(i, from, x, leader);
      x = from - 1;
    }
    const std::size_t above = found_.parts.size();
    Price least;
    if (state.stored) {
      const std::uint32_t leader = leader_at(state.at);
      least = best(leader, state.at).price;
      found_.parts.push_back({state.at, static_cast<std::uint32_t>(found_.pieces.size()), 1, leader,
                              static_cast<std::uint32_t>(i)});
      found_.pieces.push_back({state.at, least, steepest});
    }
    // To lie further up has to pay even for the highest base that there can be below.
    for (std::size_t k = above; k-- > 0;) {
      Part& part = found_.parts[k];
      const Piece& piece = found_.pieces[part.pieces];
      const Price price = piece.price + table_.price(piece.upper - state.at + 1, s_ + 1);
      if (price < least) {
        least = price;
      } else {
        part.count = 0;
      }
    }
    Layer& layer = layers_[below_];
    for (Part& part : found_.parts) {
      if (part.count == 0) continue;
      const auto from = found_.pieces.begin() + part.pieces;
      part.pieces = static_cast<std::uint32_t>(layer.pieces.size());
      layer.pieces.insert(layer.pieces.end(), from, from + part.count);
      layer.parts.push_back(part);
    }
  }

  // The part for x in [from, to], to which the i-th state is moved. Without those x from which it
  // pays to go down whatever base lies below, or to go up.
  void move(std::size_t i, Step from, Step to, std::uint32_t next) {
    const Part& part = above_->parts[next];
    const Step start = states_[i].at;
    const Step lowest = states_[below_ - 1].at;
    const auto first = static_cast<std::uint32_t>(found_.pieces.size());
    const auto put = [&](Step upper, Price price, Rise rise) {
      found_.pieces.push_back({upper, price + Price{upper - start, 1}, rise});
    };
    auto [price, y] = best(next, to);
    std::uint32_t k = part.pieces;
    const std::uint32_t last = part.pieces + part.count - 1;
    while (k < last && above_->pieces[k + 1].upper >= y) ++k;
    Step x = to;
    Step lower = to;
    for (bool ends = false; x > from && !ends && price.advances <= most_;) {
      // A step down lengthens the gap, or leaves it and puts the next base one lower.
      const Step bottom = k < last ? above_->pieces[k + 1].upper : part.lower;
      const Rise longer = rise(y - x, s_);
      const Rise shift = y > bottom ? above_->pieces[k].rise : steepest;
      const Rise by = std::min(longer, shift);
      const Step down =
          std::min(x - from, longer <= shift ? rises_above(longer, s_) - (y - x) : y - bottom);
      const Rise net = moved(by);
      Step upper = x;
      if (found_.pieces.size() == first && net <= rise(x - start, s_ + 1)) {
        upper = start + rises_by(net, s_ + 1) - 1;
      }
      lower = x - down;
      if (upper > lower) {
        put(upper, price + times(x - upper, by), net);
        const auto steepest_below = [&](Step at) {
          return rise(std::min(at - lowest, longest_), s_ + 1);
        };
        ends = net >= steepest_below(lower);
        if (ends) {
          const bool never = net >= steepest_below(upper - 1);
          lower = never ? upper : lowest + rises_above(net, s_ + 1);
        }
      }
      price = price + times(down, by);
      x -= down;
      if (longer > shift) y -= down;
      if (y == bottom && k < last) ++k;
    }
    if (found_.pieces.size() == first) {
      if (price.advances > most_) return;
      put(x, price, steepest);
      lower = x;
    }
    const auto count = static_cast<std::uint32_t>(found_.pieces.size()) - first;
    found_.parts.push_back({lower, first, count, next, static_cast<std::uint32_t>(i)});
  }

  Bases path() {
    const Part* part = &layers_[0].parts.back();
    Bases result{{}, layers_[0].pieces[part->pieces].price};
    std::size_t below = 0;
    for (Step x = 0; x != end_; ++below) {
      result.bases.push_back({x, states_[part->state].at});
      if (x == end_ - 1) break;
      enter(below);
      x = best(part->next, x).at;
      part = &above_->parts[part->next];
    }
    return result;
  }

  Step live_;
  Step end_;
  Slot slots_;
  std::size_t most_dropped_;
  BinomialTable& table_;
  std::vector<State> states_;
  std::vector<Layer> layers_;  // by how many bases lie below

  Step most_ = 0;     // advances: that all states but x_0 are dropped, if they can be counted
  Step longest_ = 1;  // gap below the bases of this layer

  std::size_t below_ = 0;
  Slot s_ = 0;                    // slots for a base there and all above
  const Layer* above_ = nullptr;  // where the next base lies
  std::vector<Leader> leaders_;   // by falling x
  std::size_t leader_ = 0;        // at the x that has been reached
  Layer found_;                   // in one gap
};

}  // namespace

Bases best_bases(const std::vector<Step>& stored, Step live, Step end, Slot slots,
                 std::size_t most_dropped, BinomialTable& table) {
  return Planner(stored, live, end, slots, most_dropped, table).plan();
}

}  // namespace costate
