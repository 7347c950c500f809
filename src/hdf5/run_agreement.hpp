#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/core/team.hpp"
#include "costate/storage/run_store.hpp"
#include "run_scan.hpp"

/// @file
/// What the parts of a run that were interrupted at different moments have in common.

namespace costate::detail {

/// Grows from record to record of a run, and is at least 0.
[[nodiscard]] std::int64_t order_of(RunRecord::Phase phase, Step step) noexcept;

/// The newest record that all members of the team have, whole and with the logs it needs. As none
/// writes a record before all have written the one before (RunStore::commit_record), there is one
/// as soon as the first was written by all, unless it has been damaged since.
/// @param all  of this member, with what is known of their payloads
[[nodiscard]] std::optional<FoundRow> common_record(const std::vector<FoundRow>& all,
                                                    const StepLog* log, Team& team);

/// Those states that all members have, in the same slots.
/// @param states  of this member, by ascending step, one an index
[[nodiscard]] std::vector<FoundRow> common_states(const std::vector<FoundRow>& states, Team& team);

}  // namespace costate::detail
