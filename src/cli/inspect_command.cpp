#include "inspect_command.hpp"

#include "costate/core/error.hpp"
#include "costate/hdf5/inspect.hpp"
#include "costate/schedule/costs.hpp"
#include "inspect_report.hpp"

namespace costate::cli {

int run_inspect(const InspectCommand& command, std::FILE* out) {
  const TransferCosts disk{command.disk_write, command.disk_read};
  Costs costs;
  costs.tiers = {{.name = "disk", .slots = 1, .write = disk.write, .read = disk.read}};
  check(costs, 0);
  Inspection found;
  try {
    found = inspect(command.path, {.verify = command.verify});
  } catch (const StorageError& error) {
    found.path = command.path;
    found.damage.emplace_back(error.what());
  }
  std::fputs((command.json ? json(found, disk) : text(found, disk)).c_str(), out);
  return found.damage.empty() ? 0 : 1;
}

}  // namespace costate::cli
