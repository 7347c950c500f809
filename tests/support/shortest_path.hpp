#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

/// The cheapest reversal of a short chain by Dijkstra's algorithm over all states of the machine:
/// which state is live, how much is reversed, what each tier holds. It knows no recursion, no split
/// and no stack, so it is an oracle for everything that plans.
namespace support {

struct PathTier {
  int slots;
  double write;
  double read;
};

using Held = std::vector<std::uint32_t>;  // for each tier the set of indices it holds

/// Where a reversal stands: the steps [0, end) are left.
struct PathStart {
  int live;  // -1: none
  int end;
  Held held;
};

/// The cheapest reversal of what is left.
/// @param weights   cost of each step, shape (n), n <= 16
/// @param required  indices of states that may not be left, or dropped, unless some tier holds them
///                  or they are reversed
inline double cheapest_from(const PathStart& start, const std::vector<double>& weights,
                            const std::vector<PathTier>& tiers, std::uint32_t required = 0) {
  using Node = std::tuple<int, int, Held>;  // live, end, held
  using Entry = std::pair<double, Node>;
  const int n = static_cast<int>(weights.size());
  std::map<Node, double> best;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  const auto reach = [&](double cost, Node node) {
    const auto [it, fresh] = best.try_emplace(node, cost);
    if (!fresh && it->second <= cost) return;
    it->second = cost;
    open.emplace(cost, std::move(node));
  };
  reach(0, {start.live, start.end, start.held});
  while (!open.empty()) {
    const auto [cost, node] = open.top();
    open.pop();
    const auto& [live, end, held] = node;
    if (best[node] < cost) continue;
    if (end == 0) return cost;
    // The last unreversed step is live: reverse it at once, which never hurts.
    if (live == end - 1) {
      reach(cost, {live, end - 1, held});
      continue;
    }
    const bool useful = live >= 0 && live < end;
    const auto holds = [required, end = end](const Held& what, int at) {
      if ((required >> at & 1U) == 0 || at >= end) return true;
      bool found = false;
      for (const std::uint32_t mine : what) found = found || (mine >> at & 1U) != 0;
      return found;
    };
    if (useful && holds(held, live)) {
      reach(cost + weights[static_cast<std::size_t>(live)], {live + 1, end, held});
    }
    for (std::size_t t = 0; t < tiers.size(); ++t) {
      const std::uint32_t mine = held[t];
      for (int at = 0; at < end; ++at) {
        if ((mine >> at & 1U) != 0) reach(cost + tiers[t].read, {at, end, held});
      }
      if (!useful || (mine >> live & 1U) != 0) continue;
      Held after = held;
      if (std::popcount(mine) < tiers[t].slots) {
        after[t] = mine | 1U << live;
        reach(cost + tiers[t].write, {live, end, after});
      }
      for (int at = 0; at < n; ++at) {  // in place of another
        if ((mine >> at & 1U) == 0) continue;
        after[t] = (mine & ~(1U << at)) | 1U << live;
        if (holds(after, at)) reach(cost + tiers[t].write, {live, end, after});
      }
    }
  }
  return -1;
}

/// The same of the whole chain, x_0 being live.
inline double cheapest_reversal(const std::vector<double>& weights,
                                const std::vector<PathTier>& tiers, std::uint32_t required = 0) {
  return cheapest_from({0, static_cast<int>(weights.size()), Held(tiers.size(), 0)}, weights, tiers,
                       required);
}

}  // namespace support
