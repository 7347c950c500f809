// A long run that is killed again and again, and whose gradient does not care.
//
//   Model      the Brusselator on a ring of cells, u' = A + u^2 v - (B + 1) u + d (u_{i-1} - 2 u_i
//   +
//              u_{i+1}),  v' = B u - u^2 v + d (...), by adaptive Dormand-Prince steps
//   Objective  J = integral of the mean of (u - A)^2
//   Wanted     dJ/d(u(0), v(0)), dJ/d(A, B)
//
// First the gradient is computed in one go, in memory. Then workers, processes of their own,
// compute it in a run directory: some are killed with SIGKILL, in the forward sweep, in the reverse
// sweep, and just after they have taken up the run; some get SIGTERM, as from a batch queue whose
// time is up, finish what they are doing, and say "come back later" by exit status 75. The last one
// ends; its gradient must have the bits of the first.
//
// Usage: resume [--cells N] [--end T] [--directory DIR]
//        resume --worker DIR, with the same options: what a batch job would start

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "costate/core/hash.hpp"
#include "costate/costate.hpp"
#include "costate/hdf5/inspect.hpp"
#include "costate/hdf5/run_directory.hpp"
#include "support/options.hpp"

namespace {

using namespace costate::literals;
using State = Eigen::VectorXd;
using Rates = Eigen::Vector2d;
using Phase = costate::RunRecord::Phase;
using Clock = std::chrono::steady_clock;

// ----- The model
// ----------------------------------------------------------------------------------

struct Brusselator {
  using State = ::State;
  using Parameters = Rates;
  Eigen::Index cells;
  double diffusion = 5;

  // Second differences on the ring; their matrix is symmetric.
  template <class X>
  void add_exchange(const X& x, Eigen::Ref<State> out) const {
    const Eigen::Index n = cells;
    out.segment(1, n - 2) +=
        diffusion * (x.segment(2, n - 2) - 2 * x.segment(1, n - 2) + x.head(n - 2));
    out[0] += diffusion * (x[1] - 2 * x[0] + x[n - 1]);
    out[n - 1] += diffusion * (x[0] - 2 * x[n - 1] + x[n - 2]);
  }
  void rhs(double, const State& y, const Rates& p, State& dydt) const {
    const auto u = y.head(cells).array();
    const auto v = y.tail(cells).array();
    dydt.head(cells) = p[0] + u * u * v - (p[1] + 1) * u;
    dydt.tail(cells) = p[1] * u - u * u * v;
    add_exchange(y.head(cells), dydt.head(cells));
    add_exchange(y.tail(cells), dydt.tail(cells));
  }
  void vjp(double, const State& y, const Rates& p, const State& w, State& y_bar,
           Rates& p_bar) const {
    const auto u = y.head(cells).array();
    const auto v = y.tail(cells).array();
    const auto a = w.head(cells).array();
    const auto b = w.tail(cells).array();
    y_bar.head(cells) = (2 * u * v - (p[1] + 1)) * a + (p[1] - 2 * u * v) * b;
    y_bar.tail(cells) = u * u * (a - b);
    add_exchange(w.head(cells), y_bar.head(cells));
    add_exchange(w.tail(cells), y_bar.tail(cells));
    p_bar[0] += a.sum();
    p_bar[1] += (u * (b - a)).sum();
  }
};

auto mean_square() {
  const auto cells = [](const State& y) { return y.size() / 2; };
  return costate::integral(
      [cells](double, const State& y, const Rates& p) {
        return (y.head(cells(y)).array() - p[0]).square().mean();
      },
      [cells](double, const State& y, const Rates& p, State& y_bar, Rates& p_bar) {
        const auto difference = y.head(cells(y)).array() - p[0];
        y_bar.head(cells(y)).array() += 2 / static_cast<double>(cells(y)) * difference;
        p_bar[0] -= 2 * difference.mean();
      });
}

struct Problem {
  Brusselator model;
  costate::RunOf<Brusselator> run;
  costate::Dopri5 method{.rtol = 1e-7, .atol = 1e-9};
};

Problem make_problem(Eigen::Index cells, double end) {
  State y0(2 * cells);
  for (Eigen::Index i = 0; i < cells; ++i) {
    const double x =
        2 * 3.14159265358979323846 * static_cast<double>(i) / static_cast<double>(cells);
    y0[i] = 1 + 0.5 * std::sin(x) + 0.2 * std::cos(3 * x);
    y0[cells + i] = 3 - 0.3 * std::cos(2 * x);
  }
  return {.model = {.cells = cells},
          .run = {.t0 = 0,
                  .t1 = end,
                  .y0 = y0,
                  .p = Rates(1, 3),
                  .budget = {.memory = static_cast<costate::Bytes>(y0.size()) * 8 * 40 + 1_MiB}}};
}

std::uint64_t fingerprint(const costate::GradientOf<Brusselator>& gradient) {
  std::vector<double> all = {gradient.value};
  all.insert(all.end(), gradient.dp.begin(), gradient.dp.end());
  all.insert(all.end(), gradient.dy0.begin(), gradient.dy0.end());
  return costate::hash_bytes(std::as_bytes(std::span(all)));
}

// ----- The worker: what a batch job starts
// ---------------------------------------------------------

std::atomic<bool> asked_to_stop = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler may do little more

int work(const std::string& directory, const Problem& problem) {
  struct sigaction action {};
  action.sa_handler = [](int) { asked_to_stop = true; };
  sigaction(SIGTERM, &action, nullptr);

  const auto state_bytes = static_cast<costate::Bytes>(problem.run.y0.size()) * 8;
  const auto result = costate::value_and_gradient_or_resume(
      problem.model, problem.method, mean_square(), problem.run,
      {.store =
           costate::run_directory({.directory = directory, .capacity = 1_MiB + 60 * state_bytes}),
       .identity = "Brusselator on a ring",
       .safety_every = 0.05,  // for a run of seconds; minutes for one of days
       .stop_when = [] { return asked_to_stop.load(); }});
  for (const std::string& line : result.damage) std::fprintf(stderr, "%s\n", line.c_str());
  if (!result.finished) return 75;  // come back later
  std::printf("%.17g %016llx\n", result.gradient->value,
              static_cast<unsigned long long>(fingerprint(*result.gradient)));
  return 0;
}

// ----- The demonstration
// ---------------------------------------------------------------------------

// How one worker is to end.
struct Fate {
  int signal;   // 0: left alone
  Phase phase;  // when its records are in this sweep
  double done;  // and this share of the sweep is done; 0: as soon as it works
};

struct Ending {
  bool signalled = false;  // before it was finished
  int status = 0;          // as of waitpid
  std::string printed;
};

// Where the run is, from its records: looking takes no lock.
struct Place {
  bool known = false;
  bool at_work = false;
  Phase phase = Phase::forward;
  costate::Step step = 0;
};
Place look(const std::string& directory) {
  try {
    const costate::Inspection found = costate::inspect(directory);
    Place place;
    place.at_work = !found.worker.empty();
    if (found.current < found.records.size()) {
      place.known = true;
      place.phase = found.records[found.current].phase;
      place.step = found.records[found.current].step;
    }
    return place;
  } catch (const costate::Error&) {
    return {};  // nothing there yet
  }
}

bool reached(const Place& place, const Fate& fate, costate::Step n) {
  if (fate.done == 0) return place.at_work;
  if (!place.known || place.phase != fate.phase) return place.known && fate.phase == Phase::forward;
  const double share = static_cast<double>(place.step) / static_cast<double>(n);
  return (fate.phase == Phase::forward ? share : 1 - share) >= fate.done;
}

Ending run_worker(const std::vector<std::string>& command, const Fate& fate,
                  const std::string& directory, costate::Step n) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("no pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv("/proc/self/exe", arguments.data());
    _exit(127);
  }
  close(ends[1]);
  Ending ending;
  while (waitpid(child, &ending.status, WNOHANG) == 0) {
    if (fate.signal != 0 && !ending.signalled && reached(look(directory), fate, n)) {
      kill(child, fate.signal);
      ending.signalled = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  std::array<char, 256> text{};
  const ssize_t got = read(ends[0], text.data(), text.size() - 1);
  if (got > 0) ending.printed.assign(text.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  return ending;
}

std::string describe(const Ending& ending) {
  if (WIFSIGNALED(ending.status)) return WTERMSIG(ending.status) == SIGKILL ? "SIGKILL" : "signal";
  if (WEXITSTATUS(ending.status) == 75) return "SIGTERM, status 75";
  return WEXITSTATUS(ending.status) == 0 ? "finished" : "an error";
}

std::string describe(const Place& place, costate::Step n) {
  if (!place.known) return "the start";
  return std::string(place.phase == Phase::forward ? "forward" : "reverse") + ", step " +
         std::to_string(place.step) + " of " + std::to_string(n);
}

int demonstrate(const std::string& directory, const Problem& problem,
                const std::vector<std::string>& command) {
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  auto start = Clock::now();
  costate::RunOf<Brusselator> in_memory = problem.run;
  in_memory.budget.memory = 2_GiB;
  const auto whole =
      costate::value_and_gradient(problem.model, problem.method, mean_square(), in_memory);
  const costate::Step n = whole.grid.steps();
  const double alone = seconds_since(start);
  std::printf("In one go: %lld steps of %td numbers, J = %.15g, %.1f s\n\n",
              static_cast<long long>(n), problem.run.y0.size(), whole.value, alone);

  const std::vector<Fate> fates = {{SIGKILL, Phase::forward, 0.3}, {SIGTERM, Phase::forward, 0.6},
                                   {SIGKILL, Phase::forward, 0},   {SIGKILL, Phase::reverse, 0.2},
                                   {SIGTERM, Phase::reverse, 0.4}, {SIGKILL, Phase::reverse, 0},
                                   {SIGKILL, Phase::reverse, 0.7}, {0, Phase::reverse, 1}};
  start = Clock::now();
  std::printf("%6s  %-30s %-20s\n", "worker", "takes up at", "ended by");
  std::string printed;
  for (std::size_t i = 0; i < fates.size() && printed.empty(); ++i) {
    const Place from = look(directory);
    const Ending ending = run_worker(command, fates[i], directory, n);
    std::printf("%6zu  %-30s %-20s\n", i + 1, describe(from, n).c_str(), describe(ending).c_str());
    if (WIFEXITED(ending.status) && WEXITSTATUS(ending.status) == 0) printed = ending.printed;
    if (WIFEXITED(ending.status) && WEXITSTATUS(ending.status) != 0 &&
        WEXITSTATUS(ending.status) != 75) {
      throw std::runtime_error("a worker failed");
    }
  }
  std::array<char, 64> expected{};
  std::snprintf(expected.data(), expected.size(), "%.17g %016llx\n", whole.value,
                static_cast<unsigned long long>(fingerprint(whole)));
  const bool same = printed == expected.data();
  std::printf("\nWith interruptions: %.1f s. All %td numbers have %s bits.\n", seconds_since(start),
              problem.run.y0.size() + 3, same ? "the same" : "OTHER");
  return same ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string cells = example::option(argc, argv, "--cells", "6000");
    const std::string end = example::option(argc, argv, "--end", "200");
    const Problem problem = make_problem(std::stol(cells), std::stod(end));
    const std::string worker = example::option(argc, argv, "--worker", "");
    if (!worker.empty()) return work(worker, problem);
    std::string directory = example::option(argc, argv, "--directory", "");
    const bool own = directory.empty();
    if (own) {
      std::string text = (std::filesystem::temp_directory_path() / "resume-XXXXXX").string();
      if (mkdtemp(text.data()) == nullptr) throw std::runtime_error("no temporary directory");
      directory = text;
    }
    const int status = demonstrate(
        directory, problem, {argv[0], "--worker", directory, "--cells", cells, "--end", end});
    if (own) std::filesystem::remove_all(directory);
    return status;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "resume: %s\n", error.what());
    return 1;
  }
}
