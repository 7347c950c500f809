#pragma once

// The battery of equal bits: a gradient must not depend on where and how often states are kept.

#include <vector>

#include "costate/costate.hpp"
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

// Runs the method in every budget; all must have the bits of the roomiest.
template <class F, class Method>
void check_budgets(const F& f, const Method& method, RunOf<F> run,
                   const std::vector<Budget>& budgets) {
  INFO(Method::tableau.name);
  const auto target = objective<typename F::State, typename F::Parameters>(run.t0, run.t1);
  run.budget = {.memory = 1_MiB};
  const auto all = value_and_gradient(f, method, target, run);
  REQUIRE(all.grid.steps() > 5);
  CHECK(all.report.advances == all.grid.steps() - 1);
  for (const Budget& budget : budgets) {
    CAPTURE(budget.memory);
    run.budget = budget;
    const auto r = value_and_gradient(f, method, target, run);
    CHECK(same_bits(r, all));
    CHECK(r.report.memory_peak <= budget.memory);
  }
  // An adaptive run, whose length is not known, has the bits of the run on its recorded steps.
  if (method.control().adaptive()) {
    for (const Budget& budget : budgets) {
      run.budget = budget;
      const auto r = value_and_gradient(f, Method{.grid = all.times()}, target, run);
      CHECK(same_bits(r, all));
    }
  }
}

// Every integrator, fixed steps (known length) and adaptive ones (unknown length).
template <class F>
void check_methods(const F& f, const RunOf<F>& run, const std::vector<Budget>& budgets) {
  check_budgets(f, Euler{.steps = 23}, run, budgets);
  check_budgets(f, Heun{.steps = 23}, run, budgets);
  check_budgets(f, Midpoint{.steps = 23}, run, budgets);
  check_budgets(f, Ssprk3{.steps = 23}, run, budgets);
  check_budgets(f, BogackiShampine32{.steps = 23}, run, budgets);
  check_budgets(f, RungeKutta4{.h = 0.07}, run, budgets);
  check_budgets(f, DormandPrince54{.h = 0.07}, run, budgets);
  check_budgets(f, Tsitouras54{.steps = 23}, run, budgets);

  check_budgets(f, Heun{.rtol = 1e-3, .atol = 1e-3}, run, budgets);
  check_budgets(f, Midpoint{.rtol = 1e-3, .atol = 1e-3}, run, budgets);
  check_budgets(f, Ssprk3{.rtol = 1e-4, .atol = 1e-4}, run, budgets);
  check_budgets(f, BogackiShampine32{.rtol = 1e-5, .atol = 1e-5}, run, budgets);
  check_budgets(f, DormandPrince54{.rtol = 1e-7, .atol = 1e-7}, run, budgets);
  check_budgets(f, Tsitouras54{.rtol = 1e-7, .atol = 1e-7}, run, budgets);
}

// A problem of fixed and one of dynamic size.
template <class Budgets>
void check_all(const Budgets& budgets_for) {
  const RunOf<problems::LotkaVolterra> small{
      .t0 = 0, .t1 = 2, .y0 = {1.2, 0.7}, .p = {1.5, 1.1, 2.7, 0.9}};
  check_methods(problems::LotkaVolterra{}, small, budgets_for(small.y0));
  const RunOf<problems::Forced> large{.t0 = 0,
                                      .t1 = 2,
                                      .y0 = Eigen::VectorXd::LinSpaced(21, 0.1, 1.3),
                                      .p = Eigen::Vector2d(-2.8, 9.1)};
  check_methods(problems::Forced{}, large, budgets_for(large.y0));
}

}  // namespace ode_bits
