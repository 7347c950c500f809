#pragma once

#include <array>
#include <optional>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/schedule.hpp"
#include "costate/storage/tier.hpp"

namespace costate::detail {

/// Runs ahead of the driver through a copy of the schedule and tells the disk which checkpoints
/// will be loaded next.
class LookAhead {
 public:
  /// @param starts  where the tiers of the schedule below the memory begin on the disk
  void start(const Schedule& schedule, Tier& disk, std::vector<Slot> starts);

  /// The driver has loaded a checkpoint from the disk.
  void loaded() {
    if (!schedule_) return;
    --between_;
    go_on();
  }

  /// Hints that were refused are given again.
  void offer() {
    if (waiting_ > 0) offer_again();
  }

 private:
  struct Hint {
    Slot slot;
    Step at;
  };
  void go_on();
  void offer_again();

  std::optional<Schedule> schedule_;
  Tier* disk_ = nullptr;
  std::vector<Slot> starts_;
  Command run_{};  // an unwind that is looked through step by step
  int depth_ = 0;
  int between_ = 0;  // loads from the disk between the driver and the end of what was seen
  std::array<Hint, 16> hints_{};  // refused, oldest first
  int waiting_ = 0;
};

}  // namespace costate::detail
