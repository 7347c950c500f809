#pragma once

// The battery of equal bits: a gradient must not depend on where and how often states are kept.

#include <optional>
#include <vector>

#include "costate/costate.hpp"
#include "costate/schedule/online.hpp"
#include "costate/schedule/revolve.hpp"
#include "support/catch.hpp"
#include "support/problems.hpp"

namespace ode_bits {

using namespace costate;

template <class G>
bool same_bits(const G& a, const G& b) {
  return a.value == b.value && a.dy0 == b.dy0 && a.dp == b.dp && a.times() == b.times();
}

// All three kinds of parts, with parameters in each; observations at both ends, repeated, between.
template <class State, class Parameters>
auto objective(double t0, double t1) {
  const double middle = t0 + 0.37 * (t1 - t0);
  const auto end =
      terminal([](const State& y, const Parameters& p) { return y[0] * y[1] * p[0]; },
               [](const State& y, const Parameters& p, State& y_bar, Parameters& p_bar) {
                 y_bar[0] += y[1] * p[0];
                 y_bar[1] += y[0] * p[0];
                 p_bar[0] += y[0] * y[1];
               });
  const auto running =
      integral([](double t, const State& y, const Parameters& p) { return t * y[0] * y[0] * p[1]; },
               [](double t, const State& y, const Parameters& p, State& y_bar, Parameters& p_bar) {
                 y_bar[0] += 2 * t * y[0] * p[1];
                 p_bar[1] += t * y[0] * y[0];
               });
  const auto seen = observations(
      {middle, t1, t0, middle},
      [](std::size_t i, const State& y, const Parameters& p) {
        return static_cast<double>(i + 1) * y[1] * y[1] * p[0];
      },
      [](std::size_t i, const State& y, const Parameters& p, State& y_bar, Parameters& p_bar) {
        y_bar[1] += 2 * static_cast<double>(i + 1) * y[1] * p[0];
        p_bar[0] += static_cast<double>(i + 1) * y[1] * y[1];
      });
  return end + running + seen;
}

// Where states may be kept: as the driver sees fit in a budget, or in so many slots of memory and
// disk, which must then all be used.
struct Room {
  Budget budget;
  Slot memory = 0;
  Slot disk = 0;

  [[nodiscard]] std::optional<Schedule> schedule(Step n) const {
    if (disk == 0) return std::nullopt;
    const std::vector<TierSlots> tiers{{"memory", memory}, {"disk", disk}};
    return n == unknown ? online(tiers) : revolve(n, tiers);
  }
};

// Runs the method in every room; all must have the bits of the roomiest.
template <class F, class Method>
void check_rooms(const F& f, const Method& method, RunOf<F> run, const std::vector<Room>& rooms) {
  INFO(Method::tableau.name);
  const auto target = objective<typename F::State, typename F::Parameters>(run.t0, run.t1);
  run.budget = {.memory = 1_MiB};
  const auto all = value_and_gradient(f, method, target, run);
  REQUIRE(all.grid.steps() > 5);
  CHECK(all.report.advances == all.grid.steps() - 1);
  const bool adaptive = method.control().adaptive();
  for (const Room& room : rooms) {
    CAPTURE(room.budget.memory, room.memory, room.disk);
    const auto check_run = [&](const Method& how, Step n) {
      run.budget = room.budget;
      run.schedule = room.schedule(n);
      const auto r = value_and_gradient(f, how, target, run);
      CHECK(same_bits(r, all));
      CHECK(r.report.memory_peak <= room.budget.memory);
      if (room.disk > 0) {
        REQUIRE(r.report.tiers.size() == 2);
        CHECK(r.report.tiers[1].writes > 0);
        CHECK(r.report.tiers[1].reads > 0);
      }
    };
    check_run(method, adaptive ? unknown : all.grid.steps());
    // An adaptive run, whose length is not known, has the bits of its recorded steps.
    if (adaptive) check_run(Method::on_grid(all.times()), all.grid.steps());
  }
}

// Every integrator, fixed steps (known length) and adaptive ones (unknown length).
template <class F>
void check_methods(const F& f, const RunOf<F>& run, const std::vector<Room>& rooms) {
  check_rooms(f, Euler{.steps = 23}, run, rooms);
  check_rooms(f, Heun{.steps = 23}, run, rooms);
  check_rooms(f, Midpoint{.steps = 23}, run, rooms);
  check_rooms(f, Ssprk3{.steps = 23}, run, rooms);
  check_rooms(f, BogackiShampine32{.steps = 23}, run, rooms);
  check_rooms(f, RungeKutta4{.h = 0.07}, run, rooms);
  check_rooms(f, DormandPrince54{.h = 0.07}, run, rooms);
  check_rooms(f, Tsitouras54{.steps = 23}, run, rooms);

  check_rooms(f, Heun{.rtol = 1e-3, .atol = 1e-3}, run, rooms);
  check_rooms(f, Midpoint{.rtol = 1e-3, .atol = 1e-3}, run, rooms);
  check_rooms(f, Ssprk3{.rtol = 1e-4, .atol = 1e-4}, run, rooms);
  check_rooms(f, BogackiShampine32{.rtol = 1e-5, .atol = 1e-5}, run, rooms);
  check_rooms(f, DormandPrince54{.rtol = 1e-7, .atol = 1e-7}, run, rooms);
  check_rooms(f, Tsitouras54{.rtol = 1e-7, .atol = 1e-7}, run, rooms);
}

// A problem of fixed and one of dynamic size.
template <class Rooms>
void check_all(const Rooms& rooms_for) {
  const RunOf<problems::LotkaVolterra> small{
      .t0 = 0, .t1 = 2, .y0 = {1.2, 0.7}, .p = {1.5, 1.1, 2.7, 0.9}};
  check_methods(problems::LotkaVolterra{}, small, rooms_for(small.y0));
  const RunOf<problems::Forced> large{.t0 = 0,
                                      .t1 = 2,
                                      .y0 = Eigen::VectorXd::LinSpaced(21, 0.1, 1.3),
                                      .p = Eigen::Vector2d(-2.8, 9.1)};
  check_methods(problems::Forced{}, large, rooms_for(large.y0));
}

}  // namespace ode_bits
