// What a run may overwrite. A checkpoint of its directory goes only when a record at or below it is
// there, or when another one, whole, has its slot. Looked at after kills at one operation after the
// other of a reverse sweep that was taken up with another memory, so that its plan gives up
// checkpoints below the adjoint, which no record makes free.

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/hdf5/inspect.hpp"
#include "costate/schedule/replan.hpp"
#include "support/catch.hpp"
#include "support/faulty_files.hpp"
#include "support/interrupted.hpp"
#include "support/temp_folder.hpp"
#include "support/work_adaptive.hpp"

using namespace costate;
using costate::test::AdaptiveDecay;
using costate::test::FaultyFiles;
using costate::test::in_child;
using costate::test::options_for;
using costate::test::Setting;
using costate::test::TempFolder;

namespace {

constexpr std::size_t size = 700;

#ifdef COSTATE_SOAK
constexpr long kills = 200;
#else
constexpr long kills = 60;
#endif

// Each slot's whole checkpoint below the record, and the record's step.
struct There {
  std::map<Slot, Step> states;
  Step record = unknown;

  explicit There(const std::string& directory) {
    const Inspection found = inspect(directory, {.verify = true});
    if (found.current < found.records.size()) record = found.records[found.current].step;
    for (const InspectedState& state : found.states) {
      if (state.integrity == Integrity::whole) states[state.slot] = state.step;
    }
  }
};

// Tells when the reverse sweep has begun.
class Turning final : public AdaptiveDecay {
 public:
  using AdaptiveDecay::AdaptiveDecay;
  bool reversed = false;
  void at(Step /*k*/, bool reverse) override { reversed = reversed || reverse; }
};

// How many checkpoints the plan for the rest gives up: drops while more than their own step is to
// be reversed.
int given_up_by_plan(const There& there, Step n, Slot memory_slots, Slot disk_slots) {
  ResumePoint point{.steps = n,
                    .end = there.record,
                    .turned = true,
                    .tiers = {{"memory", memory_slots}, {"disk", disk_slots}}};
  std::map<Slot, Step> held;
  for (const auto& [slot, step] : there.states) held[memory_slots + slot] = step;
  for (const auto& [slot, step] : held) point.stored.push_back({step, slot});
  const auto is_start = [](const Stored& stored) { return stored.at == 0; };
  if (std::ranges::none_of(point.stored, is_start)) point.stored.push_back({0, 0});  // in memory
  Schedule plan = resume_from(point);
  Step front = there.record;
  int count = 0;
  for (Command command = plan.next_command(); command.kind != Command::Kind::end;
       command = plan.next_command()) {
    if (command.kind == Command::Kind::reverse) front = command.from;
    if (command.kind == Command::Kind::unwind) front = command.from;
    if (command.kind != Command::Kind::drop) continue;
    const auto found = held.find(command.slot);
    if (found == held.end()) continue;
    if (found->second + 1 < front) ++count;
    held.erase(found);
  }
  return count;
}

}  // namespace

TEST_CASE("No checkpoint goes before a record, or another in its slot, is there",
          "[hdf5][run][fault]") {
  const int threads = GENERATE(0, 2);
  const auto [memory_slots, disk_slots] = GENERATE(std::array{6, 8}, std::array{8, 10});
  CAPTURE(threads, memory_slots, disk_slots);
  const TempFolder made;
  FaultyFiles files;
  Setting setting{.directory = made.path() + "/run",
                  .memory_slots = memory_slots,
                  .disk_slots = disk_slots,
                  .threads = threads,
                  .safety_every = 1e9,
                  .files = &files};
  Step n = unknown;
  {
    // At the first moment of the reverse sweep the disk is full, and what lay in the memory, nearly
    // half of the states, is lost: the best that the slots allow lies elsewhere.
    Turning model(size);
    RunOptions options = options_for(setting, model);
    options.stop_when = [&] { return model.reversed; };
    const RunResult result = run_or_resume(model, options);
    REQUIRE_FALSE(result.finished);
    n = result.report.steps;
  }
  const There before(setting.directory);
  setting.memory_slots = 2;
  REQUIRE(given_up_by_plan(before, n, setting.memory_slots, setting.disk_slots) > 0);
  AdaptiveDecay whole(size);
  sweep(whole);

  const auto resume = [&](AdaptiveDecay& model) {
    return run_or_resume(model, options_for(setting, model)).finished;
  };
  const std::string source = setting.directory;
  const auto from_source = [&](const TempFolder& folder) {
    setting.directory = folder.path() + "/run";
    std::filesystem::copy(source, setting.directory);
    files.operations = 0;
  };
  // The operations of taking it up come first; then the new plan's drops and saves.
  long begin = 0;
  {
    const TempFolder folder;
    from_source(folder);
    AdaptiveDecay model(size);
    RunOptions options = options_for(setting, model);
    options.stop_when = [&, asked = false]() mutable {
      if (!asked) begin = files.operations;
      asked = true;
      return false;
    };
    REQUIRE(run_or_resume(model, options).finished);
  }
  int given_up = 0;
  for (long i = 0; i < kills; ++i) {
    const TempFolder folder;
    from_source(folder);
    files.at = begin + i;
    files.fault =
        i % 2 == 0 ? FaultyFiles::Fault::torn_write_kill : FaultyFiles::Fault::kill_before;
    CAPTURE(i, begin, before.record);
    in_child([&] {
      AdaptiveDecay model(size);
      resume(model);
    });
    files.fault = FaultyFiles::Fault::none;
    if (std::filesystem::exists(setting.directory + "/states.h5")) {
      const There after(setting.directory);
      REQUIRE(after.record <= before.record);
      for (const auto& [slot, step] : before.states) {
        // What replaced it may itself be gone, by a later record.
        if (after.record < before.record) continue;
        CAPTURE(slot, step);
        CHECK(after.states.count(slot) == 1);
        if (after.states.count(slot) == 1 && after.states.at(slot) != step) ++given_up;
      }
    }
    AdaptiveDecay model(size);
    CHECK(resume(model));
    CHECK(model.bits() == whole.bits());
  }
  CHECK(given_up > 0);
}
