// `costate inspect` on runs that were made here.

#include <filesystem>
#include <fstream>
#include <string>

#include "costate/hdf5/run_directory.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/sweep/run.hpp"
#include "run_command.hpp"
#include "support/catch.hpp"
#include "support/temp_folder.hpp"
#include "support/work_w1.hpp"

using namespace costate;
using costate::test::TempFolder;
using costate::test::W1;

namespace {

constexpr std::size_t size = 700;

RunResult run_until(const std::string& directory, int asked, TransferCosts disk = {},
                    Step steps = 200) {
  W1 model(size, 0.9, 0.01, steps);
  const RunSpec store = run_directory({.directory = directory,
                                       .capacity = 36_KiB + 9 * 8256 + 2 * 8192,
                                       .io_threads = 0,
                                       .buffers = 1,
                                       .durability = Durability::none});
  return run_or_resume(
      model, {.store = store,
              .identity = "a \"test\"",
              .memory = memory_for(3, 8 * size) + store->memory_bytes(8 * size, 6) + 8 + 8 * size +
                        model.progress_bytes(),
              .disk_costs = disk,
              .safety_every = 1e9,
              .stop_when = [&asked] { return --asked < 0; }});
}

bool shows(const Ran& ran, const std::string& part) {
  return ran.output.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("inspect tells what a resume then does", "[cli][inspect][property]") {
  // Stopped early and late, so in both sweeps; the prediction is compared with what happens.
  const double cost = GENERATE(0.0, 1.0, 8.0);
  const std::string costs = cost == 1 ? ""
                                      : "--disk-write " + std::to_string(cost) + " --disk-read " +
                                            std::to_string(cost) + " ";
  for (const int asked : {40, 60, 150, 250, 320, 400}) {
    CAPTURE(asked, cost);
    const TempFolder folder;
    REQUIRE_FALSE(run_until(folder.path(), asked, {cost, cost}).finished);
    const Ran people = costate_command("inspect --verify " + costs + folder.path());
    CHECK(people.status == 0);
    CHECK(shows(people, folder.path() + ": run\n"));
    CHECK(shows(people, "a \"test\""));
    const Ran programs = costate_command("inspect --json --verify " + costs + folder.path());
    CHECK(programs.status == 0);
    CHECK(json_value(programs.output, "kind") == "\"run\"");
    CHECK(json_value(programs.output, "at_work") == "null");
    const std::string resume = programs.output.substr(programs.output.find("\"resume\""));

    const RunResult result = run_until(folder.path(), 1'000'000, {cost, cost});
    REQUIRE(result.finished);
    CHECK(json_value(resume, "step") == std::to_string(result.resumed_step));
    CHECK(json_value(resume, "steps") == "200");
    CHECK(json_value(resume, "advances") == std::to_string(result.report.advances));
    CHECK(json_value(resume, "counted") == "true");
    const bool forward = result.resumed_phase == RunRecord::Phase::forward;
    CHECK(json_value(resume, "sweep") == (forward ? "\"forward\"" : "\"reverse\""));
    const std::string step = std::to_string(result.resumed_step) + " of 200; ";
    const std::string advances = std::to_string(result.report.advances);
    CHECK(shows(people, forward ? "goes on forward from step " + step + advances + " advances"
                                : "the adjoint at step " + step + "recomputes " + advances));

    const Ran after = costate_command("inspect " + folder.path());
    CHECK(after.status == 0);
    CHECK(shows(after, "finished run"));
    CHECK(shows(after, "returns the result at once"));
  }
}

TEST_CASE("inspect tells the fewest advances of what is too long to be counted",
          "[cli][inspect][unit]") {
  constexpr Step steps = 20'000'000;
  const TempFolder folder;
  REQUIRE_FALSE(run_until(folder.path(), 0, {}, steps).finished);
  const Ran programs = costate_command("inspect --json " + folder.path());
  const std::string resume = programs.output.substr(programs.output.find("\"resume\""));
  CHECK(json_value(resume, "counted") == "false");
  const Slot slots = std::stoll(json_value(programs.output, "memory_slots")) +
                     std::stoll(json_value(programs.output, "slots"));
  CHECK(slots > 6);
  CHECK(json_value(resume, "advances") == std::to_string(binomial_advances(steps, slots)));
  const Ran people = costate_command("inspect " + folder.path());
  CHECK(shows(people, "; some " + json_value(resume, "advances") + " advances to go"));
}

TEST_CASE("inspect refuses costs that mean nothing", "[cli][inspect][unit]") {
  for (const std::string cost : {"nan", "inf", "-1"}) {
    const Ran ran = costate_command("inspect --disk-read=" + cost + " .");
    CHECK(ran.status == 2);
    CHECK(shows(ran, "a read from tier disk costs " + cost));
    CHECK(shows(ran, "a cost must be finite and not negative"));
  }
}

TEST_CASE("inspect finds damage and says so by its exit status", "[cli][inspect][fault]") {
  const TempFolder folder;
  REQUIRE_FALSE(run_until(folder.path(), 250).finished);
  const std::string states = folder.path() + "/states.h5";
  // All rows but their headers.
  {
    std::fstream file(states, std::ios::in | std::ios::out | std::ios::binary);
    const auto length = static_cast<std::streamoff>(std::filesystem::file_size(states));
    for (std::streamoff at = length - 9 * 8192; at < length; at += 8192) {
      file.seekp(at + 5).put('x');
    }
  }
  CHECK(costate_command("inspect " + folder.path()).status == 0);
  const Ran ran = costate_command("inspect --verify " + folder.path());
  CHECK(ran.status == 1);
  CHECK(shows(ran, "DAMAGE"));
  CHECK(shows(ran, "checkpoint 0 in row"));
  CHECK(costate_command("inspect --verify --json " + states).status == 1);

  std::ofstream(states) << "text";
  const Ran text = costate_command("inspect " + states);
  CHECK(text.status == 1);
  CHECK(shows(text, "holds no costate checkpoints"));
}

TEST_CASE("inspect on nothing is bad usage", "[cli][inspect][unit]") {
  const TempFolder folder;
  CHECK(costate_command("inspect").status == 2);
  CHECK(costate_command("inspect " + folder.path()).status == 2);
  CHECK(costate_command("inspect /nowhere/at/all").output ==
        "costate: there is no '/nowhere/at/all'\n");
  CHECK(costate_command("inspect /nowhere/at/all").status == 2);
  CHECK(costate_command("inspect --help").status == 0);
}
