#pragma once

#include <optional>
#include <string>
#include <vector>

#include "costate/core/step.hpp"
#include "row_store.hpp"
#include "step_log.hpp"

/// @file
/// What a container holds: asked by who goes on with a run and by who only looks at it, so that
/// both say the same.

namespace costate::detail {

/// Rows of a run besides its slots: one to write into, and some that wait for a record.
inline constexpr Slot run_spare_rows = 3;

/// A row or a record with a header that is whole.
struct FoundRow {
  enum class Payload : unsigned char { unchecked, whole, damaged };
  Slot row = 0;
  RowHeader header;
  Payload payload = Payload::unchecked;
};

struct FoundRecords {
  std::vector<FoundRow> all;      ///< the newest first
  std::optional<FoundRow> valid;  ///< the one to go on from
  std::vector<std::string> damage;
};

struct FoundStates {
  std::vector<FoundRow> states;  ///< by ascending step: of each slot the newest that is whole, and
                                 ///< those that are damaged and newer than it
  std::vector<std::string> damage;
};

/// How payloads are read.
enum class Reading : unsigned char {
  needed,  ///< those that decide what counts
  all,     ///< of records the older one, too
  none     ///< headers only; what they say is taken to be true
};

/// @param log  of the steps; null if there is none
[[nodiscard]] FoundRecords find_records(RowStore& store, const StepLog* log, Reading reading);

/// @param slots  states in slots beyond are not of this store
/// @param limit  states from this index on do not count; their steps are run, or reversed, again
[[nodiscard]] FoundStates find_states(RowStore& store, Slot slots, Step limit, Reading reading);

/// The limit that a record sets.
[[nodiscard]] Step state_limit(const std::optional<FoundRow>& record) noexcept;

}  // namespace costate::detail
