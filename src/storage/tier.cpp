#include "costate/storage/tier.hpp"

#include "costate/core/error.hpp"

namespace costate {
namespace {

[[noreturn]] void no_rows(const Tier& tier) {
  throw Unsupported("the tier '" + tier.use().name + "' has no rows");
}

}  // namespace

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
