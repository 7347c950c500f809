#include "look_ahead.hpp"

#include <algorithm>
#include <utility>

namespace costate::detail {

void LookAhead::start(const Schedule& schedule, Tier& disk, std::vector<Slot> starts) {
  depth_ = std::min(disk.prefetch_depth(), static_cast<int>(hints_.size()));
  if (depth_ == 0) return;
  schedule_.emplace(schedule);
  disk_ = &disk;
  starts_ = std::move(starts);
  run_ = Command{};
  between_ = 0;
  waiting_ = 0;
  go_on();
}

void LookAhead::go_on() {
  using Kind = Command::Kind;
  while (between_ < depth_) {
    Slot slot = -1;
    Step at = 0;
    if (run_.kind == Kind::unwind && run_.to > run_.from) {
      at = --run_.to;
      slot = run_.slot + (at - run_.from);
    } else {
      run_ = schedule_->next_command();
      if (run_.kind == Kind::end) {
        schedule_.reset();
        break;
      }
      if (run_.kind != Kind::load) continue;
      at = run_.from;
      slot = run_.slot;
    }
    const std::size_t tier = schedule_->tier_of(slot);
    if (tier == 0) continue;
    for (std::size_t above = 0; above < tier; ++above) slot -= schedule_->tiers()[above].slots;
    ++between_;
    if (waiting_ == static_cast<int>(hints_.size())) {  // the oldest has been overtaken
      std::move(hints_.begin() + 1, hints_.end(), hints_.begin());
      --waiting_;
    }
    hints_[static_cast<std::size_t>(waiting_++)] = {starts_[tier - 1] + slot, at};
  }
  offer_again();
}

// In order, up to the first that finds no room.
void LookAhead::offer_again() {
  int given = 0;
  while (given < waiting_) {
    const Hint& hint = hints_[static_cast<std::size_t>(given)];
    if (!disk_->prefetch(hint.slot, hint.at)) break;
    ++given;
  }
  std::move(hints_.begin() + given, hints_.begin() + waiting_, hints_.begin());
  waiting_ -= given;
}

}  // namespace costate::detail
