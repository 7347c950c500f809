#pragma once

#include <chrono>
#include <cstdint>

#include "costate/core/step.hpp"
#include "costate/storage/pool.hpp"
#include "costate/sweep/stepper.hpp"
#include "costate/sweep/sweep.hpp"
#include "guard.hpp"

namespace costate::detail {

/// The sweep of a simulation that can step back: to the end, and back one step at a time. Stores
/// hashes of states for the guard, and no states.
class ReversibleSweep {
 public:
  /// @throws BudgetError if the guard does not fit; nothing has run
  ReversibleSweep(Stepper& stepper, const SweepOptions& options);
  Report run();

 private:
  using Clock = std::chrono::steady_clock;

  void forward();
  void backward();
  [[nodiscard]] Step piece() const noexcept;
  std::uint64_t hash_live();
  void compare(Step at);
  void worked(Step steps, double since, Progress::Phase phase, Step at);
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

  Stepper& stepper_;
  const SweepOptions& options_;
  Clock::time_point start_ = Clock::now();
  Step n_;
  Guard guard_;
  Pool row_;        // to hash a state in
  bool watched_;    // somebody wants to know of progress
  Step right_ = 0;  // on the way back, the index last known to be right
  Step chunk_ = 1;  // steps run without looking at the clock, if somebody watches
  double told_ = 0;
  Report report_;
};

}  // namespace costate::detail
