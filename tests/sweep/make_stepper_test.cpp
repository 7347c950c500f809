#include "costate/sweep/make_stepper.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "costate/sweep/sweep.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

// Case C45: map M1 with n = 12; each model has other ones of the functions.
constexpr Step n = 12;
constexpr double p = 1.2;

struct InPlace {  // works on its state in place and keeps a pointer to it
  std::vector<double> y{1};
  double* kept = y.data();
  double y_bar = 0;
  double p_bar = 0;
  double value = 0;

  [[nodiscard]] Step steps() const { return n; }
  void step(Step) { *kept += 0.5 * p * std::sin(*kept); }
  void turn(Step) {
    value = y[0] * y[0];
    y_bar = 2 * y[0];
  }
  void reverse(Step) {
    p_bar += y_bar * 0.5 * std::sin(y[0]);
    y_bar *= 1 + 0.5 * p * std::cos(y[0]);
  }
  std::vector<double>& state() { return y; }
};

struct Fixed {  // its state is an array whose type knows the size
  std::array<double, 1> y{1};
  double y_bar = 0;
  double p_bar = 0;
  double value = 0;

  [[nodiscard]] Step steps() const { return n; }
  void step(Step) { y[0] += 0.5 * p * std::sin(y[0]); }
  void turn(Step) {
    value = y[0] * y[0];
    y_bar = 2 * y[0];
  }
  void reverse(Step) {
    p_bar += y_bar * 0.5 * std::sin(y[0]);
    y_bar *= 1 + 0.5 * p * std::cos(y[0]);
  }
  std::array<double, 1>& state() { return y; }
};

struct Replacing {  // makes a new state and scribbles over the old one
  std::vector<double> y{1};
  double y_bar = 0;
  double p_bar = 0;
  double value = 0;
  Step firsts = 0;

  bool step(Step k, Pass pass) {
    if (k == n) return false;
    if (pass == Pass::first) ++firsts;
    const std::vector<double> next{y[0] + 0.5 * p * std::sin(y[0])};
    y[0] = std::nan("");
    y = next;
    return true;
  }
  void turn(Step) {
    value = y[0] * y[0];
    y_bar = 2 * y[0];
  }
  void reverse(Step) {
    p_bar += y_bar * 0.5 * std::sin(y[0]);
    y_bar *= 1 + 0.5 * p * std::cos(y[0]);
  }
  [[nodiscard]] std::size_t state_bytes() const { return 8; }
  void save(std::span<std::byte> out) const { std::memcpy(out.data(), y.data(), 8); }
  void load(std::span<const std::byte> in) { std::memcpy(y.data(), in.data(), 8); }
};

struct Ranges : InPlace {
  void step(Step) = delete;
  void advance(Step from, Step to) {
    for (Step k = from; k < to; ++k) InPlace::step(k);
  }
};

static_assert(StepperModel<InPlace> && StepperModel<Replacing> && StepperModel<Ranges>);
static_assert(!StepperModel<int>);

template <typename Model>
std::array<std::uint64_t, 3> bits(Slot slots) {
  Model model;
  auto stepper = make_stepper(model);
  sweep(stepper, {.budget = {.memory = memory_for(slots, 8)}});
  CHECK(model.value == Catch::Approx(9.8686749485405774159).epsilon(1e-13));
  CHECK(model.y_bar == Catch::Approx(0.0019741728455386741671).epsilon(1e-12));
  CHECK(model.p_bar == Catch::Approx(0.012574516144083045465).epsilon(1e-12));
  return {std::bit_cast<std::uint64_t>(model.value), std::bit_cast<std::uint64_t>(model.y_bar),
          std::bit_cast<std::uint64_t>(model.p_bar)};
}

}  // namespace

TEST_CASE("C45: models that work in place or replace their state give the same bits",
          "[sweep][golden]") {
  const auto all = bits<InPlace>(12);
  for (const Slot slots : {1, 2, 3, 12}) {
    CAPTURE(slots);
    CHECK(bits<InPlace>(slots) == all);
    CHECK(bits<Replacing>(slots) == all);
    CHECK(bits<Ranges>(slots) == all);
    CHECK(bits<Fixed>(slots) == all);
  }
  Fixed fixed;
  CHECK(make_stepper(fixed).fields().size() == 1);
}

TEST_CASE("The first pass runs each step once", "[sweep][unit]") {
  Replacing model;
  auto stepper = make_stepper(model);
  sweep(stepper, {.budget = {.memory = memory_for(2, 8)}});
  CHECK(model.firsts == n);
}
