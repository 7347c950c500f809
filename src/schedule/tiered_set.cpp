#include "tiered_set.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace costate {
namespace {

// States below the lowest one in memory that are looked at, too.
constexpr std::size_t further = 4;
// Steps after which moving a state costs what it does when all is in order.
constexpr double settled = 100;
constexpr Slot few_slots = 16;
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr Slot many = 1'000'000'000'000;
constexpr std::size_t none = TieredMove::none;

}  // namespace

// The states from some index on as a move would leave them, and what lies below.
struct TieredSet::Trial {
  std::vector<Kept> top;
  double below = 0;  // the gaps below the first of `top`
  Slot a = 0;        // free in memory and on disk above what lies below
  Slot b = 0;
  TieredMove move;
};

TieredSet::TieredSet(GapCosts costs, TieredWeights weights, const std::vector<Stored>& states,
                     Guess guess)
    : costs_(std::move(costs)),
      weights_(weights),
      guess_(std::move(guess)),
      follows_(!guess_.pins.empty()) {
  for (const Stored& each : states) states_.push_back({each.at, each.slot, unknown});
  sum_from(0);
}

const Pin* TieredSet::pin_at(Step at) const {
  if (!follows_) return nullptr;
  const auto pin = std::lower_bound(guess_.pins.begin(), guess_.pins.end(), at,
                                    [](const Pin& each, Step index) { return each.at < index; });
  return pin != guess_.pins.end() && pin->at == at ? &*pin : nullptr;
}

bool TieredSet::belongs_on_disk(const Kept& state) const {
  const Pin* const pin = pin_at(state.at);
  return pin != nullptr && pin->tier == 1 && !state.on_disk();
}

double TieredSet::gap(const Kept& start, Step end, Slot a, Slot b) {
  return start.in_memory() ? costs_.kept(0, end - start.at, a, b)
                           : costs_.read() + costs_.kept(1, end - start.at, a, b);
}

// Brings below_, free_ up to date from the state `first` on.
void TieredSet::sum_from(std::size_t first) {
  sums_.resize(states_.size() + 1);
  if (first == 0)
    sums_[0] = {0, costs_.memory(), costs_.disk() == unbounded ? many : costs_.disk()};
  for (std::size_t i = first; i < states_.size(); ++i) {
    Sum next = sums_[i];
    if (states_[i].in_memory()) --next.a;
    // A copy on disk of a state in memory takes its slot there, too.
    if (states_[i].on_disk()) --next.b;
    if (i + 1 < states_.size()) next.below += gap(states_[i], states_[i + 1].at, next.a, next.b);
    sums_[i + 1] = next;
  }
  lost_known_ = false;
}

// The state on disk whose loss costs least; 0: none.
std::size_t TieredSet::lost_on_disk() {
  if (lost_known_) return lost_;
  lost_known_ = true;
  lost_ = 0;
  const std::size_t m = states_.size();
  above_.assign(m + 1, 0);  // the gaps from there on, but for the last, with a slot more
  for (std::size_t i = m - 1; i-- > 0;) {
    above_[i] =
        above_[i + 1] + gap(states_[i], states_[i + 1].at, sums_[i + 1].a, sums_[i + 1].b + 1);
  }
  double least = never;
  double second = never;
  for (std::size_t i = 1; i + 1 < m; ++i) {
    if (states_[i].in_memory() || pin_at(states_[i].at) != nullptr) continue;
    const double cost = sums_[i - 1].below +
                        gap(states_[i - 1], states_[i + 1].at, sums_[i].a, sums_[i].b) +
                        above_[i + 1] - sums_[m].below;
    if (cost < least) {
      second = least;
      least = cost;
      lost_ = i;
    } else {
      second = std::min(second, cost);
    }
  }
  loss_ = least;
  next_loss_ = second;
  return lost_;
}

// The states in memory, from index `first` on, in whose place the live one costs least if the run
// ends with the next step; the best first, filled up with 0.
std::array<std::size_t, 3> TieredSet::least_lost(Step live, std::size_t first) {
  const std::size_t m = states_.size();
  const auto next = [&](std::size_t i) { return i + 1 < m ? states_[i + 1].at : live; };
  std::array<std::size_t, 3> best{};
  std::array<double, 3> costs{never, never, never};
  double above = 0;  // the gaps above with a slot more in memory
  for (std::size_t i = m; i-- > first;) {
    const Kept& state = states_[i];
    if (state.in_memory() && (state.on_disk() || pin_at(state.at) == nullptr)) {
      const Slot room = std::min(sums_[i + 1].a + 1, costs_.memory());
      double cost =
          above + (state.on_disk()  // where it stays
                       ? sums_[i].below + costs_.read() +
                             costs_.kept(1, next(i) - state.at, room, sums_[i + 1].b)
                       : sums_[i - 1].below + gap(states_[i - 1], next(i), sums_[i].a, sums_[i].b));
      std::size_t each = i;
      for (std::size_t k = 0; k < best.size(); ++k) {
        if (cost < costs[k]) {
          std::swap(cost, costs[k]);
          std::swap(each, best[k]);
        }
      }
    }
    above += gap(state, next(i), std::min(sums_[i + 1].a + 1, costs_.memory()), sums_[i + 1].b);
  }
  return best;
}

double TieredSet::cost_if(Step n) {
  const Step live = n - 1;
  std::size_t m = states_.size();
  while (m > 0 && states_[m - 1].at >= live) --m;
  return static_cast<double>(live) + spent_ + sums_[m - 1].below +
         gap(states_[m - 1], live, sums_[m].a, sums_[m].b);
}

void TieredSet::go_back(const Mark& mark) {
  states_ = mark.states;
  spent_ = mark.spent;
  sum_from(0);
}

double TieredSet::score(const Trial& trial, Step live, double best, TriedMove* tried) {
  const Step end = live + 1;
  const std::size_t m = trial.top.size();
  const double made = static_cast<double>(end) + trial.move.cost;
  // If the run ends at `end`, and what it costs up to there to keep the lower ones only.
  ends_.clear();
  const double loss = trial.move.lost_on_disk == 0 ? loss_ : next_loss_;
  const auto may_end = [&](double cost, Slot a, Slot b) {
    if (costs_.disk() == unbounded) b = many;
    if (b == 0) {  // room on disk can be had
      b = 1;
      cost += loss;
    }
    for (End& each : ends_) {
      if (each.a == a && each.b == b) {
        each.cost = std::min(each.cost, cost);
        return;
      }
    }
    ends_.push_back({cost, a, b});
  };
  const auto keeps_up_to = [&](std::size_t k, Step at, double below, Slot a, Slot b) {
    if (k == 1) below += costs_.read();
    may_end(below + costs_.kept(k, end - at, a, b), a, b);
  };
  double below = trial.below;
  Slot a = trial.a;
  Slot b = trial.b;
  for (std::size_t i = 0; i < m; ++i) {
    const Kept& state = trial.top[i];
    if (state.in_memory()) --a;
    if (state.on_disk()) --b;
    if (b == 0 && a > 0) ends_.push_back({below + gap(state, end, a, b), a, b});
    keeps_up_to(state.in_memory() ? 0 : 1, state.at, below, a, b);
    if (i + 1 < m) below += gap(state, trial.top[i + 1].at, a, b);
  }
  const double now = made + below + gap(trial.top[m - 1], end, a, b);
  double sum = weights_.now * now;
  const double excess = spent_ + now - weights_.most * offline_;
  if (excess > 0) sum += 100 * excess;
  if (sum >= best) return sum;
  // The lowest ones in memory may move to disk later.
  std::size_t lowest = 0;
  below = trial.below;
  a = trial.a;
  b = trial.b;
  double gap_start = below;
  while (lowest < m && !trial.top[lowest].in_memory()) {
    --b;
    gap_start = below;
    if (lowest + 1 < m) below += gap(trial.top[lowest], trial.top[lowest + 1].at, a, b);
    ++lowest;
  }
  const double early = std::min(costs_.write() + costs_.read(), weights_.move);
  const double fade = std::min(1.0, settled / static_cast<double>(live));
  const double move = costs_.write() + fade * early + (1 - fade) * std::min(early, 1.0);
  const Slot first_b = b;
  if (follows_ && costs_.memory() > few_slots) lowest = m;  // nothing moves but as planned
  for (std::size_t i = lowest; a == costs_.memory() && b > 0 && i < m; ++i) {
    const Kept& moved = trial.top[i];
    --b;
    if (!moved.on_disk()) below += move;
    keeps_up_to(1, moved.at, below, a, b);
    below += costs_.read();
    if (i + 1 < m) below += costs_.kept(1, trial.top[i + 1].at - moved.at, a, b);
    if (!moved.in_memory()) continue;
    double rest = below;
    Slot left = a;
    Slot left_on_disk = b;
    for (std::size_t k = i + 1; k < m; ++k) {
      if (trial.top[k].in_memory()) --left;
      if (trial.top[k].on_disk() && --left_on_disk < 0) break;
      keeps_up_to(trial.top[k].in_memory() ? 0 : 1, trial.top[k].at, rest, left, left_on_disk);
      if (k + 1 < m) rest += gap(trial.top[k], trial.top[k + 1].at, left, left_on_disk);
    }
  }
  // Or one of them does, and those below it are given up.
  if (lowest > 0 && a == costs_.memory() && first_b > 0) {
    const Kept& start = trial.top[lowest - 1];
    for (std::size_t i = lowest + 1; i < m && trial.top[i].in_memory(); ++i) {
      const Kept& moved = trial.top[i];
      keeps_up_to(1, moved.at,
                  gap_start + gap(start, moved.at, a, first_b) + (moved.on_disk() ? 0 : move), a,
                  first_b - 1);
    }
  }
  double ratios = 0;
  int ends = 0;
  for (Step ahead = 2; ahead <= live + 9; ahead += ahead - 1) {
    double least = never;
    for (const End& each : ends_) {
      if (each.cost < least)
        least = std::min(least, each.cost + costs_.unkept(ahead, each.a, each.b));
    }
    // The next state may also be kept further on.
    below = trial.below;
    a = trial.a;
    b = trial.b;
    for (std::size_t i = 0; i < m; ++i) {
      const Kept& state = trial.top[i];
      if (state.in_memory()) --a;
      if (state.on_disk()) --b;
      if (below >= least) break;
      if (i + 2 < m) {
        below += gap(state, trial.top[i + 1].at, a, b);
        continue;
      }
      Step before = 0;
      for (const Step eighths : {1, 2, 4, 6}) {
        const Step later = ahead * eighths / 8;
        if (later == before) continue;
        before = later;
        least = std::min(least, below + gap(state, end + later, a, b) + static_cast<double>(later) +
                                    costs_.unkept(ahead - later, a, b));
      }
      if (i + 1 < m) below += gap(state, trial.top[i + 1].at, a, b);
    }
    sum += made + least;
    if (sum >= best) return sum;
    if (tried == nullptr) continue;
    ratios += (spent_ + made + least) / costs_.offline(end + ahead) - 1;
    ++ends;
  }
  if (tried != nullptr) *tried = {trial.move, (spent_ + now) / offline_ - 1, ratios / ends};
  return sum;
}

// Whether a state that waits in memory for its move to disk cannot wait any longer: the states that
// belong in memory come, and each of them takes one along.
bool TieredSet::must_move(Step live, const Pin* pin, Slot waiting) const {
  if (pin != nullptr) return pin->tier == 0;
  Slot left = 0;
  for (const Pin& each : guess_.pins) {
    if (each.at <= live) continue;
    if (each.tier == 1) return false;
    ++left;
  }
  return waiting > left;
}

// The highest state on disk, or 0.
Step TieredSet::last_on_disk() const noexcept {
  const auto last = std::find_if(states_.rbegin(), states_.rend(),
                                 [](const Kept& each) { return each.on_disk(); });
  return last != states_.rend() ? last->at : 0;
}

// The live state goes to disk, and what it makes useless in memory is given up before.
TieredMove TieredSet::regular_write() {
  TieredMove move;
  const Step last = last_on_disk();
  for (std::size_t i = 1; i < states_.size() && states_[i].at <= last; ++i) {
    if (!states_[i].in_memory()) continue;
    move.lost = i;
    return move;
  }
  if (sums_.back().b < 1) {
    move.lost_on_disk = lost_on_disk();
    return move;
  }
  if (states_[0].in_memory()) move.moved = 0;
  move.to_disk = true;
  move.cost = costs_.write();
  return move;
}

std::vector<TriedMove> TieredSet::options(Step live) {
  std::vector<TriedMove> all;
  static_cast<void>(weigh(live, &all));
  return all;
}

TieredMove TieredSet::weigh(Step live, std::vector<TriedMove>* all) {
  if (follows_ && live >= guess_.steps) {
    follows_ = false;
    lost_known_ = false;
  }
  const std::size_t m = states_.size();
  const std::size_t window = static_cast<std::size_t>(costs_.memory()) + 64;
  std::size_t first = m > window ? m - window : 0;
  while (first + 1 < m && !states_[first].in_memory() && !states_[first + 1].in_memory()) ++first;
  first -= std::min(first, further);
  bool far = false;  // something waits below what is looked at otherwise
  for (std::size_t i = 0; i < first && follows_ && !far; ++i) {
    if (!states_[i].in_memory()) continue;
    first = i - std::min<std::size_t>(i, 1);
    far = true;
  }
  offline_ = costs_.offline(live + 2);
  if (sums_[m].b <= 1 && lost_on_disk() != 0 && loss_ < 0) {
    TieredMove only;
    only.lost_on_disk = lost_;
    return only;
  }
  const bool room = sums_[m].a > 0;
  const bool room_on_disk = sums_[m].b > 0;
  TieredMove best_move;
  double best = infinite;
  Trial trial;
  const auto consider = [&] {
    TriedMove tried;
    const double cost =
        score(trial, live, all != nullptr ? infinite : best, all != nullptr ? &tried : nullptr);
    if (all != nullptr) all->push_back(tried);
    if (cost < best) {
      best = cost;
      best_move = trial.move;
    }
  };
  const auto start = [&](const TieredMove& move) {
    const std::size_t v = move.lost_on_disk;
    const std::size_t begin = v != 0 && v == first ? first - 1 : first;
    trial.move = move;
    trial.top.assign(states_.begin() + static_cast<std::ptrdiff_t>(begin), states_.end());
    trial.below = sums_[begin].below;
    trial.a = sums_[begin].a;
    trial.b = sums_[begin].b;
    if (move.moved != TieredMove::none) {
      if (!move.copies) trial.top[move.moved - begin].memory = unknown;
      trial.top[move.moved - begin].disk = 0;
    }
    const bool gone = move.lost != 0 && !states_[move.lost].on_disk();
    if (gone) {
      trial.top.erase(trial.top.begin() + static_cast<std::ptrdiff_t>(move.lost - begin));
    } else if (move.lost != 0) {
      trial.top[move.lost - begin].memory = unknown;
    }
    if (v != 0) {
      if (v > begin) {
        std::size_t at = v - begin;
        if (gone && move.lost < v) --at;
        trial.top.erase(trial.top.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        ++trial.b;
        trial.below =
            sums_[v - 1].below + gap(states_[v - 1], states_[v + 1].at, sums_[v].a, sums_[v].b);
        for (std::size_t i = v + 1; i < first; ++i) {
          trial.below += gap(states_[i], states_[i + 1].at, sums_[i + 1].a, sums_[i + 1].b + 1);
        }
      }
    }
    if (move.to_memory || move.to_disk) {
      trial.top.push_back({live, move.to_memory ? 0 : unknown, move.to_disk ? 0 : unknown});
    }
  };
  const auto try_move = [&](const TieredMove& move) {
    start(move);
    consider();
  };
  // The states in memory that can be spared most easily.
  const std::array<std::size_t, 3> losable = least_lost(live, first + 1);
  // Saves the live state here, there, or both, with and without a loss in memory.
  const auto keep_live = [&](TieredMove move, bool free, bool may_write) {
    for (const bool to_disk : {false, true}) {
      if (to_disk && !may_write) break;
      TieredMove with = move;
      with.to_disk = to_disk;
      if (to_disk) with.cost += costs_.write();
      if (to_disk && !room_on_disk && with.lost_on_disk == 0) {
        with.lost_on_disk = lost_on_disk();
        if (with.lost_on_disk == 0) break;
      }
      if (to_disk) try_move(with);
      // Two losses at once for one state would be too much.
      if (to_disk && with.lost_on_disk != 0) break;
      with.to_memory = true;
      if (free) {
        try_move(with);
      } else {
        for (const std::size_t i : losable) {
          if (i == 0 || i == with.moved) continue;
          with.lost = i;
          try_move(with);
        }
      }
    }
  };
  if (follows_) {
    // What belongs on disk may wait in memory, as long as there is a slot for other states.
    std::size_t waiting = none;
    Slot all_waiting = 0;
    Slot others = sums_[m].a;
    for (std::size_t i = m; i-- > 0;) {
      if (!states_[i].in_memory()) continue;
      if (belongs_on_disk(states_[i])) {
        waiting = i;
        ++all_waiting;
      } else if (pin_at(states_[i].at) == nullptr || states_[i].on_disk()) {
        ++others;
      }
    }
    const Pin* const pin = pin_at(live);
    const bool on_disk = pin != nullptr && pin->tier == 1;
    const bool may_save = room || losable[0] != 0;
    const bool may_move = waiting != none && may_save;
    if (sums_[m].b < (on_disk ? 1 : 0) + (may_move ? 1 : 0)) {
      TieredMove only;
      only.lost_on_disk = lost_on_disk();
      if (only.lost_on_disk != 0) return only;
    }
    const auto try_planned = [&](bool to_disk, bool to_memory, bool moves) {
      TieredMove planned;
      planned.to_disk = to_disk;
      planned.to_memory = to_memory;
      if (moves) planned.moved = waiting;
      if (to_memory && !room) planned.lost = losable[0];
      planned.cost = static_cast<double>(to_disk + moves) * costs_.write();
      try_move(planned);
    };
    if (may_move) {
      try_planned(on_disk, true, true);
      if (far || must_move(live, pin, all_waiting)) return best_move;
    }
    if (on_disk) try_planned(true, false, false);
    if (pin != nullptr) {
      if (may_save && (!on_disk || others > 1)) try_planned(false, true, false);
      return best_move;
    }
    try_move({});
    keep_live({}, room, false);
    return best_move;
  }
  const Step last = last_on_disk();
  const bool far_enough = live - last >= weights_.apart;
  if (weights_.regular && states_[0].on_disk()) {
    if (far_enough && (room_on_disk || lost_on_disk() != 0)) return regular_write();
    try_move({});
    keep_live({}, room, false);
    return best_move;
  }
  try_move({});
  keep_live({}, room, far_enough);

  std::size_t lowest = first;
  while (lowest < m &&
         (!states_[lowest].in_memory() || (lowest > 0 && !states_[lowest].on_disk() &&
                                           states_[lowest].at - last < weights_.apart))) {
    ++lowest;
  }
  if (lowest == m) return best_move;
  TieredMove move;
  move.moved = lowest;
  if (states_[lowest].on_disk()) {
    keep_live(move, true, true);
    return best_move;
  }
  move.cost = costs_.write();
  if (!room_on_disk) {
    move.lost_on_disk = lost_on_disk();
    if (move.lost_on_disk == 0) return best_move;
  }
  // The live state has to outlast that another one is loaded and written.
  TieredMove with = move;
  with.to_memory = true;
  for (const bool copies : {false, true}) {
    if (copies && lowest != 0) break;
    with.copies = copies;
    if (room) {
      try_move(with);
      continue;
    }
    for (const std::size_t i : losable) {
      if (i == 0 || i == lowest) continue;
      with.lost = i;
      try_move(with);
    }
  }
  if (room) return best_move;
  with.copies = false;
  with.lost = 0;
  Step highest = unknown;
  for (std::size_t i = first; i < m; ++i) {
    if (states_[i].in_memory() && i != lowest) highest = states_[i].at;
  }
  const double again = highest == unknown ? never : static_cast<double>(live - highest);
  const double wait = sums_[m].b > 1 ? costs_.write() + costs_.read() : never;
  with.back = again <= wait ? TieredMove::repeated : TieredMove::waits;
  with.cost += std::min(again, wait);
  if (std::min(again, wait) < never) try_move(with);
  return best_move;
}

void TieredSet::apply(const TieredMove& move, Step live, Slots slots) {
  spent_ += move.cost;
  std::size_t first = states_.size();
  if (move.moved != TieredMove::none) {
    Kept& moved = states_[move.moved];
    if (!move.copies) moved.memory = unknown;
    if (!moved.on_disk()) moved.disk = slots.moved;
    first = move.moved;
  }
  for (const std::size_t i :
       {std::max(move.lost, move.lost_on_disk), std::min(move.lost, move.lost_on_disk)}) {
    if (i == 0) continue;
    if (i == move.lost && states_[i].on_disk()) {
      states_[i].memory = unknown;
    } else {
      states_.erase(states_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    first = std::min(first, i - 1);
  }
  if (move.to_memory || move.to_disk) {
    first = std::min(first, states_.size() - 1);  // the gap below the live state is new
    states_.push_back(
        {live, move.to_memory ? slots.memory : unknown, move.to_disk ? slots.disk : unknown});
  }
  sum_from(first);
}

std::vector<Kept> TieredSet::best_kept(Step n, Step end) {
  std::vector<Kept> best = states_;
  while (best.size() > 1 && best.back().at >= end) best.pop_back();
  if (!guess_.pins.empty() && n == guess_.steps) {
    follows_ = true;
    best.erase(std::remove_if(best.begin(), best.end(),
                              [this](const Kept& each) { return pin_at(each.at) == nullptr; }),
               best.end());
    return best;
  }
  // One after the other whose loss gains most.
  const auto cost_without = [&](std::size_t lost) {
    Sum sum = sums_[0];
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (i == lost) continue;
      --(best[i].in_memory() ? sum.a : sum.b);
      const std::size_t next = i + 1 == lost ? i + 2 : i + 1;
      sum.below += gap(best[i], next < best.size() ? best[next].at : end, sum.a, sum.b);
    }
    return sum.below;
  };
  constexpr std::size_t few = 1000;
  double least = cost_without(none);
  for (bool better = best.size() <= few; better;) {
    better = false;
    std::size_t lost = 0;
    for (std::size_t i = 1; i < best.size(); ++i) {
      if (!best[i].in_memory() && costs_.disk() == unbounded) continue;
      const double cost = cost_without(i);
      if (cost < least) {
        least = cost;
        lost = i;
        better = true;
      }
    }
    if (better) best.erase(best.begin() + static_cast<std::ptrdiff_t>(lost));
  }
  return best;
}

}  // namespace costate
