#include "run_scan.hpp"

#include <algorithm>
#include <map>

namespace costate::detail {
namespace {

bool newer(const FoundRow& a, const FoundRow& b) {
  return a.header.sequence > b.header.sequence;
}

FoundRow::Payload judged(bool whole) {
  return whole ? FoundRow::Payload::whole : FoundRow::Payload::damaged;
}

}  // namespace

FoundRecords find_records(RowStore& store, const StepLog* log, Reading reading) {
  FoundRecords found;
  for (Slot row = 0; row < 2; ++row) {
    const RowHeader header = store.record_header(row);
    if (header.magic == 0) continue;
    if (!header.valid() || header.kind != RowHeader::record ||
        header.bytes > store.container().record_bytes || header.phase > 1 || header.step < 0) {
      found.damage.push_back("the header of record " + std::to_string(row) + " is damaged");
      continue;
    }
    store.seen(header.sequence);
    found.all.push_back({row, header});
  }
  std::sort(found.all.begin(), found.all.end(), newer);
  for (FoundRow& record : found.all) {
    const std::string name = "record " + std::to_string(record.row);
    const Step logged = record.header.phase == 0 ? record.header.step : record.header.slot;
    const bool has_log = log == nullptr || log->steps() >= logged;
    if (!has_log) {
      found.damage.push_back(name + " needs the log of " + std::to_string(logged) +
                             " steps, of which " + std::to_string(log->steps()) + " are there");
    }
    if (reading == Reading::all || (reading == Reading::needed && has_log && !found.valid)) {
      record.payload = judged(store.holds_record(record.row, record.header));
      if (record.payload == FoundRow::Payload::damaged)
        found.damage.push_back(name + " is damaged");
    }
    if (!found.valid && has_log && record.payload != FoundRow::Payload::damaged) {
      found.valid = record;
    }
  }
  return found;
}

FoundStates find_states(RowStore& store, Slot slots, Step limit, Reading reading) {
  FoundStates found;
  std::map<Slot, std::vector<FoundRow>> by_slot;
  for (Slot row = 0; row < store.container().rows; ++row) {
    const RowHeader header = store.header(row);
    if (header.magic == 0) continue;  // never written
    if (!header.holds_state() || header.slot < 0 || header.slot >= slots || header.step < 0 ||
        header.bytes == 0 || header.bytes > store.container().row_bytes) {
      found.damage.push_back("the header of row " + std::to_string(row) + " is damaged");
      continue;
    }
    store.seen(header.sequence);
    if (header.step < limit) by_slot[header.slot].push_back({row, header});
  }
  for (auto& [slot, rows] : by_slot) {
    std::sort(rows.begin(), rows.end(), newer);
    for (FoundRow& row : rows) {
      if (reading != Reading::none) {
        row.payload = judged(store.holds(row.row, row.header));
        if (row.payload == FoundRow::Payload::damaged) {
          found.damage.push_back("checkpoint " + std::to_string(row.header.step) + " in row " +
                                 std::to_string(row.row) + " is damaged");
        }
      }
      found.states.push_back(row);
      if (row.payload != FoundRow::Payload::damaged) break;
    }
  }
  std::sort(found.states.begin(), found.states.end(), [](const FoundRow& a, const FoundRow& b) {
    return a.header.step != b.header.step ? a.header.step < b.header.step : newer(a, b);
  });
  return found;
}

Step state_limit(const std::optional<FoundRow>& record) noexcept {
  // Forward, a checkpoint beyond the record is one whose steps are to be run again for the first
  // time; reverse, one whose step is reversed.
  if (!record) return 0;
  return record->header.phase == 0 ? record->header.step + 1 : record->header.step;
}

}  // namespace costate::detail
