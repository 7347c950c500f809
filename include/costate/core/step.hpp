#pragma once

#include <cstdint>

/// @file
/// How steps and slots are counted. Everything in costate is keyed by the integer step, never by a
/// floating-point time.

namespace costate {

/// A step or a state: step `k` maps state `x_k` to `x_{k+1}`; a run of `n` steps has the states
/// `x_0 … x_n`. Signed, because differences are taken; 64 bits, because runs pass 2^31 steps.
using Step = std::int64_t;

/// The number of a slot, the room for one checkpoint. Slot counts include the one that holds `x_0`.
using Slot = std::int64_t;

/// "No such step": the number of steps of a run that has not ended yet.
inline constexpr Step unknown = -1;

}  // namespace costate
