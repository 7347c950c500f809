// Compressed checkpoints: the same bits, fewer bytes, and never more than the capacity.

#include "costate/hdf5/compression.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "costate/core/error.hpp"
#include "costate/hdf5/disk.hpp"
#include "costate/hdf5/run_directory.hpp"
#include "costate/sweep/run.hpp"
#include "hdf5/packer.hpp"
#include "support/catch.hpp"
#include "support/faulty_files.hpp"
#include "support/map_stepper.hpp"
#include "support/ode_bits.hpp"
#include "support/temp_folder.hpp"

using namespace costate;
using costate::test::FaultyFiles;

namespace {

constexpr Compression zstd{.codec = Compression::Codec::zstd};

std::vector<std::byte> smooth(std::size_t bytes) {
  std::vector<double> values(bytes / 8 + 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(1e-3 * static_cast<double>(i));
  }
  std::vector<std::byte> state(bytes);
  std::memcpy(state.data(), values.data(), bytes);
  return state;
}

std::vector<std::byte> noise(std::size_t bytes) {
  std::mt19937 random(7);
  std::vector<std::byte> state(bytes);
  for (std::byte& b : state) b = static_cast<std::byte>(random());
  return state;
}

}  // namespace

TEST_CASE("A packed state unpacks to the same bytes and is bounded", "[hdf5][property]") {
  const test::TempFolder folder;
  const auto file = FileSystem::real().open(folder.path() + "/packed", FileSystem::Mode::create);
  const std::size_t piece = detail::Packer::piece;
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{24}, std::size_t{4097},
                                 piece - 1, piece, piece + 1, 3 * piece + 5}) {
    for (const int width : {1, 3, 4, 8, 64}) {
      for (const int level : {-7, 1, 5}) {
        Compression c = zstd;
        c.element_bytes = width;
        c.level = level;
        detail::Packer packer(c, size);
        for (const bool easy : {true, false}) {
          CAPTURE(size, width, level, easy);
          const std::vector<std::byte> state = easy ? smooth(size) : noise(size);
          detail::PayloadHash written;
          const Bytes packed = packer.pack(state, *file, 100, written);
          CHECK(packed <= detail::Packer::bound(size));
          if (easy && size > 4096 && width == 8) CHECK(packed < size);
          CHECK(detail::Packer::unpacked_bytes(packed, *file, 100) == size);
          std::vector<std::byte> back(size);
          detail::PayloadHash read;
          CHECK(packer.unpack(packed, back, *file, 100, read));
          CHECK(back == state);
          CHECK(read.value() == written.value());
        }
      }
    }
  }
}

TEST_CASE("What is no packed state is refused, whatever it is", "[hdf5][fault]") {
  const test::TempFolder folder;
  const auto file = FileSystem::real().open(folder.path() + "/noise", FileSystem::Mode::create);
  const std::vector<std::byte> state = smooth(2'000'000);
  detail::Packer packer(zstd, state.size());
  detail::PayloadHash hash;
  const Bytes packed = packer.pack(state, *file, 0, hash);
  std::mt19937_64 random(3);
  std::vector<std::byte> back(state.size());
  for (int i = 0; i < 200; ++i) {
    // The last bytes matter most: they say what is where.
    const Bytes at = i % 2 == 0 ? packed - 1 - random() % 48 : random() % packed;
    std::byte was{};
    file->read({&was, 1}, at);
    const std::byte wrong = was ^ static_cast<std::byte>(1U << (random() % 8));
    file->write({&wrong, 1}, at);
    detail::PayloadHash seen;
    const bool whole = packer.unpack(packed, back, *file, 0, seen);
    CHECK((!whole || seen.value() != hash.value()));
    file->write({&was, 1}, at);
  }
  CHECK_FALSE(packer.unpack(packed, std::span(back).first(100), *file, 0, hash));
  CHECK_FALSE(packer.unpack(3, back, *file, 0, hash));
}

TEST_CASE("Compression changes no bit of any gradient", "[hdf5][property]") {
  ode_bits::check_all([](const auto&) {
    std::vector<ode_bits::Room> rooms;
    for (const int threads : {0, 1, 2}) {
      const DiskSpec disk =
          hdf5({.directory = ".", .capacity = 4_MiB, .io_threads = threads, .compression = zstd});
      rooms.push_back({.budget = {.memory = 16_MiB, .disk = disk}, .memory = 1, .disk = 6});
      rooms.push_back({.budget = {.memory = 16_MiB, .disk = disk}, .memory = 2, .disk = 200});
    }
    return rooms;
  });
}

TEST_CASE("A ratio gives more slots, and the capacity holds all the same", "[hdf5][unit]") {
  const test::TempFolder folder;
  constexpr std::size_t size = 1_MiB;
  Hdf5Options options{.directory = folder.path(), .capacity = 10_MiB, .keep = true};
  const Slot plain = hdf5(options)->slots(size);
  options.compression = zstd;
  CHECK(hdf5(options)->slots(size) <= plain);
  options.compression.ratio = 1.35;
  const DiskSpec disk = hdf5(options);
  const Slot slots = disk->slots(size);
  CHECK(slots >= plain * 6 / 5);

  const std::vector<std::byte> state = smooth(size);
  const auto tier = disk->make(size, slots);
  const auto fill = [&] {
    for (Slot s = 0; s < slots; ++s) {
      std::ranges::copy(state, tier->begin_write(s, s, size).begin());
      tier->commit(s);
    }
    for (Slot s = 0; s < slots; ++s) {
      const auto read = tier->read(s, s);
      CHECK(std::equal(read.begin(), read.end(), state.begin(), state.end()));
    }
  };
  const auto empty = [&] {
    for (Slot s = 0; s < slots; ++s) tier->drop(s);
  };
  for (int round = 0; round < 3; ++round) {
    fill();
    struct stat status {};
    REQUIRE(folder.files().size() == 1);
    REQUIRE(::stat(folder.files().front().c_str(), &status) == 0);
    CHECK(static_cast<Bytes>(status.st_blocks) * 512 <= options.capacity + 64_KiB);
    empty();
  }
  CHECK(tier->use().ratio() > 1.35);
}

TEST_CASE("States that shrink less than was counted on are an error with a name", "[hdf5][fault]") {
  const test::TempFolder folder;
  constexpr std::size_t size = 1_MiB;
  for (const int threads : {0, 1}) {
    Hdf5Options options{.directory = folder.path(),
                        .capacity = 8_MiB,
                        .io_threads = threads,
                        .compression = {.codec = Compression::Codec::zstd, .ratio = 4}};
    const DiskSpec disk = hdf5(options);
    const Slot slots = disk->slots(size);
    const auto tier = disk->make(size, slots);
    const std::vector<std::byte> state = noise(size);
    std::string said;
    try {
      for (Slot s = 0; s < slots; ++s) {
        std::ranges::copy(state, tier->begin_write(s, s, size).begin());
        tier->commit(s);
      }
      for (Slot s = 0; s < slots; ++s) (void)tier->read(s, s);
    } catch (const StorageError& error) {
      said = error.what();
    }
    CHECK(said.find("shrink less than the ratio") != std::string::npos);
  }
}

TEST_CASE("A ratio is refused where space cannot be given back", "[hdf5][fault]") {
  const test::TempFolder folder;
  FaultyFiles files;
  files.keeps_space = true;
  Hdf5Options options{.directory = folder.path(), .compression = zstd, .files = &files};
  CHECK_NOTHROW(hdf5(options)->make(1_MiB, 2));
  options.compression.ratio = 1.2;
  CHECK_THROWS_AS(hdf5(options)->make(1_MiB, 2), StorageError);
  CHECK(folder.files().empty());
}

TEST_CASE("A bit that flips in a compressed checkpoint is found", "[hdf5][fault]") {
  const test::TempFolder folder;
  FaultyFiles files;
  const auto tier = hdf5({.directory = folder.path(),
                          .io_threads = 0,
                          .buffers = 1,
                          .compression = zstd,
                          .files = &files})
                        ->make(1_MiB, 2);
  const std::vector<std::byte> state = smooth(1_MiB);
  for (const Slot s : {0, 1}) {
    std::ranges::copy(state, tier->begin_write(s, s, state.size()).begin());
    tier->commit(s);
  }
  files.fault = FaultyFiles::Fault::flip_on_read;
  files.at = files.operations.load();
  CHECK_THROWS_AS(tier->read(0, 0), StorageError);
  files.fault = FaultyFiles::Fault::none;
  const auto again = tier->read(0, 0);
  CHECK(std::equal(again.begin(), again.end(), state.begin(), state.end()));
}

TEST_CASE("Codecs go by name, and those that lose bits are refused by theirs", "[hdf5][unit]") {
  CHECK_FALSE(compression("none").on());
  CHECK(compression("zstd").level == 1);
  CHECK(compression("zstd:-5").level == -5);
  CHECK(compression("zstd:19").level == 19);
  for (const char* name : {"zfp", "sz3", "float32"}) {
    try {
      static_cast<void>(compression(name));
      FAIL("no error");
    } catch (const Unsupported& error) {
      CHECK(std::string(error.what()).find(name) != std::string::npos);
      CHECK(std::string(error.what()).find("loses bits") != std::string::npos);
    }
  }
  for (const char* name : {"", "gzip", "zstd:", "zstd:20", "zstd:1x"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(compression(name), InvalidArgument);
  }
  CHECK_THROWS_AS(hdf5({.compression = {.ratio = 2}}), InvalidArgument);
  CHECK_THROWS_AS(hdf5({.compression = {.codec = Compression::Codec::zstd, .ratio = 0.5}}),
                  InvalidArgument);
  CHECK_THROWS_AS(run_directory({.directory = ".",
                                 .compression = {.codec = Compression::Codec::zstd, .ratio = 2}}),
                  InvalidArgument);
}

TEST_CASE("A run directory with compression goes on with the same bits, and only with it",
          "[hdf5][fault]") {
  const test::TempFolder folder;
  const auto options = [&](const Compression& c) {
    return RunDirectoryOptions{.directory = folder.path(), .capacity = 1_MiB, .compression = c};
  };
  const problems::LotkaVolterra f;
  const RunOf<problems::LotkaVolterra> run{
      .t0 = 0, .t1 = 2, .y0 = {1.2, 0.7}, .p = {1.5, 1.1, 2.7, 0.9}};
  const auto target =
      ode_bits::objective<problems::LotkaVolterra::State, problems::LotkaVolterra::Parameters>(
          run.t0, run.t1);
  const RungeKutta4 method{.steps = 200};
  const auto expected = value_and_gradient(f, method, target, run);
  // The least that is possible and a little more, so that the disk is needed.
  Bytes memory = 1;
  try {
    OdeStepper stepper(f, method, target, run.t0, run.t1, run.y0, run.p);
    run_or_resume(stepper,
                  {.store = run_directory(options(zstd)), .identity = "", .memory = memory});
  } catch (const BudgetError& error) {
    memory = error.least + 64;
  }
  int stops = 0;
  for (bool finished = false; !finished; ++stops) {
    REQUIRE(stops < 1000);
    OdeStepper stepper(f, method, target, run.t0, run.t1, run.y0, run.p);
    int asked = 0;
    const auto with = [&](const Compression& c) {
      return RunOptions{.store = run_directory(options(c)),
                        .identity = "packed",
                        .memory = memory,
                        .stop_when = [&] { return ++asked > (stops < 4 ? 1 : 20); }};
    };
    if (stops == 3) CHECK_THROWS_AS(run_or_resume(stepper, with({})), Error);
    finished = run_or_resume(stepper, with(zstd)).finished;
    if (!finished) continue;
    CHECK(stepper.value() == expected.value);
    CHECK(stepper.adjoint() == expected.dy0);
    CHECK(stepper.parameter_gradient() == expected.dp);
  }
  CHECK(stops > 5);
}
