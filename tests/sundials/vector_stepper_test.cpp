#include "costate/sundials/vector_stepper.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <nvector/nvector_manyvector.h>
#include <nvector/nvector_serial.h>
#ifdef COSTATE_TEST_nvecopenmp
#include <nvector/nvector_openmp.h>
#endif
#ifdef COSTATE_TEST_nvecpthreads
#include <nvector/nvector_pthreads.h>
#endif

#include "costate/core/error.hpp"
#include "costate/sundials/vector.hpp"
#include "costate/sweep/budget.hpp"
#include "costate/sweep/sweep.hpp"
#include "sundials/logistic.hpp"
#include "support/catch.hpp"
#ifdef COSTATE_HAS_HDF5
#include "costate/hdf5/disk.hpp"
#include "costate/hdf5/run_directory.hpp"
#include "costate/sweep/run.hpp"
#include "support/temp_folder.hpp"
#endif

using namespace costate;
using costate::sundials::Context;
using costate::sundials::Vector;
using costate::sundials::VectorStepper;
using test::Logistic;

namespace {

constexpr std::size_t size = 24;
constexpr Step steps = 50;

double start(std::size_t i) {
  return 0.1 + 0.03 * static_cast<double>(i);
}

// A vector of one of the kinds, filled with x_0, and what it is made of.
struct Made {
  std::vector<Vector> parts;
  std::vector<double> array;
  Vector x;
};

const std::vector<std::string> kinds = {
    "wrapped",     "serial",
#ifdef COSTATE_TEST_nvecopenmp
    "OpenMP",
#endif
#ifdef COSTATE_TEST_nvecpthreads
    "pthreads",
#endif
    "many-vector",
};

Made make(const std::string& kind, const Context& context) {
  Made made;
  const auto n = static_cast<sunindextype>(size);
  const auto fill = [](N_Vector v, std::size_t from) {
    const std::span<double> values = costate::sundials::entries(v);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = start(from + i);
  };
  if (kind == "wrapped") {
    made.array.resize(size);
    made.x = costate::sundials::wrap(made.array, context);
  } else if (kind == "serial") {
    made.x = Vector(N_VNew_Serial(n, context));
#ifdef COSTATE_TEST_nvecopenmp
  } else if (kind == "OpenMP") {
    made.x = Vector(N_VNew_OpenMP(n, 2, context));
#endif
#ifdef COSTATE_TEST_nvecpthreads
  } else if (kind == "pthreads") {
    made.x = Vector(N_VNew_Pthreads(n, 2, context));
#endif
  } else {
    made.parts.emplace_back(N_VNew_Serial(n / 3, context));
#ifdef COSTATE_TEST_nvecopenmp
    made.parts.emplace_back(N_VNew_OpenMP(n - n / 3, 2, context));
#else
    made.parts.emplace_back(N_VNew_Serial(n - n / 3, context));
#endif
    fill(made.parts[0].get(), 0);
    fill(made.parts[1].get(), size / 3);
    N_Vector both[] = {made.parts[0].get(), made.parts[1].get()};
    made.x = Vector(N_VNew_ManyVector(2, both, context));
    return made;
  }
  fill(made.x.get(), 0);
  return made;
}

struct Result {
  std::vector<std::uint64_t> x_bar;
  double value;
  double growth_bar;
};

Result run(const std::string& kind, bool known, const SweepOptions& options) {
  const Context context;
  const Made made = make(kind, context);
  Logistic logistic(made.x.get());
  VectorStepper stepper(made.x.get(), logistic.model(steps, known));
  sweep(stepper, options);
  return {test::bits(stepper.adjoint()), logistic.sums[0], logistic.sums[1]};
}

bool same(const Result& a, const Result& b) {
  return a.x_bar == b.x_bar && a.value == b.value && a.growth_bar == b.growth_bar;
}

}  // namespace

TEST_CASE("Vectors of every kind are states", "[sundials][property]") {
  // The derivative of each entry by the one it comes from, by hand.
  std::vector<double> expected(size);
  double growth_bar = 0;
  double size_of_terms = 0;
  for (std::size_t i = 0; i < size; ++i) {
    double x = start(i);
    double by_start = 1;
    double by_growth = 0;
    for (Step k = 0; k < steps; ++k) {
      const double rate = Logistic::h * 1.3;
      by_growth = (1 + rate * (1 - 2 * x)) * by_growth + Logistic::h * x * (1 - x);
      by_start *= 1 + rate * (1 - 2 * x);
      x += rate * x * (1 - x);
    }
    expected[i] = x * by_start;
    growth_bar += x * by_growth;
    size_of_terms += std::abs(x * by_growth);
  }

  const std::string kind = GENERATE(from_range(kinds));
  const bool known = GENERATE(true, false);
  CAPTURE(kind, known);
  const Result whole = run(kind, known, {});
  const double rounding = 20 * static_cast<double>(steps) * std::numeric_limits<double>::epsilon();
  REQUIRE(whole.x_bar.size() == size);
  for (std::size_t i = 0; i < size; ++i) {
    CHECK(std::abs(std::bit_cast<double>(whole.x_bar[i]) - expected[i]) <=
          rounding * std::abs(expected[i]));
  }
  CHECK(std::abs(whole.growth_bar - growth_bar) <= rounding * size_of_terms);

  for (const Slot slots : {2, 3, 7, 20}) {
    CAPTURE(slots);
    CHECK(same(run(kind, known, {.budget = {.memory = memory_for(slots, 8 * size)}}), whole));
  }
#ifdef COSTATE_HAS_HDF5
  const test::TempFolder folder;
  SweepOptions options;
  options.budget.disk = hdf5({.directory = folder.path(), .capacity = 36_KiB});
  options.budget.memory = memory_for(1, 8 * size) + options.budget.disk->memory_bytes(8 * size, 5);
  options.guard = ReplayGuard::off;
  CHECK(same(run(kind, known, options), whole));

  // Stopped every now and then.
  for (int calls = 0;; ++calls) {
    REQUIRE(calls < 100);
    const Context context;
    const Made made = make(kind, context);
    Logistic logistic(made.x.get());
    VectorStepper stepper(made.x.get(), logistic.model(steps, known));
    int asked = 0;
    const RunResult result =
        run_or_resume(stepper, {.store = run_directory({.directory = folder.path() + "/run",
                                                        .capacity = 1_MiB,
                                                        .durability = Durability::none}),
                                .identity = "logistic",
                                .memory = 64_KiB,
                                .safety_every = 0,
                                .stop_when = [&] { return ++asked > 2 + calls; },
                                .progress_interval = 1e-9});
    if (!result.finished) continue;
    CHECK(same({test::bits(stepper.adjoint()), logistic.sums[0], logistic.sums[1]}, whole));
    break;
  }
#endif
}

TEST_CASE("A wrapped state stays where it is", "[sundials][unit]") {
  const Context context;
  Made made = make("wrapped", context);
  Logistic logistic(made.x.get());
  VectorStepper stepper(made.x.get(), logistic.model(steps, true));
  CHECK(stepper.state_bytes() == 8 * size);
  REQUIRE(stepper.fields().size() == 1);
  CHECK(to_string(stepper.fields()[0]) == "x float64 (24)");
  stepper.advance(0, 1, Pass::first);
  std::vector<double> saved(size);
  stepper.save(std::as_writable_bytes(std::span(saved)));
  CHECK(saved == made.array);
  stepper.advance(1, 2, Pass::first);
  CHECK(saved != made.array);
  stepper.load(std::as_bytes(std::span(saved)));
  CHECK(saved == made.array);
}

TEST_CASE("What a vector's simulation lacks is said", "[sundials][unit]") {
  const Context context;
  const Made made = make("serial", context);
  CHECK_THROWS_AS(VectorStepper(made.x.get(), {}), InvalidArgument);
  Logistic logistic(made.x.get());
  const Vector plain(N_VClone(made.x.get()));
  plain->ops->nvbufpack = nullptr;
  CHECK_THROWS_AS(VectorStepper(plain.get(), logistic.model(3, true)), InvalidArgument);
  CHECK_THROWS_AS(VectorStepper(nullptr, logistic.model(3, true)), InvalidArgument);
}
