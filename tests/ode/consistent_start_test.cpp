// Consistent initial values of algebraic equations, and their derivatives.

#include "costate/ode/consistent_start.hpp"

#include <cmath>
#include <limits>
#include <type_traits>

#include "costate/costate.hpp"
#include "costate/integrate/banded_solver.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/fully_implicit.hpp"
#include "costate/integrate/sparse_solver.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

// y' = -p0 y z, 0 = z³ + y z - p1 + t: one real z for y > 0.
struct Cubic {
  using State = Eigen::Vector2d;
  using Parameters = Eigen::Vector2d;
  void rhs(double t, const State& x, const Parameters& p, State& out) const {
    out << -p[0] * x[0] * x[1], x[1] * x[1] * x[1] + x[0] * x[1] - p[1] + t;
  }
  void vjp(double, const State& x, const Parameters& p, const State& w, State& x_bar,
           Parameters& p_bar) const {
    x_bar << -p[0] * x[1] * w[0] + x[1] * w[1],
        -p[0] * x[0] * w[0] + (3 * x[1] * x[1] + x[0]) * w[1];
    p_bar[0] -= x[0] * x[1] * w[0];
    p_bar[1] -= w[1];
  }
  void jvp(double, const State& x, const Parameters& p, const State& dx, const Parameters& dp,
           State& out) const {
    out << -p[0] * (x[1] * dx[0] + x[0] * dx[1]) - dp[0] * x[0] * x[1],
        x[1] * dx[0] + (3 * x[1] * x[1] + x[0]) * dx[1] - dp[1];
  }
};

// The same equations after a rotation of the states and mixing of the rows, so that the mass matrix
// is singular without a row or column of zeros: M = A diag(1, 0) B, f = A f(B x).
struct Mixed {
  using State = Eigen::Vector2d;
  using Parameters = Eigen::Vector2d;
  static Eigen::Matrix2d a() { return (Eigen::Matrix2d() << 2, 1, -1, 3).finished(); }
  static Eigen::Matrix2d b() { return (Eigen::Matrix2d() << 0.6, 0.8, -0.8, 0.6).finished(); }
  static Eigen::Matrix2d mass() { return a() * Eigen::Vector2d(1, 0).asDiagonal() * b(); }
  Cubic cubic = {};
  void rhs(double t, const State& x, const Parameters& p, State& out) const {
    State slope;
    cubic.rhs(t, b() * x, p, slope);
    out = a() * slope;
  }
  void vjp(double t, const State& x, const Parameters& p, const State& w, State& x_bar,
           Parameters& p_bar) const {
    State inner;
    cubic.vjp(t, b() * x, p, a().transpose() * w, inner, p_bar);
    x_bar = b().transpose() * inner;
  }
};

using Diagonal2 = Eigen::DiagonalMatrix<double, 2>;
const auto cubic = with_mass(Cubic{}, Diagonal2(1, 0));

double root_of_cubic(double y, double c) {
  double z = 1;
  for (int i = 0; i < 100; ++i) z -= (z * z * z + y * z - c) / (3 * z * z + y);
  return z;
}

// n cells: odd ones hold y' = p (left - y), even ones z with 0 = z + z³ - p y of the neighbour.
template <class Matrix>
struct Cells {
  using State = Eigen::VectorXd;
  using Parameters = Eigen::Matrix<double, 1, 1>;
  using Jacobian = Matrix;
  static void set(Eigen::SparseMatrix<double>& j, Eigen::Index i, int k, double v) {
    j.coeffRef(i, i + k) = v;
  }
  static void set(BandedMatrix<double, 1, 1>& j, Eigen::Index i, int k, double v) {
    j.band(i, k) = v;
  }
  static void set(Eigen::MatrixXd& j, Eigen::Index i, int k, double v) {
    if (k == -1 && i == 0) return;
    j(i, i + k) = v;
  }
  void rhs(double, const State& x, const Parameters& p, State& out) const {
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const double left = i > 0 ? x[i - 1] : 1;
      out[i] = i % 2 == 1 ? p[0] * (left - x[i]) : x[i] + x[i] * x[i] * x[i] - p[0] * left;
    }
  }
  void vjp(double, const State& x, const Parameters& p, const State& w, State& x_bar,
           Parameters& p_bar) const {
    x_bar.setZero();
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const double left = i > 0 ? x[i - 1] : 1;
      const bool differential = i % 2 == 1;
      x_bar[i] += (differential ? -p[0] : 1 + 3 * x[i] * x[i]) * w[i];
      if (i > 0) x_bar[i - 1] += (differential ? p[0] : -p[0]) * w[i];
      p_bar[0] += (differential ? left - x[i] : -left) * w[i];
    }
  }
  void jacobian(double, const State& x, const Parameters& p, Jacobian& j) const {
    if constexpr (std::is_same_v<Matrix, Eigen::MatrixXd>) j.setZero();
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      const bool differential = i % 2 == 1;
      if (i > 0) set(j, i, -1, differential ? p[0] : -p[0]);
      set(j, i, 0, differential ? -p[0] : 1 + 3 * x[i] * x[i]);
    }
  }
};

Eigen::DiagonalMatrix<double, Eigen::Dynamic> cell_mass(Eigen::Index n) {
  Eigen::VectorXd m(n);
  for (Eigen::Index i = 0; i < n; ++i) m[i] = i % 2 == 1 ? 2 : 0;
  return Eigen::DiagonalMatrix<double, Eigen::Dynamic>(m);
}

template <class Matrix>
struct CellStart {
  Eigen::VectorXd y0, dy0;
  Eigen::Matrix<double, 1, 1> dp;

  CellStart() {
    const Eigen::Index n = 61;
    const auto f = with_mass(Cells<Matrix>{}, cell_mass(n));
    const Eigen::Matrix<double, 1, 1> p(0.7);
    ConsistentStart start(f, 0, Eigen::VectorXd::LinSpaced(n, 0.5, 1), p);
    y0 = start.state();
    dy0 = Eigen::VectorXd::LinSpaced(n, -1, 1);
    dp.setZero();
    start.pull_back(dy0, dp);
  }
};

}  // namespace

TEST_CASE("Algebraic components are solved for, the others kept", "[ode][oracle]") {
  const Eigen::Vector2d p(0.3, 5);
  ConsistentStart start(cubic, 0.25, {2, 40}, p);
  CHECK(start.state()[0] == 2);
  CHECK(start.state()[1] == Catch::Approx(root_of_cubic(2, 4.75)).epsilon(1e-15));
  // What is consistent stays as it is.
  ConsistentStart again(cubic, 0.25, start.state(), p);
  CHECK(again.state() == start.state());
}

TEST_CASE("The derivative of a start is that of the solved equations", "[ode][oracle]") {
  const Eigen::Vector2d p(0.3, 5);
  ConsistentStart start(cubic, 0, {2, 1}, p);
  const double z = start.state()[1];
  // dz = (dp1 - z dy) / (3 z² + y)
  const double slope = 1 / (3 * z * z + 2);
  Eigen::Vector2d dy0(0.4, -0.7);
  Eigen::Vector2d dp(0.1, 0.2);
  start.pull_back(dy0, dp);
  CHECK(dy0[0] == Catch::Approx(0.4 + 0.7 * z * slope).epsilon(1e-14));
  CHECK(dy0[1] == 0);
  CHECK(dp[0] == Catch::Approx(0.1).epsilon(1e-15));
  CHECK(dp[1] == Catch::Approx(0.2 - 0.7 * slope).epsilon(1e-14));

  Eigen::Vector2d dy(0.9, 123);
  start.push_forward(dy, {7, -0.6});
  CHECK(dy[0] == Catch::Approx(0.9).epsilon(1e-15));
  CHECK(dy[1] == Catch::Approx((-0.6 - z * 0.9) * slope).epsilon(1e-14));
}

TEST_CASE("The whole gradient goes through the start", "[ode][oracle]") {
  // z(t0) counts in the objective, so p1 acts on it through the start alone.
  using V = Eigen::Vector2d;
  const auto objective = observations(
      {0., 0.5, 1.}, [](std::size_t, const V& x, const V&) { return x[1] * x[1] + x[0]; },
      [](std::size_t, const V& x, const V&, V& x_bar, V&) { x_bar += V(1, 2 * x[1]); });
  const auto gradient = [&](const auto& f, const auto& guess, const Eigen::Vector2d& p) {
    ConsistentStart start(f, 0, guess, p);
    auto result = value_and_gradient(f, Radau5{.steps = 8}, objective,
                                     {.t0 = 0, .t1 = 1, .y0 = start.state(), .p = p});
    start.pull_back(result);
    return result;
  };
  const Eigen::Vector2d guess(2, 1);
  const Eigen::Vector2d p(0.3, 5);
  const auto exact = gradient(cubic, guess, p);
  const auto difference = [&](const Eigen::Vector2d& dg, const Eigen::Vector2d& dp) {
    const double h = 1e-3;  // of fourth order
    const auto at = [&](double x) { return gradient(cubic, guess + x * dg, p + x * dp).value; };
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
  };
  CHECK(exact.dy0[0] == Catch::Approx(difference({1, 0}, {0, 0})).epsilon(1e-9));
  CHECK(exact.dy0[1] == 0);
  CHECK(exact.dp[0] == Catch::Approx(difference({0, 0}, {1, 0})).epsilon(1e-9));
  CHECK(exact.dp[1] == Catch::Approx(difference({0, 0}, {0, 1})).epsilon(1e-9));
}

TEST_CASE("A mass matrix may be singular without rows of zeros", "[ode][oracle]") {
  const auto f = with_mass(Mixed{}, Mixed::mass());
  const Eigen::Vector2d p(0.3, 5);
  ConsistentStart start(f, 0, Mixed::b().transpose() * Eigen::Vector2d(2, 1), p);
  ConsistentStart plain(cubic, 0, {2, 1}, p);
  CHECK((Mixed::b() * start.state() - plain.state()).norm() < 1e-14);
  // The same derivative in the rotated coordinates.
  Eigen::Vector2d inner(0.4, -0.7);
  Eigen::Vector2d outer = Mixed::b().transpose() * inner;
  Eigen::Vector2d dp = Eigen::Vector2d::Zero();
  Eigen::Vector2d dp_outer = dp;
  plain.pull_back(inner, dp);
  start.pull_back(outer, dp_outer);
  CHECK((Mixed::b() * outer - inner).norm() < 1e-14);
  CHECK((dp - dp_outer).norm() < 1e-14);
}

TEST_CASE("A small entry of a dense mass matrix is one, too", "[ode][oracle]") {
  const Eigen::Matrix2d tiny = Eigen::Vector2d(1, 1e-20).asDiagonal();
  const auto f = with_mass(Cubic{}, tiny);
  ConsistentStart start(f, 0, {2, 1}, {0.3, 5});
  CHECK(start.state() == Eigen::Vector2d(2, 1));
  // Nor does the unit of an equation decide.
  const Eigen::Matrix2d units = Eigen::Vector2d(1, 1e-12).asDiagonal();
  struct Scaled : Mixed {
    Eigen::Matrix2d by;
    void rhs(double t, const State& x, const Parameters& p, State& out) const {
      Mixed::rhs(t, x, p, out);
      out = by * State(out);
    }
    void vjp(double t, const State& x, const Parameters& p, const State& w, State& x_bar,
             Parameters& p_bar) const {
      Mixed::vjp(t, x, p, by * w, x_bar, p_bar);
    }
  };
  const auto scaled = with_mass(Scaled{{}, units}, Eigen::Matrix2d(units * Mixed::mass()));
  ConsistentStart mixed(scaled, 0, Mixed::b().transpose() * Eigen::Vector2d(2, 1), {0.3, 5});
  ConsistentStart plain(cubic, 0, {2, 1}, {0.3, 5});
  CHECK((Mixed::b() * mixed.state() - plain.state()).norm() < 1e-14);
}

TEST_CASE("Sparse, banded and dense Jacobians give the same start", "[ode][oracle]") {
  const CellStart<Eigen::MatrixXd> dense;
  const CellStart<Eigen::SparseMatrix<double>> sparse;
  const CellStart<BandedMatrix<double, 1, 1>> banded;
  for (Eigen::Index i = 0; i < dense.y0.size(); ++i) {
    if (i % 2 == 1) continue;
    const double left = i > 0 ? dense.y0[i - 1] : 1;
    CHECK(dense.y0[i] + std::pow(dense.y0[i], 3) == Catch::Approx(0.7 * left).epsilon(1e-14));
    CHECK(dense.dy0[i] == 0);
  }
  for (const auto* each : {&sparse.y0, &banded.y0}) CHECK((*each - dense.y0).norm() < 1e-14);
  for (const auto* each : {&sparse.dy0, &banded.dy0}) CHECK((*each - dense.dy0).norm() < 1e-13);
  CHECK(sparse.dp[0] == Catch::Approx(dense.dp[0]).epsilon(1e-14));
  CHECK(banded.dp[0] == Catch::Approx(dense.dp[0]).epsilon(1e-14));
}

TEST_CASE("A regular mass matrix keeps the guess", "[ode][unit]") {
  const auto f = with_mass(Cubic{}, Eigen::Matrix2d((Eigen::Matrix2d() << 2, 1, 0, 1).finished()));
  ConsistentStart start(f, 0, {2, 1}, {0.3, 5});
  CHECK(start.state() == Eigen::Vector2d(2, 1));
  Eigen::Vector2d dy0(0.4, -0.7);
  Eigen::Vector2d dp(0.1, 0.2);
  start.pull_back(dy0, dp);
  CHECK((dy0 - Eigen::Vector2d(0.4, -0.7)).norm() < 1e-15);
  CHECK(dp == Eigen::Vector2d(0.1, 0.2));
}

TEST_CASE("What has no consistent start is refused", "[ode][fault]") {
  using P = Eigen::Matrix<double, 1, 1>;
  const auto algebraic = [](auto g, auto slope) {
    return with_mass(
        problem<Eigen::Vector2d, P>(
            [g](double, const auto& x, const auto&, auto& out) { out << -x[0], g(x[1]); },
            [slope](double, const auto& x, const auto&, const auto& w, auto& x_bar, auto&) {
              x_bar << -w[0], slope(x[1]) * w[1];
            }),
        Diagonal2(1, 0));
  };
  const auto no_root =
      algebraic([](double z) { return z * z + 1; }, [](double z) { return 2 * z; });
  CHECK_THROWS_WITH(
      ConsistentStart(no_root, 3, {1, 1}, P(0)),
      "no consistent initial values found at t = 3: Newton's iteration from the guess did not "
      "converge. The guess may be too far off or not finite, or the equations cannot be solved "
      "there (index above 1, a double root)");
  CHECK_THROWS_AS(ConsistentStart(no_root, 3, {1, 1}, P(0)), IntegrationError);
  const auto index_2 = algebraic([](double) { return 1.; }, [](double) { return 0.; });
  CHECK_THROWS_AS(ConsistentStart(index_2, 0, {1, 1}, P(0)), IntegrationError);
  const auto wrong_size = with_mass(Cells<Eigen::MatrixXd>{}, cell_mass(4));
  CHECK_THROWS_AS(ConsistentStart(wrong_size, 0, Eigen::VectorXd::Zero(5), P(1)), InvalidArgument);
}
