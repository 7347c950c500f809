#include "costate/hdf5/inspect.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>

#include "container.hpp"
#include "costate/core/error.hpp"
#include "row_store.hpp"
#include "run_files.hpp"
#include "run_scan.hpp"
#include "step_log.hpp"

namespace costate {
namespace {

using detail::FoundRow;
using detail::Reading;

Integrity integrity_of(const FoundRow& row) {
  switch (row.payload) {
    case FoundRow::Payload::unchecked:
      return Integrity::unchecked;
    case FoundRow::Payload::whole:
      return Integrity::whole;
    case FoundRow::Payload::damaged:
      return Integrity::damaged;
  }
  return Integrity::unchecked;
}

void name(const std::string& path, std::vector<std::string>& lines, Inspection& out) {
  for (const std::string& line : lines) out.damage.push_back("'" + path + "': " + line);
}

void describe(const detail::Container& container, Inspection& out) {
  out.identity = container.identity;
  out.library = container.library;
  out.created = container.created;
  out.fields = container.fields;
  out.file_bytes = container.size;
  out.state_bytes = container.row_bytes;
  out.memory = container.memory;
  out.memory_slots = static_cast<Slot>(container.memory_slots);
  out.slots = container.rows - (container.record_bytes > 0 ? detail::run_spare_rows : 1);
}

void look_at_container(const std::string& path, const std::string& log_path,
                       const InspectOptions& options, Inspection& out) {
  FileSystem& files = FileSystem::real();
  const detail::Container container = detail::open_container(files, path);
  describe(container, out);
  detail::RowStore store(files, path, container);
  const Reading reading = options.verify ? Reading::all : Reading::none;

  std::unique_ptr<detail::StepLog> log;
  if (container.log_bytes > 0 && detail::exists(log_path)) {
    log = std::make_unique<detail::StepLog>(files.open(log_path, FileSystem::Mode::read),
                                            container.log_bytes, container.identity);
    out.logged = log->steps();
    // Of a run at work the last block may be half written.
    if (options.verify && log->left_over() > 0 && out.worker.empty()) {
      out.damage.push_back("'" + log_path + "': " + std::to_string(log->left_over()) +
                           " bytes after the log of step " + std::to_string(log->steps() - 1) +
                           " are torn");
    }
  }
  Step limit = std::numeric_limits<Step>::max();
  if (container.record_bytes > 0) {
    auto records = detail::find_records(store, log.get(), reading);
    for (const FoundRow& row : records.all) {
      if (records.valid && row.row == records.valid->row) out.current = out.records.size();
      out.records.push_back({static_cast<RunRecord::Phase>(row.header.phase), row.header.step,
                             row.header.slot, row.header.time, row.header.bytes, row.row,
                             integrity_of(row)});
    }
    if (!records.valid) out.current = out.records.size();
    limit = detail::state_limit(records.valid);
    name(path, records.damage, out);
  }
  auto states = detail::find_states(store, out.slots, limit, reading);
  for (const FoundRow& row : states.states) {
    out.states.push_back({row.header.step, row.header.time, row.header.bytes,
                          row.header.kind == detail::RowHeader::packed_state, row.header.slot,
                          row.row, integrity_of(row)});
  }
  name(path, states.damage, out);
  if (!out.worker.empty()) {
    // What is being written at this moment looks torn and is not.
    std::erase_if(out.states,
                  [](const InspectedState& s) { return s.integrity == Integrity::damaged; });
    out.damage.clear();
  }
}

void look_at_directory(const std::string& path, const InspectOptions& options, Inspection& out) {
  out.worker = detail::worker_of(path);
  out.kind = Inspection::Kind::run;
  bool found = false;
  try {
    if (const auto result = detail::read_result(FileSystem::real(), path)) {
      found = true;
      out.kind = Inspection::Kind::finished;
      out.identity = result->identity;
      out.library = result->library;
      out.result_bytes = result->bytes.size();
    }
  } catch (const StorageError& error) {
    found = true;
    out.damage.emplace_back(error.what());
  }
  const std::string states = detail::states_path(path);
  if (detail::exists(states)) {
    found = true;
    try {
      look_at_container(states, detail::log_path(path), options, out);
    } catch (const StorageError& error) {
      // A run at work may have ended, and removed the file, in the meantime.
      if (!out.worker.empty() && !detail::exists(states)) {
        Inspection again;
        again.path = path;
        look_at_directory(path, options, again);
        out = std::move(again);
        return;
      }
      out.damage.emplace_back(error.what());
    }
  }
  if (!found && out.worker.empty()) {
    throw InvalidArgument("'" + path + "' holds no run: neither states.h5 nor result");
  }
}

}  // namespace

Inspection inspect(const std::string& path, const InspectOptions& options) {
  Inspection out;
  out.path = path;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw InvalidArgument("there is no '" + path + "'");
  }
  if (std::filesystem::is_directory(status)) {
    look_at_directory(path, options, out);
  } else if (std::filesystem::is_regular_file(status)) {
    look_at_container(path, "", options, out);
  } else {
    throw InvalidArgument("'" + path + "' is neither a run directory nor a file of checkpoints");
  }
  return out;
}

}  // namespace costate
