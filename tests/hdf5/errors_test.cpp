// I/O threads that are held at a chosen moment: their errors surface once, what nobody waits for
// any more has none, and a tier that goes finishes what it has begun.

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/hdf5/disk.hpp"
#include "costate/hdf5/inspect.hpp"
#include "costate/storage/file_system.hpp"
#include "support/catch.hpp"
#include "support/passing_files.hpp"
#include "support/temp_folder.hpp"

using namespace costate;
using costate::test::TempFolder;

namespace {

// While the gate is closed the I/O threads' reads and writes wait at it, and the caller's, too, if
// asked for. Whether one fails is settled when it comes to the gate.
class Gate final : public test::PassingFiles {
 public:
  std::atomic<bool> callers_wait = false;
  std::atomic<bool> callers_fail = false;
  std::atomic<bool> threads_fail = false;
  std::atomic<int> callers_wrote = 0;  ///< whole pieces

  void close() { set(true); }
  void open() { set(false); }
  /// Until that many are at the gate.
  void await(int count) {
    std::unique_lock lock(lock_);
    changed_.wait(lock, [&] { return waiting_ >= count; });
  }
  void pass(const std::string& path) {
    const bool caller = std::this_thread::get_id() == caller_;
    const bool fails = caller ? callers_fail : threads_fail;
    if (!caller || callers_wait) {
      std::unique_lock lock(lock_);
      ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !closed_; });
      --waiting_;
    }
    if (fails) throw StorageError("cannot move '" + path + "'", path);
  }
  void wrote() {
    if (std::this_thread::get_id() == caller_) ++callers_wrote;
  }

  std::unique_ptr<File> open(const std::string& path, Mode mode) override;

 private:
  void set(bool closed) {
    const std::lock_guard lock(lock_);
    closed_ = closed;
    changed_.notify_all();
  }

  std::thread::id caller_ = std::this_thread::get_id();
  std::mutex lock_;
  std::condition_variable changed_;
  bool closed_ = false;
  int waiting_ = 0;
};

class GatedFile final : public test::PassingFile {
 public:
  GatedFile(Gate& gate, std::unique_ptr<File> inner) : PassingFile(std::move(inner)), gate_(gate) {}
  void read(std::span<std::byte> out, Bytes offset) override {
    gate_.pass(path());
    PassingFile::read(out, offset);
  }
  void write(std::span<const std::byte> in, Bytes offset) override {
    gate_.pass(path());
    if (in.size() >= 512_KiB) gate_.wrote();
    PassingFile::write(in, offset);
  }

 private:
  Gate& gate_;
};

std::unique_ptr<File> Gate::open(const std::string& path, Mode mode) {
  return std::make_unique<GatedFile>(*this, real().open(path, mode));
}

constexpr std::size_t size = (std::size_t{2} << 20U) + 7;  // four pieces and a bit
constexpr Slot filled = 4;                                 // more than there are buffers

std::vector<std::byte> state_at(Step at) {
  return std::vector<std::byte>(size, static_cast<std::byte>(at));
}

void write(Tier& tier, Slot slot, Step at) {
  std::ranges::copy(state_at(at), tier.begin_write(slot, at, size).begin());
  tier.commit(slot);
}

bool right(Tier& tier, Slot slot, Step at) {
  std::vector<std::byte> state(size);
  tier.read_into(slot, at, state);
  return state == state_at(at);
}

// Slot s holds index 10 + s; no buffer holds the first ones any more.
std::unique_ptr<Tier> tier_on(Gate& files, const std::string& directory, bool keep = false) {
  auto tier =
      hdf5({.directory = directory, .keep = keep, .io_threads = 1, .buffers = 3, .files = &files})
          ->make(size, filled + 1);
  for (Slot slot = 0; slot < filled; ++slot) write(*tier, slot, 10 + slot);
  tier->flush();
  return tier;
}

}  // namespace

TEST_CASE("A prefetch that was given up does not report what becomes of it", "[hdf5][fault]") {
  const bool fails = GENERATE(false, true);
  CAPTURE(fails);
  const TempFolder folder;
  Gate files;
  const auto tier = tier_on(files, folder.path());
  files.close();
  files.threads_fail = true;
  REQUIRE(tier->prefetch(0, 10));
  files.await(1);
  files.threads_fail = false;
  files.callers_fail = fails;

  if (fails) {
    CHECK_THROWS_AS(right(*tier, 0, 10), StorageError);
  } else {
    CHECK(right(*tier, 0, 10));
  }
  files.open();
  // The thread has failed before it writes this.
  CHECK_NOTHROW(write(*tier, filled, 14));
  CHECK_NOTHROW(tier->flush());
  files.callers_fail = false;
  CHECK(right(*tier, 0, 10));
}

TEST_CASE("Pieces that fail at the same time are one error", "[hdf5][fault]") {
  const bool in_place = GENERATE(false, true);
  CAPTURE(in_place);
  const TempFolder folder;
  Gate files;
  const auto tier = tier_on(files, folder.path());
  files.close();
  files.callers_wait = files.callers_fail = files.threads_fail = true;
  std::thread opener([&] {
    files.await(2);  // a piece each
    files.callers_wait = files.callers_fail = files.threads_fail = false;
    files.open();
  });

  if (in_place) {
    CHECK_THROWS_AS(right(*tier, 0, 10), StorageError);
  } else {
    CHECK_THROWS_AS(tier->read(0, 10), StorageError);
  }

  opener.join();
  CHECK(right(*tier, 0, 10));
  CHECK_NOTHROW(write(*tier, filled, 14));
  CHECK_NOTHROW(tier->flush());
}

TEST_CASE("What is still being filled is written already, and may fail or be given up",
          "[hdf5][fault]") {
  const bool fails = GENERATE(false, true);
  const bool committed = GENERATE(false, true);
  CAPTURE(fails, committed);
  const TempFolder folder;
  Gate files;
  const auto tier = tier_on(files, folder.path());
  files.close();
  files.threads_fail = fails;
  const auto place = tier->begin_write(filled, 14, size);
  tier->fill(place, state_at(14));
  files.await(1);  // a thread is at the first pieces
  files.threads_fail = false;

  if (committed) {
    tier->commit(filled);
    files.open();
    if (fails) {
      CHECK_THROWS_AS(tier->flush(), StorageError);
    } else {
      CHECK_NOTHROW(tier->flush());
      CHECK(right(*tier, filled, 14));
    }
    tier->drop(filled);
  } else {
    std::thread opener([&] { files.open(); });
    try {
      tier->flush();
    } catch (const StorageError&) {
      CHECK(fails);  // before the write was given up
    }
    opener.join();
  }
  // Every row can be used again.
  for (Slot slot = 0; slot < filled; ++slot) tier->drop(slot);
  for (Slot slot = 0; slot <= filled; ++slot) write(*tier, slot, 20 + slot);
  tier->flush();
  for (Slot slot = 0; slot <= filled; ++slot) CHECK(right(*tier, slot, 20 + slot));
}

TEST_CASE("A tier that goes finishes what its threads have begun, or keeps what there was",
          "[hdf5][fault]") {
  const bool fails = GENERATE(false, true);
  CAPTURE(fails);
  const TempFolder folder;
  Gate files;
  auto tier = tier_on(files, folder.path(), true);
  files.close();
  files.threads_fail = fails;
  REQUIRE(tier->prefetch(0, 10));
  files.await(1);
  write(*tier, filled, 14);
  std::thread opener([&] { files.open(); });

  tier.reset();

  opener.join();
  const Inspection found = inspect(folder.files().at(0), {.verify = true});
  std::vector<Step> whole;
  for (const InspectedState& state : found.states) {
    CHECK(state.integrity == Integrity::whole);
    whole.push_back(state.step);
  }
  const std::vector<Step> before = {10, 11, 12, 13};
  const std::vector<Step> all = {10, 11, 12, 13, 14};
  CHECK(whole == (fails ? before : all));
}

TEST_CASE("Who saves state after state writes them without a copy, and sees what goes wrong there",
          "[hdf5][fault]") {
  const TempFolder folder;
  Gate files;
  auto tier = tier_on(files, folder.path(), true);
  std::vector<std::vector<std::byte>> states;
  for (Step at = 0; at < 7; ++at) states.push_back(state_at(at));
  std::array<Step, filled> held{};
  for (Slot slot = 0; slot < filled; ++slot) held[static_cast<std::size_t>(slot)] = 10 + slot;
  // Whether a state is written so depends on the clock, on the time since the last save. Here is
  // nothing between two saves.
  Step next = 100;
  const auto save_until = [&](const auto& done) {
    for (const Step end = next + 500; next < end && !done(); ++next) {
      const auto slot = static_cast<Slot>(next % filled);
      Step& at = held[static_cast<std::size_t>(slot)];
      if (at >= 0) tier->drop(slot);
      at = -1;
      tier->fill(tier->begin_write(slot, next, size), states[static_cast<std::size_t>(next % 7)]);
      tier->commit(slot);
      at = next;
    }
  };
  save_until([&] { return files.callers_wrote >= 20; });
  CHECK(files.callers_wrote >= 20);

  files.callers_fail = true;
  CHECK_THROWS_AS(save_until([] { return false; }), StorageError);
  files.callers_fail = false;
  CHECK(std::ranges::count(held, -1) == 1);
  save_until([&, first = next] { return next == first + filled; });
  tier->flush();
  for (Slot slot = 0; slot < filled; ++slot) {
    const Step at = held[static_cast<std::size_t>(slot)];
    CAPTURE(slot, at);
    std::vector<std::byte> state(size);
    tier->read_into(slot, at, state);
    CHECK(state == states[static_cast<std::size_t>(at % 7)]);
  }
  tier.reset();
  const Inspection found = inspect(folder.files().at(0), {.verify = true});
  CHECK(found.damage.empty());
  CHECK(found.states.size() == filled);
}
