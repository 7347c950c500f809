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
  std::fputs((command.json ? json(found) : text(found)).c_str(), out);
  return found.damage.empty() ? 0 : 1;
}

}  // namespace costate::cli
