#include "tiered_tuning.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "costate/schedule/replan.hpp"

namespace costate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr std::size_t widest = 64;  // sets in the beam
// States looked at by the beam search, a million of which take some 0.1 s.
constexpr double most_looked_at = 1.5e6;
constexpr double bearable = 0.08;  // ratio above 1 that does not count besides the mean
// Decisions of one tuning times slots in memory, each of which takes some 10 µs.
constexpr Step most_work = 100'000;

// A sequence of moves of the beam search.
struct Line {
  TieredSet::Mark set;
  std::vector<TieredMove> moves;
  double worst = 0;  // ratio so far, and the sum of all, less 1
  double sum = 0;
};

struct Next {
  std::size_t line;
  TieredMove move;
  double worst;
  double sum;
  double loss;
};

bool same_states(const std::vector<Kept>& one, const std::vector<Kept>& other) {
  return std::equal(
      one.begin(), one.end(), other.begin(), other.end(), [](const Kept& a, const Kept& b) {
        return a.at == b.at && a.in_memory() == b.in_memory() && a.on_disk() == b.on_disk();
      });
}

// Does what only frees slots, and returns what comes into question then.
std::vector<TriedMove> options(TieredSet& set, Line& line, Step live) {
  set.go_back(line.set);
  for (;;) {
    const TieredMove move = set.decide(live);
    if (!move.only_frees()) break;
    set.apply(move, live, {0, 0, 0});
    line.moves.push_back(move);
    line.set = set.mark();
  }
  return set.options(live);
}

// The lengths of the gaps between states on disk in the middle of the best plan.
double usual_gap(GapCosts& costs, Step steps) {
  const std::vector<Pin> pins = costs.best_set(steps);
  std::vector<Step> gaps;
  for (std::size_t i = 0; i + 1 < pins.size() && pins[i].tier == 1; ++i) {
    gaps.push_back(pins[i + 1].at - pins[i].at);
  }
  if (gaps.empty()) return 0;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return static_cast<double>(*middle);
}

std::vector<TieredWeights> candidates(GapCosts& costs, Step live) {
  std::vector<TieredWeights> all;
  const auto add = [&](double now, double most, Step apart, bool regular) {
    TieredWeights weights;
    weights.now = now;
    weights.most = most;
    weights.apart = apart;
    weights.regular = regular;
    all.push_back(weights);
  };
  for (const double now : {3.0, 1.0, 10.0}) add(now, 1.05, 0, false);
  add(1, 1.1, 0, false);
  all.push_back({});
  const double gap = usual_gap(costs, live + live / 2);
  Step before = 0;
  // With two slots most depends on where states are written to disk.
  const bool two = costs.memory() == 2;
  const std::vector<double> parts =
      two ? std::vector<double>{2.0, 1.4, 1.2, 1.0, 0.85, 0.7, 0.6, 0.5, 0.42, 0.35, 0.25}
          : std::vector<double>{1.4, 1.0, 0.7, 0.5, 0.35};
  for (const double part : parts) {
    const Step apart = std::max<Step>(2, std::lround(part * gap));
    if (gap == 0 || apart == before) continue;
    before = apart;
    if (two) {
      add(3, 1.05, apart, true);
      add(1, 1.05, apart, true);
    }
    add(3, 1.05, apart, false);
    add(1, 1.05, apart, false);
  }
  return all;
}

}  // namespace

std::vector<TieredMove> opening(const GapCosts& costs) {
  const Step first = costs.memory();
  std::vector<Stored> states;
  for (Slot i = 0; i < first; ++i) states.push_back({i, i});
  TieredSet set(costs, TieredWeights{}, states);
  std::vector<Line> lines{{set.mark(), {}, 0, 0}};
  double left = most_looked_at;
  for (Step live = first; live < opening_end; ++live) {
    std::vector<Next> nexts;
    double looked_at = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (const TriedMove& each : options(set, lines[i], live)) {
        const double worst = std::max(lines[i].worst, each.now);
        const double sum = lines[i].sum + each.now;
        const double mean = sum / static_cast<double>(live - first + 1);
        nexts.push_back({i, each.move, worst, sum, 2 * (worst + mean) + each.later});
        looked_at += static_cast<double>(set.states().size());
      }
    }
    left -= looked_at;
    // As many as can be afforded up to the end.
    const double each = looked_at / static_cast<double>(lines.size());
    const double affordable = left / (each * static_cast<double>(opening_end - live));
    const auto width = static_cast<std::size_t>(std::clamp(affordable, 1.0, 1.0 * widest));
    std::stable_sort(nexts.begin(), nexts.end(),
                     [](const Next& a, const Next& b) { return a.loss < b.loss; });
    std::vector<Line> best;
    for (const Next& next : nexts) {
      const Line& line = lines[next.line];
      set.go_back(line.set);
      set.apply(next.move, live, {0, 0, 0});
      TieredSet::Mark mark = set.mark();
      const bool known = std::any_of(best.begin(), best.end(), [&](const Line& other) {
        return other.set.spent <= mark.spent && same_states(other.set.states, mark.states);
      });
      if (known) continue;
      best.push_back({std::move(mark), line.moves, next.worst, next.sum});
      best.back().moves.push_back(next.move);
      if (best.size() == width) break;
    }
    lines = std::move(best);
  }
  return lines.front().moves;
}

TieredWeights tuned(const TieredSet& set, Step live) {
  TieredSet played = set;
  GapCosts& costs = played.costs();
  const std::vector<TieredWeights> all = candidates(costs, live);
  const Step affordable = most_work / (static_cast<Step>(all.size()) * costs.memory());
  const Step steps = std::clamp<Step>(affordable, 1, 2 * live);
  std::vector<double> offline;
  for (Step i = 0; i < steps; ++i) offline.push_back(costs.offline(live + 2 + i));
  TieredWeights best;
  double least = infinite;
  for (const TieredWeights& weights : all) {
    played.go_back(set.mark());
    played.use(weights);
    double worst = 0;
    double sum = 0;
    const auto loss = [&] {
      return std::max(0.0, worst - bearable) + sum / static_cast<double>(steps);
    };
    for (Step i = 0; i < steps && loss() < least; ++i) {
      TieredMove next;
      do {
        next = played.decide(live + i);
        played.apply(next, live + i, {0, 0, 0});
      } while (next.only_frees());
      const double ratio = played.cost_if(live + i + 2) / offline[static_cast<std::size_t>(i)] - 1;
      worst = std::max(worst, ratio);
      sum += ratio;
    }
    if (loss() >= least) continue;
    least = loss();
    best = weights;
  }
  return best;
}

}  // namespace costate
