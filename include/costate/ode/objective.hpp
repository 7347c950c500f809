#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "costate/integrate/integrand.hpp"

/// @file
/// What is differentiated: a sum of up to three kinds of parts, each a function of the state and
/// the parameters with its gradient.
///
/// | part | contributes |
/// | --- | --- |
/// | `terminal` | Φ(y(t1), p) |
/// | `integral` | ∫ g(t, y, p) dt, in the quadrature of the method: sum over steps and stages of h
/// b_i g(t_i, Y_i, p) | | `observations` | sum over i of m_i(y(τ_i), p), for a list of times in any
/// order, with repetitions |
///
/// @code
///   auto misfit = costate::observations(times,
///       [&](std::size_t i, const State& y, const Parameters&) { return 0.5 * square(y[0] -
///       data[i]); },
///       [&](std::size_t i, const State& y, const Parameters&, State& y_bar, Parameters&) {
///         y_bar[0] += y[0] - data[i];
///       });
///   auto objective = misfit + costate::terminal(...);
/// @endcode
///
/// All gradient functions *add* to `y_bar` and `p_bar`. A type of the user's own may be an
/// objective, too, by having the functions that the concepts below ask for.

namespace costate {

/// Has `terminal(y, p) -> double` and `terminal_gradient(y, p, y_bar, p_bar)`.
template <class O, class State, class Parameters>
concept HasTerminal = requires(const O& objective, const State& y, const Parameters& p,
                               State& y_bar, Parameters& p_bar) {
  { objective.terminal(y, p) } -> std::convertible_to<double>;
  objective.terminal_gradient(y, p, y_bar, p_bar);
};

/// Has `observation_times()`, and for each index i of it `observation(i, y, p) -> double` and
/// `observation_gradient(i, y, p, y_bar, p_bar)`.
template <class O, class State, class Parameters>
concept HasObservations = requires(const O& objective, std::size_t i, const State& y,
                                   const Parameters& p, State& y_bar, Parameters& p_bar) {
  { objective.observation_times() } -> std::convertible_to<std::span<const double>>;
  { objective.observation(i, y, p) } -> std::convertible_to<double>;
  objective.observation_gradient(i, y, p, y_bar, p_bar);
};

/// Has `observation_times()`.
template <class O>
concept Observes = requires(const O& objective) {
  objective.observation_times();
};

/// Has at least one part.
template <class O, class State, class Parameters>
concept Objective = HasTerminal<O, State, Parameters> || HasIntegrand<O, State, Parameters> ||
    HasObservations<O, State, Parameters>;

/// Second derivatives, for products with the Hessian of an objective (second_order.hpp): each part
/// that the objective has comes with
///
///     terminal_product(y, p, dy, dp, y_bar, p_bar)        adds the gradient of ∂Φ/∂y dy + ∂Φ/∂p dp
///     integrand_product(t, y, p, dy, dp, y_bar, p_bar)    the same of g
///     observation_product(i, y, p, dy, dp, y_bar, p_bar)  the same of m_i
template <class O, class State, class Parameters>
concept SecondOrderObjective =
    Objective<O, State, Parameters> &&
    (!HasTerminal<O, State, Parameters> ||
     requires(const O& o, const State& y, const Parameters& p, State& y_bar, Parameters& p_bar) {
       o.terminal_product(y, p, y, p, y_bar, p_bar);
     }) &&
    (!HasIntegrand<O, State, Parameters> ||
     requires(const O& o, double t, const State& y, const Parameters& p, State& y_bar,
              Parameters& p_bar) { o.integrand_product(t, y, p, y, p, y_bar, p_bar); }) &&
    (!HasObservations<O, State, Parameters> ||
     requires(const O& o, const State& y, const Parameters& p, State& y_bar, Parameters& p_bar) {
       o.observation_product(std::size_t{0}, y, p, y, p, y_bar, p_bar);
     });

/// Stands for second derivatives that were not given.
struct NoProduct {};

/// Base of what `+` joins.
struct ObjectivePart {};

template <class Value, class Gradient, class Product = NoProduct>
struct TerminalPart : ObjectivePart {
  TerminalPart(Value v, Gradient g, Product h)
      : value(std::move(v)), gradient(std::move(g)), product(std::move(h)) {}

  template <class State, class Parameters>
    requires std::invocable<const Value&, const State&, const Parameters&>
  double terminal(const State& y, const Parameters& p) const {
    return static_cast<double>(value(y, p));
  }
  template <class State, class Parameters>
    requires std::invocable<const Gradient&, const State&, const Parameters&, State&, Parameters&>
  void terminal_gradient(const State& y, const Parameters& p, State& y_bar,
                         Parameters& p_bar) const {
    gradient(y, p, y_bar, p_bar);
  }

  template <class State, class Parameters>
    requires std::invocable<const Product&, const State&, const Parameters&, const State&,
                            const Parameters&, State&, Parameters&>
  void terminal_product(const State& y, const Parameters& p, const State& dy, const Parameters& dp,
                        State& y_bar, Parameters& p_bar) const {
    product(y, p, dy, dp, y_bar, p_bar);
  }

  Value value;
  Gradient gradient;
  [[no_unique_address]] Product product;
};

template <class Value, class Gradient, class Product = NoProduct>
struct IntegralPart : ObjectivePart {
  IntegralPart(Value v, Gradient g, Product h)
      : value(std::move(v)), gradient(std::move(g)), product(std::move(h)) {}

  template <class State, class Parameters>
    requires std::invocable<const Value&, double, const State&, const Parameters&>
  double integrand(double t, const State& y, const Parameters& p) const {
    return static_cast<double>(value(t, y, p));
  }
  template <class State, class Parameters>
    requires std::invocable<const Gradient&, double, const State&, const Parameters&, State&,
                            Parameters&>
  void integrand_gradient(double t, const State& y, const Parameters& p, State& y_bar,
                          Parameters& p_bar) const {
    gradient(t, y, p, y_bar, p_bar);
  }

  template <class State, class Parameters>
    requires std::invocable<const Product&, double, const State&, const Parameters&, const State&,
                            const Parameters&, State&, Parameters&>
  void integrand_product(double t, const State& y, const Parameters& p, const State& dy,
                         const Parameters& dp, State& y_bar, Parameters& p_bar) const {
    product(t, y, p, dy, dp, y_bar, p_bar);
  }

  Value value;
  Gradient gradient;
  [[no_unique_address]] Product product;
};

template <class Value, class Gradient, class Product = NoProduct>
struct ObservationsPart : ObjectivePart {
  ObservationsPart(std::vector<double> t, Value v, Gradient g, Product h)
      : times(std::move(t)), value(std::move(v)), gradient(std::move(g)), product(std::move(h)) {}

  [[nodiscard]] std::span<const double> observation_times() const { return times; }
  template <class State, class Parameters>
    requires std::invocable<const Value&, std::size_t, const State&, const Parameters&>
  double observation(std::size_t i, const State& y, const Parameters& p) const {
    return static_cast<double>(value(i, y, p));
  }
  template <class State, class Parameters>
    requires std::invocable<const Gradient&, std::size_t, const State&, const Parameters&, State&,
                            Parameters&>
  void observation_gradient(std::size_t i, const State& y, const Parameters& p, State& y_bar,
                            Parameters& p_bar) const {
    gradient(i, y, p, y_bar, p_bar);
  }

  template <class State, class Parameters>
    requires std::invocable<const Product&, std::size_t, const State&, const Parameters&,
                            const State&, const Parameters&, State&, Parameters&>
  void observation_product(std::size_t i, const State& y, const Parameters& p, const State& dy,
                           const Parameters& dp, State& y_bar, Parameters& p_bar) const {
    product(i, y, p, dy, dp, y_bar, p_bar);
  }

  std::vector<double> times;
  Value value;
  Gradient gradient;
  [[no_unique_address]] Product product;
};

/// Both parts; parts of the same kind add up.
template <class A, class B>
class ObjectiveSum : public ObjectivePart {
  template <class State, class Parameters>
  static constexpr bool both_second_order =
      SecondOrderObjective<A, State, Parameters>&& SecondOrderObjective<B, State, Parameters>;

 public:
  ObjectiveSum(A a, B b) : a_(std::move(a)), b_(std::move(b)) {
    if constexpr (Observes<A>) append(a_.observation_times());
    first_of_b_ = times_.size();
    if constexpr (Observes<B>) append(b_.observation_times());
  }

  template <class State, class Parameters>
    requires(HasTerminal<A, State, Parameters> || HasTerminal<B, State, Parameters>)
  double terminal(const State& y, const Parameters& p) const {
    double sum = 0;
    if constexpr (HasTerminal<A, State, Parameters>) sum += a_.terminal(y, p);
    if constexpr (HasTerminal<B, State, Parameters>) sum += b_.terminal(y, p);
    return sum;
  }
  template <class State, class Parameters>
    requires(HasTerminal<A, State, Parameters> || HasTerminal<B, State, Parameters>)
  void terminal_gradient(const State& y, const Parameters& p, State& y_bar,
                         Parameters& p_bar) const {
    if constexpr (HasTerminal<A, State, Parameters>) a_.terminal_gradient(y, p, y_bar, p_bar);
    if constexpr (HasTerminal<B, State, Parameters>) b_.terminal_gradient(y, p, y_bar, p_bar);
  }

  template <class State, class Parameters>
    requires(HasIntegrand<A, State, Parameters> || HasIntegrand<B, State, Parameters>)
  double integrand(double t, const State& y, const Parameters& p) const {
    double sum = 0;
    if constexpr (HasIntegrand<A, State, Parameters>) sum += a_.integrand(t, y, p);
    if constexpr (HasIntegrand<B, State, Parameters>) sum += b_.integrand(t, y, p);
    return sum;
  }
  template <class State, class Parameters>
    requires(HasIntegrand<A, State, Parameters> || HasIntegrand<B, State, Parameters>)
  void integrand_gradient(double t, const State& y, const Parameters& p, State& y_bar,
                          Parameters& p_bar) const {
    if constexpr (HasIntegrand<A, State, Parameters>) a_.integrand_gradient(t, y, p, y_bar, p_bar);
    if constexpr (HasIntegrand<B, State, Parameters>) b_.integrand_gradient(t, y, p, y_bar, p_bar);
  }

  template <class State, class Parameters>
    requires(HasTerminal<A, State, Parameters> || HasTerminal<B, State, Parameters>)
  void terminal_product(const State& y, const Parameters& p, const State& dy, const Parameters& dp,
                        State& y_bar, Parameters& p_bar) const
      requires(both_second_order<State, Parameters>) {
    if constexpr (HasTerminal<A, State, Parameters>)
      a_.terminal_product(y, p, dy, dp, y_bar, p_bar);
    if constexpr (HasTerminal<B, State, Parameters>)
      b_.terminal_product(y, p, dy, dp, y_bar, p_bar);
  }
  template <class State, class Parameters>
    requires(HasIntegrand<A, State, Parameters> || HasIntegrand<B, State, Parameters>)
  void integrand_product(double t, const State& y, const Parameters& p, const State& dy,
                         const Parameters& dp, State& y_bar, Parameters& p_bar) const
      requires(both_second_order<State, Parameters>) {
    if constexpr (HasIntegrand<A, State, Parameters>)
      a_.integrand_product(t, y, p, dy, dp, y_bar, p_bar);
    if constexpr (HasIntegrand<B, State, Parameters>)
      b_.integrand_product(t, y, p, dy, dp, y_bar, p_bar);
  }
  template <class State, class Parameters>
    requires(HasObservations<A, State, Parameters> || HasObservations<B, State, Parameters>)
  void observation_product(std::size_t i, const State& y, const Parameters& p, const State& dy,
                           const Parameters& dp, State& y_bar, Parameters& p_bar) const
      requires(both_second_order<State, Parameters>) {
    if constexpr (HasObservations<A, State, Parameters>) {
      if (i < first_of_b_) return a_.observation_product(i, y, p, dy, dp, y_bar, p_bar);
    }
    if constexpr (HasObservations<B, State, Parameters>) {
      b_.observation_product(i - first_of_b_, y, p, dy, dp, y_bar, p_bar);
    }
  }

  [[nodiscard]] std::span<const double> observation_times() const
      requires(Observes<A> || Observes<B>) {
    return times_;
  }
  template <class State, class Parameters>
    requires(HasObservations<A, State, Parameters> || HasObservations<B, State, Parameters>)
  double observation(std::size_t i, const State& y, const Parameters& p) const {
    if constexpr (HasObservations<A, State, Parameters>) {
      if (i < first_of_b_) return a_.observation(i, y, p);
    }
    if constexpr (HasObservations<B, State, Parameters>) {
      return b_.observation(i - first_of_b_, y, p);
    }
    return 0;
  }
  template <class State, class Parameters>
    requires(HasObservations<A, State, Parameters> || HasObservations<B, State, Parameters>)
  void observation_gradient(std::size_t i, const State& y, const Parameters& p, State& y_bar,
                            Parameters& p_bar) const {
    if constexpr (HasObservations<A, State, Parameters>) {
      if (i < first_of_b_) return a_.observation_gradient(i, y, p, y_bar, p_bar);
    }
    if constexpr (HasObservations<B, State, Parameters>) {
      b_.observation_gradient(i - first_of_b_, y, p, y_bar, p_bar);
    }
  }

 private:
  template <class O>
  static constexpr bool observes = requires(const O& o) {
    o.observation_times();
  };

  void append(std::span<const double> times) {
    // One by one: GCC 12 warns of an overflow that is none when it inlines a range's insertion.
    for (const double t : times) times_.push_back(t);
  }

  A a_;
  B b_;
  std::vector<double> times_;
  std::size_t first_of_b_ = 0;
};

/// Φ(y(t1), p).
/// @param value     (y, p) -> double
/// @param gradient  (y, p, y_bar, p_bar), adds ∂Φ/∂y and ∂Φ/∂p
/// @param product   second derivatives, if wanted: see `SecondOrderObjective`
template <class Value, class Gradient, class Product = NoProduct>
auto terminal(Value value, Gradient gradient, Product product = {}) {
  return TerminalPart<Value, Gradient, Product>(std::move(value), std::move(gradient),
                                                std::move(product));
}

/// ∫ g(t, y, p) dt from t0 to t1; negative for positive g if t1 < t0.
/// @param value     (t, y, p) -> double
/// @param gradient  (t, y, p, y_bar, p_bar), adds ∂g/∂y and ∂g/∂p
/// @param product   second derivatives, if wanted: see `SecondOrderObjective`
template <class Value, class Gradient, class Product = NoProduct>
auto integral(Value value, Gradient gradient, Product product = {}) {
  return IntegralPart<Value, Gradient, Product>(std::move(value), std::move(gradient),
                                                std::move(product));
}

/// sum over i of m_i(y(times[i]), p). Steps are placed on the times, so nothing is interpolated.
/// @param times     between t0 and t1, any order, repetitions count
/// @param value     (i, y, p) -> double
/// @param gradient  (i, y, p, y_bar, p_bar), adds ∂m_i/∂y and ∂m_i/∂p
/// @param product   second derivatives, if wanted: see `SecondOrderObjective`
template <class Value, class Gradient, class Product = NoProduct>
auto observations(std::vector<double> times, Value value, Gradient gradient, Product product = {}) {
  return ObservationsPart<Value, Gradient, Product>(std::move(times), std::move(value),
                                                    std::move(gradient), std::move(product));
}

template <std::derived_from<ObjectivePart> A, std::derived_from<ObjectivePart> B>
auto operator+(A a, B b) {
  return ObjectiveSum<A, B>(std::move(a), std::move(b));
}

}  // namespace costate
