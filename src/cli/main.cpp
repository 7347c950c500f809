#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>

#ifdef COSTATE_HAS_HDF5
#include "inspect_command.hpp"
#endif
#include "plan_command.hpp"
#include "plan_options.hpp"

namespace {

// Bad input is one line on stderr and exit status 2.
int refuse(std::string message) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::fprintf(stderr, "costate: %s\n", message.c_str());
  return 2;
}

// Empty if the text is a whole number that is not negative, otherwise what is wrong with it.
std::string whole_number(const std::string& text) {
  costate::Step value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range) return text + " is too large";
  if (error != std::errc() || stopped != end) return text + " is not a whole number";
  return value < 0 ? text + " is negative" : std::string();
}

void add_plan(CLI::App& command, costate::cli::PlanOptions& options) {
  command.add_option("--steps", options.steps, "number of steps")->required()->check(whole_number);
  command.add_option("--schedule", options.schedule, "family of schedules, or auto: the cheapest")
      ->capture_default_str();
  command.add_flag("--online", options.online, "the number of steps is not known beforehand");
  command
      .add_option("--guess", options.guess,
                  "what the number of steps is taken to be beforehand (needs --online)")
      ->check(whole_number);
  command.add_option("--memory-slots", options.memory_slots,
                     "checkpoints that fit in memory, or unlimited");
  command.add_option("--memory", options.memory, "room in memory in bytes: 64MiB (needs --state)");
  command.add_option("--disk-slots", options.disk_slots,
                     "checkpoints that fit on disk, or unlimited");
  command.add_option("--disk", options.disk, "room on disk in bytes (needs --state)");
  command.add_option("--state", options.state, "size of a state in bytes");
  command.add_option("--tape", options.tape, "size of the tape of a step in bytes");
  command.add_flag("--tape-has-next", options.tape_has_next,
                   "the tape of a step contains the state after it");
  command.add_option("--disk-write", options.disk_write, "cost of a write to disk, in steps");
  command.add_option("--disk-read", options.disk_read, "cost of a read from disk, in steps");
  command.add_option("--weights", options.weights, "file with the cost of every step");
  command.add_flag("--frontier", options.frontier, "cost against memory");
  command.add_flag("--compare", options.compare, "all schedules that apply");
  command.add_flag("--json", options.json, "print one JSON object");
  command.add_flag("--actions", options.actions, "print every action");
  command.add_option("--svg", options.svg, "draw the schedule, or the frontier, into this file");
}

#ifdef COSTATE_HAS_HDF5
void add_inspect(CLI::App& command, costate::cli::InspectCommand& options) {
  command.add_option("path", options.path, "run directory, or file of checkpoints")->required();
  command.add_flag("--json", options.json, "print one JSON object");
  command.add_flag("--verify", options.verify, "read everything and compare the checksums");
  command.add_option("--disk-write", options.disk_write,
                     "cost of a write to disk for a resume, in steps (1)");
  command.add_option("--disk-read", options.disk_read, "cost of a read, likewise (1)");
  command.footer("Takes no lock and writes nothing. Exit status 1 if something is damaged.");
}
#endif

}  // namespace

int main(int argc, char** argv) {
  try {
    CLI::App app("Exact gradients of long simulations in the memory at hand.", "costate");
    app.set_version_flag("--version", "costate " COSTATE_VERSION);
    app.require_subcommand(1);
    costate::cli::PlanOptions options;
    add_plan(*app.add_subcommand("plan", "What reversing a run costs, before it is run"), options);
#ifdef COSTATE_HAS_HDF5
    costate::cli::InspectCommand looking;
    CLI::App& inspecting = *app.add_subcommand("inspect", "What a run has kept on disk");
    add_inspect(inspecting, looking);
#endif
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
      return refuse(error.what());
    }
    int status = 0;
#ifdef COSTATE_HAS_HDF5
    if (inspecting.parsed()) {
      status = costate::cli::run_inspect(looking, stdout);
    } else {
      costate::cli::run_plan(options, stdout);
    }
#else
    costate::cli::run_plan(options, stdout);
#endif
    if (std::fflush(stdout) != 0) return refuse("cannot write to the standard output");
    return status;
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
}
