#include "costate/storage/tier.hpp"

#include <cstring>
#include <string>

#include "costate/core/error.hpp"

namespace costate {

namespace {

[[noreturn]] void no_rows(const Tier& tier) {
  throw Unsupported("the tier '" + tier.use().name + "' has no rows");
}

}  // namespace

void Tier::fill(std::span<std::byte> place, std::span<const std::byte> state) {
  std::memcpy(place.data(), state.data(), state.size());
}

void Tier::read_into(Slot slot, Step at, std::span<std::byte> state) {
  const std::span<const std::byte> found = read(slot, at);
  if (found.size() != state.size()) {
    throw ScheduleError("checkpoint " + std::to_string(at) + " has " +
                            std::to_string(found.size()) + " bytes, the state " +
                            std::to_string(state.size()),
                        at);
  }
  std::memcpy(state.data(), found.data(), state.size());
}

Rows Tier::begin_rows(Slot /*first*/, Slot /*count*/) {
  no_rows(*this);
}
void Tier::commit_rows(Slot /*first*/, Step /*from*/, Slot /*count*/) {
  no_rows(*this);
}
Rows Tier::read_rows(Slot /*first*/, Step /*from*/, Slot /*count*/) {
  no_rows(*this);
}
void Tier::drop_rows(Slot /*first*/, Slot /*count*/) {
  no_rows(*this);
}

}  // namespace costate
