#include "inspect_command.hpp"

#include "costate/core/error.hpp"
#include "costate/hdf5/inspect.hpp"
#include "inspect_report.hpp"

namespace costate::cli {

int run_inspect(const InspectCommand& command, std::FILE* out) {
  Inspection found;
  try {
    found = inspect(command.path, {.verify = command.verify});
  } catch (const StorageError& error) {
    found.path = command.path;
    found.damage.emplace_back(error.what());
  }
  const TransferCosts disk{command.disk_write, command.disk_read};
  std::fputs((command.json ? json(found, disk) : text(found, disk)).c_str(), out);
  return found.damage.empty() ? 0 : 1;
}

}  // namespace costate::cli
