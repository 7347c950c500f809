#include "plan_command.hpp"

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/planner.hpp"
#include "picture.hpp"
#include "report.hpp"

namespace costate::cli {
namespace {

Bytes bytes_of(const std::string& option, const std::string& text) {
  try {
    return parse_bytes(text);
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(option + ": " + error.what());
  }
}

Slot slots_of(const std::string& option, const std::string& text) {
  if (text == "unlimited") return unbounded;
  Slot slots = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, slots);
  if (error != std::errc() || stopped != end || slots < 0) {
    throw InvalidArgument(option + ": " + text + " is neither a number of slots nor \"unlimited\"");
  }
  return slots;
}

// A tier from its two options, of which one may be given.
TierCosts tier_of(const std::string& name, const std::string& slots, const std::string& bytes) {
  TierCosts tier;
  tier.name = name;
  if (!slots.empty() && !bytes.empty()) {
    throw InvalidArgument("--" + name + "-slots and --" + name + " say the same: give one of them");
  }
  if (!slots.empty()) tier.slots = slots_of("--" + name + "-slots", slots);
  if (!bytes.empty()) tier.bytes = bytes_of("--" + name, bytes);
  return tier;
}

std::vector<double> read_weights(const std::string& path) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path)) throw InvalidArgument("cannot read " + path);
  std::vector<double> weights;
  const auto printable = [](std::string word) {
    for (char& c : word) c = c < ' ' || c > '~' ? '?' : c;
    return word;
  };
  for (std::string word; file >> word;) {
    double weight = 0;
    const char* const end = word.data() + word.size();
    const auto [stopped, error] = std::from_chars(word.data(), end, weight);
    if (error != std::errc() || stopped != end) {
      throw InvalidArgument(path + ": " + printable(word) + " is not a number");
    }
    weights.push_back(weight);
  }
  if (weights.empty()) throw InvalidArgument(path + " holds no weights");
  return weights;
}

Costs costs_of(const PlanOptions& options) {
  Costs costs;
  if (!options.state.empty()) costs.state_bytes = bytes_of("--state", options.state);
  if (!options.tape.empty()) costs.tape_bytes = bytes_of("--tape", options.tape);
  costs.tape_has_next = options.tape_has_next;
  if (!options.tape.empty() && options.state.empty()) {
    throw InvalidArgument("--tape needs --state");
  }
  if (options.tape.empty() && options.tape_has_next) {
    throw InvalidArgument("--tape-has-next needs --tape");
  }
  if (!options.weights.empty()) costs.weights = read_weights(options.weights);
  const bool memory = !options.memory_slots.empty() || !options.memory.empty();
  const bool disk = !options.disk_slots.empty() || !options.disk.empty();
  if (!memory && !disk && !options.frontier) {
    throw InvalidArgument("how many checkpoints can be held? give --memory-slots or --memory");
  }
  costs.tiers.push_back(tier_of("memory", options.memory_slots, options.memory));
  if (disk) {
    costs.tiers.push_back(tier_of("disk", options.disk_slots, options.disk));
    costs.tiers.back().write = options.disk_write;
    costs.tiers.back().read = options.disk_read;
  } else if (options.disk_write != 0 || options.disk_read != 0) {
    throw InvalidArgument("--disk-write and --disk-read need --disk-slots or --disk");
  }
  return costs;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw InvalidArgument("cannot write " + path);
}

void print(const std::string& text, std::FILE* out) {
  std::fputs(text.c_str(), out);
}

void check_online(const std::string& schedule) {
  for (const Family& family : families()) {
    if (family.name == schedule && !family.online) {
      throw InvalidArgument("--online: " + schedule + " has to be told the number of steps");
    }
  }
}

void check_guess(const PlanOptions& options) {
  if (!options.online) throw InvalidArgument("--guess needs --online");
  const bool disk = !options.disk_slots.empty() || !options.disk.empty();
  const std::string taker = disk ? "online-tiered" : "online";
  const bool other = options.schedule != "auto" && options.schedule != taker;
  if (other || options.compare || options.frontier) {
    throw InvalidArgument("--guess is for the schedule " + taker + " alone");
  }
}

// Each of these asks for an output of its own.
void check_one_output(const PlanOptions& options) {
  const auto not_both = [](bool a, bool b, const char* names) {
    if (a && b) throw InvalidArgument(std::string(names) + ": give one of them");
  };
  not_both(options.frontier, options.compare, "--frontier and --compare");
  not_both(options.frontier, options.actions, "--frontier and --actions");
  not_both(options.compare, options.actions, "--compare and --actions");
  not_both(options.frontier, options.online, "--frontier and --online");
  const bool one = options.schedule != "auto";
  not_both(options.frontier, one, "--frontier and --schedule");
  not_both(options.compare, one, "--compare and --schedule");
}

void run_frontier(const PlanOptions& options, const Costs& costs, std::FILE* out) {
  const auto points = frontier(costs, options.steps);
  const auto marks = classical(costs, options.steps);
  if (!options.svg.empty()) {
    write_file(options.svg, draw_frontier(points, marks, costs, options.steps));
  }
  print(options.json ? frontier_json(points, marks, options.steps)
                     : frontier_text(points, marks, options.steps),
        out);
}

}  // namespace

void run_plan(const PlanOptions& options, std::FILE* out) {
  const Costs costs = costs_of(options);
  const bool guessed = options.guess != unknown;
  if (guessed) check_guess(options);
  check_one_output(options);
  if (options.frontier) return run_frontier(options, costs, out);

  if (options.online && options.schedule != "auto") check_online(options.schedule);
  const bool all = options.compare || options.schedule == "auto";
  const Choice choice = guessed
                            ? Choice{{plan_guessed(costs, options.steps, options.guess)}, {}, ""}
                        : all ? choose(costs, options.steps, options.online)
                              : Choice{{plan(options.schedule, costs, options.steps)}, {}, ""};
  const Plan& made = choice.best();
  if (!options.svg.empty()) write_file(options.svg, draw_schedule(made, costs));
  if (options.compare) {
    return print(options.json ? comparison_json(choice, costs) : comparison_text(choice), out);
  }
  if (options.json) return print_json(made, costs, options.actions, choice.why, out);
  print(text(made, costs, choice.why), out);
  if (options.actions)
    for_each_action(made, [out](const Action& action) {
      std::fprintf(out, "%s\n", to_string(action).c_str());
    });
}

}  // namespace costate::cli
