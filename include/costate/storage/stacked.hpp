#pragma once

#include <memory>
#include <vector>

#include "costate/storage/disk_spec.hpp"
#include "costate/storage/tier.hpp"

namespace costate {

/// Several disks, the fastest first: a local one with little room above a large one far away. To be
/// written into `Budget::disk`; each is a tier of its own in schedules and reports, with its costs
/// in `Budget::disk_costs` and `Budget::lower_costs`.
/// @throws InvalidArgument if there is none, or one is empty
[[nodiscard]] DiskSpec stacked(const std::vector<DiskSpec>& disks);

/// Tiers one below the other, their slots numbered through.
class StackedTier final : public Tier {
 public:
  explicit StackedTier(std::vector<std::unique_ptr<Tier>> parts);

  [[nodiscard]] const TierUse& use() const noexcept override { return use_; }
  void report_to(std::vector<TierUse>& out) const override;
  std::span<std::byte> begin_write(Slot slot, Step at, std::size_t bytes) override;
  void commit(Slot slot) override;
  void fill(std::span<std::byte> place, std::span<const std::byte> state) override;
  void label(double time) override;
  std::span<const std::byte> read(Slot slot, Step at) override;
  void read_into(Slot slot, Step at, std::span<std::byte> state) override;
  void drop(Slot slot) override;
  void flush() override;
  bool prefetch(Slot slot, Step at) override;
  [[nodiscard]] int prefetch_depth() const noexcept override;

 private:
  struct Place {
    Tier& tier;
    Slot slot;
  };
  [[nodiscard]] Place place(Slot slot) const;
  template <class Work>
  auto change(Slot slot, const Work& work);

  std::vector<std::unique_ptr<Tier>> parts_;
  TierUse use_;
  Tier* writing_ = nullptr;  // the part that begin_write went to
};

}  // namespace costate
