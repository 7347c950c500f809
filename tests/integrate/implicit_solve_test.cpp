// Newton's iteration, transposed solves, and the solvers that a problem can bring.

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/integrate/dirk_kernel.hpp"
#include "costate/integrate/newton.hpp"
#include "costate/integrate/sparse_solver.hpp"
#include "costate/integrate/transposed_solve.hpp"
#include "support/burgers.hpp"
#include "support/catch.hpp"
#include "support/kernel_run.hpp"
#include "support/problems.hpp"

using namespace costate;
using problems::Burgers;
using problems::burgers_gradient;

namespace {

using Verdict = NewtonMonitor::Verdict;
constexpr double eps = std::numeric_limits<double>::epsilon();

// Lotka-Volterra with a solver of its own, by Cramer's rule, that is one part in a thousand off.
struct WithSolver : problems::LotkaVolterra {
  class Solver {
   public:
    Solver(const WithSolver&, const Parameters&, Eigen::Index) {}
    bool prepare(double, const State& y, const Parameters& p, double a) {
      w_ << 1 - a * (p[0] - p[1] * y[1]), a * p[1] * y[0], -a * p[3] * y[1],
          1 - a * (-p[2] + p[3] * y[0]);
      return w_.determinant() != 0;
    }
    void solve(State& x) const { x = State(1.001 * w_.inverse() * x); }
    void solve_transpose(State& x) const { x = State(0.999 * w_.transpose().inverse() * x); }

   private:
    Eigen::Matrix2d w_;
  };
};

// A problem whose solver counts how often it factors a matrix, and says that it costs so much.
template <class F>
struct Counted : F {
  double cost;
  int* prepared;

  class Solver : public ShiftedSolver<F> {
    using Base = ShiftedSolver<F>;

   public:
    Solver(const Counted& f, const typename F::Parameters& p, Eigen::Index size)
        : Base(f, p, size), cost_(f.cost), prepared_(f.prepared) {}
    bool prepare(double t, const typename F::State& y, const typename F::Parameters& p, double a) {
      ++*prepared_;
      return Base::prepare(t, y, p, a);
    }
    [[nodiscard]] double prepare_cost() const { return cost_; }

   private:
    double cost_;
    int* prepared_;
  };
};

// The adjoint of one step of size h from its tape, and from the state before it: the derivatives,
// and the number of factorisations without those of the step itself.
struct StepAdjoint {
  Eigen::VectorXd derivatives;
  int from_tape = 0;
  int from_state = 0;
};

template <const auto& T>
StepAdjoint step_adjoint(double h, double cost) {
  using F = Counted<Burgers<Eigen::SparseMatrix<double>>>;
  using Kernel = DirkKernel<F, T, support::Objective>;
  const Eigen::Index n = 24;
  int prepared = 0;
  const F f{{}, cost, &prepared};
  const Eigen::Matrix<double, 1, 1> nu(0.02);
  const Eigen::VectorXd start = 1.5 + Eigen::ArrayXd::LinSpaced(n, 0, 2 * M_PI).sin();
  const support::Objective objective;
  Kernel kernel(f, objective, nu, n);
  const Interval s{0, h, h, 0};
  Eigen::VectorXd y = start;
  std::vector<std::byte> tape(Kernel::tape_states * static_cast<std::size_t>(n) * sizeof(double));
  kernel.advance_taped(s, y, tape.data(), false);
  const int forward = prepared;

  StepAdjoint result;
  Eigen::VectorXd lambda = Eigen::VectorXd::LinSpaced(n, 1, 2);
  Eigen::Matrix<double, 1, 1> p_bar(0);
  prepared = 0;
  kernel.reverse_tape(s, tape.data(), y, lambda, p_bar);
  result.from_tape = prepared;
  result.derivatives.resize(n + 1);
  result.derivatives << lambda, p_bar;

  lambda.setLinSpaced(n, 1, 2);
  p_bar.setZero();
  prepared = 0;
  y = start;
  kernel.reverse(&s, 1, y, {}, lambda, p_bar);
  result.from_state = prepared - forward;
  CHECK(lambda == result.derivatives.head(n));
  CHECK(p_bar[0] == result.derivatives[n]);
  return result;
}

// Two roundings of each of at most six transposed systems, whose condition is at most 1 + h |J|,
// |J| <= 24² · 4 · 0.02 + 24 · 2.5 = 106, and which are left with residuals of eight.
template <const auto& T>
void check_kept_matrix() {
  INFO(T.name);
  constexpr double h = 1e-3;
  const StepAdjoint anew = step_adjoint<T>(h, -2);
  const StepAdjoint kept = step_adjoint<T>(h, 20);
  CHECK((kept.derivatives - anew.derivatives).norm() <
        2 * 6 * 8 * eps * (1 + h * 106) * anew.derivatives.norm());
  CHECK(anew.from_tape > kept.from_tape);
  CHECK(kept.from_tape == 1);
  CHECK(kept.from_state == 0);
  // With a step so large that corrections hardly help, all are solved just as well.
  const StepAdjoint far = step_adjoint<T>(0.2, 20);
  CHECK(far.from_tape > 1);
  CHECK((far.derivatives - step_adjoint<T>(0.2, -2).derivatives).norm() <
        2 * 6 * 8 * eps * (1 + 0.2 * 106) * far.derivatives.norm());
}

}  // namespace

TEST_CASE("Newton's iteration goes on until the next correction would be rounding",
          "[integrate][unit]") {
  SECTION("quadratic convergence") {
    NewtonMonitor monitor(eps);
    CHECK(monitor.judge(1) == Verdict::go_on);
    CHECK(monitor.judge(1e-2) == Verdict::go_on);
    CHECK(monitor.judge(1e-6) == Verdict::go_on);
    CHECK(monitor.judge(1e-12) == Verdict::converged);
  }
  SECTION("slow convergence asks for a new matrix") {
    NewtonMonitor monitor(eps);
    CHECK(monitor.judge(1) == Verdict::go_on);
    CHECK(monitor.judge(0.3) == Verdict::refresh);
  }
  SECTION("x that halves, as on the way to the root of a square, is no failure") {
    NewtonMonitor monitor(eps);
    CHECK(monitor.judge(1) == Verdict::go_on);
    for (int i = 0; i < 20; ++i) CHECK(monitor.judge(1) == Verdict::refresh);
    CHECK(monitor.judge(1e-3) == Verdict::go_on);
    CHECK(monitor.judge(1e-9) == Verdict::go_on);
    CHECK(monitor.judge(1e-16) == Verdict::converged);
  }
  SECTION("rounding that does not shrink is the end, large corrections are not") {
    NewtonMonitor monitor(eps);
    CHECK(monitor.judge(1e-8) == Verdict::go_on);
    CHECK(monitor.judge(1e-10) == Verdict::go_on);
    CHECK(monitor.judge(1e-10) == Verdict::refresh);
    CHECK(monitor.judge(1e-10) == Verdict::converged);
    NewtonMonitor other(eps);
    CHECK(other.judge(1) == Verdict::go_on);
    Verdict verdict = Verdict::go_on;
    int corrections = 1;
    while (verdict != Verdict::failed && corrections < 100) {
      verdict = other.judge(std::ldexp(1, corrections));
      ++corrections;
    }
    CHECK(corrections < 20);
  }
  SECTION("what is not finite has failed") {
    NewtonMonitor monitor(eps);
    CHECK(monitor.judge(std::numeric_limits<double>::quiet_NaN()) == Verdict::failed);
    CHECK(NewtonMonitor(eps).judge(std::numeric_limits<double>::infinity()) == Verdict::failed);
  }
  SECTION("nothing to correct") {
    CHECK(NewtonMonitor(eps).judge(0) == Verdict::converged);
  }
}

TEST_CASE("Corrections are measured against each entry", "[integrate][unit]") {
  using V = Eigen::Vector2d;
  CHECK(relative_size<V>({0, 0}, {0, 0}) == 0);
  // The floor is the fourth root of the rounding unit, 1.2e-4.
  CHECK(relative_size<V>({0, 1e-9}, {1, 1}) < 1.1e-9);
  CHECK(relative_size<V>({0, 1e-9}, {1, 1e-3}) > 0.8e-6);
  CHECK(std::isnan(relative_size<V>({std::nan(""), 1}, {1, 1})));
  CHECK(std::isnan(relative_size<V>({1, std::nan("")}, {1, 1})));
}

TEST_CASE("A transposed solve is corrected until its residual has vanished", "[integrate][unit]") {
  static constexpr double w = 3;
  using V = Eigen::Matrix<double, 1, 1>;
  V r;
  V u(0);
  V d;
  double known = 3.3;  // what the solver takes w for
  const auto correct = [&known](V& x) { x /= known; };
  const auto apply = [&u](const V& x, V& left) {
    u += x;
    left -= w * x;
    return std::abs(w * x[0]);
  };
  int refreshes = 0;
  const auto refresh = [&] {
    known = w;
    ++refreshes;
    return true;
  };
  r[0] = 1;
  CHECK(solve_transposed(r, d, correct, apply, refresh) < 16 * eps);
  CHECK(std::abs(u[0] - 1. / 3) <= eps);
  CHECK(refreshes == 1);

  SECTION("a new matrix is made if it costs less than the corrections that are left") {
    // 1 % off, each correction takes two digits: there are eight.
    for (const double cost : {3., 4., 5., 10.}) {
      CAPTURE(cost);
      known = 1.01 * w;
      refreshes = 0;
      r[0] = 1;
      CHECK(solve_transposed(r, d, correct, apply, refresh, cost) <= 8 * eps);
      CHECK(refreshes == (cost + 2 < 6.4 ? 1 : 0));
    }
  }
  SECTION("with a solver that cannot be made good, it says so") {
    known = -3.3;
    r[0] = 1;
    const auto in_vain = [] { return true; };
    CHECK(solve_transposed(r, d, correct, apply, in_vain) > 0.5);
    CHECK_THROWS_AS(check_adjoint_residual<double>(0.5, "method", Interval{0, 1, 1, 3}),
                    AdjointResidualError);
    CHECK_THROWS_AS(check_adjoint_residual<double>(std::nan(""), "method", Interval{}),
                    AdjointResidualError);
  }
  SECTION("an adjoint that has sunk among the denormal numbers is solved") {
    r[0] = 1e-314;
    CHECK(solve_transposed(r, d, correct, apply, refresh) <= 8 * eps);
  }
  SECTION("zero") {
    r[0] = 0;
    u[0] = 0;
    CHECK(solve_transposed(r, d, correct, apply, refresh) == 0);
    CHECK(u[0] == 0);
  }
}

TEMPLATE_TEST_CASE("Sparse factors solve with the transposed matrix", "[integrate][unit]", float,
                   double) {
  using Matrix = Eigen::SparseMatrix<TestType>;
  using Vector = Eigen::Matrix<TestType, Eigen::Dynamic, 1>;
  // A square of 9 × 9 points with entries that ask for interchanges of rows, and blocks of columns
  // of equal structure.
  constexpr int side = 9;
  constexpr int n = side * side;
  for (const double diagonal : {0.1, 8.}) {
    std::vector<Eigen::Triplet<TestType>> entries;
    for (int i = 0; i < n; ++i) {
      const auto at = [&](int j, double value) {
        if (j >= 0 && j < n) entries.emplace_back(i, j, static_cast<TestType>(value));
      };
      at(i, diagonal + 0.01 * i);
      at(i + 1, 1 + 0.1 * std::sin(i));
      at(i - 1, 1.5);
      at(i + side, 2 + 0.1 * std::cos(i));
      at(i - side, -1);
    }
    Matrix w(n, n);
    w.setFromTriplets(entries.begin(), entries.end());
    const Vector b = Vector::LinSpaced(n, -1, 2);
    SparseLuFactors<TestType> factors;
    REQUIRE(factors.factor(w));
    CHECK(factors.entries() > static_cast<double>(w.nonZeros()));
    Vector x = b;
    factors.solve_transpose(x);
    // Backward error of elimination with pivoting: n ε |W| |x| times the growth, which is small.
    const TestType unit = n * std::numeric_limits<TestType>::epsilon();
    const TestType size = Eigen::MatrixX<TestType>(w).norm();
    CHECK((w.transpose() * x - b).norm() < unit * size * x.norm());
    Vector y = b;
    factors.solve(y);
    CHECK((w * y - b).norm() < unit * size * y.norm());
  }
}

TEST_CASE("An adjoint keeps the matrix of its step as long as that pays", "[integrate][oracle]") {
  check_kept_matrix<tableaux::sdirk2>();
  check_kept_matrix<tableaux::sdirk_43>();
  check_kept_matrix<tableaux::esdirk_32>();
  check_kept_matrix<tableaux::esdirk_43>();
}

TEST_CASE("A sparse Jacobian gives the gradient of a dense one", "[integrate][oracle]") {
  const Eigen::VectorXd dense = burgers_gradient(Burgers<Eigen::MatrixXd>{});
  const Eigen::VectorXd sparse = burgers_gradient(Burgers<Eigen::SparseMatrix<double>>{});
  // Twenty transposed systems whose matrix has a condition of about a hundred.
  CHECK((dense - sparse).norm() < 1e-13 * dense.norm());

  Eigen::SparseMatrix<double> two(24, 24);
  two.setIdentity();
  two *= 2;
  const auto scaled = burgers_gradient(with_mass(Burgers<Eigen::SparseMatrix<double>>{}, two));
  const auto dense_scaled =
      burgers_gradient(with_mass(Burgers<Eigen::MatrixXd>{}, Eigen::MatrixXd(two)));
  CHECK((scaled - dense_scaled).norm() < 1e-13 * scaled.norm());
}

TEST_CASE("A problem's own solver need not be accurate", "[integrate][oracle]") {
  const TimeGrid grid = TimeGrid::with_steps(0, 1, 8);
  const Eigen::Vector2d y(1.2, 0.7);
  const Eigen::Vector4d p(1.5, 1.1, 2.7, 0.9);
  const auto gradient = [&](const auto& f) {
    using F = std::remove_cvref_t<decltype(f)>;
    using Kernel = DirkKernel<F, tableaux::sdirk2, support::Objective>;
    return support::KernelRun<F, Kernel>(f, grid, y, p).gradient();
  };
  const Eigen::VectorXd by_factors = gradient(problems::LotkaVolterra{});
  // Sixteen systems, each solved to a few roundings.
  CHECK((gradient(WithSolver{}) - by_factors).norm() < 2e-14 * by_factors.norm());
}
