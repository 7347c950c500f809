#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <hdf5.h>
#include <malloc.h>

#include "costate/core/error.hpp"
#include "costate/core/hash.hpp"
#include "costate/hdf5/disk.hpp"
#include "costate/hdf5/run_directory.hpp"
#include "support/catch.hpp"
#include "support/temp_folder.hpp"

using namespace costate;
using costate::test::TempFolder;

namespace {

#ifdef COSTATE_SANITIZED
constexpr std::size_t largest = (1U << 20U) + 7;  // two pieces and a bit
#else
constexpr std::size_t largest = 16U << 20U;
#endif

std::vector<std::byte> bytes_of(Step at, std::size_t size) {
  std::mt19937_64 random(static_cast<std::uint64_t>(at) + 1);
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, size - i));
  }
  return bytes;
}

void write(Tier& tier, Slot slot, Step at, std::size_t size) {
  const std::vector<std::byte> bytes = bytes_of(at, size);
  const auto out = tier.begin_write(slot, at, size);
  REQUIRE(out.size() == size);
  std::ranges::copy(bytes, out.begin());
  tier.commit(slot);
}

// The same from a state in one piece of memory, to and fro.
void fill(Tier& tier, Slot slot, Step at, std::size_t size) {
  tier.fill(tier.begin_write(slot, at, size), bytes_of(at, size));
  tier.commit(slot);
}

bool right_in_place(Tier& tier, Slot slot, Step at, std::size_t size) {
  std::vector<std::byte> state(size);
  tier.read_into(slot, at, state);
  return state == bytes_of(at, size);
}

bool right(Tier& tier, Slot slot, Step at, std::size_t size) {
  const auto in = tier.read(slot, at);
  return std::ranges::equal(in, bytes_of(at, size));
}

ssize_t open_objects() {
  return H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL);
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("What is written to the disk is read back, from 1 byte to 16 MiB", "[hdf5][unit]") {
  const int threads = GENERATE(0, 1, 2);
  constexpr std::size_t piece = 512U << 10U;
  const std::size_t size = GENERATE_COPY(1U, 7U, 24U, 512U, 4095U, 4096U, 4097U, 65536U, piece - 1,
                                         piece, piece + 1, largest);
  CAPTURE(threads, size);
  const TempFolder folder;
  const auto tier = hdf5({.directory = folder.path(), .io_threads = threads})->make(size, 3);

  for (Slot slot = 0; slot < 3; ++slot) write(*tier, slot, 10 + slot, size);
  for (Slot slot = 0; slot < 3; ++slot) CHECK(right(*tier, slot, 10 + slot, size));
  tier->drop(1);
  fill(*tier, 1, 77, size);
  CHECK(right_in_place(*tier, 1, 77, size));
  CHECK(right(*tier, 1, 77, size));
  CHECK(right(*tier, 0, 10, size));

  CHECK(tier->use().writes == 4);
  CHECK(tier->use().reads == 6);
  CHECK(tier->use().peak <= tier->use().capacity);
}

TEST_CASE("Any order of saves, loads, drops and hints keeps every checkpoint", "[hdf5][property]") {
  const int threads = GENERATE(0, 1, 2);
  const int buffers = GENERATE(2, 3, 4, 6);
  const std::size_t most = GENERATE(1000U, 20000U, (1U << 20U) + 7);  // two pieces and a bit
  CAPTURE(threads, buffers, most);
  const TempFolder folder;
  constexpr Slot slots = 6;
#ifdef COSTATE_SANITIZED
  const Step operations = most > 20000 ? 50 : 300;
#else
  const Step operations = most > 20000 ? 300 : 2000;
#endif
  const auto tier = hdf5({.directory = folder.path(), .io_threads = threads, .buffers = buffers})
                        ->make(most, slots);
  std::map<Slot, std::pair<Step, std::size_t>> held;
  std::mt19937 random(12345);
  for (Step k = 0; k < operations; ++k) {
    const Slot slot = static_cast<Slot>(random() % slots);
    const auto found = held.find(slot);
    if (found == held.end()) {
      const std::size_t size = random() % 2 == 0 ? 1 + random() % most : most - random() % 900;
      random() % 2 == 0 ? fill(*tier, slot, k, size) : write(*tier, slot, k, size);
      held[slot] = {k, size};
      continue;
    }
    const auto [at, size] = found->second;
    if (random() % 2 == 0) {
      for (const auto& [other, what] : held) {
        if (random() % 2 == 0) tier->prefetch(other, what.first);
      }
    }
    switch (random() % 4) {
      case 0:
        tier->drop(slot);
        held.erase(found);
        break;
      case 1:
        REQUIRE(right(*tier, slot, at, size));
        break;
      default:
        REQUIRE(right_in_place(*tier, slot, at, size));
    }
  }
}

TEST_CASE("A state is read into memory of its own size only", "[hdf5][unit]") {
  const TempFolder folder;
  const std::size_t size = 1000;
  const auto tier = hdf5({.directory = folder.path()})->make(size, 1);
  fill(*tier, 0, 5, size);
  std::vector<std::byte> other(size + 1);
  CHECK_THROWS_AS(tier->read_into(0, 5, other), ScheduleError);
  CHECK(right_in_place(*tier, 0, 5, size));
}

TEST_CASE("The checksum of a row is the hash of its pieces' hashes", "[hdf5][golden]") {
  const TempFolder folder;
  constexpr std::size_t piece = 512 * 1024;
  constexpr std::size_t size = 2 * piece + 7;
  const int threads = GENERATE(0, 1);
  {
    const auto tier =
        hdf5({.directory = folder.path(), .keep = true, .io_threads = threads})->make(size, 3);
    write(*tier, 0, 1, size);
    for (Slot slot = 1; slot < 3; ++slot) fill(*tier, slot, 1 + slot, size);
  }
  const hid_t file = H5Fopen(folder.files().at(0).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t headers = H5Dopen2(file, "headers", H5P_DEFAULT);
  const hid_t type = H5Tcreate(H5T_COMPOUND, 8);
  H5Tinsert(type, "payload_xxh3", 0, H5T_NATIVE_UINT64);
  std::array<std::uint64_t, 64> found{};
  H5Dread(headers, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data());
  H5Tclose(type);
  H5Dclose(headers);
  H5Fclose(file);

  for (Step at = 1; at <= 3; ++at) {
    const std::vector<std::byte> state = bytes_of(at, size);
    const std::span all(state);
    const std::array hashes = {hash_bytes(all.first(piece)), hash_bytes(all.subspan(piece, piece)),
                               hash_bytes(all.subspan(2 * piece))};
    CHECK(found[static_cast<std::size_t>(at - 1)] == hash_bytes(std::as_bytes(std::span(hashes))));
  }
}

TEST_CASE("The file is never larger than the capacity", "[hdf5][unit]") {
  const std::size_t size = GENERATE(1U, 100U, 4096U, 70000U);
  const Bytes capacity = GENERATE(34_KiB, 100_KiB, 1_MiB, 5_MiB);
  CAPTURE(size, capacity);
  const TempFolder folder;
  const DiskSpec disk = hdf5({.directory = folder.path(), .capacity = capacity, .keep = true});
  const Slot slots = disk->slots(size);
  if (slots == 0) return;
  (void)disk->make(size, slots);
  CHECK(std::filesystem::file_size(folder.files().at(0)) <= capacity);
}

#ifndef COSTATE_SANITIZED  // sanitizers have memory of their own
TEST_CASE("What the disk keeps in memory is what counts against the budget", "[hdf5][unit]") {
  // The address space, without what malloc has been given back and keeps.
  const auto taken = [] {
    Bytes pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * 4096 - mallinfo2().fordblks;
  };
  const bool run = GENERATE(false, true);
  const Slot slots = GENERATE(1, 100'000);
  CAPTURE(run, slots);
  const std::size_t size = slots == 1 ? 3'000'000 : 8;
  Bytes counted = 0;
  std::array<Bytes, 5> rounds{};
  for (Bytes& found : rounds) {
    const TempFolder folder;
    std::unique_ptr<Tier> tier;
    std::unique_ptr<RunStore> store;
    const Bytes before = taken();
    if (run) {
      const RunSpec spec = run_directory({.directory = folder.path(), .io_threads = 0});
      counted = spec->memory_bytes(size, slots);
      store =
          spec->open({.identity = "test", .row_bytes = size, .record_bytes = 8, .slots = slots});
      store->retain({});
    } else {
      const DiskSpec spec = hdf5({.directory = folder.path(), .io_threads = 0});
      counted = spec->memory_bytes(size, slots);
      tier = spec->make(size, slots);
    }
    found = taken() - before;
  }
  // In some rounds HDF5 or malloc takes a MiB, or gives one back.
  std::ranges::sort(rounds);
  const Bytes found = rounds[2];
  CHECK(found <= counted + 64_KiB);  // pages that are not full, and a few objects
  // The list of what a resume finds is not there yet.
  CHECK(counted <= found + (run ? static_cast<Bytes>(slots) * sizeof(RunCheckpoint) : 0));
}
#endif

TEST_CASE("A slot that is taken, empty, or not there is refused", "[hdf5][unit]") {
  const TempFolder folder;
  const auto tier = hdf5({.directory = folder.path()})->make(100, 2);
  write(*tier, 0, 5, 100);

  CHECK_THROWS_AS(tier->begin_write(0, 6, 100), ScheduleError);
  CHECK_THROWS_AS(tier->begin_write(2, 6, 100), ScheduleError);
  CHECK_THROWS_AS(tier->begin_write(-1, 6, 100), ScheduleError);
  CHECK_THROWS_AS(tier->begin_write(1, 6, 101), StorageError);
  CHECK_THROWS_AS(tier->begin_write(1, 6, 0), StorageError);
  CHECK_THROWS_AS(tier->read(0, 6), ScheduleError);
  CHECK_THROWS_AS(tier->read(1, 5), ScheduleError);
  CHECK_THROWS_AS(tier->read(1, -1), ScheduleError);
  CHECK_THROWS_AS(tier->drop(1), ScheduleError);
  CHECK_THROWS_AS(tier->commit(1), ScheduleError);
  CHECK(right(*tier, 0, 5, 100));
}

TEST_CASE("A write that its caller gave up leaves the slot free", "[hdf5][fault]") {
  const TempFolder folder;
  const int buffers = GENERATE(1, 2);
  const auto tier =
      hdf5({.directory = folder.path(), .io_threads = buffers - 1, .buffers = buffers})
          ->make(100, 2);
  for (int i = 0; i < 5; ++i) tier->begin_write(0, 5, 100);
  write(*tier, 0, 6, 100);
  CHECK(right(*tier, 0, 6, 100));
}

TEST_CASE("The file is gone when the run is over, unless it is to be kept", "[hdf5][unit]") {
  const TempFolder folder;
  const std::size_t before = open_descriptors();
  {
    const auto tier = hdf5({.directory = folder.path() + "/new"})->make(1000, 4);
    write(*tier, 0, 0, 1000);
    CHECK(open_objects() == 0);
  }
  CHECK(std::filesystem::is_empty(folder.path() + "/new"));
  { const auto tier = hdf5({.directory = folder.path(), .keep = true})->make(1000, 4); }
  CHECK(folder.files().size() == 2);
  CHECK(open_objects() == 0);
  CHECK(open_descriptors() == before);
}

TEST_CASE("Any HDF5 program can read a kept file", "[hdf5][golden]") {
  const TempFolder folder;
  {
    const auto tier = hdf5({.directory = folder.path(), .keep = true})->make(5000, 4);
    write(*tier, 2, 41, 5000);
    write(*tier, 3, 42, 17);
  }

  const hid_t file = H5Fopen(folder.files().at(0).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  REQUIRE(file >= 0);
  const hid_t states = H5Dopen2(file, "states", H5P_DEFAULT);
  const hid_t space = H5Dget_space(states);
  std::array<hsize_t, 2> shape{};
  H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  CHECK(shape == std::array<hsize_t, 2>{5, 8192});
  CHECK(H5Dget_offset(states) % 4096 == 0);
  std::vector<std::byte> all(shape[0] * shape[1]);
  H5Dread(states, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data());

  const hid_t headers = H5Dopen2(file, "headers", H5P_DEFAULT);
  const hid_t step_type = H5Tcreate(H5T_COMPOUND, 16);
  H5Tinsert(step_type, "step", 0, H5T_NATIVE_INT64);
  H5Tinsert(step_type, "bytes", 8, H5T_NATIVE_UINT64);
  std::array<std::int64_t, 128> table{};
  H5Dread(headers, step_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, table.data());
  CHECK(table[0] == 41);
  CHECK(table[1] == 5000);
  CHECK(table[2] == 42);
  CHECK(table[3] == 17);
  const auto first = bytes_of(41, 5000);
  CHECK(std::equal(first.begin(), first.end(), all.begin()));
  H5Tclose(step_type);
  H5Dclose(headers);
  H5Sclose(space);
  H5Dclose(states);
  H5Fclose(file);
}

TEST_CASE("Every flipped bit of a checkpoint is found when it is read", "[hdf5][fault]") {
  const TempFolder folder;
  constexpr std::size_t size = 300;
  const auto tier = hdf5({.directory = folder.path(), .keep = true, .io_threads = 0, .buffers = 1})
                        ->make(size, 2);
  write(*tier, 0, 3, size);
  write(*tier, 1, 4, size);  // the one buffer does not hold index 3 any more
  const std::string path = folder.files().at(0);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto payload = bytes_of(3, size);
  std::vector<char> whole(std::filesystem::file_size(path));
  file.read(whole.data(), static_cast<std::streamsize>(whole.size()));
  const auto found =
      std::search(whole.begin(), whole.end(), payload.begin(), payload.end(),
                  [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
  REQUIRE(found != whole.end());
  const auto place = found - whole.begin();
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(size); i += 7) {
    CAPTURE(i);
    const char good = whole[static_cast<std::size_t>(place + i)];
    file.seekp(place + i).put(static_cast<char>(good ^ (1 << (i % 8)))).flush();
    try {
      tier->read(0, 3);
      FAIL_CHECK("a flipped bit was not noticed");
    } catch (const StorageError& error) {
      CHECK(error.step == 3);
      CHECK(error.path == path);
    }
    CHECK_THROWS_AS(right_in_place(*tier, 0, 3, size), StorageError);
    file.seekp(place + i).put(good).flush();
  }
  CHECK(right_in_place(*tier, 0, 3, size));
  CHECK(right(*tier, 0, 3, size));
}

TEST_CASE("A disk that cannot be made says which and why", "[hdf5][fault]") {
  const TempFolder folder;
  std::ofstream(folder.path() + "/file") << "not a directory";
  try {
    (void)hdf5({.directory = folder.path() + "/file"})->make(8, 1);
    FAIL_CHECK("a file passed for a directory");
  } catch (const StorageError& error) {
    CHECK(error.path == folder.path() + "/file");
    CHECK(std::string(error.what()).find("directory") != std::string::npos);
  }
  // More than any device has: found out before the first step, and nothing is left behind.
  CHECK_THROWS_AS(hdf5({.directory = folder.path()})->make(std::size_t{1} << 40U, 1 << 10),
                  StorageError);
  CHECK(folder.files().size() == 1);
}

TEST_CASE("Options out of range are refused", "[hdf5][unit]") {
  CHECK_THROWS_AS(hdf5({.io_threads = -1}), InvalidArgument);
  CHECK_THROWS_AS(hdf5({.io_threads = 1, .buffers = 1}), InvalidArgument);
  CHECK_THROWS_AS(hdf5({.io_threads = 0, .buffers = 0}), InvalidArgument);
  CHECK_THROWS_AS(hdf5({.directory = ""}), InvalidArgument);
  CHECK(hdf5({.capacity = 100})->slots(24) == 0);
}
