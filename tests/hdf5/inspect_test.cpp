// What is told of files and directories by who only looks at them, and what other HDF5 programs
// see.

#include "costate/hdf5/inspect.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <hdf5.h>
#include <unistd.h>

#include "costate/core/error.hpp"
#include "costate/core/hash.hpp"
#include "costate/hdf5/disk.hpp"
#include "costate/hdf5/run_directory.hpp"
#include "costate/schedule/revolve.hpp"
#include "costate/sweep/run.hpp"
#include "support/catch.hpp"
#include "support/interrupted.hpp"
#include "support/temp_folder.hpp"
#include "support/work_w1.hpp"

using namespace costate;
using costate::test::options_for;
using costate::test::Setting;
using costate::test::TempFolder;
using costate::test::W1;

namespace {

constexpr std::size_t size = 700;

// W1 that says what its states are.
class Described final : public W1 {
 public:
  using W1::W1;
  [[nodiscard]] double time(Step k) const override { return static_cast<double>(k) * 0.01; }
  [[nodiscard]] std::vector<StateField> fields() const override {
    return {{.name = "u", .type = StateField::Type::float64, .shape = {20, size / 20 - 1}},
            {.name = "v", .type = StateField::Type::float64, .shape = {20}}};
  }
};

RunOptions plain_options(const std::string& directory) {
  const RunSpec store = run_directory({.directory = directory,
                                       .capacity = 36_KiB + 9 * 8256 + 2 * 8192,
                                       .io_threads = 0,
                                       .buffers = 1,
                                       .durability = Durability::none});
  const Described model(size);
  return {.store = store,
          .identity = "inspected",
          .memory = memory_for(3, 8 * size) + store->memory_bytes(8 * size, 6) + 8 + 8 * size +
                    model.progress_bytes(),
          .safety_every = 1e9};
}

RunResult run_until(const std::string& directory, int asked) {
  Described model(size);
  RunOptions options = plain_options(directory);
  options.stop_when = [&asked] { return --asked < 0; };
  return run_or_resume(model, options);
}

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void put(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

void flip(const std::string& path, std::ptrdiff_t place) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const int old = file.seekg(place).get();
  file.seekp(place).put(static_cast<char>(old ^ 8));
}

// The place of row 0 of /states.
std::ptrdiff_t place_of_states(const std::string& path) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t states = H5Dopen2(file, "states", H5P_DEFAULT);
  const auto place = static_cast<std::ptrdiff_t>(H5Dget_offset(states));
  H5Dclose(states);
  H5Fclose(file);
  return place;
}

// Of HDF5, and of the process.
std::pair<ssize_t, std::ptrdiff_t> left_open() {
  const std::filesystem::directory_iterator descriptors("/proc/self/fd");
  return {H5Fget_obj_count(static_cast<hid_t>(H5F_OBJ_ALL), H5F_OBJ_ALL),
          std::distance(begin(descriptors), end(descriptors))};
}

bool names(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("A kept file shows steps, times and fields to HDF5 programs", "[hdf5][inspect][golden]") {
  const TempFolder folder;
  Described model(size);
  // A schedule whose last states stay: nothing is dropped from the file itself.
  sweep(model,
        {.budget = {.memory = 1_MiB, .disk = hdf5({.directory = folder.path(), .keep = true})},
         .schedule = revolve(200, {{"memory", 2}, {"disk", 5}})});
  REQUIRE(folder.files().size() == 1);
  const std::string path = folder.files().at(0);

  const Inspection found = inspect(path, {.verify = true});
  CHECK(found.kind == Inspection::Kind::file);
  CHECK(found.damage.empty());
  CHECK(found.state_bytes == 8 * size);
  CHECK(found.slots == 5);
  CHECK(found.library.rfind("costate ", 0) == 0);
  CHECK(found.created.size() == std::string("2026-01-01T00:00:00Z").size());
  CHECK(found.fields == model.fields());
  REQUIRE(found.states.size() == 5);

  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  REQUIRE(file >= 0);
  const hid_t states = H5Dopen2(file, "states", H5P_DEFAULT);
  const hid_t space = H5Dget_space(states);
  CHECK(H5Sget_simple_extent_ndims(space) == 1);
  CHECK(H5Sget_simple_extent_npoints(space) == 6);
  // A column by its name, as numbers.
  const std::array<hsize_t, 2> shape = {20, size / 20 - 1};
  const hid_t numbers = H5Tarray_create2(H5T_NATIVE_DOUBLE, 2, shape.data());
  const hid_t column = H5Tcreate(H5T_COMPOUND, H5Tget_size(numbers));
  H5Tinsert(column, "u", 0, numbers);
  const std::size_t length = shape[0] * shape[1];
  std::vector<double> u(6 * length);
  REQUIRE(H5Dread(states, column, H5S_ALL, H5S_ALL, H5P_DEFAULT, u.data()) >= 0);
  const hid_t headers = H5Dopen2(file, "headers", H5P_DEFAULT);
  struct Line {
    std::int64_t step;
    double time;
  };
  const hid_t line_type = H5Tcreate(H5T_COMPOUND, sizeof(Line));
  H5Tinsert(line_type, "step", offsetof(Line, step), H5T_NATIVE_INT64);
  H5Tinsert(line_type, "time", offsetof(Line, time), H5T_NATIVE_DOUBLE);
  std::array<Line, 64> lines{};
  REQUIRE(H5Dread(headers, line_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, lines.data()) >= 0);

  for (const InspectedState& state : found.states) {
    CAPTURE(state.step, state.row);
    CHECK(state.integrity == Integrity::whole);
    CHECK(state.bytes == 8 * size);
    const auto row = static_cast<std::size_t>(state.row);
    CHECK(lines[row].step == state.step);
    CHECK(lines[row].time == static_cast<double>(state.step) * 0.01);
    CHECK(state.time == lines[row].time);
    Described again(size);
    again.advance(0, state.step, Pass::replay);
    std::vector<double> expected(size);
    again.save(std::as_writable_bytes(std::span(expected)));
    expected.resize(length);
    CHECK(std::equal(expected.begin(), expected.end(),
                     u.begin() + static_cast<std::ptrdiff_t>(row * length)));
  }
  H5Tclose(line_type);
  H5Dclose(headers);
  H5Tclose(column);
  H5Tclose(numbers);
  H5Sclose(space);
  H5Dclose(states);
  H5Fclose(file);
}

TEST_CASE("A stopped run tells where it is, in both sweeps", "[hdf5][inspect][unit]") {
  const TempFolder folder;
  REQUIRE_FALSE(run_until(folder.path(), 15).finished);
  const Inspection forward = inspect(folder.path(), {.verify = true});
  CHECK(forward.kind == Inspection::Kind::run);
  CHECK(forward.worker.empty());
  CHECK(forward.identity == "inspected");
  CHECK(forward.damage.empty());
  REQUIRE(forward.current == 0);
  const InspectedRecord& record = forward.records.at(0);
  CHECK(record.phase == RunRecord::Phase::forward);
  CHECK(record.step > 0);
  CHECK(record.steps == 200);
  CHECK(record.time == static_cast<double>(record.step) * 0.01);
  CHECK(record.integrity == Integrity::whole);
  for (const InspectedState& state : forward.states) CHECK(state.step <= record.step);

  RunResult result = run_until(folder.path(), 200);
  REQUIRE_FALSE(result.finished);
  CHECK(result.resumed_step == record.step);
  REQUIRE(result.report.reverses > 0);
  const Inspection reverse = inspect(folder.path());
  CHECK(reverse.records.at(reverse.current).phase == RunRecord::Phase::reverse);
  CHECK(reverse.records.at(reverse.current).step == 200 - result.report.reverses);
  CHECK(reverse.records.at(reverse.current).integrity == Integrity::unchecked);
  CHECK_FALSE(reverse.states.empty());
  for (const InspectedState& state : reverse.states) {
    CHECK(state.step < reverse.records.at(reverse.current).step);
  }

  result = run_until(folder.path(), 1'000'000);
  REQUIRE(result.finished);
  const Inspection finished = inspect(folder.path(), {.verify = true});
  CHECK(finished.kind == Inspection::Kind::finished);
  CHECK(finished.identity == "inspected");
  CHECK(finished.result_bytes > 0);
  CHECK(finished.damage.empty());
}

TEST_CASE("A run at work is looked at without being disturbed", "[hdf5][inspect][property]") {
  const TempFolder folder;
  Described model(size);
  RunOptions options = plain_options(folder.path());
  options.safety_every = 0;
  int looks = 0;
  options.stop_when = [&] {
    if (++looks % 20 != 0) return false;
    const Inspection found = inspect(folder.path(), {.verify = true});
    CHECK(names(found.worker, "process " + std::to_string(::getpid())));
    CHECK(found.damage.empty());
    return false;
  };
  CHECK(run_or_resume(model, options).finished);
  CHECK(looks > 100);
  W1 whole(size);
  sweep(whole);
  CHECK(model.bits() == whole.bits());
}

TEST_CASE("Packed checkpoints are told, and verified as they lie there", "[hdf5][inspect][unit]") {
  const TempFolder folder;
  constexpr std::size_t large = 35 * 120;
  W1 model(large);
  const bool packed = GENERATE(true, false);
  const Setting setting{.directory = folder.path(), .packed = packed};
  RunOptions options = options_for(setting, model);
  int left = 40;
  options.stop_when = [&left] { return --left < 0; };
  REQUIRE_FALSE(run_or_resume(model, options).finished);
  const Inspection found = inspect(folder.path(), {.verify = true});
  CHECK(found.damage.empty());
  REQUIRE_FALSE(found.states.empty());
  for (const InspectedState& state : found.states) {
    CHECK(state.packed == packed);
    CHECK(state.integrity == Integrity::whole);
    if (!packed) CHECK(state.bytes == 8 * large);
  }
}

TEST_CASE("Looking changes nothing", "[hdf5][inspect][property]") {
  const TempFolder folder;
  REQUIRE_FALSE(run_until(folder.path(), 60).finished);
  std::vector<std::vector<std::byte>> before;
  for (const std::string& path : folder.files()) before.push_back(bytes_of(path));
  (void)inspect(folder.path(), {.verify = true});
  std::vector<std::vector<std::byte>> after;
  for (const std::string& path : folder.files()) after.push_back(bytes_of(path));
  CHECK(before == after);
}

TEST_CASE("Damage is named, and looked for only where asked", "[hdf5][inspect][fault]") {
  const TempFolder folder;
  REQUIRE_FALSE(run_until(folder.path(), 250).finished);
  const std::string path = folder.path() + "/states.h5";
  const Inspection good = inspect(folder.path(), {.verify = true});
  REQUIRE(good.damage.empty());
  REQUIRE(good.states.size() > 1);
  const InspectedState victim = good.states.at(1);
  flip(path, place_of_states(path) + static_cast<std::ptrdiff_t>(victim.row) * 8192 + 100);

  CHECK(inspect(folder.path()).damage.empty());
  const Inspection found = inspect(folder.path(), {.verify = true});
  REQUIRE(found.damage.size() == 1);
  CHECK(names(found.damage[0], "states.h5"));
  CHECK(names(found.damage[0], "checkpoint " + std::to_string(victim.step)));
  int damaged = 0;
  for (const InspectedState& state : found.states) {
    if (state.integrity == Integrity::damaged) {
      CHECK(state.step == victim.step);
      ++damaged;
    }
  }
  CHECK(damaged == 1);
  // What is told is what a resume does.
  const RunResult result = run_until(folder.path(), 1'000'000);
  CHECK(result.finished);
  REQUIRE(result.damage.size() == 1);
  CHECK(names(found.damage[0], result.damage[0]));
}

TEST_CASE("Files that are cut off, empty, foreign or damaged are named", "[hdf5][inspect][fault]") {
  const TempFolder folder;
  const auto open_before = left_open();
  REQUIRE_FALSE(run_until(folder.path() + "/run", 60).finished);
  const std::string path = folder.path() + "/run/states.h5";
  const std::vector<std::byte> whole = bytes_of(path);
  const auto said = [&](std::span<const std::byte> bytes) {
    put(path, bytes);
    try {
      (void)inspect(path, {.verify = true});
      return std::string("nothing");
    } catch (const StorageError& error) {
      CHECK(error.path == path);
      // In its directory it is one damage among what else is there.
      const Inspection found = inspect(folder.path() + "/run", {.verify = true});
      REQUIRE(found.damage.size() == 1);
      CHECK(found.damage[0] == error.what());
      return std::string(error.what());
    }
  };
  CHECK(names(said({}), "holds no costate checkpoints"));
  CHECK(names(said(std::span(whole).first(1)), "holds no costate checkpoints"));
  CHECK(names(said(std::span(whole).first(whole.size() / 2)), "is cut off"));
  CHECK(names(said(std::span(whole).first(whole.size() - 1)), "is cut off"));
  CHECK(names(said(std::as_bytes(std::span("#!/bin/sh\n"))), "holds no costate checkpoints"));
  const std::string foreign = folder.path() + "/foreign.h5";
  H5Fclose(H5Fcreate(foreign.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  CHECK(names(said(bytes_of(foreign)), "holds no costate checkpoints"));
  std::vector<std::byte> bent = whole;
  bent[24] ^= std::byte{1};
  CHECK(names(said(bent), "format version 2"));
  bent = whole;
  bent[40] ^= std::byte{1};
  CHECK(names(said(bent), "first block"));
  bent = whole;
  bent[4096 + 20] ^= std::byte{1};  // in HDF5's superblock
  CHECK(names(said(bent), "structure"));
  CHECK(said(whole) == "nothing");

  CHECK_THROWS_AS(inspect(folder.path() + "/none"), InvalidArgument);
  CHECK_THROWS_AS(inspect(folder.path()), InvalidArgument);
  CHECK_THROWS_AS(inspect("/dev/null"), InvalidArgument);
  CHECK(left_open() == open_before);
}

TEST_CASE("A file of another format is refused by all who open it, and left as it is",
          "[hdf5][run][golden]") {
  const TempFolder folder;
  REQUIRE_FALSE(run_until(folder.path(), 60).finished);
  const std::string states = folder.path() + "/states.h5";
  std::vector<std::byte> bytes = bytes_of(states);
  constexpr std::size_t place = 24;  // as docs/storage.md describes it
  constexpr std::size_t sealed = 24 + 11 * 8;
  std::uint64_t format = 0;
  std::memcpy(&format, bytes.data() + place, sizeof format);
  REQUIRE(format == 3);
  format = 2;
  std::memcpy(bytes.data() + place, &format, sizeof format);
  const std::uint64_t seal = hash_bytes(std::span(bytes).first(sealed));
  std::memcpy(bytes.data() + sealed, &seal, sizeof seal);
  put(states, bytes);

  const std::string words = "has format version 2, this library reads 3";
  const auto refused = [&](const auto& open) {
    try {
      open();
      FAIL_CHECK("a file of format 2 was opened");
    } catch (const StorageError& error) {
      CHECK(names(error.what(), words));
      CHECK(error.path == states);
    }
    CHECK(bytes_of(states) == bytes);
  };
  refused([&] { (void)inspect(states); });
  refused([&] { run_until(folder.path(), 1'000'000); });
  const Inspection found = inspect(folder.path());
  REQUIRE(found.damage.size() == 1);
  CHECK(names(found.damage[0], words));
}

TEST_CASE("A run by another version of the library is refused", "[hdf5][run][golden]") {
  const TempFolder folder;
  REQUIRE_FALSE(run_until(folder.path(), 60).finished);
  const std::string states = folder.path() + "/states.h5";
  const std::string own = inspect(folder.path()).library;
  const std::string other = "costate 9.8.7";
  REQUIRE(own.size() == other.size());
  const auto refused = [&] {
    try {
      run_until(folder.path(), 1'000'000);
      FAIL_CHECK("a run of another version was taken up");
    } catch (const StorageError& error) {
      CAPTURE(error.what());
      CHECK(names(error.what(), other));
      CHECK(names(error.what(), own));
    }
    CHECK(inspect(folder.path()).library == other);
  };

  // The seal as docs/storage.md describes it, made anew for the changed file.
  const std::vector<std::byte> good = bytes_of(states);
  const hid_t file = H5Fopen(states.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t attribute = H5Aopen(file, "library", H5P_DEFAULT);
  const hid_t type = H5Aget_type(attribute);
  REQUIRE(H5Awrite(attribute, type, other.c_str()) >= 0);
  H5Tclose(type);
  H5Aclose(attribute);
  H5Fclose(file);
  std::vector<std::byte> bytes = bytes_of(states);
  CHECK_THROWS_AS(inspect(states), StorageError);  // not as it was made
  std::array<std::uint64_t, 12> seal{};
  std::memcpy(seal.data(), bytes.data() + 24, sizeof seal);
  const auto hash_all = [&](const std::vector<std::byte>& of) {
    std::uint64_t hash = 0;
    std::uint64_t at = 4096;
    const auto take = [&](std::uint64_t end) {
      if (at < end) hash = hash_bytes(std::span(of).subspan(at, end - at), hash);
    };
    for (std::size_t i = 2; i < 10; i += 2) {
      take(seal[i]);
      at = std::max(at, seal[i + 1]);
    }
    take(seal[1]);
    return hash;
  };
  REQUIRE(seal[0] == 3);
  REQUIRE(seal[1] == bytes.size());
  REQUIRE(seal[10] == hash_all(good));
  seal[10] = hash_all(bytes);
  std::memcpy(bytes.data() + 24, seal.data(), sizeof seal);
  seal[11] = hash_bytes(std::span(bytes).first(24 + 11 * 8));
  std::memcpy(bytes.data() + 24, seal.data(), sizeof seal);
  put(states, bytes);
  refused();
  put(states, good);

  // And a finished one.
  REQUIRE(run_until(folder.path(), 1'000'000).finished);
  const std::string result = folder.path() + "/result";
  bytes = bytes_of(result);
  const auto old = std::as_bytes(std::span(own));
  const auto place = std::search(bytes.begin(), bytes.end(), old.begin(), old.end());
  REQUIRE(place != bytes.end());
  const auto now = std::as_bytes(std::span(other));
  std::copy(now.begin(), now.end(), place);
  std::array<std::uint64_t, 5> header{};  // magic, three lengths, hash
  std::memcpy(header.data(), bytes.data(), sizeof header);
  const std::size_t texts = header[1] + header[2];
  const auto body = std::span(bytes).subspan(sizeof header);
  const std::uint64_t hash = hash_bytes(body.subspan(texts), hash_bytes(body.first(texts)));
  std::memcpy(bytes.data() + 32, &hash, sizeof hash);
  put(result, bytes);
  refused();
}
