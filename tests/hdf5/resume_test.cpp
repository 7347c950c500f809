// Runs that are interrupted and go on: by request, by an exception, by SIGKILL at a step, inside a
// write, twice, while resuming. The bits are those of a run left alone.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/hdf5/inspect.hpp"
#include "costate/sweep/make_stepper.hpp"
#include "costate/sweep/run.hpp"
#include "support/catch.hpp"
#include "support/faulty_files.hpp"
#include "support/interrupted.hpp"
#include "support/temp_folder.hpp"
#include "support/work_adaptive.hpp"
#include "support/work_w1.hpp"

using namespace costate;
using costate::test::AdaptiveDecay;
using costate::test::capacity_for;
using costate::test::FaultyFiles;
using costate::test::in_child;
using costate::test::Mortal;
using costate::test::options_for;
using costate::test::Setting;
using costate::test::TempFolder;
using costate::test::W1;

namespace {

#if defined COSTATE_SANITIZED
constexpr int kills = 12;
#elif defined COSTATE_SOAK
constexpr int kills = 300;
#else
constexpr int kills = 30;
#endif

constexpr std::size_t size = 700;  // 5600 bytes: large enough to be looked after at every step

template <typename Model>
std::vector<std::uint64_t> undisturbed() {
  Model model(size);
  sweep(model);
  return model.bits();
}

template <typename Model>
long calls_of(const Setting& setting) {
  const TempFolder folder;
  Setting s = setting;
  s.directory = folder.path();
  Mortal<Model> model(size);
  run_or_resume(model, options_for(s, model));
  return model.calls;
}

}  // namespace

TEMPLATE_TEST_CASE("A run that nobody disturbs ends as a sweep does, and is recognised later",
                   "[hdf5][run][unit]", W1, AdaptiveDecay) {
  const TempFolder folder;
  Setting setting{.directory = folder.path(), .safety_every = GENERATE(0.0, 1e9)};
  TestType first(size);
  const RunResult result = run_or_resume(first, options_for(setting, first));
  CHECK(result.finished);
  CHECK_FALSE(result.resumed);
  CHECK(first.bits() == undisturbed<TestType>());
  CHECK(result.report.memory_peak <= result.report.memory_budget);

  // The result and the lock are left.
  CHECK(folder.files().size() == 2);
  TestType again(size);
  const RunResult known = run_or_resume(again, options_for(setting, again));
  CHECK(known.finished);
  CHECK(known.report.advances == 0);
  CHECK(again.bits() == first.bits());
}

TEMPLATE_TEST_CASE("Stopped on request again and again, a run ends with the same bits",
                   "[hdf5][run][property]", W1, AdaptiveDecay) {
  const int threads = GENERATE(0, 1, 2);
  const Slot memory = GENERATE(2, 3, 300);
#ifdef COSTATE_SANITIZED  // each call makes its threads, which is dear there
  const int every = 60;
#else
  const int every = GENERATE(7, 31, 100);
#endif
  CAPTURE(threads, memory, every);
  const TempFolder folder;
  const Setting setting{
      .directory = folder.path(), .memory_slots = memory, .threads = threads, .safety_every = 1e9};
  int calls = 0;
  for (bool finished = false; !finished; ++calls) {
    REQUIRE(calls < 2000);
    TestType model(size);
    RunOptions options = options_for(setting, model);
    // More patience each time, so that a run that has to recompute much gets on.
    int left = every + 20 * calls;
    options.stop_when = [&left] { return --left < 0; };
    const RunResult result = run_or_resume(model, options);
    finished = result.finished;
    CHECK(result.resumed == (calls > 0));
    CHECK(result.damage.empty());
    if (finished) CHECK(model.bits() == undisturbed<TestType>());
  }
  if (memory < 300) CHECK(calls > 1);  // all states kept: over before anybody asks
}

TEST_CASE("A run that can be resumed takes a guess of its length", "[hdf5][run][property]") {
  AdaptiveDecay whole(size);
  const Step n = sweep(whole).steps;
  const auto cost = [&](Step guess) {
    const TempFolder folder;
    AdaptiveDecay model(size);
    RunOptions options = options_for({.directory = folder.path()}, model);
    options.expected_steps = guess;
    const Report report = run_or_resume(model, options).report;
    CHECK(model.bits() == whole.bits());
    return report.advances + report.tiers[1].writes + report.tiers[1].reads;
  };
  CHECK(cost(n) <= cost(unknown));

  const Step guess = GENERATE_COPY(n / 2, n, 2 * n);
  CAPTURE(n, guess);
  const TempFolder folder;
  for (int calls = 0, finished = 0; finished == 0; ++calls) {
    REQUIRE(calls < 100);
    AdaptiveDecay model(size);
    RunOptions options = options_for({.directory = folder.path(), .safety_every = 1e9}, model);
    options.expected_steps = guess;
    int left = 40 + 20 * calls;
    options.stop_when = [&left] { return --left < 0; };
    finished = run_or_resume(model, options).finished ? 1 : 0;
    if (finished != 0) CHECK(model.bits() == whole.bits());
  }
}

TEMPLATE_TEST_CASE("Killed at random steps, a run ends with the same bits", "[hdf5][run][fault]",
                   W1, AdaptiveDecay) {
  std::mt19937 random(2024);
  const auto expected = undisturbed<TestType>();
  for (int i = 0; i < kills / 3; ++i) {
    const TempFolder folder;
    const Setting setting{.directory = folder.path(),
                          .memory_slots = 2 + static_cast<Slot>(random() % 6),
                          .disk_slots = 1 + static_cast<Slot>(random() % 6),
                          .threads = static_cast<int>(random() % 3),
                          .safety_every = random() % 2 == 0 ? 0 : 1e9};
    CAPTURE(i, setting.memory_slots, setting.disk_slots, setting.threads, setting.safety_every);
    const long all = calls_of<TestType>(setting);
    // Twice in a row, then left alone.
    for (int death = 0; death < 2; ++death) {
      in_child([&] {
        Mortal<TestType> model(size);
        model.dies_at = static_cast<long>(random() % static_cast<unsigned long>(all));
        run_or_resume(model, options_for(setting, model));
      });
      random.discard(1);
    }
    TestType model(size);
    const RunResult result = run_or_resume(model, options_for(setting, model));
    CHECK(result.finished);
    CHECK(model.bits() == expected);
  }
}

TEMPLATE_TEST_CASE("Killed in the first and in the last step", "[hdf5][run][fault]", W1,
                   AdaptiveDecay) {
  const TempFolder probe;
  const Setting measure{.directory = probe.path()};
  const long all = calls_of<TestType>(measure);
  for (const long at : {0L, 1L, all - 2, all - 1}) {
    CAPTURE(at);
    const TempFolder folder;
    const Setting setting{.directory = folder.path()};
    CHECK(in_child([&] {
      Mortal<TestType> model(size);
      model.dies_at = at;
      run_or_resume(model, options_for(setting, model));
    }));
    TestType model(size);
    CHECK(run_or_resume(model, options_for(setting, model)).finished);
    CHECK(model.bits() == undisturbed<TestType>());
  }
}

TEMPLATE_TEST_CASE("Killed inside writes, also half done ones", "[hdf5][run][fault]", W1,
                   AdaptiveDecay) {
  std::mt19937 random(7);
  const auto expected = undisturbed<TestType>();
  for (int i = 0; i < kills / 3; ++i) {
    const TempFolder folder;
    FaultyFiles files;
    const Setting setting{.directory = folder.path(),
                          .memory_slots = 2 + static_cast<Slot>(random() % 3),
                          .threads = static_cast<int>(random() % 3),
                          .safety_every = 0,
                          .files = &files};
    files.fault =
        random() % 2 == 0 ? FaultyFiles::Fault::torn_write_kill : FaultyFiles::Fault::kill_before;
    CAPTURE(i, setting.threads, static_cast<int>(files.fault));
    for (int death = 0; death < 2; ++death) {
      files.at = static_cast<long>(random() % 900);
      files.operations = 0;
      in_child([&] {
        TestType model(size);
        run_or_resume(model, options_for(setting, model));
      });
    }
    files.fault = FaultyFiles::Fault::none;
    TestType model(size);
    CHECK(run_or_resume(model, options_for(setting, model)).finished);
    CHECK(model.bits() == expected);
  }
}

TEST_CASE("Killed inside writes of compressed checkpoints", "[hdf5][run][fault]") {
  // Larger states, for else all of them fit into what the compressors need.
  constexpr std::size_t large = 35 * 120;
  W1 whole(large);
  sweep(whole);
  std::mt19937 random(8);
  for (int i = 0; i < std::max(4, kills / 10); ++i) {
    const TempFolder folder;
    FaultyFiles files;
    const Setting setting{.directory = folder.path(),
                          .threads = i % 3,
                          .safety_every = 0,
                          .files = &files,
                          .packed = true};
    CAPTURE(i);
    files.fault = FaultyFiles::Fault::torn_write_kill;
    bool packed = false;
    for (int death = 0; death < 3; ++death) {
      files.at = 20 + static_cast<long>(random() % 700);
      files.operations = 0;
      in_child([&] {
        W1 model(large);
        run_or_resume(model, options_for(setting, model));
      });
      if (!std::filesystem::exists(folder.path() + "/states.h5")) continue;
      for (const InspectedState& state : inspect(folder.path(), {.verify = true}).states) {
        packed = packed || state.packed;
      }
    }
    CHECK(packed);
    files.fault = FaultyFiles::Fault::none;
    W1 model(large);
    CHECK(run_or_resume(model, options_for(setting, model)).finished);
    CHECK(model.bits() == whole.bits());
  }
}

TEMPLATE_TEST_CASE("Killed while it resumes, at every operation in turn", "[hdf5][run][fault]", W1,
                   AdaptiveDecay) {
  const TempFolder made;
  const auto expected = undisturbed<TestType>();
  FaultyFiles files;
  Setting setting{.directory = made.path() + "/run", .files = &files};
  const auto stop_after = [&](int questions) {
    TestType model(size);
    RunOptions options = options_for(setting, model);
    options.stop_when = [&questions] { return --questions < 0; };
    return run_or_resume(model, options);
  };
  // In the forward and in the reverse sweep.
  for (const int questions : {20, 250}) {
    std::filesystem::remove_all(setting.directory);
    files.fault = FaultyFiles::Fault::none;
    REQUIRE_FALSE(stop_after(questions).finished);
    files.operations = 0;
    REQUIRE_FALSE(stop_after(0).finished);
    const long all = files.operations;  // of taking it up and stopping again
    CAPTURE(questions, all);
    REQUIRE(all > 10);
    int died = 0;  // threads may order, and need, the operations differently the next time
    for (long at = 0; at < all; at += 1 + all / 12) {
      files.operations = 0;
      files.at = at;
      files.fault = FaultyFiles::Fault::kill_before;
      if (in_child([&] { stop_after(0); })) ++died;
      files.fault = FaultyFiles::Fault::none;
    }
    CHECK(died > 5);
    TestType model(size);
    const RunResult result = run_or_resume(model, options_for(setting, model));
    CHECK(result.finished);
    CHECK(result.resumed);
    CHECK(model.bits() == expected);
  }
}

TEMPLATE_TEST_CASE("Any operation that fails gives a named error, and the run can go on",
                   "[hdf5][run][fault]", W1, AdaptiveDecay) {
  const auto fault = GENERATE(FaultyFiles::Fault::error, FaultyFiles::Fault::torn_write_error,
                              FaultyFiles::Fault::flip_on_read);
#ifdef COSTATE_SANITIZED
  constexpr long dense = 11;
#else
  constexpr long dense = 3;
#endif
  const auto expected = undisturbed<TestType>();
  for (long at = 0; at < 1500; at = at < 90 ? at + dense : at + 197) {
    CAPTURE(static_cast<int>(fault), at);
    const TempFolder folder;
    FaultyFiles files;
    const Setting setting{.directory = folder.path(),
                          .threads = at % 2 == 0 ? 0 : 1,
                          .safety_every = 0,
                          .files = &files};
    files.at = at;
    files.fault = fault;
    std::vector<std::uint64_t> bits;
    try {
      TestType model(size);
      run_or_resume(model, options_for(setting, model));
      bits = model.bits();
    } catch (const StorageError& error) {
      CHECK(error.path.find(folder.path()) == 0);
    }
    if (bits.empty()) {
      files.fault = FaultyFiles::Fault::none;
      TestType model(size);
      CHECK(run_or_resume(model, options_for(setting, model)).finished);
      bits = model.bits();
    }
    CHECK(bits == expected);
  }
}

TEST_CASE("C83: a directory of another problem is refused, with what differs",
          "[hdf5][run][golden]") {
  const TempFolder folder;
  const auto start = [&](W1& model, Step stop_at) {
    Setting setting{.directory = folder.path(), .identity = model.identity()};
    RunOptions options = options_for(setting, model);
    Step left = stop_at;
    options.stop_when = [&left] { return --left < 0; };
    return run_or_resume(model, options);
  };
  W1 first(size);
  CHECK_FALSE(start(first, 50).finished);

  W1 other_kappa(size, 0.91);
  W1 other_h(size, 0.9, 0.005, 400);
  W1 larger(2 * size);
  for (W1* other : {&other_kappa, &other_h, &larger}) {
    try {
      start(*other, 1'000'000);
      FAIL_CHECK("the run of another problem was taken up");
    } catch (const StorageError& error) {
      const std::string message = error.what();
      CHECK(message.find(first.identity()) != std::string::npos);
      CHECK(message.find(other->identity()) != std::string::npos);
    }
  }
  W1 same(size);
  const RunResult result = start(same, 1'000'000);
  CHECK(result.resumed);
  CHECK(same.bits() == undisturbed<W1>());
  CHECK_THROWS_AS(start(other_kappa, 1'000'000), StorageError);  // finished, and of another
}

TEST_CASE("A directory in which another process works is refused", "[hdf5][run][fault]") {
  const TempFolder folder;
  const Setting setting{.directory = folder.path()};
  W1 model(size);
  RunOptions options = options_for(setting, model);
  std::string said;
  options.stop_when = [&] {
    if (said.empty()) {
      try {
        W1 second(size);
        run_or_resume(second, options_for(setting, second));
      } catch (const StorageError& error) {
        said = error.what();
      }
    }
    return false;
  };
  CHECK(run_or_resume(model, options).finished);
  CHECK(said.find("another process") != std::string::npos);
}

TEST_CASE("C85: at most eight files, none but the result in the end, others untouched",
          "[hdf5][run][golden]") {
  const TempFolder folder;
  std::ofstream(folder.path() + "/notes.txt") << "mine";
  std::ofstream(folder.path() + "/ckpt_old.h5") << "also mine";
  std::filesystem::create_directory(folder.path() + "/sub");
  const Setting setting{.directory = folder.path(), .disk_slots = 6};
  std::size_t most = 0;
  {
    Mortal<W1> model(size);
    model.dies_at = 120;
    model.throws = true;
    CHECK_THROWS_WITH(run_or_resume(model, options_for(setting, model)), "interrupted");
  }
  W1 model(size);
  RunOptions options = options_for(setting, model);
  options.stop_when = [&] {
    most = std::max(most, folder.files().size() - 3);
    CHECK(std::filesystem::file_size(folder.path() + "/states.h5") <= capacity_for(setting, model));
    return false;
  };
  const RunResult result = run_or_resume(model, options);
  CHECK(result.finished);
  CHECK(result.resumed);
  CHECK(most <= 8);
  CHECK(folder.files().size() == 5);  // the three, the lock, the result
  std::string text;
  std::getline(std::ifstream(folder.path() + "/notes.txt") >> std::ws, text);
  CHECK(text == "mine");
  CHECK(model.bits() == undisturbed<W1>());
}

TEST_CASE("C81: no damage to the files gives a wrong gradient", "[hdf5][run][golden]") {
  // A half-finished run, then one damage at a time.
  const TempFolder made;
  const Setting source{.directory = made.path() + "/run", .threads = 0};
  {
    W1 model(size);
    RunOptions options = options_for(source, model);
    int left = 320;  // in the reverse sweep
    options.stop_when = [&left] { return --left < 0; };
    const RunResult result = run_or_resume(model, options);
    REQUIRE_FALSE(result.finished);
    REQUIRE(result.report.reverses > 0);
  }
  const auto expected = undisturbed<W1>();
  const std::string states = made.path() + "/run/states.h5";
  const auto bytes = static_cast<std::ptrdiff_t>(std::filesystem::file_size(states));
  std::mt19937 random(99);
  const auto try_damage = [&](auto damage) {
    const TempFolder folder;
    std::filesystem::copy(made.path() + "/run", folder.path() + "/run");
    damage(folder.path() + "/run/states.h5");
    Setting setting = source;
    setting.directory = folder.path() + "/run";
    try {
      W1 model(size);
      run_or_resume(model, options_for(setting, model));
      CHECK(model.bits() == expected);
      return true;
    } catch (const StorageError& error) {
      CHECK(error.path.find("states.h5") != std::string::npos);
      return false;
    }
  };
#if defined COSTATE_SANITIZED
  constexpr int flips = 12;
#elif defined COSTATE_SOAK
  constexpr int flips = 1000;
#else
  constexpr int flips = 60;
#endif
  for (int i = 0; i < flips; ++i) {
    const auto place = static_cast<std::ptrdiff_t>(random() % static_cast<unsigned long>(bytes));
    const int bit = static_cast<int>(random() % 8);
    CAPTURE(place, bit);
    try_damage([&](const std::string& path) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      const int old = file.seekg(place).get();
      file.seekp(place).put(static_cast<char>(old ^ (1 << bit)));
    });
  }
  for (const std::ptrdiff_t length : {std::ptrdiff_t{0}, std::ptrdiff_t{1}, bytes / 2, bytes - 1}) {
    CAPTURE(length);
    CHECK_FALSE(try_damage([&](const std::string& path) {
      std::filesystem::resize_file(path, static_cast<std::uintmax_t>(length));
    }));
  }
  CHECK(try_damage(
      [&](const std::string& path) { std::ofstream(path, std::ios::app) << "8 bytes."; }));
  CHECK_FALSE(try_damage([&](const std::string& path) { std::ofstream(path) << "text"; }));
}

namespace {

// W1 as a model of its own, which derives from nothing: only what make_stepper asks for.
class OwnModel {
 public:
  W1 inner{size};
  std::vector<double> y = std::vector<double>(size);

  OwnModel() { inner.save(std::as_writable_bytes(std::span(y))); }
  [[nodiscard]] Step steps() const { return inner.steps(); }
  void step(Step k) {
    inner.load(std::as_bytes(std::span(y)));
    inner.advance(k, k + 1, Pass::first);
    inner.save(std::as_writable_bytes(std::span(y)));
  }
  void turn(Step n) { inner.turn(n); }
  void reverse(Step k) {
    inner.load(std::as_bytes(std::span(y)));
    inner.reverse(k);
  }
  std::vector<double>& state() { return y; }
  [[nodiscard]] double time(Step k) const { return static_cast<double>(k) / 100; }
  [[nodiscard]] std::size_t progress_bytes() const { return inner.progress_bytes(); }
  void save_progress(std::span<std::byte> out) const { inner.save_progress(out); }
  void load_progress(std::span<const std::byte> in) { inner.load_progress(in); }
};

}  // namespace

TEST_CASE("A model that derives from nothing goes on, too, and its file names the array",
          "[hdf5][run][unit]") {
  const TempFolder folder;
  const Setting setting{.directory = folder.path()};
  int calls = 0;
  for (bool finished = false; !finished; ++calls) {
    REQUIRE(calls < 100);
    OwnModel model;
    auto stepper = make_stepper(model);
    RunOptions options = options_for(setting, stepper);
    int left = 40 * (calls + 1);
    options.stop_when = [&left] { return --left < 0; };
    finished = run_or_resume(stepper, options).finished;
    if (finished) {
      CHECK(model.inner.bits() == undisturbed<W1>());
      continue;
    }
    const Inspection found = inspect(folder.path());
    CHECK(found.fields == std::vector<StateField>{{.name = "state", .shape = {size}}});
    for (const InspectedState& state : found.states) {
      CHECK(state.time == static_cast<double>(state.step) / 100);
    }
  }
  CHECK(calls > 2);
}

TEST_CASE("A stepper without progress, and negative times, are refused", "[hdf5][run][unit]") {
  class Plain final : public W1 {
   public:
    using W1::W1;
    [[nodiscard]] std::size_t progress_bytes() const override { return 0; }
  };
  const TempFolder folder;
  const Setting setting{.directory = folder.path()};
  Plain plain(size);
  CHECK_THROWS_AS(run_or_resume(plain, options_for(setting, plain)), Unsupported);
  W1 model(size);
  RunOptions options = options_for(setting, model);
  options.safety_every = -1;
  CHECK_THROWS_AS(run_or_resume(model, options), InvalidArgument);
  CHECK(folder.files().empty());
}
