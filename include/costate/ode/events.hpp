#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "costate/core/error.hpp"
#include "costate/integrate/make_kernel.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/integrate/step_control.hpp"
#include "costate/ode/event.hpp"
#include "costate/ode/objective.hpp"
#include "costate/ode/ode_stepper.hpp"
#include "costate/ode/run.hpp"
#include "costate/ode/times.hpp"
#include "costate/sweep/sweep.hpp"

/// @file
/// Runs with events:
///
/// @code
///   // A ball that bounces with the coefficient p[1].
///   const auto bounce = costate::with_jump(
///       costate::autodiff_event<State, Parameters>(
///           [](const auto&, const auto& y, const auto&, auto& g) { g = y[0]; }),
///       [](const auto&, const auto& y, const auto& p, auto& after) { after[1] = -p[1] * y[1]; });
///   auto result = costate::value_and_gradient_with_events(
///       costate::autonomous(ball), method, objective, {bounce}, run);
///   result.events[0].t; result.dy0; result.dp;
/// @endcode
///
/// A first run chooses the steps and locates the events: a step over which g changes its sign is
/// shortened, by itself and not by an interpolant, until it ends where g = 0. The sweep then runs
/// on the recorded steps, so that it, too, is a run of known length on any schedule.
///
/// The gradient is exact for the steps as they are, with the end of the step to an event (and the
/// beginning of the next one) a function of y0 and p by g = 0: the saltation terms of the discrete
/// run. An observation at the time of an event sees the state after it.

namespace costate {

/// A run with events that is known: the problem, and what happens when.
template <HasTimeDerivative F>
class EventProblem {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Events = std::vector<Event<State, Parameters>>;

  /// @param f, events, occurrences  must outlive it
  /// @param occurrences             in the order of index; their derivatives are written
  /// @param t_bar                   of the objective by each `t`
  EventProblem(const F& f, const Events& events, std::vector<Occurrence>& occurrences,
               std::span<const double> t_bar)
      : f_(f), events_(events), occurrences_(occurrences), t_bar_(t_bar) {}

  void rhs(double t, const State& y, const Parameters& p, State& dydt) const {
    f_.rhs(t, y, p, dydt);
  }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    f_.vjp(t, y, p, w, y_bar, p_bar);
  }

  [[nodiscard]] const F& problem() const { return f_; }
  [[nodiscard]] const Event<State, Parameters>& event(const Occurrence& o) const {
    return events_[o.which];
  }
  [[nodiscard]] double t_bar(const Occurrence& o) const {
    return t_bar_[static_cast<std::size_t>(&o - occurrences_.data())];
  }
  /// What happens at index k, in its order.
  [[nodiscard]] std::span<Occurrence> at(Step k) const {
    const auto first = std::lower_bound(occurrences_.begin(), occurrences_.end(), k,
                                        [](const Occurrence& o, Step i) { return o.index < i; });
    auto last = first;
    while (last != occurrences_.end() && last->index == k) ++last;
    return {first, last};
  }

 private:
  const F& f_;
  const Events& events_;
  std::vector<Occurrence>& occurrences_;
  std::span<const double> t_bar_;
};

/// The step of a method, then what happens at its end. A step x_k → x_{k+1} includes it, so that
/// states are those after.
template <HasTimeDerivative F, class Method, class Objective>
class EventKernel {
  using Base = typename Method::template Kernel<Stretched<F>, NoIntegrand>;
  using Extended = typename Stretched<F>::Parameters;

 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using StateRows = typename Base::StateRows;
  using Extras = typename Base::Extras;
  static constexpr bool estimates_error = false;  // the steps are known
  static_assert(
      !HasIntegrand<Objective, State, Parameters>,
      "an integrand does not see the moving times of events: make the integral a component of the "
      "state");
  static_assert(
      !requires(Base & base) { base.begin_adjoint(); },
      "a method whose steps read their history is not for problems with events");

  EventKernel(const EventProblem<F>& f, const Method& method, const Objective& /*objective*/,
              const Parameters& p, Eigen::Index size)
      : f_(f),
        stretched_(f.problem(), 2),
        p_(p),
        extended_(extend(p)),
        base_(make_base(stretched_, method, extended_, size)),
        before_(size),
        after_(size),
        other_(size),
        sum_(extended_),
        other_sum_(extended_),
        p_bar_(p) {}
  EventKernel(const EventKernel&) = delete;
  EventKernel& operator=(const EventKernel&) = delete;
  ~EventKernel() = default;

  void advance(const Interval* s, Step count, const State& from, State& to, StateRows rows,
               Extras /*extras*/) {
    const State* y = &from;
    for (Step i = 0; i < count; ++i) {
      if (rows.first != nullptr) rows.put(i, *y);
      step(s[i], *y, to);
      for (const Occurrence& o : f_.at(s[i].k + 1)) jump(o, to);
      y = &to;
    }
  }

  void reverse(const Interval* s, Step count, State& y, StateRows rows, State& lambda,
               Parameters& p_bar) {
    for (Step i = count - 1; i >= 0; --i) {
      if (rows.first != nullptr) rows.get(i, y);
      backward(s[i], y, lambda, p_bar);
    }
  }

  double integral = 0;
  [[nodiscard]] const Parameters& parameters() const noexcept { return p_; }

 private:
  static Extended extend(const Parameters& p) {
    Extended out = Extended::Zero(p.size() + 2);
    for (Eigen::Index i = 0; i < p.size(); ++i) out[i] = p[i];
    return out;
  }
  static const NoIntegrand& nothing() {
    static const NoIntegrand none;
    return none;
  }
  static Base make_base(const Stretched<F>& f, const Method& method, const Extended& p,
                        Eigen::Index size) {
    if constexpr (std::is_constructible_v<Base, const Stretched<F>&, const Method&,
                                          const NoIntegrand&, const Extended&, Eigen::Index>) {
      return Base(f, method, nothing(), p, size);
    } else {
      return Base(f, nothing(), p, size);
    }
  }

  void enter(const Interval& s) {
    stretched_.stretch(s.t, s.t_next, 0, 1);
    stretched_.enter_inner(s);
  }
  void step(const Interval& s, const State& y, State& to) {
    enter(s);
    base_.advance(&s, 1, y, to, {}, {});
  }
  void jump(const Occurrence& o, State& y) {
    const auto& event = f_.event(o);
    if (!event.jump) return;
    other_ = y;
    event.jump(o.t, other_, p_, y);
  }

  // λ back over the step; the derivatives by its two ends are in the last entries of `sum`.
  void plain(const Interval& s, State& y, State& lambda, Extended& sum) {
    sum.setZero();
    enter(s);
    base_.reverse(&s, 1, y, {}, lambda, sum);
  }

  void backward(const Interval& s, State& y, State& lambda, Parameters& p_bar) {
    const Eigen::Index n = p_.size();
    const auto here = f_.at(s.k + 1);
    if (here.empty()) {
      plain(s, y, lambda, sum_);
      for (Eigen::Index i = 0; i < n; ++i) p_bar[i] += sum_[i];
      by_begin_ = static_cast<double>(sum_[n]);
      return;
    }
    // What the objective changes by when the event is later, with the state before it unchanged.
    double by_time = by_begin_;
    step(s, y, before_);
    for (std::size_t j = here.size(); j-- > 0;) {
      by_time += f_.t_bar(here[j]);
      const auto& event = f_.event(here[j]);
      if (!event.jump) continue;
      after_ = before_;
      for (std::size_t i = 0; i < j; ++i) jump(here[i], after_);
      by_time += event.jump_vjp(here[j].t, after_, p_, lambda, p_bar);
    }

    double multiplier = 0;
    double begin_of_root = 0;
    if (here[0].located) {
      const auto& event = f_.event(here[0]);
      State& l = after_;
      l.setZero(lambda.size());
      p_bar_.setZero();
      const double g_t = event.root_gradient(s.t_next, before_, p_, l, p_bar_);
      other_ = before_ - y;  // over the step: what the rate of g is measured against
      const double size =
          static_cast<double>(l.norm()) * static_cast<double>(other_.norm()) / std::abs(s.h);
      plain(s, y, l, other_sum_);
      const double rate = static_cast<double>(other_sum_[n + 1]) + g_t;
      if (!(std::abs(rate) > 1e-8 * (size + std::abs(g_t)))) {
        throw IntegrationError("event " + std::to_string(here[0].which) +
                                   " at t = " + std::to_string(s.t_next) +
                                   " is touched, not crossed: its time has no derivative",
                               s.k + 1, s.t_next);
      }
      plain(s, y, lambda, sum_);
      by_time += static_cast<double>(sum_[n + 1]);
      multiplier = -by_time / rate;
      using Scalar = typename State::Scalar;
      lambda += static_cast<Scalar>(multiplier) * l;
      for (Eigen::Index i = 0; i < n; ++i) {
        p_bar[i] +=
            static_cast<typename Parameters::Scalar>(multiplier) * (p_bar_[i] + other_sum_[i]);
      }
      begin_of_root = static_cast<double>(other_sum_[n]);
    } else {
      plain(s, y, lambda, sum_);
      here[0].derivative = by_time + static_cast<double>(sum_[n + 1]);
    }
    for (Eigen::Index i = 0; i < n; ++i) p_bar[i] += sum_[i];
    by_begin_ = static_cast<double>(sum_[n]) + multiplier * begin_of_root;
  }

  const EventProblem<F>& f_;
  Stretched<F> stretched_;
  Parameters p_;
  Extended extended_;
  Base base_;
  State before_, after_, other_;
  Extended sum_, other_sum_;
  Parameters p_bar_;
  double by_begin_ = 0;  // ∂J/∂t of the index that the adjoint has reached, by the step from it on
};

template <HasTimeDerivative F, class Method, class Objective>
struct ChooseKernel<EventProblem<F>, Method, Objective> {
  using type = EventKernel<F, Method, Objective>;
};

namespace event_detail {

/// The forward run that chooses the steps and finds what happens.
template <HasTimeDerivative F, class Method>
class Search {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Events = std::vector<Event<State, Parameters>>;

  Search(const F& f, const Method& method, const Events& events, const RunOf<F>& run,
         std::span<const double> observed)
      : f_(f),
        events_(events),
        p_(run.p),
        control_(method.control()),
        kernel_(make_kernel(f, method, none_, run.p, run.y0.size())),
        y_(run.y0),
        next_(run.y0),
        scratch_(run.y0),
        t_(run.t0),
        sign_(run.t1 < run.t0 ? -1 : 1),
        signs_(events.size(), 0) {
    std::vector<double> stops = stops_of(f, observed, run.t0, run.t1);
    for (const auto& event : events) {
      if (event.at.has_value() == static_cast<bool>(event.root)) {
        throw InvalidArgument("an event has either a root or a given time");
      }
      if (event.root && !event.root_gradient) {
        throw InvalidArgument("an event with a root needs its root_gradient");
      }
      if (event.jump && !event.jump_vjp) {
        throw InvalidArgument("an event with a jump needs its jump_vjp");
      }
      if (!event.at) continue;
      if (!(sign_ * (*event.at - run.t0) > 0 && sign_ * (run.t1 - *event.at) >= 0)) {
        throw InvalidArgument("the given time of an event, " + std::to_string(*event.at) +
                              ", is not between t0 and t1");
      }
      stops.push_back(*event.at);
    }
    check(control_, run.t0, run.t1, stops);
    times.push_back(t_);
    if (run.t0 == run.t1) return;
    for (std::size_t e = 0; e < events_.size(); ++e) arm(e);
    if (control_.adaptive()) {
      if constexpr (decltype(kernel_)::estimates_error) adaptive(run, stops);
    } else {
      const TimeGrid grid = fixed_grid(control_, run.t0, run.t1, stops);
      Step i = 1;
      while (!ended_ && i <= grid.steps()) {
        const Interval s{t_, grid[i] - t_, grid[i], steps()};
        kernel_.advance(&s, 1, y_, next_, {}, {});
        if (take(s)) ++i;
      }
    }
  }

  std::vector<double> times;
  std::vector<Occurrence> occurrences;
  Step rejected = 0;

 private:
  [[nodiscard]] Step steps() const { return static_cast<Step>(times.size()) - 1; }

  void adaptive(const RunOf<F>& run, const std::vector<double>& stops) {
    StepController controller(control_, run.t0, run.t1, stops);
    double h = control_.first_step;
    if (h == 0) {
      h = kernel_.first_step(t_, run.t1 - run.t0, y_, control_.rtol, control_.atol,
                             control_.error_order);
    }
    controller.start(h);
    while (!ended_ && t_ != run.t1) {
      const Interval s = controller.trial(steps(), t_);
      kernel_.advance(&s, 1, y_, next_, {}, {.keep_slopes = true});
      if (!controller.accept(kernel_.error(s, y_, next_, control_.rtol, control_.atol))) continue;
      take(s);
    }
    rejected = controller.rejected();
  }

  // The step s has been made, to next_: takes it, or the part of it to the first event. True if it
  // was taken whole.
  bool take(Interval s) {
    std::optional<std::size_t> first;
    const Interval whole = s;
    for (std::size_t e = 0; e < events_.size(); ++e) {
      if (!events_[e].root || !crossed(e, whole.t_next, next_)) continue;
      const double t = locate(e, whole);
      if (!first || sign_ * (t - s.t_next) < 0) {
        first = e;
        s.t_next = t;
        s.h = t - s.t;
      }
    }
    if (first && s.t_next != whole.t_next) kernel_.advance(&s, 1, y_, next_, {}, {});
    std::swap(y_, next_);
    t_ = s.t_next;
    times.push_back(t_);

    const std::size_t before = occurrences.size();
    if (first) occurrences.push_back({*first, steps(), t_, true, 0});
    for (std::size_t e = 0; e < events_.size(); ++e) {
      if (first && *first == e) continue;
      const bool due = events_[e].root ? first && crossed(e, t_, y_)
                                       : std::abs(*events_[e].at - t_) <= rounding(t_);
      if (due) occurrences.push_back({e, steps(), t_, false, 0});
    }
    for (std::size_t i = before; i < occurrences.size(); ++i) {
      const auto& event = events_[occurrences[i].which];
      if (event.jump) {
        scratch_ = y_;
        event.jump(t_, scratch_, p_, y_);
      }
      ended_ = ended_ || event.terminal;
    }
    for (std::size_t e = 0; e < events_.size(); ++e) {
      const auto fired = [&](const Occurrence& o) { return o.which == e; };
      const bool now = std::any_of(occurrences.begin() + static_cast<std::ptrdiff_t>(before),
                                   occurrences.end(), fired);
      if (events_[e].root) now ? arm_after(e) : arm(e);
    }
    return s.t_next == whole.t_next;
  }

  static double rounding(double t) {
    return 8 * std::numeric_limits<double>::epsilon() * std::abs(t);
  }
  [[nodiscard]] static int sign_of(double x) { return x > 0 ? 1 : (x < 0 ? -1 : 0); }

  // g has left the side on which it was, in a direction that counts.
  [[nodiscard]] bool crossed(std::size_t e, double t, const State& y) const {
    const int now = sign_of(events_[e].root(t, y, p_));
    if (signs_[e] == 0 || now == signs_[e]) return false;
    return events_[e].direction == 0 || events_[e].direction == -signs_[e];
  }
  // On which side g is; where it is 0, to which it goes.
  void arm(std::size_t e) {
    if (!events_[e].root) return;
    signs_[e] = sign_of(events_[e].root(t_, y_, p_));
    if (signs_[e] == 0) arm_after(e);
  }
  void arm_after(std::size_t e) {
    State y_bar = State::Zero(y_.size());
    Parameters p_bar = p_;
    p_bar.setZero();
    const double g_t = events_[e].root_gradient(t_, y_, p_, y_bar, p_bar);
    f_.rhs(t_, y_, p_, scratch_);
    const double rate = static_cast<double>(y_bar.dot(scratch_)) + g_t;
    const double g = events_[e].root(t_, y_, p_);
    // A jump may have carried it off its zero; rounding does not.
    const double size = static_cast<double>(y_bar.norm()) * static_cast<double>(y_.norm());
    const bool off = std::abs(g) > 1e-9 * size;
    signs_[e] = off ? sign_of(g) : sign_of(sign_ * rate);
  }

  // The end of the step from y_ that ends on g = 0, by regula falsi (the Illinois variant), to the
  // rounding of times.
  double locate(std::size_t e, const Interval& s) {
    double a = s.t;  // before the event
    double b = s.t_next;
    const auto g = [&](double t) {
      const Interval part{s.t, t - s.t, t, s.k};
      kernel_.advance(&part, 1, y_, scratch_, {}, {});
      return events_[e].root(t, scratch_, p_);
    };
    double gb = events_[e].root(b, next_, p_);
    if (gb == 0) return b;
    double ga = events_[e].root(a, y_, p_);
    if (sign_of(ga) != signs_[e]) ga = -gb;  // it starts from zero
    int side = 0;                            // which end was moved last
    for (int i = 0; i < 200 && std::abs(b - a) > rounding(b); ++i) {
      double t = i % 8 == 7 ? a + (b - a) / 2 : b - gb * (b - a) / (gb - ga);
      if (!(sign_ * (t - a) > 0 && sign_ * (b - t) > 0)) t = a + (b - a) / 2;
      if (t == a || t == b) break;
      const double gt = g(t);
      if (gt == 0) {
        b = t;
        break;
      }
      const int now = sign_of(gt) == signs_[e] ? -1 : 1;
      if (now < 0) {
        a = t;
        ga = gt;
        if (side == now) gb /= 2;
      } else {
        b = t;
        gb = gt;
        if (side == now) ga /= 2;
      }
      side = now;
    }
    return std::abs(b - s.t_next) <= rounding(b) ? s.t_next : b;
  }

  const F& f_;
  const Events& events_;
  NoIntegrand none_;
  Parameters p_;
  StepControl control_;
  KernelOf<F, Method, NoIntegrand> kernel_;
  State y_, next_, scratch_;
  double t_;
  double sign_;
  std::vector<int> signs_;  // of g now; 0 if it stays zero
  bool ended_ = false;
};

}  // namespace event_detail

/// A gradient and what happened on the way.
template <RealVector State, RealVector Parameters>
struct EventGradient : Gradient<State, Parameters> {
  std::vector<Occurrence> events;  ///< in the order of time
};

/// The objective of a run with events and its gradient. One-step methods only. If the run ends at a
/// terminal event, that is where the terminal part of the objective is taken; observations beyond
/// are refused.
///
/// @param problem    with its derivative by t (`HasTimeDerivative`): `autonomous(f)`,
///                   `with_time_derivative(f, function)`
/// @param objective  without an integrand
/// @param events     tested on the accepted steps:
///                   what happens and is undone within one step is not
///                   seen. Of events at the same time, to rounding, the jumps are made in the order
///                   of this list, and all take their time from the one found first
/// @param times      what the objective takes from the times of the events
/// @throws IntegrationError if g touches zero without crossing it
/// @throws as `value_and_gradient`
template <HasTimeDerivative F, class Method, class O>
EventGradient<typename F::State, typename F::Parameters> value_and_gradient_with_events(
    const F& problem, const Method& method, const O& objective,
    const std::vector<Event<typename F::State, typename F::Parameters>>& events,
    const RunOf<F>& run, const OccurrencePart& times = {}) {
  std::span<const double> observed;
  if constexpr (Observes<O>) observed = objective.observation_times();
  event_detail::Search<F, Method> found(problem, method, events, run, observed);

  EventGradient<typename F::State, typename F::Parameters> out;
  std::vector<double> t_bar(found.occurrences.size(), 0);
  if (times.gradient) times.gradient(found.occurrences, t_bar);
  const EventProblem<F> known(problem, events, found.occurrences, t_bar);
  const double t1 = found.times.back();
  OdeStepper<EventProblem<F>, Method, O> stepper(known, on_grid(method, found.times), objective,
                                                 run.t0, t1, run.y0, run.p);
  out.report = sweep(stepper, run.sweep_options());
  out.value = stepper.value() + (times.value ? times.value(found.occurrences) : 0);
  out.dy0 = stepper.adjoint();
  out.dp = stepper.parameter_gradient();
  out.grid = stepper.grid();
  out.rejected = found.rejected;
  out.events = std::move(found.occurrences);
  if (!std::isfinite(out.value) || !out.dy0.allFinite() || !out.dp.allFinite()) {
    throw NonFiniteError("value or gradient of a run with events are not finite", unknown);
  }
  return out;
}

}  // namespace costate
