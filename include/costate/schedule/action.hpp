#pragma once

#include <string>
#include <variant>

#include "costate/core/step.hpp"

/// @file
/// The seven actions that a schedule consists of. Each has exactly one effect. The step is repeated
/// in `Save`, `Load` and `Reverse` on purpose: driver, store and interpreter check it, so that a
/// wrong schedule or a stale file is an error and never a wrong gradient.
///
/// "Live" is the state the simulation holds. `Reverse` leaves it as it is.

namespace costate {

/// What a checkpoint holds of index `k`: the state `x_k`, or the tape of step `k` (what its reverse
/// needs, the stage values for example), with which the step need not be run again.
enum class Content : unsigned char { state, tape };

/// Run the steps `from … to-1` without keeping their linearisation. Needs `x_from` live, leaves
/// `x_to` live.
struct Advance {
  Step from;
  Step to;
  friend bool operator==(const Advance&, const Advance&) = default;
};

/// Copy the live state `x_at`, or the live tape of step `at`, into the slot, which must be empty.
struct Save {
  Step at;
  Slot slot;
  Content what = Content::state;
  friend bool operator==(const Save&, const Save&) = default;
};

/// Make what the slot holds of index `at` live. The slot keeps it.
struct Load {
  Step at;
  Slot slot;
  friend bool operator==(const Load&, const Load&) = default;
};

/// Empty the slot. Always said, never inferred.
struct Drop {
  Slot slot;
  friend bool operator==(const Drop&, const Drop&) = default;
};

/// Run step `step` and keep its tape live. Needs `x_step` live. The state `x_{step+1}` is then
/// available to `Turn` or to a following `Advance`.
struct Record {
  Step step;
  friend bool operator==(const Record&, const Record&) = default;
};

/// The end is reached: evaluate the objective at `x_at` and seed the adjoint with its derivative.
struct Turn {
  Step at;
  friend bool operator==(const Turn&, const Turn&) = default;
};

/// Take the adjoint from `step+1` to `step`. Needs the tape of `step` live.
struct Reverse {
  Step step;
  friend bool operator==(const Reverse&, const Reverse&) = default;
};

using Action = std::variant<Advance, Save, Load, Drop, Record, Turn, Reverse>;

/// One line: "advance 3 7", "save 3 -> #1", "save tape 3 -> #1", "load 3 <- #1", "drop #1",
/// "record 9", "turn 10", "reverse 9".
[[nodiscard]] std::string to_string(const Action& action);

}  // namespace costate
