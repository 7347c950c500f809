#pragma once

#include <cstdio>
#include <string>

namespace costate::cli {

/// What `costate inspect` was asked for.
struct InspectCommand {
  std::string path;
  bool json = false;
  bool verify = false;
  double disk_write = 1;  ///< what a write to disk is taken to cost, in steps
  double disk_read = 1;   ///< and a read
};

/// Carries it out, printing to `out`. Returns the exit status: 0, or 1 if something is damaged.
/// @throws InvalidArgument if there is nothing to look at, or the costs are not valid
int run_inspect(const InspectCommand& command, std::FILE* out);

}  // namespace costate::cli
