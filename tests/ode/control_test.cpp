// Controls on a time grid: weights of a signal, gradients per node.

#include "costate/ode/control.hpp"

#include <cmath>
#include <complex>
#include <numeric>
#include <vector>

#include "costate/costate.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

using V1 = Eigen::Matrix<double, 1, 1>;
using V2 = Eigen::Vector2d;
using Many = Eigen::VectorXd;

double relative(double x, double reference) {
  return std::abs(x - reference) / std::abs(reference);
}

double value_at(const Signal& s, const std::vector<double>& nodes, double t) {
  const SignalWeights w = s.weights(t, s.interval(t));
  double sum = 0;
  for (std::size_t a = 0; a < w.count; ++a) sum += w.weight[a] * nodes[w.node[a]];
  return sum;
}

template <class State, class Parameters>
auto last_state(Eigen::Index i) {
  return terminal(
      [i](const State& y, const Parameters&) { return y[i]; },
      [i](const State&, const Parameters&, State& y_bar, Parameters&) { y_bar[i] += 1; });
}

// y1' = y1 / 2 + u,  y2' = y1² + u² / 2
auto optimal_control_problem() {
  return autodiff<V2, V1>([](double, const auto& y, const auto& q, auto& dydt) {
    dydt[0] = 0.5 * y[0] + q[0];
    dydt[1] = y[0] * y[0] + 0.5 * q[0] * q[0];
  });
}

}  // namespace

TEST_CASE("a signal is what its interpolation says", "[ode][signal]") {
  const std::vector<double> times{0, 0.5, 0.75, 2, 3};
  const Signal steps(times, Interpolation::constant);
  CHECK(steps.nodes() == 4);
  CHECK(value_at(steps, {1, 2, 3, 4}, 0.5) == 2);
  CHECK(value_at(steps, {1, 2, 3, 4}, 0.49) == 1);
  CHECK(value_at(steps, {1, 2, 3, 4}, 3) == 4);
  CHECK(value_at(steps, {1, 2, 3, 4}, -1) == 1);

  // Linear reproduces lines, cubic reproduces parabolas, on any grid and up to its ends.
  const auto line = [](double t) { return 2 - 3 * t; };
  const auto parabola = [](double t) { return 1 + t * (2 - 3 * t); };
  std::vector<double> l;
  std::vector<double> q;
  for (const double t : times) {
    l.push_back(line(t));
    q.push_back(parabola(t));
  }
  for (double t = 0; t <= 3; t += 1. / 64) {
    CAPTURE(t);
    CHECK(std::abs(value_at({times, Interpolation::linear}, l, t) - line(t)) < 1e-14);
    CHECK(std::abs(value_at({times, Interpolation::cubic}, q, t) - parabola(t)) < 1e-13);
  }
  // The first derivative of the cubic has no jump at a node.
  const Signal cubic(times, Interpolation::cubic);
  const std::vector<double> nodes{1, -1, 4, 0, 2};
  const auto at = [&](double t, std::size_t i) {
    const SignalWeights w = cubic.weights(t, i);
    double sum = 0;
    for (std::size_t a = 0; a < w.count; ++a) sum += w.weight[a] * nodes[w.node[a]];
    return sum;
  };
  for (std::size_t j = 1; j < 4; ++j) {
    const double e = 1e-4;
    const double t = times[j];
    CHECK(std::abs(at(t, j - 1) - nodes[j]) < 1e-14);
    CHECK(std::abs(at(t, j) - nodes[j]) < 1e-14);
    const double left = (at(t + e, j - 1) - at(t - e, j - 1)) / (2 * e);
    const double right = (at(t + e, j) - at(t - e, j)) / (2 * e);
    CHECK(std::abs(left - right) < 1e-4);  // e² times third derivatives up to about 1000
  }
  // Three nodes are one parabola.
  CHECK(std::abs(value_at({{0, 1, 3}, Interpolation::cubic}, {1, 0, -20}, 2) - parabola(2)) <
        1e-13);

  CHECK_THROWS_WITH(Signal({0, 1}, Interpolation::cubic), "Signal: needs at least 3 times");
  CHECK_THROWS_WITH(Signal({0, 1, 1}, Interpolation::linear),
                    "Signal: the times are not strictly increasing at index 2");
  CHECK_THROWS_AS(Signal({0, 1}, Interpolation::linear, 0), InvalidArgument);
}

TEST_CASE("C40: a short pulse is stepped over", "[ode][control][case]") {
  const auto f = controlled(
      autodiff<V1, V1>([](double, const auto&, const auto& q, auto& dydt) { dydt[0] = q[0]; }),
      Signal({0, 4, 4.25, 40}, Interpolation::constant));
  const RunOf<decltype(f)> run{
      .t0 = 0, .t1 = 40, .y0 = V1(0.), .p = f.parameters(Many(0), Eigen::Vector3d(0, 3, 0))};
  const auto check = [&](const auto& method) {
    const auto r = value_and_gradient(f, method, last_state<V1, Many>(0), run);
    CHECK(relative(r.value, 0.75) < 1e-10);
    CHECK(relative(f.nodes(r.dp)(0, 1), 0.25) < 1e-10);
    CHECK(relative(f.nodes(r.dp)(0, 0), 4) < 1e-10);
    CHECK(relative(f.nodes(r.dp)(0, 2), 35.75) < 1e-10);
    CHECK(r.grid.index_of(4) != unknown);
    CHECK(r.grid.index_of(4.25) != unknown);
  };
  check(Dopri5{.rtol = 1e-8, .atol = 1e-8});
  check(BogackiShampine32{.rtol = 1e-8, .atol = 1e-8});
  check(Esdirk43{.rtol = 1e-8, .atol = 1e-8});
  check(RungeKutta4{.steps = 7});
}

TEST_CASE("C42: piecewise constant parameters get their own gradient", "[ode][control][case]") {
  // u1' = a u1 - u1 u2, u2' = -a u2 + u1 u2, a = p_i on [i-1, i)
  const auto f = controlled(autodiff<V2, V1>([](double, const auto& u, const auto& a, auto& out) {
                              out[0] = a[0] * u[0] - u[0] * u[1];
                              out[1] = -a[0] * u[1] + u[0] * u[1];
                            }),
                            Signal({0, 1, 2, 3, 4}, Interpolation::constant));
  std::vector<double> times;
  for (int k = 0; k <= 40; ++k) times.push_back(k / 10.);
  const auto sum = autodiff_observations<V2, Many>(
      times, [](std::size_t, const auto& u, const auto&, auto& value) { value = u[0] + u[1]; });
  RunOf<decltype(f)> run{.t0 = 0,
                         .t1 = 4,
                         .y0 = {1.2, 0.7},
                         .p = f.parameters(Many(0), Eigen::Vector4d(0.8, 1.1, 1.4, 0.6))};

  const auto whole = value_and_gradient(f, RungeKutta4{.h = 0.05}, sum, run);
  CHECK(whole.grid.steps() == 80);
  CHECK(relative(whole.value, 96.501736483738117797) < 1e-11);
  CHECK(relative(whole.dp[0], 34.522653920352178898) < 1e-10);
  CHECK(relative(whole.dp[1], 47.125108918168245884) < 1e-10);
  CHECK(relative(whole.dp[2], 29.219819980756458398) < 1e-10);
  CHECK(relative(whole.dp[3], 1.8030473260858520988) < 1e-10);
  CHECK(relative(whole.dy0[0], -3.784115904620014871) < 1e-10);
  CHECK(relative(whole.dy0[1], -36.189885092129810663) < 1e-10);
  for (const Slot slots : {1, 2, 3, 7}) {
    run.budget = {.memory = memory_for(slots, sizeof(V2))};
    const auto some = value_and_gradient(f, RungeKutta4{.h = 0.05}, sum, run);
    CHECK(some.value == whole.value);
    CHECK(some.dp == whole.dp);
    CHECK(some.dy0 == whole.dy0);
  }

  const Dopri5 adaptive{.rtol = 1e-10, .atol = 1e-10};
  run.budget = {};
  const auto r = value_and_gradient(f, adaptive, sum, run);
  CHECK(relative(r.dp[0], 34.522646940104151549) < 1e-6);
  CHECK(relative(r.dp[1], 47.125111241341564753) < 1e-6);
  CHECK(relative(r.dp[2], 29.21982573618427029) < 1e-6);
  CHECK(relative(r.dp[3], 1.8030480585306207147) < 1e-6);
  for (const Slot slots : {1, 2, 5}) {
    run.budget = {.memory = memory_for(slots, sizeof(V2))};
    const auto some = value_and_gradient(f, adaptive, sum, run);
    CHECK(some.value == r.value);
    CHECK(some.dp == r.dp);
    CHECK(some.dy0 == r.dy0);
  }
}

TEST_CASE("the gradient of every kind of signal is that of complex steps", "[ode][control]") {
  using Complex = std::complex<double>;
  const std::vector<double> times{-0.5, 0.1, 0.4, 0.5, 1, 1.7};
  for (const auto kind : {Interpolation::constant, Interpolation::linear, Interpolation::cubic}) {
    CAPTURE(static_cast<int>(kind));
    const Signal signal(times, kind, 2);
    const auto rhs = [](double t, const auto& y, const auto& q, auto& out) {
      out[0] = q[0] * y[1] + t * q[1];
      out[1] = -y[0] * q[1] + q[2] * y[1];
    };
    const auto f = controlled(autodiff<V2, Eigen::Vector3d>(rhs), signal);
    const auto nodes = static_cast<Eigen::Index>(signal.nodes());
    Eigen::MatrixXd u(2, nodes);
    for (Eigen::Index j = 0; j < nodes; ++j)
      u.col(j) = V2(0.3 * double(j) - 0.5, 1 / (1. + double(j)));
    const Many p = f.parameters(Many::Constant(1, 1.1), u);
    const auto end = last_state<V2, Many>(0);
    const RunOf<decltype(f)> run{.t0 = 0, .t1 = 1.2, .y0 = {1, 0.5}, .p = p};
    const auto r = value_and_gradient(f, RungeKutta4{.steps = 10}, end, run);
    CHECK(r.grid.steps() == 10 + 4);  // 0.1, 0.4, 0.5 and 1 are not on the grid of 0.12

    // The same in complex numbers, each step with the signal of the interval it lies in.
    const auto textbook = [&](const Eigen::VectorXcd& x) {
      Complex y0 = x[0];
      Complex y1 = x[1];
      const auto grid = r.times();
      for (std::size_t k = 0; k + 1 < grid.size(); ++k) {
        const double h = grid[k + 1] - grid[k];
        const std::size_t i = signal.interval((grid[k] + grid[k + 1]) / 2);
        const auto slope = [&](double t, Complex a, Complex b) {
          const SignalWeights w = signal.weights(t, i);
          Eigen::Vector3cd q(x[2], 0, 0);
          q.setZero();
          q[0] = x[2];
          for (std::size_t j = 0; j < w.count; ++j) {
            const auto at = 3 + 2 * static_cast<Eigen::Index>(w.node[j]);
            q[1] += w.weight[j] * x[at];
            q[2] += w.weight[j] * x[at + 1];
          }
          Eigen::Vector2cd out;
          rhs(t, Eigen::Vector2cd(a, b), q, out);
          return out;
        };
        const double t = grid[k];
        const auto k1 = slope(t, y0, y1);
        const auto k2 = slope(t + h / 2, y0 + h / 2 * k1[0], y1 + h / 2 * k1[1]);
        const auto k3 = slope(t + h / 2, y0 + h / 2 * k2[0], y1 + h / 2 * k2[1]);
        const auto k4 = slope(t + h, y0 + h * k3[0], y1 + h * k3[1]);
        y0 += h / 6 * (k1[0] + 2. * k2[0] + 2. * k3[0] + k4[0]);
        y1 += h / 6 * (k1[1] + 2. * k2[1] + 2. * k3[1] + k4[1]);
      }
      return y0;
    };
    Eigen::VectorXcd x(2 + p.size());
    x << run.y0.cast<Complex>(), p.cast<Complex>();
    CHECK(relative(r.value, textbook(x).real()) < 1e-14);
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      Eigen::VectorXcd moved = x;
      moved[i] += Complex(0, 1e-30);
      const double expected = textbook(moved).imag() / 1e-30;
      CHECK(std::abs((i < 2 ? r.dy0[i] : r.dp[i - 2]) - expected) < 1e-13);
    }
    // Tangent and adjoint agree, bits do not depend on the budget, and implicit methods can do it.
    CHECK(verify(f, RungeKutta4{.steps = 10}, end, run).ok);
    CHECK(verify(f, Dopri5{.rtol = 1e-6, .atol = 1e-6}, end, run).ok);
    CHECK(verify(f, Sdirk2{.steps = 10}, end, run).ok);
    // Backwards in time.
    CHECK(
        verify(f, RungeKutta4{.steps = 10}, end, {.t0 = 1.2, .t1 = 0, .y0 = {1, 0.5}, .p = p}).ok);
  }
}

TEST_CASE("the optimal control of the reference is found", "[ode][control][golden]") {
  const auto exact = [](double t) {
    return 2 * (std::exp(3 * t) - std::exp(3.)) / (std::exp(1.5 * t) * (2 + std::exp(3.)));
  };
  constexpr double best = 0.8641644977691127;
  constexpr double tolerance = 1e-8;
  constexpr int n = 33;
  std::vector<double> times;
  for (int j = 0; j < n; ++j) times.push_back(j / (n - 1.));
  const auto f = controlled(optimal_control_problem(), Signal(times, Interpolation::cubic));
  const auto cost = last_state<V2, Many>(1);
  const auto at = [&](const Many& u) {
    return value_and_gradient(f, Dopri5{.steps = n - 1}, cost,
                              {.t0 = 0, .t1 = 1, .y0 = {1, 0}, .p = f.parameters(Many(0), u)});
  };
  // The cost is a quadratic function of the nodes: conjugate gradients end after n steps.
  Many u = Many::Zero(n);
  const Many g0 = at(Many::Zero(n)).dp;
  Many g = g0;
  Many d = -g;
  for (int i = 0; i < 2 * n && g.norm() > 1e-10; ++i) {
    const Many hd = at(d).dp - g0;
    const double step = g.squaredNorm() / d.dot(hd);
    u += step * d;
    const Many next = g + step * hd;
    d = -next + next.squaredNorm() / g.squaredNorm() * d;
    g = next;
  }
  CHECK(at(u).dp.norm() < 1e-9);
  const auto found =
      value_and_gradient(f, Dopri5{.rtol = tolerance, .atol = tolerance}, cost,
                         {.t0 = 0, .t1 = 1, .y0 = {1, 0}, .p = f.parameters(Many(0), u)});
  CHECK(std::abs(found.value - best) < 100 * tolerance);
  for (int j = 0; j < n; ++j) {
    // Flat at the minimum: an error of 1e-8 in the cost allows one of its square root.
    CHECK(std::abs(u[j] - exact(times[static_cast<std::size_t>(j)])) < 100 * std::sqrt(tolerance));
  }
}

TEST_CASE("parameters of a controlled problem must fit", "[ode][control]") {
  const auto f = controlled(optimal_control_problem(), Signal({0, 1, 2}, Interpolation::linear));
  CHECK_THROWS_WITH(f.parameters(Many(0), Eigen::Vector2d(0, 0)),
                    "controlled: the signal has 1 channels and 3 nodes, not 2 by 1 values");
  CHECK_THROWS_AS(controlled(optimal_control_problem(), Signal({0, 1}, Interpolation::linear, 2)),
                  InvalidArgument);
  const Many p = f.parameters(Many(0), Eigen::Vector3d(1, 2, 3));
  CHECK(f.nodes(p) == Eigen::RowVector3d(1, 2, 3));
  CHECK(f.constants(p).size() == 0);
}
