#include "costate/storage/disk_spec.hpp"

#include <utility>

namespace costate {

// Not inline: g++ 12 otherwise warns of an uninitialised pointer in every temporary SweepOptions.
DiskSpec::DiskSpec() noexcept = default;
DiskSpec::DiskSpec(std::shared_ptr<const TierFactory> factory) noexcept
    : factory_(std::move(factory)) {}
DiskSpec::DiskSpec(const DiskSpec& other) noexcept = default;
DiskSpec::DiskSpec(DiskSpec&& other) noexcept = default;
DiskSpec& DiskSpec::operator=(const DiskSpec& other) noexcept = default;
DiskSpec& DiskSpec::operator=(DiskSpec&& other) noexcept = default;
DiskSpec::~DiskSpec() = default;

}  // namespace costate
