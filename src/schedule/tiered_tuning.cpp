#include "tiered_tuning.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "costate/schedule/replan.hpp"

namespace costate {
namespace {

constexpr Step played = 300;  // steps
// Decisions times slots in memory, each of which takes some 10 µs.
constexpr Step most_work = 30'000;

}  // namespace

TieredWeights tuned(GapCosts& costs) {
  const Step first = costs.memory() + 1;
  std::vector<double> offline;
  for (Step n = first; n <= costs.memory() + played; ++n) offline.push_back(costs.offline(n));
  std::vector<Stored> states;
  for (Slot i = 0; i < costs.memory(); ++i) states.push_back({i, i});
  TieredWeights best;
  double least = std::numeric_limits<double>::infinity();
  Step work = most_work;
  const auto play = [&](const TieredWeights& weights) {
    TieredSet set(costs, weights, states);
    double worst = 0;
    double sum = 0;
    const auto loss = [&] { return worst + 2 * sum / static_cast<double>(played); };
    for (std::size_t i = 0; i < offline.size() && loss() < least && work > 0; ++i) {
      const Step n = first + static_cast<Step>(i);
      const double ratio = set.cost_if(n) / offline[i] - 1;
      worst = std::max(worst, ratio);
      sum += ratio;
      TieredMove next;
      do {
        next = set.decide(n - 1);
        set.apply(next, n - 1, {0, 0, 0});
      } while (next.only_frees());
      work -= costs.memory();
    }
    if (work <= 0 || loss() >= least) return false;
    least = loss();
    best = weights;
    return true;
  };
  play(best);
  // One weight after the other, as long as it helps.
  for (bool better = true; better && work > 0;) {
    better = false;
    const auto vary = [&](double TieredWeights::*weight, const auto& values) {
      TieredWeights other = best;
      for (const double value : values) {
        if (best.*weight == value) continue;
        other.*weight = value;
        better = play(other) || better;
      }
    };
    vary(&TieredWeights::most, std::array{1.05, 1.08, 1.1, 1.12, 1.14, 1.16, 1.2});
    vary(&TieredWeights::now, std::array{1.0, 2.0, 3.0, 5.0, 10.0});
    vary(&TieredWeights::move, std::array{8.0, 2.0, 1.0, 20.0});
  }
  return best;
}

}  // namespace costate
