#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/integrate/algebraic_part.hpp"
#include "costate/integrate/dirk_kernel.hpp"
#include "costate/integrate/implicit_problem.hpp"
#include "costate/ode/run.hpp"

/// @file
/// Consistent initial values of a problem with algebraic equations, and their derivative.
///
/// @code
///   costate::ConsistentStart start(problem, t0, guess, p);
///   auto result = costate::value_and_gradient(problem, method, objective,
///                     {.t0 = t0, .t1 = t1, .y0 = start.state(), .p = p});
///   start.pull_back(result);  // dy0, dp: by the guess and by p, through the start
/// @endcode

namespace costate {

namespace tableaux {
inline constexpr Tableau<1> consistent_start{
    .name = "consistent initial values", .a = {{{1}}}, .b = {1}, .c = {1}, .order = 1};
}  // namespace tableaux

/// The state y0 next to a guess g with which M y' = f(t, y, p) of index 1 can begin:
///
///     M y0 = M g,   zᵀ f(t0, y0, p) = 0 for all z with zᵀ M = 0.
///
/// For a diagonal M: components with an entry of M are kept, and the others solve the equations
/// without one. The derivatives are those of y0 as a function of g and p; t0 is held fixed.
/// The system is solved by the factors of a sparse, banded or dense matrix, as the `Jacobian` of
/// the problem is; a `Solver` of its own knows other matrices only.
template <HasMass F>
class ConsistentStart {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;

  /// Solves for y0 by Newton's iteration from the guess on, to rounding.
  /// @param problem  must outlive it
  /// @param guess    components that M reads are kept
  /// @throws InvalidArgument   if M is not square with as many rows as the guess has
  /// @throws IntegrationError  if no y0 is found: the guess is too far off, the index is not 1, or
  ///                           a sparse or diagonal M is singular without having zero rows
  ConsistentStart(const F& problem, double t0, State guess, Parameters p)
      : at_{.t = t0, .h = 1, .t_next = t0, .k = 0},
        guess_(std::move(guess)),
        y0_(guess_),
        part_(problem, checked(problem, guess_)),
        kernel_(part_, none_, std::move(p), guess_.size()) {
    try {
      kernel_.advance(&at_, 1, guess_, y0_, {}, {});
    } catch (const IntegrationError&) {
      std::array<char, 32> digits{};
      std::snprintf(digits.data(), digits.size(), "%.17g", t0);
      throw IntegrationError(
          std::string("no consistent initial values found at t = ") + digits.data() +
              ": Newton's iteration from the guess did not converge. The guess may be too far off "
              "or not finite, or the equations cannot be solved there (index above 1, a double "
              "root)",
          0, t0);
    }
  }
  ConsistentStart(const ConsistentStart&) = delete;
  ConsistentStart& operator=(const ConsistentStart&) = delete;

  [[nodiscard]] const State& state() const noexcept { return y0_; }

  /// From the derivatives by y0 and p to those by the guess and p. That by a component which M does
  /// not read is 0.
  /// @param dy0  in: ∂J/∂y0; out: dJ/dg
  /// @param dp   in: ∂J/∂p with y0 fixed; out: with g fixed
  /// @throws AdjointResidualError  if `vjp` does not belong to `rhs`
  void pull_back(State& dy0, Parameters& dp) {
    State y = guess_;
    kernel_.reverse(&at_, 1, y, {}, dy0, dp);
    forget_unread(dy0);
  }
  void pull_back(GradientOf<F>& gradient) { pull_back(gradient.dy0, gradient.dp); }

  /// From a direction in the guess and p to the one in y0.
  /// @param dy  in: of the guess; out: of y0
  void push_forward(State& dy, const Parameters& dp) requires TangentProblem<F> {
    double integral = 0;
    forget_unread(dy);
    kernel_.tangent(at_, guess_, dy, dp, integral);
  }

 private:
  void forget_unread(State& v) const {
    for (Eigen::Index i = 0; i < v.size(); ++i) {
      if (part_.unread(i)) v[i] = 0;
    }
  }
  static Eigen::Index checked(const F& problem, const State& guess) {
    const Eigen::Index n = guess.size();
    if (problem.mass().rows() != n || problem.mass().cols() != n) {
      throw InvalidArgument("consistent initial values: the mass matrix has " +
                            std::to_string(problem.mass().rows()) + " rows and " +
                            std::to_string(problem.mass().cols()) + " columns, the state " +
                            std::to_string(n) + " components");
    }
    return n;
  }

  Interval at_;  // a step from t0 to t0 that is one long
  State guess_;
  State y0_;
  NoIntegrand none_;
  AlgebraicPart<F> part_;
  DirkKernel<AlgebraicPart<F>, tableaux::consistent_start> kernel_;
};

}  // namespace costate
