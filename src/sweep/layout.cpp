#include "layout.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "costate/core/error.hpp"
#include "costate/storage/memory_tier.hpp"
#include "guard.hpp"

namespace costate {

Bytes memory_for(Slot slots, std::size_t state_bytes) {
  return static_cast<Bytes>(slots) * MemoryTier::bytes_per_slot(state_bytes) +
         MemoryTier::stride(state_bytes);
}

namespace detail {
namespace {

[[noreturn]] void refuse(Bytes have, Bytes least, const std::string& what) {
  throw BudgetError("a memory budget of " + format_bytes(have) + " does not hold " + what +
                        "; the least is " + std::to_string(least) + " bytes",
                    least);
}

}  // namespace

Layout lay_out(const Stepper& stepper, Step n, const SweepOptions& options, Bytes extra) {
  Layout layout;
  layout.row_bytes = stepper.max_state_bytes();
  layout.varying = stepper.state_size_varies();
  if (layout.row_bytes == 0) throw InvalidArgument("a state of 0 bytes cannot be kept");
  if (n == 0) return layout;

  const Bytes budget = options.budget.memory;
  const Bytes slot = MemoryTier::bytes_per_slot(layout.row_bytes, layout.varying);
  layout.spare_row = true;
  layout.fixed = MemoryTier::stride(layout.row_bytes) + extra;
  if (options.guard == ReplayGuard::every_step) {
    layout.hashes = n != unknown ? n : static_cast<Step>(budget / 4 / Guard::bytes_per_step());
    layout.fixed += static_cast<Bytes>(layout.hashes) * Guard::bytes_per_step();
  }

  if (options.schedule) {
    const auto& tiers = options.schedule->tiers();
    if (tiers.size() > 2 || (tiers.size() == 2 && tiers[1].slots > 0 && !options.budget.disk)) {
      throw InvalidArgument("the schedule has more tiers than the budget");
    }
    layout.memory_slots = tiers[0].slots;
    layout.disk_slots = tiers.size() == 2 ? tiers[1].slots : 0;
    if (layout.disk_slots > 0) {
      const Slot room = options.budget.disk->slots(layout.row_bytes);
      if (room < layout.disk_slots) {
        throw InvalidArgument("the schedule uses " + std::to_string(layout.disk_slots) +
                              " slots on disk, the budget has " + std::to_string(room));
      }
      layout.fixed += options.budget.disk->memory_bytes(layout.row_bytes, layout.disk_slots);
    }
    // No more states than steps are ever kept, however many slots there are.
    const Slot kept = n == unknown ? layout.memory_slots : std::min(layout.memory_slots, n);
    const Bytes least = layout.fixed + static_cast<Bytes>(kept) * slot;
    if (least > budget) refuse(budget, least, "the slots of the schedule");
    return layout;
  }

  const Slot wanted = n == unknown ? std::numeric_limits<Slot>::max() : n - 1;
  const auto fit = [&](Bytes fixed) {
    return fixed > budget ? Slot{-1} : static_cast<Slot>((budget - fixed) / slot);
  };
  layout.memory_slots = std::min(wanted, fit(layout.fixed));
  if (layout.memory_slots == wanted) return layout;

  if (options.budget.disk) {
    Layout with = layout;
    const Slot room = options.budget.disk->slots(layout.row_bytes);
    with.disk_slots = std::min(room, wanted);
    with.fixed += options.budget.disk->memory_bytes(layout.row_bytes, with.disk_slots);
    with.memory_slots = std::min(wanted, fit(with.fixed));
    if (with.memory_slots >= 0 && with.disk_slots > 0) {
      with.disk_slots = std::min(with.disk_slots, wanted - with.memory_slots);
      return with;
    }
    if (layout.memory_slots < 1 && room > 0) {
      refuse(budget, std::min(with.fixed, layout.fixed + slot), "the buffers that a sweep needs");
    }
  }
  if (layout.memory_slots < 1) {
    const std::string size = format_bytes(layout.row_bytes);
    if (wanted == 0) refuse(budget, layout.fixed, "one spare row for a state of " + size);
    refuse(budget, layout.fixed + slot, "one state of " + size + " and one spare row");
  }
  return layout;
}

std::vector<TierSlots> tiers_of(const Layout& layout, const SweepOptions& options) {
  std::vector<TierSlots> tiers = {{"memory", layout.memory_slots}};
  if (layout.disk_slots > 0) tiers.push_back({options.budget.disk->name(), layout.disk_slots});
  return tiers;
}

}  // namespace detail
}  // namespace costate
