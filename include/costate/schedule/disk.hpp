#pragma once

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"
#include "costate/schedule/plan.hpp"

/// @file
/// Two tiers, the second of which has room for all that is wanted of it.

namespace costate {

/// The optimum for an unbounded last tier: `hierarchical` with its room left out of account.
/// @throws InvalidArgument if the costs are not valid or the room does not suffice after all
[[nodiscard]] Plan disk_revolve(const Costs& costs, Step n);

/// Every q-th state goes to the last tier, except towards the end, where memory alone is cheaper,
/// and each stretch of q steps is reversed on its own, optimally, if need be with more checkpoints
/// on disk. Needs tables of some thousand steps only, and no n while it runs forward; within 2 % of
/// `disk_revolve`. q is the length of least cost a step; where memory alone serves a stretch best
/// it is `disk_period`.
///
/// Source: G. Aupy, J. Herrmann, "Periodicity in optimal hierarchical checkpointing schemes for
/// adjoint computations", Optim. Methods Softw. 32(3), 2017, doi:10.1080/10556788.2016.1230612,
/// whose stretches are reversed in memory alone.
/// @throws InvalidArgument if the costs are not valid or a tier has too little room
[[nodiscard]] Plan periodic_disk(const Costs& costs, Step n);

/// The best distance between states on disk if each stretch is reversed in memory alone: with c its
/// slots and a transfer both ways costing f steps,
///
///     q = beta(c, x),  x the smallest with beta(c+1, x) > f.
///
/// (The cost a step, (f + q + t(q, c)) / q, falls with q where t has the slope r as long as
/// f > beta(c+1, r-1); of equal ones the longest has the fewest writes.)
/// @param slots     of the first tier, >= 1
/// @param transfer  a write and a read of the last tier, in steps, >= 0
/// @throws InvalidArgument outside these ranges
[[nodiscard]] Step disk_period(Slot slots, double transfer);

}  // namespace costate
