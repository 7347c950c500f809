#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include <unsupported/Eigen/AutoDiff>

#include "costate/integrate/problem.hpp"
#include "costate/ode/objective.hpp"
#include "costate/ode/second_order_number.hpp"

/// @file
/// Problems and objectives from one function each, with derivatives by forward automatic
/// differentiation (Eigen's `AutoDiffScalar`). The function is a template, or a generic lambda,
/// that writes its result:
///
/// @code
///   auto pendulum = costate::autodiff<Eigen::Vector2d, Eigen::Vector2d>(
///       [](double t, const auto& y, const auto& p, auto& dydt) {
///         using std::sin;
///         dydt[0] = y[1];
///         dydt[1] = -p[0] * sin(y[0]) - p[1] * y[1];
///       });
///   auto energy = costate::autodiff_terminal<Eigen::Vector2d, Eigen::Vector2d>(
///       [](const auto& y, const auto& p, auto& value) { value = 0.5 * y[1] * y[1]; });
/// @endcode
///
/// Give intermediate results the type of the numbers (`typename
/// std::decay_t<decltype(y)>::Scalar`), not `auto`: products and sums of `AutoDiffScalar` are
/// expressions that refer to their operands.
///
/// A vector-Jacobian product costs one evaluation for every 8 entries of (y, p) (for all entries at
/// once if there are at most 16 and the sizes are fixed): right for small systems. Fields want a
/// `vjp` by hand or from a tape.

namespace costate {

namespace autodiff_detail {

/// A number with C derivatives.
template <class Scalar, int C>
using Dual = Eigen::AutoDiffScalar<Eigen::Matrix<Scalar, C, 1>>;

template <class V, class Number>
using Like = Eigen::Matrix<Number, V::RowsAtCompileTime, 1>;

/// How many directions are carried at once.
template <RealVector S, RealVector P>
constexpr int directions() {
  constexpr int s = S::SizeAtCompileTime;
  constexpr int p = P::SizeAtCompileTime;
  if (s == Eigen::Dynamic || p == Eigen::Dynamic || s + p > 16) return 8;
  return s + p;
}

/// Arguments and results in dual numbers. One for each thread and function type, so that dynamic
/// sizes are allocated once; nothing is kept in it between calls.
template <RealVector S, RealVector P, int C>
struct Scratch {
  Like<S, Dual<typename S::Scalar, C>> y;
  Like<P, Dual<typename S::Scalar, C>> p;
  Like<S, Dual<typename S::Scalar, C>> out;

  void resize(const S& like_y, const P& like_p) {
    y.resize(like_y.size());
    p.resize(like_p.size());
    out.resize(like_y.size());
  }
  static Scratch& of_this_thread() {
    static thread_local Scratch scratch;
    return scratch;
  }
};

template <class V, class Duals>
void set(const V& values, Duals& duals, Eigen::Index first, Eigen::Index chunk_begin, int c) {
  using Scalar = typename Duals::Scalar::Scalar;
  for (Eigen::Index i = 0; i < values.size(); ++i) {
    duals[i].value() = static_cast<Scalar>(values[i]);
    duals[i].derivatives().setZero();
    const Eigen::Index direction = first + i - chunk_begin;
    if (direction >= 0 && direction < c) duals[i].derivatives()[direction] = 1;
  }
}

/// Calls `evaluate(scratch)`, which returns one derivative for each direction carried, until all
/// entries of (y, p) have had their turn, and `store(index in (y, p), derivative)` for each.
template <RealVector S, RealVector P, class Evaluate, class Store>
void sweep_directions(const S& y, const P& p, const Evaluate& evaluate, const Store& store) {
  constexpr int c = directions<S, P>();
  if constexpr (c > 0) {
    auto& scratch = Scratch<S, P, c>::of_this_thread();
    scratch.resize(y, p);
    const Eigen::Index all = y.size() + p.size();
    for (Eigen::Index begin = 0; begin < all; begin += c) {
      set(y, scratch.y, 0, begin, c);
      set(p, scratch.p, y.size(), begin, c);
      const Eigen::Matrix<typename S::Scalar, c, 1> derivatives = evaluate(scratch);
      const Eigen::Index end = std::min<Eigen::Index>(c, all - begin);
      for (Eigen::Index j = 0; j < end; ++j) store(begin + j, derivatives[j]);
    }
  }
}

/// Adds the gradient of a scalar function of (y, p).
template <RealVector S, RealVector P, class Function>
void add_gradient(const S& y, const P& p, S& y_bar, P& p_bar, const Function& f) {
  sweep_directions(
      y, p,
      [&](auto& scratch) {
        typename std::decay_t<decltype(scratch.y)>::Scalar result(0);
        f(std::as_const(scratch.y), std::as_const(scratch.p), result);
        return result.derivatives();
      },
      [&](Eigen::Index i, auto derivative) {
        if (i < y.size()) {
          y_bar[i] += derivative;
        } else {
          p_bar[i - y.size()] += static_cast<typename P::Scalar>(derivative);
        }
      });
}

/// Adds the gradient with respect to (y, p) of the derivative along (dy, dp) of sum_i w_i x_i,
/// where `evaluate(y, p)` returns that sum, in numbers that carry second derivatives.
template <RealVector S, RealVector P, class Evaluate>
void add_product(const S& y, const P& p, const S& dy, const P& dp, S& y_bar, P& p_bar,
                 const Evaluate& evaluate) {
  constexpr int c = directions<S, P>();
  if constexpr (c > 0) {
    using Scalar = typename S::Scalar;
    using Number = SecondOrderNumber<Scalar, c>;
    static thread_local Like<S, Number> u;
    static thread_local Like<P, Number> q;
    u.resize(y.size());
    q.resize(p.size());
    const Eigen::Index all = y.size() + p.size();
    for (Eigen::Index begin = 0; begin < all; begin += c) {
      for (Eigen::Index i = 0; i < all; ++i) {
        const bool state = i < y.size();
        const Eigen::Index j = state ? i : i - y.size();
        Number& x = state ? u[j] : q[j];
        x = Number(state ? y[j] : static_cast<Scalar>(p[j]));
        x.along = state ? dy[j] : static_cast<Scalar>(dp[j]);
        if (i >= begin && i < begin + c) x.each[static_cast<std::size_t>(i - begin)] = 1;
      }
      const Number sum = evaluate(std::as_const(u), std::as_const(q));
      for (Eigen::Index i = begin; i < std::min(begin + c, all); ++i) {
        const Scalar derivative = sum.mixed[static_cast<std::size_t>(i - begin)];
        if (i < y.size()) {
          y_bar[i] += derivative;
        } else {
          p_bar[i - y.size()] += static_cast<typename P::Scalar>(derivative);
        }
      }
    }
  }
}

}  // namespace autodiff_detail

/// A problem with all its derivatives from one function; see `autodiff`.
template <RealVector S, RealVector P, class Function>
class AutodiffProblem {
 public:
  using State = S;
  using Parameters = P;
  using Jacobian = Eigen::Matrix<typename S::Scalar, S::SizeAtCompileTime, S::SizeAtCompileTime,
                                 Eigen::ColMajor, S::MaxSizeAtCompileTime, S::MaxSizeAtCompileTime>;

  explicit AutodiffProblem(Function f) : f_(std::move(f)) {}

  void rhs(double t, const State& y, const Parameters& p, State& dydt) const { f_(t, y, p, dydt); }

  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    autodiff_detail::sweep_directions(
        y, p,
        [&](auto& scratch) {
          f_(t, std::as_const(scratch.y), std::as_const(scratch.p), scratch.out);
          auto sum = (w[0] * scratch.out[0].derivatives()).eval();
          for (Eigen::Index i = 1; i < w.size(); ++i) sum += w[i] * scratch.out[i].derivatives();
          return sum;
        },
        [&](Eigen::Index i, typename S::Scalar derivative) {
          if (i < y.size()) {
            y_bar[i] = derivative;
          } else {
            p_bar[i - y.size()] += static_cast<typename P::Scalar>(derivative);
          }
        });
  }

  /// All of ∂f/∂y, at the cost of one `vjp`.
  void jacobian(double t, const State& y, const Parameters& p, Jacobian& j) const {
    constexpr int c = autodiff_detail::directions<S, P>();
    auto& scratch = autodiff_detail::Scratch<S, P, c>::of_this_thread();
    scratch.resize(y, p);
    for (Eigen::Index begin = 0; begin < y.size(); begin += c) {
      autodiff_detail::set(y, scratch.y, 0, begin, c);
      autodiff_detail::set(p, scratch.p, y.size(), begin, c);
      f_(t, std::as_const(scratch.y), std::as_const(scratch.p), scratch.out);
      const Eigen::Index end = std::min<Eigen::Index>(c, y.size() - begin);
      for (Eigen::Index i = 0; i < y.size(); ++i) {
        for (Eigen::Index k = 0; k < end; ++k) {
          j(i, begin + k) = scratch.out[i].derivatives()[k];
        }
      }
    }
  }

  void jvp(double t, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
           State& out) const {
    using Scalar = typename State::Scalar;
    auto& scratch = autodiff_detail::Scratch<S, P, 1>::of_this_thread();
    scratch.resize(y, p);
    for (Eigen::Index i = 0; i < y.size(); ++i) {
      scratch.y[i].value() = y[i];
      scratch.y[i].derivatives()[0] = dy[i];
    }
    for (Eigen::Index i = 0; i < p.size(); ++i) {
      scratch.p[i].value() = static_cast<Scalar>(p[i]);
      scratch.p[i].derivatives()[0] = static_cast<Scalar>(dp[i]);
    }
    f_(t, std::as_const(scratch.y), std::as_const(scratch.p), scratch.out);
    for (Eigen::Index i = 0; i < y.size(); ++i) out[i] = scratch.out[i].derivatives()[0];
  }

  void jvp_vjp(double t, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
               const State& w, State& y_bar, Parameters& p_bar) const {
    autodiff_detail::add_product(y, p, dy, dp, y_bar, p_bar, [&](const auto& u, const auto& q) {
      auto out = u;
      f_(t, u, q, out);
      auto sum = w[0] * out[0];
      for (Eigen::Index i = 1; i < w.size(); ++i) sum += w[i] * out[i];
      return sum;
    });
  }

 private:
  [[no_unique_address]] Function f_;
};

/// A problem from f(t, y, p, dydt), called with numbers and with dual numbers.
template <RealVector State, RealVector Parameters, class Function>
auto autodiff(Function f) {
  return AutodiffProblem<State, Parameters, Function>(std::move(f));
}

/// Φ(y(t1), p) from f(y, p, value).
template <RealVector State, RealVector Parameters, class Function>
auto autodiff_terminal(Function f) {
  return terminal(
      [f](const State& y, const Parameters& p) {
        typename State::Scalar result(0);
        f(y, p, result);
        return result;
      },
      [f](const State& y, const Parameters& p, State& y_bar, Parameters& p_bar) {
        autodiff_detail::add_gradient(y, p, y_bar, p_bar, f);
      },
      [f](const State& y, const Parameters& p, const State& dy, const Parameters& dp, State& y_bar,
          Parameters& p_bar) {
        autodiff_detail::add_product(y, p, dy, dp, y_bar, p_bar, [&](const auto& u, const auto& q) {
          typename std::decay_t<decltype(u)>::Scalar result(0);
          f(u, q, result);
          return result;
        });
      });
}

/// ∫ g(t, y, p) dt from f(t, y, p, value).
template <RealVector State, RealVector Parameters, class Function>
auto autodiff_integral(Function f) {
  return integral(
      [f](double t, const State& y, const Parameters& p) {
        typename State::Scalar result(0);
        f(t, y, p, result);
        return result;
      },
      [f](double t, const State& y, const Parameters& p, State& y_bar, Parameters& p_bar) {
        autodiff_detail::add_gradient(
            y, p, y_bar, p_bar,
            [&](const auto& u, const auto& q, auto& result) { f(t, u, q, result); });
      },
      [f](double t, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
          State& y_bar, Parameters& p_bar) {
        autodiff_detail::add_product(y, p, dy, dp, y_bar, p_bar, [&](const auto& u, const auto& q) {
          typename std::decay_t<decltype(u)>::Scalar result(0);
          f(t, u, q, result);
          return result;
        });
      });
}

/// sum over i of m_i(y(times[i]), p) from f(i, y, p, value).
template <RealVector State, RealVector Parameters, class Function>
auto autodiff_observations(std::vector<double> times, Function f) {
  return observations(
      std::move(times),
      [f](std::size_t i, const State& y, const Parameters& p) {
        typename State::Scalar result(0);
        f(i, y, p, result);
        return result;
      },
      [f](std::size_t i, const State& y, const Parameters& p, State& y_bar, Parameters& p_bar) {
        autodiff_detail::add_gradient(
            y, p, y_bar, p_bar,
            [&](const auto& u, const auto& q, auto& result) { f(i, u, q, result); });
      },
      [f](std::size_t i, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
          State& y_bar, Parameters& p_bar) {
        autodiff_detail::add_product(y, p, dy, dp, y_bar, p_bar, [&](const auto& u, const auto& q) {
          typename std::decay_t<decltype(u)>::Scalar result(0);
          f(i, u, q, result);
          return result;
        });
      });
}

}  // namespace costate
