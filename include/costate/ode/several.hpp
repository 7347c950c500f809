#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/integrate/make_kernel.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/ode/objective.hpp"
#include "costate/ode/observation_list.hpp"
#include "costate/ode/ode_stepper.hpp"
#include "costate/ode/run.hpp"
#include "costate/sweep/sweep.hpp"

/// @file
/// The gradients of several objectives in one sweep:
///
/// @code
///   auto result = costate::values_and_gradients(problem, method, std::tuple(misfit, drag), run);
///   result.values[1]; result.dy0[1]; result.dp[1];
/// @endcode
///
/// One forward sweep, one schedule, and every state is restored or recomputed once for all; only
/// the adjoint steps are made for each objective. The results have the bits of one sweep for each,
/// on the same steps.

namespace costate {

/// Values and gradients of several objectives, in their order.
template <RealVector State, RealVector Parameters>
struct Gradients {
  std::vector<double> values;
  std::vector<State> dy0;      ///< ∂J_j/∂y0
  std::vector<Parameters> dp;  ///< ∂J_j/∂p
  TimeGrid grid;               ///< the accepted steps
  Step rejected = 0;           ///< trial steps that were not accepted
  Report report = {};          ///< counts, bytes and seconds

  [[nodiscard]] std::vector<double> times() const { return grid.times(); }
};

namespace several_detail {

/// The value and the adjoint of one objective.
template <Problem F>
class Part {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;

  virtual ~Part() = default;
  [[nodiscard]] virtual std::span<const double> times() const = 0;
  /// Meets its i-th observation on the first pass.
  virtual void observe(std::size_t i, const State& y) = 0;
  /// Whether it has to see the steps of the first pass.
  [[nodiscard]] virtual bool integrates() const = 0;
  virtual void integrate(const Interval& s, const State& y) = 0;
  virtual void turn(const TimeGrid& grid, const State& y) = 0;
  /// Step k, from the state before it as `save` wrote it.
  virtual void reverse(Step k, std::span<const std::byte> state) = 0;
  virtual void reverse_kept(Step from, Step to, Rows rows) = 0;

  [[nodiscard]] virtual double value() const = 0;
  State lambda;
  Parameters p_bar;

 protected:
  Part(const State& y, const Parameters& p) : lambda(y), p_bar(p) {}
};

template <Problem F, class Method, class O>
class PartOf final : public Part<F> {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  static_assert(
      Objective<O, State, Parameters>,
      "an objective has no part whose functions take this problem's State and Parameters");

  PartOf(const F& f, const Method& method, const O& objective, const RunOf<F>& run)
      : Part<F>(run.y0, run.p),
        objective_(objective),
        kernel_(make_kernel(f, method, objective, run.p, run.y0.size())),
        y_(run.y0),
        observations_(times(), run.t0, run.t1) {
    if constexpr (requires { kernel_.start(y_); }) kernel_.start(y_);
    if constexpr (requires { kernel_.place(run.t0, run.t1); }) kernel_.place(run.t0, run.t1);
  }

  [[nodiscard]] std::span<const double> times() const override {
    if constexpr (HasObservations<O, State, Parameters>) {
      return objective_.observation_times();
    } else {
      return {};
    }
  }
  void observe([[maybe_unused]] std::size_t i, [[maybe_unused]] const State& y) override {
    if constexpr (HasObservations<O, State, Parameters>) {
      observed_ += objective_.observation(i, y, kernel_.parameters());
    }
  }
  [[nodiscard]] bool integrates() const override {
    // Observations inside of steps (between_steps.hpp) are summed where an integral is.
    return HasIntegrand<O, State, Parameters> || requires {
      objective_.interpolated_times();
    };
  }
  void integrate(const Interval& s, const State& y) override {
    if constexpr (has_history) {  // which has come along from the first step
      kernel_.advance(&s, 1, y_, y_, {}, {.accumulate = true});
    } else {
      kernel_.advance(&s, 1, y, y_, {}, {.accumulate = true});
    }
  }
  void turn(const TimeGrid& grid, const State& y) override {
    grid_ = &grid;
    observations_.bind(grid);
    lambda.setZero();
    p_bar.setZero();
    if constexpr (has_history) kernel_.begin_adjoint();
    if constexpr (HasTerminal<O, State, Parameters>) {
      terminal_ = objective_.terminal(y, kernel_.parameters());
      objective_.terminal_gradient(y, kernel_.parameters(), lambda, p_bar);
    }
    to_inject_ = observations_.entries().size();
    inject(grid.steps(), y);
  }
  void reverse(Step k, std::span<const std::byte> state) override {
    if constexpr (has_history) {
      kernel_.load(y_, state.data());
    } else {
      std::memcpy(y_.data(), state.data(), state.size());
    }
    run_back(k, k + 1, {});
  }
  void reverse_kept(Step from, Step to, Rows rows) override {
    run_back(from, to, {rows[0].data(), static_cast<std::size_t>(rows[1].data() - rows[0].data())});
  }
  [[nodiscard]] double value() const override { return terminal_ + observed_ + kernel_.integral; }

 private:
  using Kernel = KernelOf<F, Method, O>;
  using StateRows = typename Kernel::StateRows;
  using Part<F>::lambda, Part<F>::p_bar;
  static constexpr Step block = 64;
  static constexpr bool has_history = requires(Kernel & kernel) { kernel.begin_adjoint(); };

  void run_back(Step from, Step to, StateRows rows) {
    for (Step end = to; end > from;) {
      Step k = std::max(from, end - block);
      if (to_inject_ > 0) k = std::max(k, observations_.entries()[to_inject_ - 1].index);
      grid_->fill(k, end, intervals_.data());
      StateRows here = rows;
      if (rows.first != nullptr) here.first += static_cast<std::size_t>(k - from) * rows.stride;
      kernel_.reverse(intervals_.data(), end - k, y_, here, lambda, p_bar);
      inject(k, y_);
      end = k;
    }
  }
  void inject([[maybe_unused]] Step k, [[maybe_unused]] const State& y) {
    if constexpr (HasObservations<O, State, Parameters>) {
      const auto& entries = observations_.entries();
      for (; to_inject_ > 0 && entries[to_inject_ - 1].index == k; --to_inject_) {
        objective_.observation_gradient(entries[to_inject_ - 1].which, y, kernel_.parameters(),
                                        lambda, p_bar);
      }
    }
  }

  const O& objective_;
  Kernel kernel_;
  State y_;
  ObservationList observations_;
  std::size_t to_inject_ = 0;
  double observed_ = 0;
  double terminal_ = 0;
  const TimeGrid* grid_ = nullptr;
  std::array<Interval, block> intervals_{};
};

/// What the forward run sees of all parts: when they observe.
template <Problem F>
struct Watcher {
  std::vector<std::unique_ptr<Part<F>>> parts;
  std::vector<double> times = {};
  std::vector<std::pair<std::size_t, std::size_t>> who = {};  // part, and which of its own

  void collect() {
    for (std::size_t j = 0; j < parts.size(); ++j) {
      for (std::size_t i = 0; i < parts[j]->times().size(); ++i) {
        times.push_back(parts[j]->times()[i]);
        who.emplace_back(j, i);
      }
    }
  }
  [[nodiscard]] std::span<const double> observation_times() const { return times; }
  double observation(std::size_t i, const typename F::State& y,
                     const typename F::Parameters& /*p*/) const {
    parts[who[i].first]->observe(who[i].second, y);
    return 0;
  }
  void observation_gradient(std::size_t, const typename F::State&, const typename F::Parameters&,
                            typename F::State&, typename F::Parameters&) const {}
};

/// One run forward and as many adjoints as there are objectives.
template <Problem F, class Method>
class SeveralStepper final : public Stepper {
 public:
  SeveralStepper(const F& f, const Method& method, Watcher<F>& watcher, const RunOf<F>& run)
      : watcher_(watcher), lead_(f, method, watcher, run.t0, run.t1, run.y0, run.p), y_(run.y0) {
    for (const auto& part : watcher_.parts) integrates_ = integrates_ || part->integrates();
  }

  Step advance(Step from, Step to, Pass pass) override {
    if (pass != Pass::first || !integrates_) return lead_.advance(from, to, pass);
    return first_pass(from, to, [](Step) {});
  }
  Step advance_keeping(Step from, Step to, Pass pass, Rows rows) override {
    if (pass != Pass::first || !integrates_) return lead_.advance_keeping(from, to, pass, rows);
    const Step reached = first_pass(from, to, [&](Step k) { save(rows[k - from]); });
    if (reached < to) save(rows[reached - from]);
    return reached;
  }
  void turn(Step n) override {
    lead_.turn(n);
    for (auto& part : watcher_.parts) part->turn(lead_.grid(), lead_.state());
  }
  void reverse(Step k) override {
    state_.resize(lead_.state_bytes());
    lead_.save(state_);
    for (auto& part : watcher_.parts) part->reverse(k, state_);
  }
  void reverse_kept(Step from, Step to, Rows rows) override {
    for (auto& part : watcher_.parts) part->reverse_kept(from, to, rows);
  }
  [[nodiscard]] std::size_t state_bytes() const override { return lead_.state_bytes(); }
  [[nodiscard]] std::size_t max_state_bytes() const override { return lead_.max_state_bytes(); }
  [[nodiscard]] bool state_size_varies() const override { return lead_.state_size_varies(); }
  void save(std::span<std::byte> out) const override { lead_.save(out); }
  void load(std::span<const std::byte> in) override { lead_.load(in); }
  [[nodiscard]] Step steps() const override { return lead_.steps(); }
  [[nodiscard]] bool can_step_back() const override { return lead_.can_step_back(); }
  void step_back(Step from, Step to) override { lead_.step_back(from, to); }
  [[nodiscard]] std::string accuracy() const override { return lead_.accuracy(); }
  [[nodiscard]] double time(Step k) const override { return lead_.time(k); }
  [[nodiscard]] std::vector<StateField> fields() const override { return lead_.fields(); }

  [[nodiscard]] const TimeGrid& grid() const { return lead_.grid(); }
  [[nodiscard]] Step rejected() const { return lead_.rejected(); }

 private:
  // One step at a time, with the integrals. Stops where the forward run by itself would.
  template <class Keep>
  Step first_pass(Step from, Step to, const Keep& keep) {
    for (Step k = from; k < to; ++k) {
      keep(k);
      y_ = lead_.state();
      const bool known = lead_.steps() != unknown;
      if (lead_.advance(k, k + 1, Pass::first) == k) return k;
      const Interval s = lead_.grid().interval(k);
      for (auto& part : watcher_.parts) {
        if (part->integrates()) part->integrate(s, y_);
      }
      if (!known && lead_.steps() != unknown) return k + 1;
    }
    return to;
  }

  Watcher<F>& watcher_;
  OdeStepper<F, Method, Watcher<F>> lead_;
  bool integrates_ = false;
  typename F::State y_;  // before the step of the first pass
  std::vector<std::byte> state_;
};

template <Problem F, class Method>
Gradients<typename F::State, typename F::Parameters> run(const F& problem, const Method& method,
                                                         Watcher<F> watcher, const RunOf<F>& run) {
  if (watcher.parts.empty()) throw InvalidArgument("there is no objective");
  watcher.collect();
  SeveralStepper<F, Method> stepper(problem, method, watcher, run);
  Gradients<typename F::State, typename F::Parameters> out;
  out.report = sweep(stepper, run.sweep_options());
  for (std::size_t j = 0; j < watcher.parts.size(); ++j) {
    auto& part = *watcher.parts[j];
    if (!std::isfinite(part.value()) || !part.lambda.allFinite() || !part.p_bar.allFinite()) {
      throw NonFiniteError("value or gradient of objective " + std::to_string(j) +
                               " are not finite; a sweep of it alone names the step",
                           unknown);
    }
    out.values.push_back(part.value());
    out.dy0.push_back(std::move(part.lambda));
    out.dp.push_back(std::move(part.p_bar));
  }
  out.grid = stepper.grid();
  out.rejected = stepper.rejected();
  return out;
}

}  // namespace several_detail

/// The values and gradients of several objectives, in one sweep. Steps are placed on the
/// observation times of all of them. A running integral takes one more forward step for each step
/// and objective.
/// @throws InvalidArgument if there is no objective
/// @throws as `value_and_gradient`
template <Problem F, class Method, class... O>
auto values_and_gradients(const F& problem, const Method& method,
                          const std::tuple<O...>& objectives, const RunOf<F>& run) {
  several_detail::Watcher<F> watcher;
  std::apply(
      [&](const auto&... objective) {
        (watcher.parts.push_back(std::make_unique<several_detail::PartOf<F, Method, O>>(
             problem, method, objective, run)),
         ...);
      },
      objectives);
  return several_detail::run(problem, method, std::move(watcher), run);
}

/// The same for any number of objectives of one type.
template <Problem F, class Method, class O>
auto values_and_gradients(const F& problem, const Method& method, const std::vector<O>& objectives,
                          const RunOf<F>& run) {
  several_detail::Watcher<F> watcher;
  for (const O& objective : objectives) {
    watcher.parts.push_back(
        std::make_unique<several_detail::PartOf<F, Method, O>>(problem, method, objective, run));
  }
  return several_detail::run(problem, method, std::move(watcher), run);
}

}  // namespace costate
