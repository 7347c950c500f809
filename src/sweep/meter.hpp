#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include "costate/core/step.hpp"

namespace costate::detail {

/// Where the time of a sweep goes. Reading the clock takes as long as a small step, so of pieces of
/// little work only one in `sample` is timed and stands for the rest.
class Meter {
 public:
  enum Kind : unsigned char { forward, replay, reverse, storage, guard, kinds };
  using Clock = std::chrono::steady_clock;

  /// @param heavy  every piece is worth a reading of the clock: states are large
  explicit Meter(bool heavy) noexcept : heavy_(heavy) {}

  /// Begins a piece of that many steps (0: only bytes are moved).
  void start(Step steps) noexcept {
    weight_ = heavy_ || steps >= sample ? 1 : 0;
    if (weight_ == 0 && ++skipped_ == sample) {
      skipped_ = 0;
      weight_ = sample;
    }
    if (weight_ != 0) began_ = Clock::now();
  }

  /// Ends it. Returns its seconds, or -1 if it was not timed.
  double stop(Kind kind) noexcept {
    if (weight_ == 0) return -1;
    now_ = Clock::now();
    const double seconds = std::chrono::duration<double>(now_ - began_).count();
    // A long sample among short pieces was interrupted: it stands for itself only.
    seconds_[kind] += seconds < 50e-6 ? seconds * weight_ : seconds;
    return seconds;
  }

  /// The last reading of the clock.
  [[nodiscard]] Clock::time_point now() const noexcept { return now_; }
  [[nodiscard]] double seconds(Kind kind) const noexcept { return seconds_[kind]; }

 private:
  static constexpr int sample = 32;
  bool heavy_;
  int skipped_ = 0;
  int weight_ = 0;
  Clock::time_point began_{};
  Clock::time_point now_ = Clock::now();
  std::array<double, kinds> seconds_{};
};

}  // namespace costate::detail
