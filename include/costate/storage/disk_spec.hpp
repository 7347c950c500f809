#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/core/step.hpp"
#include "costate/storage/state_field.hpp"
#include "costate/storage/tier.hpp"

namespace costate {

/// Makes a tier below the memory. What a component implements (hdf5/disk.hpp), so that the core
/// library knows no file format.
class TierFactory {
 public:
  virtual ~TierFactory() = default;

  /// Of the tier, for schedules and reports: "disk".
  [[nodiscard]] virtual std::string name() const = 0;

  /// How many checkpoints of up to `row_bytes` bytes there is room for.
  [[nodiscard]] virtual Slot slots(std::size_t row_bytes) const = 0;

  /// The memory that the tier itself needs for `slots` of them: buffers and bookkeeping.
  [[nodiscard]] virtual Bytes memory_bytes(std::size_t row_bytes, Slot slots) const = 0;

  /// @param fields  what a state consists of, if known: a description for other programs
  /// @throws StorageError if it cannot be made
  [[nodiscard]] virtual std::unique_ptr<Tier> make(
      std::size_t row_bytes, Slot slots, const std::vector<StateField>& fields = {}) const = 0;

  /// The tiers of which this one consists, fastest first: itself, if it is simple.
  [[nodiscard]] virtual std::vector<const TierFactory*> parts() const { return {this}; }

 protected:
  TierFactory() = default;
  TierFactory(const TierFactory&) = default;
  TierFactory& operator=(const TierFactory&) = default;
};

/// A disk as a budget names it: nothing, or what `costate::hdf5({...})` returns. A value; copies
/// share the factory, which is immutable, so the pointer is shared and const.
class DiskSpec {
 public:
  DiskSpec() noexcept;
  explicit DiskSpec(std::shared_ptr<const TierFactory> factory) noexcept;
  DiskSpec(const DiskSpec& other) noexcept;
  DiskSpec(DiskSpec&& other) noexcept;
  DiskSpec& operator=(const DiskSpec& other) noexcept;
  DiskSpec& operator=(DiskSpec&& other) noexcept;
  ~DiskSpec();
  [[nodiscard]] explicit operator bool() const noexcept { return factory_ != nullptr; }
  [[nodiscard]] const TierFactory& operator*() const noexcept { return *factory_; }
  [[nodiscard]] const TierFactory* operator->() const noexcept { return factory_.get(); }

 private:
  std::shared_ptr<const TierFactory> factory_;
};

}  // namespace costate
