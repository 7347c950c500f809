#include "tiered_set.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "costate/schedule/binomial.hpp"
#include "tier_bounds.hpp"

namespace costate {
namespace {

constexpr double affordable = 1e8;  // additions for complete tables
constexpr double never = 1e15;      // dearer than anything
constexpr Step played = 300;        // steps for tuning
constexpr std::size_t further = 4;  // states below the lowest one in memory are looked at, too
constexpr Slot many = 1'000'000'000'000;

}  // namespace

GapCosts::GapCosts(std::vector<TierLevel> levels)
    : levels_(std::move(levels)), table_(levels_[0].slots + 1) {
  const double columns = levels_[1].open() ? 1 : static_cast<double>(levels_[1].slots);
  longest_ = static_cast<Step>(std::sqrt(2 * affordable / columns));
  grow(64);
  near_ = std::make_shared<NearTables>(levels_, 1.0);
}

double GapCosts::on_disk(Step l, Slot s) {
  if (l > tables_->longest() && l <= longest_) grow(std::min(longest_, 2 * l));
  const Step known = tables_->longest();
  if (l <= known) return tables_->kept(1, l, s);
  const double last = tables_->kept(1, known, s);
  powers_.resize(std::max(powers_.size(), static_cast<std::size_t>(s) + 1), 0);
  double& power = powers_[static_cast<std::size_t>(s)];
  if (power == 0) {
    power = std::log2(last / tables_->kept(1, known / 2, s)) /
            std::log2(static_cast<double>(known) / static_cast<double>(known / 2));
  }
  return last * std::pow(static_cast<double>(l) / static_cast<double>(known), power);
}

double GapCosts::kept(std::size_t k, Step l, Slot a, Slot b) {
  if (l <= 1) return 0;
  if (k == 1 && a == memory()) {
    return on_disk(l, levels_[1].open() ? 0 : std::min(b + 1, disk()));
  }
  if (near_->knows(l, a)) return (*near_)(k, l, a, b);
  const Slot slots = k == 0 ? a + 1 : a;  // on disk: copied to memory, if it can be
  return slots > 0 ? static_cast<double>(table_.advances(l, slots)) : never;
}

double GapCosts::unkept(Step l, Slot a, Slot b) {
  if (l <= 1) return 0;
  const double in_memory = a > 0 ? kept(0, l, a - 1, b) : never;
  return b > 0 ? std::min(in_memory, write() + kept(1, l, a, b - 1)) : in_memory;
}

double GapCosts::offline(Step n) {
  return unkept(n, memory(), levels_[1].open() ? many : disk());
}

std::shared_ptr<const TierRule> GapCosts::rule(Step longest) {
  if (longest > tables_->longest() && longest <= longest_) grow(longest);
  if (longest <= tables_->longest()) return tables_;
  return std::make_shared<TierBounds>(
      TierTables(levels_, 1.0, std::clamp<Step>(longest_, 64, 4096)), longest);
}

// The states from some index on as a move would leave them, and what lies below.
struct TieredSet::Trial {
  std::vector<Kept> top;
  double below = 0;  // the gaps below the first of `top`
  Slot a = 0;        // free in memory and on disk above what lies below
  Slot b = 0;
  TieredMove move;
};

TieredSet::TieredSet(GapCosts costs, TieredWeights weights, const std::vector<Stored>& states)
    : costs_(std::move(costs)), weights_(weights) {
  for (const Stored& each : states) states_.push_back({each.at, each.slot, unknown});
  sum_from(0);
}

TieredWeights tuned(GapCosts& costs) {
  const Step first = costs.memory() + 1;
  std::vector<double> offline;
  for (Step n = first; n <= costs.memory() + played; ++n) offline.push_back(costs.offline(n));
  std::vector<Stored> states;
  for (Slot i = 0; i < costs.memory(); ++i) states.push_back({i, i});
  TieredWeights best;
  double least = std::numeric_limits<double>::infinity();
  for (const double most : {1.08, 1.12, 1.16, 1.2}) {
    for (const double now : {3.0, 5.0, 10.0}) {
      for (const double move : {8.0, 2.0, 20.0}) {
        // Where a transfer is cheap, a move costs less.
        if (move > 2 && 2 * costs.write() + costs.read() <= move / 2) continue;
        const TieredWeights weights{now, most, move};
        TieredSet set(costs, weights, states);
        double worst = 0;
        double sum = 0;
        const auto loss = [&] { return worst + 2 * sum / static_cast<double>(played); };
        for (std::size_t i = 0; i < offline.size() && loss() < least; ++i) {
          const Step n = first + static_cast<Step>(i);
          const double ratio = set.cost_if(n) / offline[i] - 1;
          worst = std::max(worst, ratio);
          sum += ratio;
          TieredMove next;
          do {
            next = set.decide(n - 1);
            set.apply(next, n - 1, {0, 0, 0});
          } while (next.only_frees());
        }
        if (loss() < least) {
          least = loss();
          best = weights;
        }
      }
    }
  }
  return best;
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
    if (states_[i].in_memory()) continue;
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
    if (states_[i].in_memory()) {
      double cost =
          sums_[i - 1].below + gap(states_[i - 1], next(i), sums_[i].a, sums_[i].b) + above;
      std::size_t each = i;
      for (std::size_t k = 0; k < best.size(); ++k) {
        if (cost < costs[k]) {
          std::swap(cost, costs[k]);
          std::swap(each, best[k]);
        }
      }
    }
    above +=
        gap(states_[i], next(i), std::min(sums_[i + 1].a + 1, costs_.memory()), sums_[i + 1].b);
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

double TieredSet::score(const Trial& trial, Step live, double best) {
  const Step end = live + 1;
  const std::size_t m = trial.top.size();
  const double made = static_cast<double>(end) + trial.move.cost;
  // If the run ends at `end`, and what it costs up to there to keep the lower ones only.
  ends_.clear();
  const double loss = trial.move.lost_on_disk == 0 ? loss_ : next_loss_;
  const auto may_end = [&](double cost, Slot a, Slot b) {
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
  double below = trial.below;
  Slot a = trial.a;
  Slot b = trial.b;
  for (std::size_t i = 0; i < m; ++i) {
    const Kept& state = trial.top[i];
    if (state.in_memory()) --a;
    if (state.on_disk()) --b;
    const double cost = below + gap(state, end, a, b);
    if (b == 0 && a > 0) ends_.push_back({cost, a, b});
    may_end(cost, a, b);
    if (i + 1 < m) below += gap(state, trial.top[i + 1].at, a, b);
  }
  const double now = made + below + gap(trial.top[m - 1], end, a, b);
  double sum = weights_.now * now;
  if (const double allowed = weights_.most * offline_; spent_ + now > allowed) {
    sum += 100 * (spent_ + now - allowed);
  }
  if (sum >= best) return sum;
  // The lowest ones in memory may move to disk later.
  std::size_t lowest = 0;
  below = trial.below;
  a = trial.a;
  b = trial.b;
  while (lowest < m && !trial.top[lowest].in_memory()) {
    --b;
    if (lowest + 1 < m) below += gap(trial.top[lowest], trial.top[lowest + 1].at, a, b);
    ++lowest;
  }
  const double move = costs_.write() + std::min(costs_.write() + costs_.read(), weights_.move);
  for (std::size_t i = lowest; a == costs_.memory() && i < m && trial.top[i].in_memory(); ++i) {
    const Kept& moved = trial.top[i];
    if (b <= 0) break;
    --b;
    if (!moved.on_disk()) below += move;
    below += costs_.read();
    may_end(below + costs_.kept(1, end - moved.at, a, b), a, b);
    if (i + 1 < m) below += costs_.kept(1, trial.top[i + 1].at - moved.at, a, b);
    double rest = below;
    Slot left = a;
    Slot left_on_disk = b;
    for (std::size_t k = i + 1; k < m && trial.top[k].in_memory(); ++k) {
      --left;
      if (trial.top[k].on_disk()) --left_on_disk;
      may_end(rest + gap(trial.top[k], end, left, left_on_disk), left, left_on_disk);
      if (k + 1 < m) rest += gap(trial.top[k], trial.top[k + 1].at, left, left_on_disk);
    }
  }
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
        const Step further = ahead * eighths / 8;
        if (further == before) continue;
        before = further;
        least =
            std::min(least, below + gap(state, end + further, a, b) + static_cast<double>(further) +
                                costs_.unkept(ahead - further, a, b));
      }
      if (i + 1 < m) below += gap(state, trial.top[i + 1].at, a, b);
    }
    sum += made + least;
    if (sum >= best) return sum;
  }
  return sum;
}

TieredMove TieredSet::decide(Step live) {
  const std::size_t m = states_.size();
  const std::size_t window = static_cast<std::size_t>(costs_.memory()) + 64;
  std::size_t first = m > window ? m - window : 0;
  while (first + 1 < m && !states_[first].in_memory() && !states_[first + 1].in_memory()) ++first;
  first -= std::min(first, further);
  offline_ = costs_.offline(live + 2);
  if (sums_[m].b <= 1 && lost_on_disk() != 0 && loss_ < 0) {
    TieredMove only;
    only.lost_on_disk = lost_;
    return only;
  }
  const bool room = sums_[m].a > 0;
  const bool room_on_disk = sums_[m].b > 0;
  TieredMove best_move;
  double best = std::numeric_limits<double>::infinity();
  Trial trial;
  const auto consider = [&] {
    const double cost = score(trial, live, best);
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
      trial.top[move.moved - begin].memory = unknown;
      trial.top[move.moved - begin].disk = 0;
    }
    if (move.lost != 0) {
      trial.top.erase(trial.top.begin() + static_cast<std::ptrdiff_t>(move.lost - begin));
    }
    if (v != 0) {
      if (v > begin) {
        std::size_t at = v - begin;
        if (move.lost != 0 && move.lost < v) --at;
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
  try_move({});
  keep_live({}, room, true);

  std::size_t lowest = first;
  while (lowest < m && !states_[lowest].in_memory()) ++lowest;
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
  if (room) {
    try_move(with);
    return best_move;
  }
  for (const std::size_t i : losable) {
    if (i == 0 || i == lowest) continue;
    with.lost = i;
    try_move(with);
  }
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
    moved.memory = unknown;
    if (!moved.on_disk()) moved.disk = slots.moved;
    first = move.moved;
  }
  for (const std::size_t i :
       {std::max(move.lost, move.lost_on_disk), std::min(move.lost, move.lost_on_disk)}) {
    if (i == 0) continue;
    states_.erase(states_.begin() + static_cast<std::ptrdiff_t>(i));
    first = std::min(first, i - 1);
  }
  if (move.to_memory || move.to_disk) {
    first = std::min(first, states_.size() - 1);  // the gap below the live state is new
    states_.push_back(
        {live, move.to_memory ? slots.memory : unknown, move.to_disk ? slots.disk : unknown});
  }
  sum_from(first);
}

}  // namespace costate
