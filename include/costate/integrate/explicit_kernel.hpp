#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <Eigen/Core>

#include "costate/integrate/integrand.hpp"
#include "costate/integrate/linear_combination.hpp"
#include "costate/integrate/one_instance.hpp"
#include "costate/integrate/problem.hpp"
#include "costate/integrate/step_control.hpp"
#include "costate/integrate/tableau.hpp"
#include "costate/integrate/time_grid.hpp"

/// @file
/// One step of an explicit Runge-Kutta method, its tangent and its adjoint.
///
/// With K_i = f(t_i, Y_i), Y_i = y + h sum_j a_ij K_j, y⁺ = y + h sum_i b_i K_i, and an objective
/// that grows by h sum_i b_i g(t_i, Y_i), the adjoint of the step takes λ = ∂J/∂y⁺ to ∂J/∂y: for
/// i = s … 1
///
///     w_i = h b_i λ + h sum_{j>i} a_ji v_j
///     v_i = (∂f/∂y)(Y_i)ᵀ w_i + h b_i g_y(Y_i)
///     p̄  += (∂f/∂p)(Y_i)ᵀ w_i + h b_i g_p(Y_i)
///
/// and then λ ← λ + sum_i v_i: the transpose of the step, written without a division by b_i
/// (W. W. Hager, Numer. Math. 87 (2000) 247-282; A. Sandu, ICCS 2006, LNCS 3991, 550-557). It costs
/// one `vjp` for each stage that y⁺ depends on and one `rhs` for each of them but the last.

namespace costate {

/// The step of method T for one problem. Holds the parameters and all work space, so that a step
/// allocates nothing; the stages of small states of fixed size live on the stack.
///
/// Stages behind the last nonzero weight exist for the error estimate only (or are the first stage
/// of the next step); neither a plain step nor its adjoint evaluates them.
///
/// @tparam Objective  with or without an integrand (integrand.hpp)
template <Problem F, const auto& T, class Objective = NoIntegrand>
class ExplicitKernel {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Scalar = typename State::Scalar;
  static constexpr bool estimates_error = T.embedded_order > 0;

  /// @param f, objective  must outlive the kernel
  /// @param p             copied
  /// @param size          of the state
  ExplicitKernel(const F& f, const Objective& objective, const Parameters& p, Eigen::Index size)
      : f_(f), objective_(objective), p_(p), p_term_(p) {
    // Not set to zero: all of it is written before it is read, and large states are worth the
    // pages.
    for (State& k : work_.k) k.resize(size);
    for (State& y : work_.y) y.resize(size);
    work_.w.resize(size);
    if constexpr (integrates) y_term_.setZero(size);
  }

  /// Contiguous states, `stride` bytes apart; none if `first` is null.
  struct StateRows {
    std::byte* first = nullptr;
    std::size_t stride = 0;
    void put(Step i, const State& y) const {
      std::memcpy(first + static_cast<std::size_t>(i) * stride, y.data(), bytes(y));
    }
    void get(Step i, State& y) const {
      std::memcpy(y.data(), first + static_cast<std::size_t>(i) * stride, bytes(y));
    }
    static std::size_t bytes(const State& y) {
      return static_cast<std::size_t>(y.size()) * sizeof(Scalar);
    }
  };

  /// What a forward step is to do besides taking y to y⁺.
  struct Extras {
    bool accumulate = false;   ///< add to `integral`
    bool slope_known = false;  ///< the first slope is still there from the last step or trial; only
                               ///< with a single step and an embedded method
    bool keep_slopes = false;  ///< `error` or a step with `slope_known` will follow
  };

  /// Takes `from` over `count` consecutive steps to `to`; the two may be the same object.
  /// @param s     the `count` steps, at least 1
  /// @param rows  where to copy the state before each of them, if anywhere
  COSTATE_ONE_INSTANCE void advance(const Interval* s, Step count, const State& from, State& to,
                                    StateRows rows, Extras extras) {
    if constexpr (on_stack) {
      Work work;
      State y = from;
      if (extras.slope_known) stage_algebra::assign(work.k[0], work_.k[0]);
      Step i = 0;
      do {  // at least once, so that the slopes kept below are there
        if (rows.first != nullptr) rows.put(i, y);
        forward(s[i], y, y, extras, work);
      } while (++i < count);
      to = y;
      if (extras.keep_slopes) {
        stage_algebra::each<solution>(
            [&](auto j) { stage_algebra::assign(work_.k[j], work.k[j]); });
      }
    } else {
      const State* y = &from;
      for (Step i = 0; i < count; ++i) {
        if (rows.first != nullptr) rows.put(i, *y);
        forward(s[i], *y, to, extras, work_);
        y = &to;
      }
    }
  }

  /// Takes λ back over `count` consecutive steps, in place, and adds to `p_bar`.
  /// @param s     the `count` steps, in the order of time
  /// @param y     the state before the first of them; on return, if there are `rows`, again
  /// @param rows  the states before each of them; may be none if count is 1
  COSTATE_ONE_INSTANCE void reverse(const Interval* s, Step count, State& y, StateRows rows,
                                    State& lambda, Parameters& p_bar) {
    if constexpr (on_stack) {
      Work work;
      State l = lambda;
      State x = y;
      // Few parameters are summed in registers; many, or a number known at run time, in place.
      using Sum = std::conditional_t<few_parameters, Parameters, Parameters&>;
      Sum g = p_bar;
      for (Step i = count - 1; i >= 0; --i) {
        if (rows.first != nullptr) rows.get(i, x);
        backward(s[i], x, l, g, work);
      }
      lambda = l;
      y = x;
      if constexpr (few_parameters) p_bar = g;
    } else {
      for (Step i = count - 1; i >= 0; --i) {
        if (rows.first != nullptr) rows.get(i, y);
        backward(s[i], y, lambda, p_bar, work_);
      }
    }
  }

  /// dy → dy⁺ in place, the derivative of y⁺ in the direction (dy, dp); adds that of the integral.
  /// Allocates: it is made for checks.
  /// @param y  state before the step
  void tangent(const Interval& s, const State& y, State& dy, const Parameters& dp,
               double& integral_dot) requires TangentProblem<F> {
    Work value = work_;
    Work dot = work_;
    stage_algebra::each<solution>([&](auto index) {
      constexpr std::size_t i = index;
      const State& stage = stage_value<i>(s, y, value);
      const State& stage_dot = stage_value<i>(s, dy, dot);
      const double t = stage_time<i>(s);
      f_.rhs(t, stage, p_, value.k[i]);
      f_.jvp(t, stage, p_, stage_dot, dp, dot.k[i]);
      if constexpr (integrates && T.b[i] != 0) {
        objective_gradient(t, stage);
        integral_dot +=
            s.h * T.b[i] * static_cast<double>(y_term_.dot(stage_dot) + p_term_.dot(dp));
      }
    });
    dy = stage_algebra::plus<Weights, 0, solution>(dy, s.h, dot.k).eval();
  }

  /// The error estimate h sum (b_hat_i - b_i) K_i of the step just made with `keep_slopes`, in the
  /// root-mean-square norm weighted by atol + rtol max(|y|, |y⁺|); see `error_order` for methods
  /// with two estimates. Evaluates the stages that only
  /// the estimate needs. NaN or infinite if anything is not finite.
  double error(const Interval& s, const State& y, const State& y_next, double rtol,
               double atol) requires(estimates_error) {
    stage_algebra::each<stages - solution>([&](auto offset) {
      constexpr std::size_t i = solution + offset;
      if constexpr (i + 1 == stages && first_same_as_last(T)) {
        slope(s.t_next, y_next, work_.k[i]);
      } else {
        f_.rhs(stage_time<i>(s), stage_value<i>(s, y, work_), p_, work_.k[i]);
      }
    });
    work_.w = stage_algebra::sum<ErrorWeights, 0, stages>(s.h, work_.k);
    double norm = scaled_norm(work_.w, y, y_next, rtol, atol);
    if constexpr (T.low_order > 0) {
      work_.w = stage_algebra::sum<LowErrorWeights, 0, stages>(s.h, work_.k);
      const double low = scaled_norm(work_.w, y, y_next, rtol, atol);
      if (norm > 0) norm *= norm / std::sqrt(norm * norm + 0.01 * low * low);
    }
    return y_next.allFinite() ? norm : std::numeric_limits<double>::quiet_NaN();
  }

  /// Makes the last slope of the step just accepted the known first one of the next, if the method
  /// allows. Returns whether it is.
  bool pass_slope_on() requires(estimates_error) {
    if constexpr (first_same_as_last(T)) std::swap(work_.k[0], work_.k[stages - 1]);
    return first_same_as_last(T);
  }

  /// The size of the first trial step. The first slope is known afterwards.
  /// @param span   t1 - t0, not zero
  /// @param order  of the error estimate
  double first_step(double t0, double span, const State& y, double rtol, double atol, int order) {
    State& k = work_.k[0];
    State& moved = work_.y[0];
    slope(t0, y, k);
    const double limit = std::abs(span);
    const double d1 = scaled_norm(k, y, y, rtol, atol);
    const double h0 = initial_probe(scaled_norm(y, y, y, rtol, atol), d1, limit);
    const double h = std::copysign(h0, span);
    moved = y + static_cast<Scalar>(h) * k;
    f_.rhs(h0 == limit ? t0 + span : t0 + h, moved, p_, work_.w);
    work_.w -= k;
    const double d2 = scaled_norm(work_.w, y, y, rtol, atol) / h0;
    return initial_step(h0, d1, d2, order, limit);
  }

  /// The sum of h sum_i b_i g(t_i, Y_i) over the steps made with `accumulate`.
  double integral = 0;

  [[nodiscard]] const Parameters& parameters() const noexcept { return p_; }

 private:
  static constexpr std::size_t stages = T.a.size();
  static constexpr std::size_t solution = solution_stages(T);
  static constexpr bool integrates = HasIntegrand<Objective, State, Parameters>;
  static constexpr bool few_parameters =
      Parameters::SizeAtCompileTime != Eigen::Dynamic && Parameters::SizeAtCompileTime <= 16;
  static constexpr bool on_stack =
      State::SizeAtCompileTime != Eigen::Dynamic && sizeof(State) <= 512;

  using Coefficients = stage_algebra::CoefficientsOf<T>;
  template <std::size_t I>
  using Row = typename Coefficients::template Row<I>;
  template <std::size_t I>
  using Column = typename Coefficients::template Column<I>;
  using Weights = typename Coefficients::Weights;
  using Ones = typename Coefficients::Ones;
  struct ErrorWeights {
    static constexpr double at(std::size_t j) { return T.b_hat[j] - T.b[j]; }
  };
  struct LowErrorWeights {
    static constexpr double at(std::size_t j) { return T.b_low[j] - T.b[j]; }
  };

  struct Work {
    std::array<State, stages> k;  // slopes; in the adjoint, then, the v_i
    std::array<State, stages> y;  // stage values; the first one is the state itself
    State w;
  };

  // The last stage below `solution` that reads slope j; 0 if none does.
  static constexpr std::size_t last_reader(std::size_t j) {
    for (std::size_t i = solution - 1; i > j; --i) {
      if (T.a[i][j] != 0) return i;
    }
    return 0;
  }

  // In the adjoint, slope j is only needed to form stage values. It can live where the last of them
  // will be written, unless a later slope does: for methods of Kutta's kind this saves a buffer and
  // a stream of memory a stage.
  struct Homes {
    Work& work;
    template <std::size_t J>
    State& at() const {
      constexpr std::size_t reader = last_reader(J);
      constexpr bool taken = [] {
        for (std::size_t j = J + 1; j < reader; ++j) {
          if (last_reader(j) == reader) return true;
        }
        return false;
      }();
      if constexpr (taken) {
        return work.k[J];
      } else {
        return work.y[reader];
      }
    }
    template <std::size_t J>
    friend State& get(const Homes& homes) {
      return homes.template at<J>();
    }
  };

  template <std::size_t I>
  static double stage_time(const Interval& s) {
    // Exactly the end, where y⁺ and the next step are: nothing is evaluated beyond t1, and the last
    // slope has the bits of the next first one.
    if constexpr (T.c[I] == 0) {
      return s.t;
    } else if constexpr (T.c[I] == 1) {
      return s.t_next;
    } else {
      return s.t + T.c[I] * s.h;
    }
  }

  // Y_i from the slopes; y itself if the row is empty.
  template <std::size_t I>
  static const State& stage_value(const Interval& s, const State& y, Work& work) {
    if constexpr (stage_algebra::next_nonzero<Row<I>>(0, I) == I) {
      return y;
    } else {
      stage_algebra::assign(work.y[I], stage_algebra::plus<Row<I>, 0, I>(y, s.h, work.k));
      return work.y[I];
    }
  }

  // The one place where a slope is evaluated that two steps share.
  COSTATE_ONE_INSTANCE void slope(double t, const State& y, State& k) const { f_.rhs(t, y, p_, k); }

  // Called whether it has to add or not, so that the code around it is the same in replays.
  COSTATE_ONE_INSTANCE void accumulate(bool wanted, double weight, double t, const State& y) {
    if (wanted) integral += weight * static_cast<double>(objective_.integrand(t, y, p_));
  }

  // Root mean square of e_i / (atol + rtol max(|y_i|, |z_i|)); 0 / 0 counts as 0.
  COSTATE_ONE_INSTANCE static double scaled_norm(const State& e, const State& y, const State& z,
                                                 double rtol, double atol) {
    const auto size = y.array().abs().max(z.array().abs());
    const auto scale = (static_cast<Scalar>(atol) + static_cast<Scalar>(rtol) * size)
                           .max(std::numeric_limits<Scalar>::min());
    const auto sum = (e.array() / scale).square().sum();
    return std::sqrt(static_cast<double>(sum) / static_cast<double>(e.size()));
  }

  void objective_gradient(double t, const State& y) {
    y_term_.setZero();
    p_term_.setZero();
    objective_.integrand_gradient(t, y, p_, y_term_, p_term_);
  }

  void forward(const Interval& s, const State& y, State& y_next, Extras extras, Work& work) {
    stage_algebra::each<solution>([&](auto index) {
      constexpr std::size_t i = index;
      // One buffer serves all stage values; each is dead when the next is formed.
      const State* stage = &y;
      if constexpr (stage_algebra::next_nonzero<Row<i>>(0, i) != i) {
        stage_algebra::assign(work.w, stage_algebra::plus<Row<i>, 0, i>(y, s.h, work.k));
        stage = &work.w;
      }
      const double t = stage_time<i>(s);
      if constexpr (i == 0 && T.embedded_order > 0) {
        if (!extras.slope_known) slope(t, *stage, work.k[i]);
      } else {
        f_.rhs(t, *stage, p_, work.k[i]);
      }
      if constexpr (integrates && T.b[i] != 0) {
        accumulate(extras.accumulate, s.h * T.b[i], t, *stage);
      }
    });
    stage_algebra::assign(y_next, stage_algebra::plus<Weights, 0, solution>(y, s.h, work.k));
  }

  void backward(const Interval& s, const State& y, State& lambda, Parameters& p_bar, Work& work) {
    std::array<const State*, solution> stage;
    stage_algebra::each<solution>([&](auto index) {
      constexpr std::size_t i = index;
      stage[i] = &y;
      if constexpr (stage_algebra::next_nonzero<Row<i>>(0, i) != i) {
        stage_algebra::assign(work.y[i], stage_algebra::plus<Row<i>, 0, i>(y, s.h, Homes{work}));
        stage[i] = &work.y[i];
      }
      if constexpr (last_reader(i) != 0)
        f_.rhs(stage_time<i>(s), *stage[i], p_, Homes{work}.template at<i>());
    });
    stage_algebra::each<solution>([&](auto index) {
      constexpr std::size_t i = solution - 1 - index;
      constexpr bool in_solution = T.b[i] != 0;
      constexpr bool in_stages =
          stage_algebra::next_nonzero<Column<i>>(i + 1, solution) != solution;
      static_assert(in_solution || in_stages, "a stage that nothing reads");
      const double t = stage_time<i>(s);
      const auto weight = static_cast<Scalar>(s.h * T.b[i]);
      if constexpr (in_solution && in_stages) {
        stage_algebra::assign(work.w, stage_algebra::plus_down<Column<i>, i + 1, solution>(
                                          weight * lambda, s.h, work.k));
      } else if constexpr (in_solution) {
        stage_algebra::assign(work.w, weight * lambda);
      } else {
        stage_algebra::assign(work.w, stage_algebra::sum<Column<i>, i + 1, solution>(s.h, work.k));
      }
      f_.vjp(t, *stage[i], p_, work.w, work.k[i], p_bar);
      if constexpr (integrates && in_solution) {
        objective_gradient(t, *stage[i]);
        work.k[i] += weight * y_term_;
        p_bar += static_cast<typename Parameters::Scalar>(weight) * p_term_;
      }
    });
    stage_algebra::assign(lambda, stage_algebra::plus_down<Ones, 0, solution>(lambda, 1, work.k));
  }

  const F& f_;
  const Objective& objective_;
  Parameters p_;
  Work work_;
  State y_term_;  // gradient of the integrand
  Parameters p_term_;
};

}  // namespace costate
