// A run directory in the hands of somebody careless: files cut, flipped, overwritten, exchanged,
// mixed with those of other runs, deleted. Whatever it is: the right bits or a named error, and an
// end.

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "costate/core/error.hpp"
#include "costate/hdf5/inspect.hpp"
#include "support/catch.hpp"
#include "support/interrupted.hpp"
#include "support/temp_folder.hpp"
#include "support/work_adaptive.hpp"
#include "support/work_w1.hpp"

using namespace costate;
using costate::test::AdaptiveDecay;
using costate::test::options_for;
using costate::test::Setting;
using costate::test::TempFolder;
using costate::test::W1;

namespace {

constexpr std::size_t size = 700;  // large enough to be looked after at every step

#if defined COSTATE_SANITIZED
constexpr int attacks = 20;
#elif defined COSTATE_SOAK
constexpr int attacks = 600;
#else
constexpr int attacks = 60;
#endif

using Random = std::mt19937;
using Text = std::vector<char>;

int below(Random& random, std::size_t end) {
  return static_cast<int>(random() % end);
}

// Empty if it is no file.
Text read_all(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return {};
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_all(const std::string& path, const Text& text) {
  std::filesystem::remove_all(path);
  std::ofstream(path, std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
}

const std::vector<std::string> names = {"states.h5", "states.h5", "states.h5",
                                        "steps.log", "result",    "lock"};

// Does one thing to the directory. `others`: directories of other runs, and of other moments.
void damage(const std::string& directory, const std::vector<std::string>& others, Random& random) {
  const std::string path = directory + "/" + names[random() % names.size()];
  Text text = read_all(path);
  const auto place = [&] { return static_cast<std::ptrdiff_t>(random() % text.size()); };
  const auto piece = [&](std::ptrdiff_t at) {
    const std::ptrdiff_t sizes[] = {1, 64, 512, 4096};
    return std::min(sizes[random() % 4], static_cast<std::ptrdiff_t>(text.size()) - at);
  };
  switch (const int what = below(random, 10); what) {
    case 0:
    case 1:  // bits
      if (text.empty()) return;
      for (int i = below(random, 4); i >= 0; --i) {
        text[static_cast<std::size_t>(place())] ^= static_cast<char>(1 << below(random, 8));
      }
      return write_all(path, text);
    case 2:  // cut off, or longer
      text.resize(random() % (text.size() + text.size() / 4 + 10));
      return write_all(path, text);
    case 3: {  // sectors that are zero, or noise
      if (text.empty()) return;
      const std::ptrdiff_t at = place() / 64 * 64;
      const bool zero = random() % 2 == 0;
      std::generate_n(text.begin() + at, piece(at),
                      [&] { return zero ? '\0' : static_cast<char>(random()); });
      return write_all(path, text);
    }
    case 4:  // a write that went to another place
    case 5: {
      if (text.empty()) return;
      const std::ptrdiff_t from = place() / 64 * 64;
      const std::ptrdiff_t to = place() / 64 * 64;
      const std::ptrdiff_t length = std::min(piece(from), piece(to));
      const Text moved(text.begin() + from, text.begin() + from + length);
      std::ranges::copy(moved, text.begin() + to);
      return write_all(path, text);
    }
    case 6:  // gone, or something else in its place
      std::filesystem::remove_all(path);
      if (random() % 2 == 0) return;
      if (random() % 2 == 0) {
        std::filesystem::create_directory(path);
      } else {
        REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
      }
      return;
    case 7: {  // exchanged with another of this directory
      const std::string other = directory + "/" + names[random() % names.size()];
      const Text theirs = read_all(other);
      write_all(other, text);
      return write_all(path, theirs);
    }
    default: {  // of another directory
      const std::string& from = others[random() % others.size()];
      const std::string name = "/" + names[random() % names.size()];
      if (!std::filesystem::is_regular_file(from + name)) return;
      return write_all(directory + name, read_all(from + name));
    }
  }
}

enum Outcome { right_bits = 0, named_error = 1, wrong_bits = 2, unnamed = 3 };

// In a child, which a crash or a hang does not survive.
int outcome_in_child(const std::function<Outcome()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    try {
      ::_exit(work());
    } catch (...) {
      ::_exit(unnamed);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// Runs it until it has asked so many times.
template <typename Model>
void interrupt(const std::string& directory, const std::string& identity, Model model, int after) {
  const Setting setting{.directory = directory, .safety_every = 0, .identity = identity};
  RunOptions options = options_for(setting, model);
  options.stop_when = [&] { return --after < 0; };
  run_or_resume(model, options);
}

}  // namespace

TEMPLATE_TEST_CASE("Whatever is done to a directory, a run ends right or says what is wrong",
                   "[hdf5][run][fault]", W1, AdaptiveDecay) {
  // Runs of two problems at several moments.
  const TempFolder made;
  const TestType model = std::is_same_v<TestType, W1> ? TestType(size) : TestType(size, 1);
  const TestType other = std::is_same_v<TestType, W1> ? TestType(size, 0.91) : TestType(size, 0.9);
  std::vector<std::string> ours;
  std::vector<std::string> all;
  for (const int after : {3, 40, 140, 260, 100'000}) {
    ours.push_back(made.path() + "/ours-" + std::to_string(after));
    interrupt(ours.back(), "ours", model, after);
    all.push_back(ours.back());
    all.push_back(made.path() + "/other-" + std::to_string(after));
    interrupt(all.back(), "other", other, after);
  }
  TestType whole = model;
  sweep(whole);

  Random random(2026);
  int right = 0;
  int refused = 0;
  for (int i = 0; i < attacks; ++i) {
    const TempFolder folder;
    const std::string run = folder.path() + "/run";
    std::filesystem::copy(ours[random() % ours.size()], run);
    for (int k = below(random, 3); k >= 0; --k) damage(run, all, random);
    const Setting setting{.directory = run,
                          .memory_slots = 2 + below(random, 4),
                          .disk_slots = 1 + below(random, 6),
                          .threads = below(random, 3),
                          .safety_every = random() % 2 == 0 ? 0 : 1e9,
                          .identity = "ours"};
    CAPTURE(i);
    const int looked = outcome_in_child([&] {
      try {
        (void)inspect(run, {.verify = true});
      } catch (const InvalidArgument&) {
      }
      return right_bits;
    });
    CHECK(looked == right_bits);
    const int ended = outcome_in_child([&] {
      TestType taken = model;
      try {
        if (!run_or_resume(taken, options_for(setting, taken)).finished) return unnamed;
      } catch (const StorageError& error) {
        return error.path.find(run) == 0 ? named_error : unnamed;
      }
      return taken.bits() == whole.bits() ? right_bits : wrong_bits;
    });
    CHECK((ended == right_bits || ended == named_error));
    (ended == right_bits ? right : refused)++;
  }
  // Both happen.
  CHECK(right > 0);
  CHECK(refused > 0);
}

TEST_CASE("The log of another run is none", "[hdf5][run][fault]") {
  const TempFolder folder;
  const AdaptiveDecay model(size);
  const std::string ours = folder.path() + "/ours";
  const std::string other = folder.path() + "/other";
  interrupt(ours, "ours", model, 300);
  interrupt(other, "other", model, 300);
  write_all(ours + "/steps.log", read_all(other + "/steps.log"));

  CHECK_FALSE(inspect(ours, {.verify = true}).damage.empty());
  const Setting setting{.directory = ours, .identity = "ours"};
  AdaptiveDecay taken = model;
  const RunResult result = run_or_resume(taken, options_for(setting, taken));
  CHECK(result.finished);
  CHECK_FALSE(result.resumed);
  REQUIRE_FALSE(result.damage.empty());
  CHECK(result.damage.front().find("needs the log") != std::string::npos);
  AdaptiveDecay whole = model;
  sweep(whole);
  CHECK(taken.bits() == whole.bits());
}

TEST_CASE("Processes that all want the same run get it one after the other", "[hdf5][run][fault]") {
  const TempFolder folder;
  AdaptiveDecay whole(size);
  sweep(whole);
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(120);
      const Setting setting{.directory = folder.path()};
      int left = 20 + i;
      for (;;) {
        try {
          AdaptiveDecay model(size);
          RunOptions options = options_for(setting, model);
          options.stop_when = [left = left]() mutable { return --left < 0; };
          if (run_or_resume(model, options).finished) {
            ::_exit(model.bits() == whole.bits() ? right_bits : wrong_bits);
          }
          left += 20;  // patience, so that a plan that recomputes much gets on
        } catch (const StorageError& error) {
          if (std::string(error.what()).find("another process") == std::string::npos) {
            ::_exit(unnamed);
          }
          ::sched_yield();
        } catch (...) {
          ::_exit(unnamed);
        }
      }
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == right_bits);
  }
}

TEST_CASE("A limit on the size of files is an error, and the run goes on without it",
          "[hdf5][run][fault]") {
  const TempFolder folder;
  const Setting setting{.directory = folder.path(), .threads = GENERATE(0, 1), .safety_every = 0};
  const int after = GENERATE(-1, 30, 250);  // before, in the forward, and in the reverse sweep
  CAPTURE(setting.threads, after);
  AdaptiveDecay whole(size);
  sweep(whole);
  const int ended = outcome_in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);  // as delivered it ends the process, which is a kill as any other
    rlimit unlimited{};
    ::getrlimit(RLIMIT_FSIZE, &unlimited);
    const auto limit = [&] {
      const rlimit tiny{1000, unlimited.rlim_max};
      ::setrlimit(RLIMIT_FSIZE, &tiny);
    };
    if (after < 0) limit();
    std::string said;
    try {
      AdaptiveDecay model(size);
      RunOptions options = options_for(setting, model);
      options.stop_when = [&, left = after]() mutable {
        if (left-- == 0) limit();
        return false;
      };
      run_or_resume(model, options);
    } catch (const StorageError& error) {
      said = error.what();
      if (error.path.find(folder.path()) != 0) return unnamed;
      if (after >= 0 && error.step == unknown) return unnamed;
    }
    ::setrlimit(RLIMIT_FSIZE, &unlimited);
    if (said.find("File too large") == std::string::npos) return unnamed;
    AdaptiveDecay model(size);
    if (!run_or_resume(model, options_for(setting, model)).finished) return unnamed;
    return model.bits() == whole.bits() ? right_bits : wrong_bits;
  });
  CHECK(ended == right_bits);
}
