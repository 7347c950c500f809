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

double open_disk_bound(const Costs& costs, Step n) {
  const std::vector<TierSlots> room = rooms(costs);
  if (n < 2 || room.size() < 2 || room[0].slots < 1 || room[0].slots >= n - 1) return 0;
  TierLevel memory{0, room[0].slots, 0, costs.tiers[0].read};
  TierLevel disk{1, unbounded, costs.tiers[1].write, costs.tiers[1].read};
  for (std::size_t i = 2; i < room.size(); ++i) {
    disk.write = std::min(disk.write, costs.tiers[i].write);
    disk.read = std::min(disk.read, costs.tiers[i].read);
  }
  memory.read = std::min(memory.read, disk.read);
  const TierTables tables({memory, disk}, costs.step, std::min(n, exact_steps));
  return TierBounds(tables, n).lower_bound(n) * (1 - tie_share);
}

}  // namespace costate
