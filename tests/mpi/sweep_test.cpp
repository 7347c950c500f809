#include "costate/mpi/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/sweep/budget.hpp"
#include "mpi/burgers.hpp"
#include "mpi/session.hpp"
#include "support/catch.hpp"
#ifdef COSTATE_HAS_HDF5
#include "costate/hdf5/disk.hpp"
#include "support/faulty_files.hpp"
#include "support/temp_folder.hpp"
#endif

using namespace costate;
using namespace costate::literals;
using mpi::RankError;
using mpi::Ranks;
using test::Burgers;
using test::BurgersOptions;

namespace {

using Bits = std::vector<std::uint64_t>;

// Bits of this rank's part.
Bits swept(Ranks& ranks, const BurgersOptions& model, const SweepOptions& options,
           Report* report = nullptr) {
  Burgers flow(ranks, model);
  const Report got = mpi::sweep(flow, options, ranks);
  if (report != nullptr) *report = got;
  return flow.bits();
}

SweepOptions with_slots(Ranks& ranks, const BurgersOptions& model, Slot slots) {
  return {.budget = {.memory = memory_for(slots, Burgers(ranks, model).state_bytes())}};
}

#ifdef COSTATE_HAS_HDF5
// Room on disk for a little more than `disk_slots` states.
SweepOptions with_disk(Ranks& ranks, const BurgersOptions& model, Slot slots, Slot disk_slots,
                       Hdf5Options disk) {
  const std::size_t own = Burgers(ranks, model).state_bytes();
  SweepOptions options = with_slots(ranks, model, slots);
  disk.capacity = 33_KiB + static_cast<Bytes>(disk_slots) * (own + 128);
  options.budget.disk = hdf5(disk);
  options.budget.memory += options.budget.disk->memory_bytes(own, options.budget.disk->slots(own));
  options.budget.disk_costs = {.write = 0.1, .read = 0.1};
  return options;
}
#endif

// What a rank that does not fail has to see when rank `failed` does.
template <class Work>
void check_all_stop(Ranks& ranks, int failed, const std::string& message, const Work& work) {
  std::string said;
  int from = ranks.rank();
  bool stopped = false;
  try {
    work();
  } catch (const RankError& error) {
    said = error.what();
    from = error.rank;
    stopped = true;
  } catch (const std::exception& error) {
    said = error.what();
    stopped = true;
  }
  CAPTURE(ranks.rank(), said);
  CHECK(stopped);
  CHECK(from == failed);
  const std::string prefix = ranks.rank() == failed ? "" : "rank " + std::to_string(failed) + ": ";
  CHECK(said.substr(0, prefix.size()) == prefix);
  CHECK(said.find(message) != std::string::npos);
}

const BurgersOptions known{.steps = 40};
const BurgersOptions open_ended{.known = false, .end_energy = 7.5};

}  // namespace

TEST_CASE("The gradient does not depend on the number of ranks", "[mpi][property]") {
  Ranks ranks(MPI_COMM_WORLD);
  Ranks alone(MPI_COMM_SELF);
  const BurgersOptions model = GENERATE(known, open_ended);
  Burgers part(ranks, model);
  Burgers whole(alone, model);
  mpi::sweep(part, {}, ranks);
  mpi::sweep(whole, {}, alone);

  REQUIRE(part.steps() == whole.steps());
  REQUIRE(whole.steps() > 20);
  // Each cell's arithmetic is the same wherever the cell is.
  for (std::size_t i = 0; i < part.adjoint().size(); ++i) {
    CHECK(part.adjoint()[i] == whole.adjoint()[part.first() + i]);
  }
  // Sums are in another order. Terms of the value are positive; those of the derivative by nu are
  // less than 100 times their sum here, as their largest part is the sum of the dissipation.
  const auto terms = static_cast<double>((whole.steps() + 1) * 37);
  const double rounding = terms * std::numeric_limits<double>::epsilon();
  CHECK(std::abs(ranks.sum(part.value()) - whole.value()) <= rounding * whole.value());
  CHECK(std::abs(ranks.sum(part.nu_bar()) - whole.nu_bar()) <=
        100 * rounding * std::abs(whole.nu_bar()));
}

TEST_CASE("The gradient is the derivative of the objective", "[mpi][unit]") {
  Ranks ranks(MPI_COMM_WORLD);
  const auto run = [&](double more) {
    Burgers flow(ranks, known);
    flow.nu += more;
    mpi::sweep(flow, {}, ranks);
    return std::pair(ranks.sum(flow.value()), ranks.sum(flow.nu_bar()));
  };
  const double slope = run(0).second;
  // The remainder of a central difference falls with the square of its width.
  const double wide = (run(2e-3).first - run(-2e-3).first) / 4e-3 - slope;
  const double narrow = (run(1e-3).first - run(-1e-3).first) / 2e-3 - slope;
  CHECK(std::abs(wide / narrow - 4) < 0.05);
}

TEST_CASE("Every budget gives the same bits on every rank", "[mpi][property]") {
  Ranks ranks(MPI_COMM_WORLD);
  const BurgersOptions model = GENERATE(known, open_ended);
  const Bits expected = swept(ranks, model, {});
  for (const Slot slots : {2, 3, 9, 30}) {
    CAPTURE(slots);
    CHECK(swept(ranks, model, with_slots(ranks, model, slots)) == expected);
  }
  SweepOptions every = with_slots(ranks, model, 5);
  every.guard = ReplayGuard::every_step;
  every.budget.memory += 4_KiB;
  CHECK(swept(ranks, model, every) == expected);
}

TEST_CASE("Budgets that differ between ranks are agreed on", "[mpi][unit]") {
  Ranks ranks(MPI_COMM_WORLD);
  const BurgersOptions model = GENERATE(known, open_ended);
  const Bits expected = swept(ranks, model, {});
  Report few;
  CHECK(swept(ranks, model, with_slots(ranks, model, 3), &few) == expected);
  Report mixed;
  const Slot own = 3 + 4 * (ranks.size() - 1 - ranks.rank());
  CHECK(swept(ranks, model, with_slots(ranks, model, own), &mixed) == expected);
  CHECK(mixed.tiers[0].slots == 3);
  CHECK(mixed.advances == few.advances);
  CHECK(mixed.memory_peak == few.memory_peak);
}

TEST_CASE("One rank may watch the progress", "[mpi][unit]") {
  Ranks ranks(MPI_COMM_WORLD);
  const BurgersOptions model = GENERATE(known, open_ended);
  const Bits expected = swept(ranks, model, {});
  SweepOptions options = with_slots(ranks, model, 3);
  options.progress_interval = 1e-9;  // as often as it can be
  int calls = 0;
  if (ranks.rank() + 1 == ranks.size()) options.progress = [&](const Progress&) { ++calls; };
  CHECK(swept(ranks, model, options) == expected);
  CHECK((calls > 2) == (ranks.rank() + 1 == ranks.size()));
}

TEST_CASE("A rank that fails stops all with its message", "[mpi][unit]") {
  Ranks ranks(MPI_COMM_WORLD);
  const int failing = GENERATE_COPY(0, Ranks(MPI_COMM_WORLD).size() - 1);
  const Bits expected = swept(ranks, known, {});

  SECTION("its budget is too small") {
    SweepOptions options = with_slots(ranks, known, 4);
    if (ranks.rank() == failing) options.budget.memory = 30;
    check_all_stop(ranks, failing, "a memory budget of 30 B does not hold",
                   [&] { swept(ranks, known, options); });
  }
  SECTION("its step fails where all look") {
    class Failing final : public Burgers {
     public:
      Failing(Ranks& all, int which) : Burgers(all, known), all_(all), which_(which) {}
      void at(Step k) override {
        all_.together([&] {
          if (k == 17 && all_.rank() == which_) throw std::runtime_error("step 17 failed");
        });
      }

     private:
      Ranks& all_;
      int which_;
    };
    Failing flow(ranks, failing);
    check_all_stop(ranks, failing, "step 17 failed",
                   [&] { mpi::sweep(flow, with_slots(ranks, known, 4), ranks); });
  }
  SECTION("its turn fails") {
    class Failing final : public Burgers {
     public:
      using Burgers::Burgers;
      bool fails = false;
      void turn(Step n) override {
        if (fails) throw std::runtime_error("no objective");
        Burgers::turn(n);
      }
    };
    Failing flow(ranks, known);
    flow.fails = ranks.rank() == failing;
    check_all_stop(ranks, failing, "no objective",
                   [&] { mpi::sweep(flow, with_slots(ranks, known, 4), ranks); });
  }
  SECTION("its steps are no functions of their arguments") {
    class Noisy final : public Burgers {
     public:
      using Burgers::Burgers;
      bool noisy = false;
      void at(Step) override {
        if (noisy) nu *= 1 + 1e-9;
      }
    };
    Noisy flow(ranks, known);
    flow.noisy = ranks.rank() == failing;
    // The neighbours' cells differ too, a little later or in the same step.
    SweepOptions options = with_slots(ranks, known, 4);
    options.guard = ReplayGuard::every_step;
    options.budget.memory += 1_KiB;
    CHECK_THROWS_AS(mpi::sweep(flow, options, ranks), Error);
  }
#ifdef COSTATE_HAS_HDF5
  SECTION("its directory cannot be written to") {
    const test::TempFolder folder;
    const bool bad = ranks.rank() == failing;
    const SweepOptions options =
        with_disk(ranks, known, 1, 8, {.directory = bad ? "/proc/nowhere" : folder.path()});
    check_all_stop(ranks, failing, "/proc/nowhere", [&] { swept(ranks, known, options); });
  }
  SECTION("its disk is full at some moment") {
    // Of a run in which nothing fails: how often the disk is asked for something.
    long operations = 0;
    for (int attempt = 0; attempt < 6; ++attempt) {
      const test::TempFolder folder;
      test::FaultyFiles files;
      const SweepOptions options = with_disk(
          ranks, known, 1, 8,
          {.directory = folder.path(), .io_threads = attempt % 2, .buffers = 2, .files = &files});
      if (attempt == 0) {
        CHECK(swept(ranks, known, options) == expected);
        operations = -ranks.most(-files.operations);
        CHECK(operations > 20);
        continue;
      }
      if (ranks.rank() == failing) {
        files.fault = test::FaultyFiles::Fault::error;
        files.at = operations * attempt / 8;
      }
      CAPTURE(attempt);
      check_all_stop(ranks, failing, "No space left on device",
                     [&] { swept(ranks, known, options); });
    }
  }
#endif
  CHECK(swept(ranks, known, with_slots(ranks, known, 3)) == expected);  // they can go on
}

TEST_CASE("Ranks that go different ways say so", "[mpi][unit]") {
  Ranks ranks(MPI_COMM_WORLD);
  if (ranks.size() == 1) return;
  BurgersOptions model = known;
  SECTION("different numbers of steps") {
    if (ranks.rank() == 1) model.steps = 41;
    Burgers flow(ranks, model);
    CHECK_THROWS_AS(mpi::sweep(flow, {}, ranks), ScheduleError);
  }
  SECTION("different calls") {
    Burgers flow(ranks, model);
    std::string said;
    try {
      if (ranks.rank() == 1) {
        ranks.meet("something else");
      } else {
        mpi::sweep(flow, {}, ranks);
      }
    } catch (const RankError& error) {
      said = error.what();
      CHECK(error.rank == -1);
    }
    CHECK(said.find("rank 0 is at 'sweep', rank 1 at 'something else'") != std::string::npos);
  }
}

#ifdef COSTATE_HAS_HDF5
TEST_CASE("Memory and disk, of unequal sizes: the same bits", "[mpi][property]") {
  Ranks ranks(MPI_COMM_WORLD);
  const BurgersOptions model = GENERATE(known, open_ended);
  const Bits expected = swept(ranks, model, {});
  for (const Slot slots : {1, 6}) {
    for (const int threads : {0, 1}) {
      const test::TempFolder folder;
      // Every rank has another disk.
      SweepOptions options =
          with_disk(ranks, model, slots + ranks.rank(), 8 + ranks.rank(),
                    {.directory = folder.path(), .io_threads = threads, .buffers = 2});
      options.budget.disk_costs = {.write = 0.1 * (1 + ranks.rank()), .read = 0.1};
      Report report;
      CAPTURE(slots, threads);
      CHECK(swept(ranks, model, options, &report) == expected);
      CAPTURE(report.schedule, report.tiers[0].slots);
      REQUIRE(report.tiers.size() == 2);
      CHECK(report.tiers[1].writes > 0);
    }
  }
}
#endif

TEST_CASE("A simulation that steps back", "[mpi][unit]") {
  Ranks ranks(MPI_COMM_WORLD);
  // x += (k + 1) (rank + 1): undone exactly.
  class Counter final : public Stepper {
   public:
    explicit Counter(std::int64_t by) : by_(by) {}
    std::int64_t x = 7;
    std::int64_t reversed = 0;
    Step advance(Step from, Step to, Pass) override {
      for (Step k = from; k < to; ++k) x += (k + 1) * by_;
      return to;
    }
    void step_back(Step from, Step to) override {
      for (Step k = from - 1; k >= to; --k) x -= (k + 1) * by_;
    }
    [[nodiscard]] bool can_step_back() const override { return true; }
    void turn(Step) override {}
    void reverse(Step) override { ++reversed; }
    [[nodiscard]] std::size_t state_bytes() const override { return sizeof x; }
    void save(std::span<std::byte> out) const override { std::memcpy(out.data(), &x, sizeof x); }
    void load(std::span<const std::byte> in) override { std::memcpy(&x, in.data(), sizeof x); }
    [[nodiscard]] Step steps() const override { return 1000; }

   private:
    std::int64_t by_;
  };
  Counter counter(ranks.rank() + 1);
  SweepOptions options{.guard = GENERATE(ReplayGuard::sampled, ReplayGuard::every_step)};
  if (ranks.rank() == 0) options.progress = [](const Progress&) {};
  mpi::sweep(counter, options, ranks);
  CHECK(counter.x == 7);
  CHECK(counter.reversed == 1000);
}

TEST_CASE("Sums are the same on all ranks", "[mpi][unit]") {
  Ranks ranks(MPI_COMM_WORLD);
  std::vector<double> numbers = {0.1 * (ranks.rank() + 1), 1e16 * (ranks.rank() % 2 == 0 ? 1 : -1)};
  ranks.sum(numbers);
  double expected = 0;
  for (int r = 0; r < ranks.size(); ++r) expected += 0.1 * (r + 1);
  CHECK(numbers[0] == expected);
  CHECK(numbers[1] == (ranks.size() % 2 == 0 ? 0 : 1e16));
}
