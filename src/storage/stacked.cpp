#include "costate/storage/stacked.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "costate/core/error.hpp"

namespace costate {
namespace {

class Stack final : public TierFactory {
 public:
  explicit Stack(std::vector<DiskSpec> disks) : disks_(std::move(disks)) {}

  [[nodiscard]] std::string name() const override { return disks_.front()->name(); }
  [[nodiscard]] Slot slots(std::size_t row_bytes) const override {
    Slot all = 0;
    for (const DiskSpec& disk : disks_) all += disk->slots(row_bytes);
    return all;
  }
  [[nodiscard]] Bytes memory_bytes(std::size_t row_bytes, Slot slots) const override {
    Bytes all = 0;
    for (const DiskSpec& disk : disks_) {
      const Slot here = std::min(slots, disk->slots(row_bytes));
      if (here > 0) all += disk->memory_bytes(row_bytes, here);
      slots -= here;
    }
    return all;
  }
  [[nodiscard]] std::unique_ptr<Tier> make(std::size_t row_bytes, Slot slots,
                                           const std::vector<StateField>& fields) const override {
    std::vector<std::unique_ptr<Tier>> parts;
    for (const DiskSpec& disk : disks_) {
      const Slot here = std::min(slots, disk->slots(row_bytes));
      if (here > 0) parts.push_back(disk->make(row_bytes, here, fields));
      slots -= here;
    }
    return std::make_unique<StackedTier>(std::move(parts));
  }
  [[nodiscard]] std::vector<const TierFactory*> parts() const override {
    std::vector<const TierFactory*> all;
    for (const DiskSpec& disk : disks_) {
      for (const TierFactory* part : disk->parts()) all.push_back(part);
    }
    return all;
  }

 private:
  std::vector<DiskSpec> disks_;
};

}  // namespace

DiskSpec stacked(const std::vector<DiskSpec>& disks) {
  if (disks.empty() || !std::ranges::all_of(disks, [](const DiskSpec& d) { return bool(d); })) {
    throw InvalidArgument("stacked: there is a disk missing");
  }
  return DiskSpec(std::make_shared<const Stack>(disks));
}

StackedTier::StackedTier(std::vector<std::unique_ptr<Tier>> parts) : parts_(std::move(parts)) {
  use_.name = "disk";
  for (const auto& part : parts_) {
    use_.slots += part->slots();
    use_.capacity += part->use().capacity;
  }
}

void StackedTier::report_to(std::vector<TierUse>& out) const {
  std::size_t number = 0;
  for (const auto& part : parts_) {
    const std::size_t first = out.size();
    part->report_to(out);
    if (++number == 1) continue;
    for (std::size_t i = first; i < out.size(); ++i) out[i].name += " " + std::to_string(number);
  }
}

StackedTier::Place StackedTier::place(Slot slot) const {
  Slot inside = slot;
  for (const auto& part : parts_) {
    if (inside >= 0 && inside < part->slots()) return {*part, inside};
    inside -= part->slots();
  }
  throw ScheduleError("the disks have " + std::to_string(use_.slots) + " slots, so no slot #" +
                          std::to_string(slot),
                      unknown);
}

// What a part has come to hold is held here.
template <class Work>
auto StackedTier::change(Slot slot, const Work& work) {
  const Place where = place(slot);
  const Bytes before = where.tier.use().held;
  work(where);
  use_.held += where.tier.use().held;
  use_.held -= before;
  use_.peak = std::max(use_.peak, use_.held);
}

std::span<std::byte> StackedTier::begin_write(Slot slot, Step at, std::size_t bytes) {
  const Place where = place(slot);
  writing_ = &where.tier;
  return where.tier.begin_write(where.slot, at, bytes);
}

void StackedTier::fill(std::span<std::byte> place, std::span<const std::byte> state) {
  writing_->fill(place, state);
}

void StackedTier::label(double time) {
  writing_->label(time);
}

void StackedTier::commit(Slot slot) {
  change(slot, [](const Place& where) { where.tier.commit(where.slot); });
  ++use_.writes;
}

std::span<const std::byte> StackedTier::read(Slot slot, Step at) {
  const Place where = place(slot);
  const std::span<const std::byte> bytes = where.tier.read(where.slot, at);
  ++use_.reads;
  return bytes;
}

void StackedTier::read_into(Slot slot, Step at, std::span<std::byte> state) {
  const Place where = place(slot);
  where.tier.read_into(where.slot, at, state);
  ++use_.reads;
}

void StackedTier::drop(Slot slot) {
  change(slot, [](const Place& where) { where.tier.drop(where.slot); });
}

void StackedTier::flush() {
  for (const auto& part : parts_) part->flush();
}

bool StackedTier::prefetch(Slot slot, Step at) {
  if (slot < 0 || slot >= use_.slots) return true;
  const Place where = place(slot);
  return where.tier.prefetch_depth() == 0 || where.tier.prefetch(where.slot, at);
}

int StackedTier::prefetch_depth() const noexcept {
  int depth = 0;
  for (const auto& part : parts_) depth += part->prefetch_depth();
  return depth;
}

}  // namespace costate
