#include "costate/hdf5/disk.hpp"

#include <utility>

#include "costate/core/error.hpp"
#include "disk_tier.hpp"

namespace costate {
namespace {

class Factory final : public TierFactory {
 public:
  explicit Factory(Hdf5Options options) : options_(std::move(options)) {}

  [[nodiscard]] std::string name() const override { return "disk"; }
  [[nodiscard]] Slot slots(std::size_t row_bytes) const override {
    return detail::DiskTier::slots_within(options_.capacity, row_bytes);
  }
  [[nodiscard]] Bytes memory_bytes(std::size_t row_bytes, Slot slots) const override {
    return detail::DiskTier::memory_bytes(options_, row_bytes, slots);
  }
  [[nodiscard]] std::unique_ptr<Tier> make(std::size_t row_bytes, Slot slots) const override {
    return std::make_unique<detail::DiskTier>(options_, row_bytes, slots);
  }

 private:
  Hdf5Options options_;
};

}  // namespace

DiskSpec hdf5(const Hdf5Options& options) {
  if (options.io_threads < 0 || options.io_threads > 64) {
    throw InvalidArgument("hdf5: the number of I/O threads must be 0 to 64, not " +
                          std::to_string(options.io_threads));
  }
  if (const int least = options.io_threads > 0 ? 2 : 1; options.buffers < least) {
    throw InvalidArgument("hdf5: the number of buffers must be at least " + std::to_string(least) +
                          ", not " + std::to_string(options.buffers));
  }
  if (!(options.sync_seconds >= 0)) throw InvalidArgument("hdf5: sync_seconds is negative");
  if (options.directory.empty()) throw InvalidArgument("hdf5: the directory is empty");
  return DiskSpec(std::make_shared<const Factory>(options));
}

}  // namespace costate
