#include "layout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
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

// Whether or not the disk turns out to be needed: a mistake should not wait for a larger run.
void check(const TransferCosts& costs) {
  const auto good = [](double cost) { return std::isfinite(cost) && cost >= 0; };
  if (good(costs.write) && good(costs.read)) return;
  throw InvalidArgument(
      "the costs of a transfer to and from disk must be finite and not negative, not " +
      std::to_string(costs.write) + " and " + std::to_string(costs.read));
}

// Whether the schedule, of known length, keeps tapes.
bool keeps_tapes(Schedule schedule) {
  using Kind = Command::Kind;
  if (schedule.steps() == unknown) return false;
  for (;;) {
    const Command command = schedule.next_command();
    if (command.kind == Kind::end) return false;
    if (command.kind == Kind::save && command.what == Content::tape) return true;
  }
}

}  // namespace

Slot tape_slots(const Stepper& stepper, const Layout& layout) {
  const std::size_t bytes = stepper.tape_bytes();
  if (bytes == 0 || layout.varying) return 0;
  return static_cast<Slot>((bytes - 1) / MemoryTier::stride(layout.row_bytes) + 1);
}

Layout lay_out(const Stepper& stepper, Step n, const SweepOptions& options, Bytes extra) {
  Layout layout;
  Team* const team = options.team;
  layout.row_bytes = stepper.max_state_bytes();
  layout.varying = most(team, stepper.state_size_varies() ? 1 : 0) > 0;
  if (layout.row_bytes == 0) throw InvalidArgument("a state of 0 bytes cannot be kept");
  layout.largest =
      static_cast<std::size_t>(most(team, static_cast<std::int64_t>(layout.row_bytes)));
  if (most(team, n) != least(team, n)) {
    throw ScheduleError(
        "the parts of the simulation have different numbers of steps, here " + std::to_string(n),
        n);
  }
  check(options.budget.disk_costs);
  for (const TransferCosts& costs : options.budget.lower_costs) check(costs);
  if (n == 0) return layout;

  const Bytes budget = options.budget.memory;
  const Bytes slot = MemoryTier::bytes_per_slot(layout.row_bytes, layout.varying);
  layout.spare_row = true;
  layout.fixed = MemoryTier::stride(layout.row_bytes) + extra;
  if (options.guard == ReplayGuard::every_step) {
    layout.hashes =
        n != unknown ? n : least(team, static_cast<Step>(budget / 4 / Guard::bytes_per_step()));
    layout.fixed += static_cast<Bytes>(layout.hashes) * Guard::bytes_per_step();
  }

  std::vector<const TierFactory*> disks =
      options.budget.disk ? options.budget.disk->parts() : std::vector<const TierFactory*>{};
  disks.resize(static_cast<std::size_t>(least(team, static_cast<std::int64_t>(disks.size()))));
  // Slots of each disk, the upper ones first, up to a number; and the memory that they need.
  const auto use_disks = [&](Layout& of, Slot left) {
    of.disks.clear();
    for (const TierFactory* disk : disks) {
      const Slot here = std::min(least(team, disk->slots(of.row_bytes)), left);
      of.disks.push_back(here);
      if (here > 0) of.fixed += disk->memory_bytes(of.row_bytes, here);
      left -= here;
    }
    while (!of.disks.empty() && of.disks.back() == 0) of.disks.pop_back();
  };

  if (options.schedule) {
    const auto& tiers = options.schedule->tiers();
    layout.memory_slots = tiers[0].slots;
    for (std::size_t i = 1; i < tiers.size(); ++i) {
      if (i > disks.size() && tiers[i].slots > 0) {
        throw InvalidArgument("the schedule has more tiers than the budget");
      }
      if (i > disks.size()) continue;
      const Slot room = disks[i - 1]->slots(layout.row_bytes);
      if (room < tiers[i].slots) {
        throw InvalidArgument("the schedule uses " + std::to_string(tiers[i].slots) +
                              " slots on disk, the budget has " + std::to_string(room));
      }
      layout.disks.push_back(tiers[i].slots);
      if (tiers[i].slots > 0) {
        layout.fixed += disks[i - 1]->memory_bytes(layout.row_bytes, tiers[i].slots);
      }
    }
    if (layout.disk_slots() == 0) layout.disks.clear();
    layout.tape_slots = keeps_tapes(*options.schedule) ? tape_slots(stepper, layout) : 0;
    if (layout.tape_slots > 0) layout.fixed += MemoryTier::stride(layout.row_bytes);
    // No more states or tapes than steps are ever kept, however many slots there are.
    const Slot most = saturating_multiply(n, std::max<Slot>(1, layout.tape_slots));
    const Slot kept = n == unknown ? layout.memory_slots : std::min(layout.memory_slots, most);
    const Bytes least = layout.fixed + static_cast<Bytes>(kept) * slot;
    if (least > budget) refuse(budget, least, "the slots of the schedule");
    return layout;
  }

  const Slot wanted = n == unknown ? std::numeric_limits<Slot>::max() : n - 1;
  const auto fit = [&](Bytes fixed) {
    return least(team, fixed > budget ? Slot{-1} : static_cast<Slot>((budget - fixed) / slot));
  };
  // A member that has enough waits here for the message of one that has not.
  const auto lacks = [&](Bytes least_bytes, const std::string& what) {
    if (least_bytes <= budget) most(team, 0);
    refuse(budget, least_bytes, what);
  };
  layout.memory_slots = std::min(wanted, fit(layout.fixed));
  if (layout.memory_slots == wanted) return layout;

  if (!disks.empty()) {
    Layout with = layout;
    use_disks(with, wanted);
    with.memory_slots = std::min(wanted, fit(with.fixed));
    if (with.memory_slots >= 0 && with.disk_slots() > 0) {
      Layout out = layout;
      use_disks(out, std::min(with.disk_slots(), wanted - with.memory_slots));
      out.memory_slots = with.memory_slots;
      return out;
    }
    if (layout.memory_slots < 1 && with.disk_slots() > 0) {
      lacks(std::min(with.fixed, layout.fixed + slot), "the buffers that a sweep needs");
    }
  }
  if (layout.memory_slots < 1) {
    const std::string size = format_bytes(layout.row_bytes);
    if (wanted == 0) lacks(layout.fixed, "one spare row for a state of " + size);
    lacks(layout.fixed + slot, "one state of " + size + " and one spare row");
  }
  return layout;
}

std::vector<TierSlots> tiers_of(const Layout& layout, const SweepOptions& options) {
  std::vector<TierSlots> tiers = {{"memory", layout.memory_slots}};
  for (std::size_t i = 0; i < layout.disks.size(); ++i) {
    std::string name = options.budget.disk->parts()[i]->name();
    if (i > 0) name += " " + std::to_string(i + 1);
    tiers.push_back({std::move(name), layout.disks[i]});
  }
  return tiers;
}

Costs costs_of(const Layout& layout, const SweepOptions& options) {
  const Budget& budget = options.budget;
  Costs costs;
  for (const TierSlots& tier : tiers_of(layout, options)) {
    const std::size_t i = costs.tiers.size();
    TransferCosts transfer = i == 0 ? TransferCosts{0, 0} : budget.disk_costs;
    if (i > 1 && i - 2 < budget.lower_costs.size()) transfer = budget.lower_costs[i - 2];
    costs.tiers.push_back(
        {.name = tier.name, .slots = tier.slots, .write = transfer.write, .read = transfer.read});
  }
  return costs;
}

}  // namespace detail
}  // namespace costate
