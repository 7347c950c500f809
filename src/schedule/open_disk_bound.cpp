#include "open_disk_bound.hpp"

#include <algorithm>
#include <vector>

#include "tier_bounds.hpp"
#include "tier_tables.hpp"

namespace costate {
namespace {

constexpr Step exact_steps = 1024;
constexpr double tie_share = 0x1p-28;  // by more than this ties cannot raise a bound

}  // namespace

double open_disk_bound(const Costs& costs, Step n, Step longest) {
  const std::vector<TierSlots> room = rooms(costs);
  if (n < 2 || room.size() < 2 || room[0].slots < 1 || room[0].slots >= n - 1) return 0;
  TierLevel memory{0, room[0].slots, 0, costs.tiers[0].read};
  TierLevel disk{1, unbounded, costs.tiers[1].write, costs.tiers[1].read};
  for (std::size_t i = 2; i < room.size(); ++i) {
    disk.write = std::min(disk.write, costs.tiers[i].write);
    disk.read = std::min(disk.read, costs.tiers[i].read);
  }
  memory.read = std::min(memory.read, disk.read);
  const Step covered = std::min(n, longest);
  const TierBounds bounds(TierTables({memory, disk}, costs.step, std::min(covered, exact_steps)),
                          covered);
  if (n <= covered) return bounds.lower_bound(n) * (1 - tie_share);

  double lambda = 0;
  for (Step j = 1; j <= covered; ++j) {
    const auto steps = static_cast<double>(j);
    const double each =
        (disk.write + disk.read + steps * costs.step + bounds.kept_bound(j)) / steps;
    lambda = j == 1 ? each : std::min(lambda, each);
  }
  lambda *= 1 - tie_share;
  const std::vector<double> alone =
      binomial_costs(covered, std::min(memory.slots, covered), costs.step, 0, memory.read);
  double a = 0;
  for (Step l = 1; l <= covered; ++l) {
    a = std::max(a, lambda * static_cast<double>(l) - alone[static_cast<std::size_t>(l)]);
  }
  // B is convex: from here on it grows at least as fast.
  const auto last = static_cast<std::size_t>(covered);
  const bool all = alone[last] - alone[last - 1] >= lambda;
  const bool far = static_cast<double>(covered) * costs.step + disk.read >= a;
  return all && far ? lambda * static_cast<double>(n) - a : 0;
}

}  // namespace costate
