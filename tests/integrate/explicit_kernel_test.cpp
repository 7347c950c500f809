#include "costate/integrate/explicit_kernel.hpp"

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "costate/integrate/explicit_runge_kutta.hpp"
#include "support/catch.hpp"
#include "support/complex_step.hpp"
#include "support/problems.hpp"

using namespace costate;

namespace {

// A method of three stages with b_2 = 0 and a stage that only the error estimate reads, to see that
// nothing depends on the shape of the well-known ones. Order 2.
constexpr Tableau<3> odd{.name = "odd",
                         .a = {{{}, {0.5}, {-1, 2}}},
                         .b = {1. / 6 + 1. / 3, 0, 0.5},
                         .c = {0, 0.5, 1},
                         .b_hat = {1. / 6, 2. / 3, 1. / 6},
                         .order = 2,
                         .embedded_order = 3};

// J = sin(y_1) y_n p_0 at the end + the integral of y_1² p_last cos t.
struct Objective {
  template <class Y, class P>
  static auto terminal(const Y& y, const P& p) {
    using std::sin;
    return sin(y[0]) * y[y.size() - 1] * p[0];
  }
  template <class Y, class P>
  static auto g(double t, const Y& y, const P& p) {
    return y[0] * y[0] * p[p.size() - 1] * std::cos(t);
  }
  template <class Y, class P>
  double integrand(double t, const Y& y, const P& p) const {
    return g(t, y, p);
  }
  template <class Y, class P>
  void integrand_gradient(double t, const Y& y, const P& p, Y& y_bar, P& p_bar) const {
    y_bar[0] += 2 * y[0] * p[p.size() - 1] * std::cos(t);
    p_bar[p.size() - 1] += y[0] * y[0] * std::cos(t);
  }
};

// All states kept; the plainest possible user of the kernel.
template <class F, const auto& T>
struct Run {
  using Kernel = ExplicitKernel<F, T, Objective>;
  F f{};
  Objective objective{};
  TimeGrid grid;
  Kernel kernel;
  std::vector<typename F::State> y;

  Run(TimeGrid times, const typename F::State& y0, const typename F::Parameters& p)
      : grid(std::move(times)), kernel(f, objective, p, y0.size()), y{y0} {
    for (Step k = 0; k < grid.steps(); ++k) {
      const Interval s = grid.interval(k);
      y.push_back(y.back());
      kernel.advance(&s, 1, y.back(), y.back(), {}, {.accumulate = true});
    }
  }
  double value() const {
    return Objective::terminal(y.back(), kernel.parameters()) + kernel.integral;
  }
  Eigen::VectorXd gradient() {
    const auto& p = kernel.parameters();
    typename F::State lambda = y.back();
    typename F::Parameters p_bar = p;
    lambda.setZero();
    p_bar.setZero();
    const auto last = y.back().size() - 1;
    lambda[0] += std::cos(y.back()[0]) * y.back()[last] * p[0];
    lambda[last] += std::sin(y.back()[0]) * p[0];
    p_bar[0] += std::sin(y.back()[0]) * y.back()[last];
    for (Step k = grid.steps() - 1; k >= 0; --k) {
      const Interval s = grid.interval(k);
      kernel.reverse(&s, 1, y[static_cast<std::size_t>(k)], {}, lambda, p_bar);
    }
    Eigen::VectorXd out(lambda.size() + p_bar.size());
    out << lambda, p_bar;
    return out;
  }
};

template <class F, const auto& T>
void check_gradient(const typename F::State& y0, const typename F::Parameters& p) {
  INFO(T.name);
  const TimeGrid grid = TimeGrid::listed({0.2, 0.3, 0.55, 0.6, 0.9});
  Run<F, T> run(grid, y0, p);
  const auto terminal = [](const auto& y, const auto& q) { return Objective::terminal(y, q); };
  const auto g = [](double t, const auto& y, const auto& q) { return Objective::g(t, y, q); };

  const Eigen::VectorXd gradient = run.gradient();

  const Eigen::VectorXd expected = oracle::gradient<F>(T, grid.times(), y0, p, terminal, g);
  const double value = oracle::run<F>(T, grid.times(), y0.template cast<oracle::Complex>(),
                                      p.template cast<oracle::Complex>(), terminal, g)
                           .real();
  // Four steps of at most seven stages, entries of order one: some hundred roundings.
  CHECK(std::abs(run.value() - value) < 1e-13 * std::abs(value));
  CHECK((gradient - expected).norm() < 1e-13 * expected.norm());
}

template <class F>
void check_all_tableaux(const typename F::State& y0, const typename F::Parameters& p) {
  check_gradient<F, tableaux::euler>(y0, p);
  check_gradient<F, tableaux::heun>(y0, p);
  check_gradient<F, tableaux::midpoint>(y0, p);
  check_gradient<F, tableaux::ssprk3>(y0, p);
  check_gradient<F, tableaux::bogacki_shampine_32>(y0, p);
  check_gradient<F, tableaux::runge_kutta_4>(y0, p);
  check_gradient<F, tableaux::dormand_prince_54>(y0, p);
  check_gradient<F, tableaux::tsitouras_54>(y0, p);
  check_gradient<F, odd>(y0, p);
}

template <class F, const auto& T>
void check_tangent(const typename F::State& y0, const typename F::Parameters& p) {
  INFO(T.name);
  Run<F, T> run(TimeGrid::with_steps(0.2, 0.9, 5), y0, p);
  const Eigen::VectorXd gradient = run.gradient();
  typename F::State dy = y0;
  typename F::Parameters dp = p;
  for (Eigen::Index i = 0; i < dy.size(); ++i) dy[i] = 0.3 + static_cast<double>(i);
  for (Eigen::Index i = 0; i < dp.size(); ++i) dp[i] = 0.7 - static_cast<double>(i);
  const double along = gradient.head(dy.size()).dot(dy) + gradient.tail(dp.size()).dot(dp);

  double dot = 0;
  for (Step k = 0; k < run.grid.steps(); ++k) {
    run.kernel.tangent(run.grid.interval(k), run.y[static_cast<std::size_t>(k)], dy, dp, dot);
  }
  const auto& y = run.y.back();
  const auto last = y.size() - 1;
  dot += std::cos(y[0]) * dy[0] * y[last] * p[0] + std::sin(y[0]) * dy[last] * p[0] +
         std::sin(y[0]) * y[last] * dp[0];

  CHECK(std::abs(dot - along) < 1e-13 * (gradient.norm() * (dy.norm() + dp.norm())));
}

struct Counting : problems::LotkaVolterra {
  mutable int rhs_calls = 0;
  mutable int vjp_calls = 0;
  void rhs(double t, const State& y, const Parameters& p, State& out) const {
    ++rhs_calls;
    LotkaVolterra::rhs(t, y, p, out);
  }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    ++vjp_calls;
    LotkaVolterra::vjp(t, y, p, w, y_bar, p_bar);
  }
};

struct Calls {
  int forward;
  int reverse_rhs;
  int reverse_vjp;
  friend bool operator==(const Calls&, const Calls&) = default;
};

template <const auto& T>
Calls calls_of_a_step() {
  Counting f;
  const NoIntegrand none;
  ExplicitKernel<Counting, T> kernel(f, none, Eigen::Vector4d(1, 2, 3, 4), 2);
  Eigen::Vector2d y(1, 2);
  Eigen::Vector2d lambda(1, 1);
  Eigen::Vector4d p_bar = Eigen::Vector4d::Zero();
  const Interval s{0, 0.1, 0.1};
  kernel.advance(&s, 1, y, y, {}, {});
  const int forward = f.rhs_calls;
  kernel.reverse(&s, 1, y, {}, lambda, p_bar);
  return {forward, f.rhs_calls - forward, f.vjp_calls};
}

}  // namespace

TEST_CASE("The adjoint of every tableau is the derivative of the step, by complex steps",
          "[integrate][oracle]") {
  SECTION("fixed size") {
    check_all_tableaux<problems::LotkaVolterra>({1.2, 0.7}, {1.5, 1.1, 2.7, 0.9});
    check_all_tableaux<problems::VanDerPol>({2, 0.6}, problems::VanDerPol::Parameters(1.3));
  }
  SECTION("dynamic size, time-dependent") {
    check_all_tableaux<problems::Forced>(Eigen::VectorXd::LinSpaced(11, 0.1, 1.3),
                                         Eigen::Vector2d(-0.8, 2.1));
  }
}

TEST_CASE("Tangent and adjoint are transposes of each other", "[integrate][property]") {
  const Eigen::Vector2d y(1.2, 0.7);
  const Eigen::Vector4d p(1.5, 1.1, 2.7, 0.9);
  check_tangent<problems::LotkaVolterra, tableaux::euler>(y, p);
  check_tangent<problems::LotkaVolterra, tableaux::heun>(y, p);
  check_tangent<problems::LotkaVolterra, tableaux::midpoint>(y, p);
  check_tangent<problems::LotkaVolterra, tableaux::ssprk3>(y, p);
  check_tangent<problems::LotkaVolterra, tableaux::bogacki_shampine_32>(y, p);
  check_tangent<problems::LotkaVolterra, tableaux::runge_kutta_4>(y, p);
  check_tangent<problems::LotkaVolterra, tableaux::dormand_prince_54>(y, p);
  check_tangent<problems::LotkaVolterra, tableaux::tsitouras_54>(y, p);
  check_tangent<problems::LotkaVolterra, odd>(y, p);
  check_tangent<problems::Forced, tableaux::dormand_prince_54>(
      Eigen::VectorXd::LinSpaced(11, 0.1, 1.3), Eigen::Vector2d(-0.8, 2.1));
}

TEST_CASE("A step and its adjoint call what they need and no more", "[integrate][unit]") {
  CHECK(calls_of_a_step<tableaux::euler>() == Calls{1, 0, 1});
  CHECK(calls_of_a_step<tableaux::heun>() == Calls{2, 1, 2});
  CHECK(calls_of_a_step<tableaux::midpoint>() == Calls{2, 1, 2});
  CHECK(calls_of_a_step<tableaux::ssprk3>() == Calls{3, 2, 3});
  CHECK(calls_of_a_step<tableaux::runge_kutta_4>() == Calls{4, 3, 4});
  CHECK(calls_of_a_step<tableaux::bogacki_shampine_32>() == Calls{3, 2, 3});
  CHECK(calls_of_a_step<tableaux::dormand_prince_54>() == Calls{6, 5, 6});
  CHECK(calls_of_a_step<tableaux::tsitouras_54>() == Calls{6, 5, 6});
}

TEST_CASE("A range of steps has the bits of single steps, with rows or without",
          "[integrate][property]") {
  const problems::LotkaVolterra f;
  const NoIntegrand none;
  using Kernel = ExplicitKernel<problems::LotkaVolterra, tableaux::runge_kutta_4>;
  Kernel kernel(f, none, Eigen::Vector4d(1.5, 1, 3, 1), 2);
  const TimeGrid grid = TimeGrid::with_steps(0, 1, 20);
  std::vector<Interval> s(20);
  grid.fill(0, 20, s.data());
  std::vector<Eigen::Vector2d> rows(20);
  const Kernel::StateRows row_view{reinterpret_cast<std::byte*>(rows.data()), sizeof rows[0]};

  Eigen::Vector2d one(1, 1);
  std::vector<Eigen::Vector2d> states;
  for (const Interval& step : s) {
    states.push_back(one);
    kernel.advance(&step, 1, one, one, {}, {});
  }
  Eigen::Vector2d range(1, 1);
  kernel.advance(s.data(), 20, range, range, row_view, {});

  CHECK(range == one);
  CHECK(rows == states);

  Eigen::Vector2d lambda_one(1, 2);
  Eigen::Vector2d lambda_range(1, 2);
  Eigen::Vector4d p_one(0, 0, 0, 0);
  Eigen::Vector4d p_range(0, 0, 0, 0);
  for (std::size_t k = 20; k-- > 0;) {
    kernel.reverse(&s[k], 1, states[k], {}, lambda_one, p_one);
  }
  Eigen::Vector2d live(0, 0);
  kernel.reverse(s.data(), 20, live, row_view, lambda_range, p_range);

  CHECK(lambda_range == lambda_one);
  CHECK(p_range == p_one);
  CHECK(live == states.front());
}

TEST_CASE("The slope passed on has the bits of the slope evaluated anew", "[integrate][property]") {
  const problems::LotkaVolterra f;
  const NoIntegrand none;
  using Kernel = ExplicitKernel<problems::LotkaVolterra, tableaux::dormand_prince_54>;
  Kernel reusing(f, none, Eigen::Vector4d(1.5, 1, 3, 1), 2);
  Kernel plain(f, none, Eigen::Vector4d(1.5, 1, 3, 1), 2);
  Eigen::Vector2d y(1, 1);
  Eigen::Vector2d z = y;
  bool known = false;
  for (const double t : {0.0, 0.25, 0.5, 0.75}) {
    const Interval s{t, 0.25, t + 0.25};
    Eigen::Vector2d next;
    reusing.advance(&s, 1, y, next, {}, {.slope_known = known, .keep_slopes = true});
    CHECK(reusing.error(s, y, next, 1e-6, 1e-6) > 0);
    known = reusing.pass_slope_on();
    y = next;
    plain.advance(&s, 1, z, z, {}, {});
    CHECK(y == z);
  }
  CHECK(known);
}

TEST_CASE("The error estimate is the scaled difference of the two solutions", "[integrate][unit]") {
  // Heun with Euler embedded, y' = -y from 1 with h = 0.1: y⁺ = 0.905, Euler 0.9.
  const problems::Linear f;
  const NoIntegrand none;
  ExplicitKernel<problems::Linear, tableaux::heun> kernel(f, none, problems::Linear::Parameters(-1),
                                                          1);
  const problems::Linear::State y(1);
  problems::Linear::State next;
  const Interval s{0, 0.1, 0.1};
  kernel.advance(&s, 1, y, next, {}, {.keep_slopes = true});
  const double eps = std::numeric_limits<double>::epsilon();
  CHECK(std::abs(next[0] - 0.905) <= 2 * eps);
  CHECK(std::abs(kernel.error(s, y, next, 1e-2, 1e-3) - 0.005 / (1e-3 + 1e-2)) < 100 * eps);

  next[0] = std::numeric_limits<double>::infinity();
  CHECK(std::isnan(kernel.error(s, y, next, 1e-2, 1e-3)));
}
