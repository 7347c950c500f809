// Power cuts: every write of a run is recorded, then a disk is made up on which any of the writes
// since the last sync may be missing or half there, and the run is taken up from it.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/hdf5/run_directory.hpp"
#include "costate/sweep/run.hpp"
#include "support/catch.hpp"
#include "support/passing_files.hpp"
#include "support/temp_folder.hpp"
#include "support/work_adaptive.hpp"
#include "support/work_w1.hpp"

using namespace costate;
using costate::test::AdaptiveDecay;
using costate::test::TempFolder;
using costate::test::W1;

namespace {

struct Event {
  enum class Kind { write, sync } kind;
  std::string path;
  Bytes offset;
  std::vector<std::byte> bytes;
};

// Passes everything on and remembers writes and syncs. The first look at a file that is there,
// right after it was made and synced, is what the disk begins with.
class Recorder final : public test::PassingFiles {
 public:
  std::vector<Event> events;

  std::unique_ptr<File> open(const std::string& path, Mode mode) override;
};

class Recorded final : public test::PassingFile {
 public:
  Recorded(Recorder& recorder, std::unique_ptr<File> inner)
      : PassingFile(std::move(inner)), recorder_(recorder) {}
  void write(std::span<const std::byte> in, Bytes offset) override {
    recorder_.events.push_back({Event::Kind::write, path(), offset, {in.begin(), in.end()}});
    PassingFile::write(in, offset);
  }
  void sync() override {
    recorder_.events.push_back({Event::Kind::sync, path(), 0, {}});
    PassingFile::sync();
  }
  // What is given back is not replayed.
  bool release(Bytes /*offset*/, Bytes /*bytes*/) override { return false; }

 private:
  Recorder& recorder_;
};

std::unique_ptr<File> Recorder::open(const std::string& path, Mode mode) {
  return std::make_unique<Recorded>(*this, real().open(path, mode));
}

void put(const std::string& path, Bytes offset, std::span<const std::byte> bytes) {
  if (!std::filesystem::exists(path)) std::ofstream{path};
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

constexpr std::size_t size = 600;

template <typename Model>
RunOptions options_for(const std::string& directory, Durability durability, FileSystem* files,
                       const Model& model) {
  const std::size_t bytes = model.state_bytes();
  const RunSpec store = run_directory({.directory = directory,
                                       .capacity = 36_KiB + 8 * 8256 + 2 * 12288,
                                       .keep = true,
                                       .io_threads = 0,
                                       .buffers = 1,
                                       .durability = durability,
                                       .sync_seconds = 0.001,
                                       .files = files});
  return {.store = store,
          .identity = "power",
          .memory = memory_for(3, bytes) + store->memory_bytes(bytes, 5) + 8 + (bytes + 7) / 8 * 8 +
                    model.progress_bytes(),
          .safety_every = 0};
}

}  // namespace

TEMPLATE_TEST_CASE("No power cut leads to a wrong gradient", "[hdf5][run][fault]", W1,
                   AdaptiveDecay) {
#ifdef COSTATE_SOAK
  constexpr int images = 250;  // by two models and two modes: 1000
#else
  constexpr int images = 12;
#endif
  const Durability durability = GENERATE(Durability::interval, Durability::every);
  TestType whole(size);
  sweep(whole);

  // The directory as it is made, and everything that is written to it after.
  const TempFolder made;
  const std::string base = made.path() + "/base";
  {
    TestType model(size);
    RunOptions options = options_for(base, durability, nullptr, model);
    options.stop_when = [] { return true; };
    REQUIRE_FALSE(run_or_resume(model, options).finished);
  }
  const std::string full = made.path() + "/full";
  std::filesystem::copy(base, full);
  Recorder recorder;
  {
    TestType model(size);
    REQUIRE(run_or_resume(model, options_for(full, durability, &recorder, model)).finished);
    REQUIRE(model.bits() == whole.bits());
  }
  const std::vector<Event> events = std::move(recorder.events);
  REQUIRE(events.size() > 100);

  std::mt19937 random(31);
  for (int image = 0; image < images; ++image) {
    const TempFolder folder;
    const std::string disk = folder.path() + "/disk";
    std::filesystem::copy(base, disk);
    const std::size_t cut = random() % events.size();
    CAPTURE(image, cut, static_cast<int>(durability));
    for (std::size_t i = 0; i < cut; ++i) {
      const Event& event = events[i];
      const std::string name = std::filesystem::path(event.path).filename().string();
      if (event.kind == Event::Kind::sync || name.find("result") != std::string::npos) continue;
      const bool safe =
          std::any_of(events.begin() + static_cast<std::ptrdiff_t>(i),
                      events.begin() + static_cast<std::ptrdiff_t>(cut), [&](const Event& later) {
                        return later.kind == Event::Kind::sync && later.path == event.path;
                      });
      const std::string path = disk + "/" + name;
      if (safe) {
        put(path, event.offset, event.bytes);
        continue;
      }
      // Not synced: any of its sectors may be there.
      for (std::size_t at = 0; at < event.bytes.size();) {
        const std::size_t sector = 512 - (event.offset + at) % 512;
        const std::size_t length = std::min(sector, event.bytes.size() - at);
        if (random() % 2 == 0) {
          put(path, event.offset + at, std::span(event.bytes).subspan(at, length));
        }
        at += length;
      }
    }
    TestType model(size);
    const RunResult result =
        run_or_resume(model, options_for(disk, Durability::none, nullptr, model));
    CHECK(result.finished);
    CHECK(model.bits() == whole.bits());
  }
}
