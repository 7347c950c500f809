#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/mpi/sweep.hpp"
#include "mpi/burgers.hpp"
#include "mpi/session.hpp"
#include "support/catch.hpp"
#ifdef COSTATE_HAS_HDF5
#include "mpi/own_runs.hpp"
#include "support/faulty_files.hpp"

using namespace costate;
using mpi::RankError;
using mpi::Ranks;
using test::Burgers;
using test::BurgersOptions;

namespace {

using Bits = std::vector<std::uint64_t>;

const BurgersOptions known{.steps = 40, .padding = 4096};
const BurgersOptions open_ended{.known = false, .end_energy = 7.5, .padding = 4096};

Bits plain(Ranks& ranks, const BurgersOptions& model) {
  Burgers flow(ranks, model);
  mpi::sweep(flow, {}, ranks);
  return flow.bits();
}

}  // namespace

TEST_CASE("One rank may stop the run of all, again and again", "[mpi][property]") {
  Ranks ranks(MPI_COMM_WORLD);
  const BurgersOptions model = GENERATE(known, open_ended);
  const Bits expected = plain(ranks, model);
  const test::SharedFolder folder(ranks);
  int calls = 0;
  for (;; ++calls) {
    REQUIRE(calls < 40);
    Burgers flow(ranks, model);
    RunOptions options = test::own_run(ranks, folder.path(), flow, 4, 5);
    int asked = 0;
    if (ranks.rank() == calls % ranks.size()) {
      options.stop_when = [&] { return ++asked == 17 + 5 * calls; };
    }
    const RunResult result = mpi::run_or_resume(flow, options, ranks);
    CHECK(result.resumed == (calls > 0));
    if (!result.finished) continue;
    CHECK(flow.bits() == expected);
    break;
  }
  CHECK(calls > 2);

  // Finished: recognised by all.
  Burgers flow(ranks, model);
  const RunResult again =
      mpi::run_or_resume(flow, test::own_run(ranks, folder.path(), flow, 4, 5), ranks);
  CHECK(again.finished);
  CHECK(flow.bits() == expected);
}

TEST_CASE("One rank's disk fails at any moment, and the run goes on", "[mpi][property]") {
  Ranks ranks(MPI_COMM_WORLD);
  const BurgersOptions model = GENERATE(known, open_ended);
  const Bits expected = plain(ranks, model);
  long operations = 0;
  constexpr int attempts = 8;
  for (int attempt = 0; attempt <= attempts; ++attempt) {
    const int failing = attempt % ranks.size();
    const test::SharedFolder folder(ranks);
    test::FaultyFiles files;
    if (attempt > 0 && ranks.rank() == failing) {
      files.fault = test::FaultyFiles::Fault::error;
      files.at = operations * attempt / (attempts + 1);
    }
    CAPTURE(attempt, operations);
    bool stopped = false;
    {
      Burgers flow(ranks, model);
      try {
        const RunResult result = mpi::run_or_resume(
            flow, test::own_run(ranks, folder.path(), flow, 3, 5, &files), ranks);
        CHECK(result.finished);
        CHECK(flow.bits() == expected);
      } catch (const StorageError&) {
        CHECK(ranks.rank() == failing);
        stopped = true;
      } catch (const RankError& error) {
        CHECK(error.rank == failing);
        stopped = true;
      }
    }
    CHECK(stopped == (attempt > 0));
    if (attempt == 0) operations = -ranks.most(-files.operations);
    Burgers flow(ranks, model);
    const RunResult result =
        mpi::run_or_resume(flow, test::own_run(ranks, folder.path(), flow, 3, 5), ranks);
    CHECK(result.finished);
    CHECK(flow.bits() == expected);
  }
}

TEST_CASE("Ranks that lost something take up what all have", "[mpi][unit]") {
  Ranks ranks(MPI_COMM_WORLD);
  const Bits expected = plain(ranks, known);
  const test::SharedFolder folder(ranks);
  {
    Burgers flow(ranks, known);
    RunOptions options = test::own_run(ranks, folder.path(), flow, 2, 6);
    int asked = 0;
    options.stop_when = [&] { return ++asked == 60; };
    CHECK_FALSE(mpi::run_or_resume(flow, options, ranks).finished);
  }
  const int losing = ranks.size() - 1;
  const std::string own = mpi::own_directory(folder.path(), ranks);
  SECTION("everything") {
    if (ranks.rank() == losing) std::filesystem::remove_all(own);
    Burgers flow(ranks, known);
    const RunResult result =
        mpi::run_or_resume(flow, test::own_run(ranks, folder.path(), flow, 2, 6), ranks);
    CHECK_FALSE(result.resumed);
    CHECK(result.finished);
    CHECK(flow.bits() == expected);
  }
  SECTION("the result, after the others had theirs") {
    {
      Burgers flow(ranks, known);
      mpi::run_or_resume(flow, test::own_run(ranks, folder.path(), flow, 2, 6), ranks);
    }
    if (ranks.rank() == losing) std::filesystem::remove(own + "/result");
    Burgers flow(ranks, known);
    const RunResult result =
        mpi::run_or_resume(flow, test::own_run(ranks, folder.path(), flow, 2, 6), ranks);
    CHECK(result.finished);
    CHECK(flow.bits() == expected);
  }
}

TEST_CASE("A directory of another rank is refused", "[mpi][unit]") {
  Ranks ranks(MPI_COMM_WORLD);
  if (ranks.size() == 1) return;
  const test::SharedFolder folder(ranks);
  {
    Burgers flow(ranks, known);
    RunOptions options = test::own_run(ranks, folder.path(), flow, 2, 6);
    options.stop_when = [] { return true; };
    mpi::run_or_resume(flow, options, ranks);
  }
  const std::string parts = folder.path() + "/rank-";
  if (ranks.rank() == 0) {
    std::filesystem::rename(parts + "0", parts + "x");
    std::filesystem::rename(parts + "1", parts + "0");
    std::filesystem::rename(parts + "x", parts + "1");
  }
  ranks.meet("after the exchange");
  Burgers flow(ranks, known);
  const RunOptions options = test::own_run(ranks, folder.path(), flow, 2, 6);
  CHECK_THROWS_AS(mpi::run_or_resume(flow, options, ranks), Error);
}
#endif
