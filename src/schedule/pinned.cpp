#include "pinned.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "costate/schedule/binomial.hpp"

namespace costate {
namespace {

// Where in their ranges of optimal distances the first, the second and all further checkpoints are:
// 0 the shortest, 1 the longest, negative: that of the fewest writes. The longest are best most of
// the time; the others matter for short guesses and where the range has just opened.
using Shares = std::array<double, 3>;
constexpr Shares candidates[] = {
    {1, 1, 1},    {0.75, 0.75, 0.75}, {0.875, 0.875, 0.875},
    {-1, -1, -1}, {0.5, 0.5, 0.5},    {0, 0, 0},
    {0, 1, 1},    {1, 0, 1},          {0.5, 1, 1},
    {1, 0.5, 1},  {1, 0, 0},          {0.75, 0, 0},
    {0, 0, 1},    {1, 1, 0},          {0.5, 0, 1},
    {0, 1, 0},
};

// What is played for one guess at most, in steps and in states looked at.
constexpr Step most_work = 30'000'000;
constexpr Step longest_played = 1'000'000;

double asked(Slot slots) {
  struct Bound {
    Slot slots;
    double ratio;
  };
  double ratio = 1.16;
  for (const Bound bound :
       {Bound{4, 1.08}, Bound{8, 1.05}, Bound{16, 1.04}, Bound{32, 1.03}, Bound{64, 1.02}}) {
    if (slots >= bound.slots) ratio = bound.ratio;
  }
  return ratio;
}

std::vector<Step> place(Slot slots, Step guess, const Shares& shares) {
  std::vector<Step> at;
  Step from = 0;
  for (Slot left = slots; left > 1 && guess - from >= 2; --left) {
    const double where = shares[std::min(at.size(), shares.size() - 1)];
    const SplitRange range = binomial_splits(guess - from, left);
    const auto width = static_cast<double>(range.longest - range.shortest);
    const Step distance =
        where < 0    ? binomial_split(guess - from, left)
        : where == 1 ? range.longest
                     : std::min(range.longest,
                                range.shortest + static_cast<Step>(std::floor(where * width)));
    from += distance;
    at.push_back(from);
  }
  return at;
}

// The worst ratio of advances to the offline optimum of runs of up to 2 guess + 50 steps, or more
// than `enough` as soon as it is. Takes what it does off `work`, and stops if that is used up.
double play(Slot slots, const Pinned& pinned, double enough, Step& work) {
  OnlineSet set(slots, OnlineRule::few_writes, pinned);
  BinomialTable table(slots);
  std::vector<Stored> stored;
  Step below = 0;  // K of the gaps but the last
  const auto look = [&] {
    stored = set.stored();
    below = 0;
    Slot left = slots;
    for (std::size_t i = 0; i + 1 < stored.size(); ++i) {
      below += table.advances(stored[i + 1].at - stored[i].at, left--);
    }
    work -= 4 * slots;
  };
  look();
  Step event = slots;
  Step repeats = 1;
  Step offline = slots;  // t(slots + 1, slots)
  double worst = 1;
  for (Step live = slots; live < 2 * pinned.until + 50 && work > 0; ++live, --work) {
    // The run ends with state live + 1, before anything is done at this index.
    const Step advances = live + below + table.advances(live - stored.back().at, 1);
    worst = std::max(worst, static_cast<double>(advances) / static_cast<double>(offline));
    if (worst > enough) break;
    if (live >= event) {
      const bool replaced = set.replace(live) >= 0;
      event = set.next_event(live);
      if (replaced) look();
    }
    while (table.reach_of(slots, repeats) <= live + 1) ++repeats;
    offline += repeats;
  }
  return worst;
}

}  // namespace

Pinned pin_for(Slot slots, Step guess) {
  if (slots == 1 || guess <= beta(slots, 2)) return {};
  Pinned best{place(slots, guess, candidates[0]), guess};
  if (guess > longest_played || slots > most_work / guess) return best;
  double least = std::numeric_limits<double>::infinity();
  Step work = most_work;
  for (const Shares& shares : candidates) {
    Pinned other{place(slots, guess, shares), guess};
    const double worst = play(slots, other, least, work);
    if (work <= 0) break;
    if (worst < least) {
      least = worst;
      best = std::move(other);
    }
    if (least <= asked(slots)) break;
  }
  return best;
}

}  // namespace costate
