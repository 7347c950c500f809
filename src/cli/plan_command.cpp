#include "plan_command.hpp"

#include <cstdio>
#include <fstream>
#include <string>

#include "costate/core/error.hpp"
#include "costate/schedule/planner.hpp"
#include "picture.hpp"
#include "report.hpp"

namespace costate::cli {
namespace {

Costs costs_of(const PlanOptions& options) {
  Costs costs;
  if (options.memory_slots == unknown && options.disk_slots == unknown) {
    throw InvalidArgument("how many checkpoints can be held? give --memory-slots");
  }
  costs.tiers.push_back(
      {.name = "memory", .slots = options.memory_slots == unknown ? 0 : options.memory_slots});
  if (options.disk_slots != unknown) {
    costs.tiers.push_back({.name = "disk", .slots = options.disk_slots});
  }
  return costs;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw InvalidArgument("cannot write " + path);
}

}  // namespace

void run_plan(const PlanOptions& options, std::FILE* out) {
  const Costs costs = costs_of(options);
  const Plan made = plan(options.schedule, costs, options.steps);
  if (!options.svg.empty()) write_file(options.svg, draw_schedule(made, costs));
  if (options.json) {
    std::fputs(json(made, costs, options.actions).c_str(), out);
    return;
  }
  std::fputs(text(made, costs).c_str(), out);
  if (options.actions) {
    for (Schedule schedule = made.schedule; const auto action = schedule.next();) {
      std::fprintf(out, "%s\n", to_string(*action).c_str());
    }
  }
}

}  // namespace costate::cli
