#include "costate/integrate/fully_implicit_kernel.hpp"

#include <cmath>
#include <vector>

#include "costate/integrate/fully_implicit.hpp"
#include "costate/integrate/sparse_solver.hpp"
#include "support/catch.hpp"
#include "support/implicit_oracle.hpp"
#include "support/kernel_run.hpp"
#include "support/problems.hpp"

using namespace costate;
using support::KernelRun;
using support::Objective;

namespace {

template <class F, const auto& T>
using Run = KernelRun<F, FullyImplicitKernel<F, T, Objective>>;

template <class F, const auto& T>
void check_gradient(const F& f, const typename F::State& y0, const typename F::Parameters& p) {
  INFO(T.name);
  const TimeGrid grid = TimeGrid::listed({0.2, 0.3, 0.55, 0.6, 0.9});
  Run<F, T> run(f, grid, y0, p);
  const auto terminal = [](const auto& y, const auto& q) { return Objective::terminal(y, q); };
  const auto g = [](double t, const auto& y, const auto& q) { return Objective::g(t, y, q); };

  const Eigen::VectorXd gradient = run.gradient();

  Eigen::MatrixXd mass = Eigen::MatrixXd::Identity(y0.size(), y0.size());
  if constexpr (HasMass<F>) mass = f.mass();
  const Eigen::VectorXd expected =
      oracle::gradient_implicit<F>(T, mass, grid.times(), y0, p, terminal, g);
  // Four steps of at most three stages, entries of order one: some hundred roundings.
  CHECK((gradient - expected).norm() < 1e-13 * expected.norm());

  typename F::State dy = y0;
  typename F::Parameters dp = p;
  for (Eigen::Index i = 0; i < dy.size(); ++i) dy[i] = 0.3 + static_cast<double>(i);
  for (Eigen::Index i = 0; i < dp.size(); ++i) dp[i] = 0.7 - static_cast<double>(i);
  const double along = gradient.head(dy.size()).dot(dy) + gradient.tail(dp.size()).dot(dp);
  CHECK(std::abs(run.tangent(dy, dp) - along) <
        1e-13 * (gradient.norm() * (dy.norm() + dp.norm())));
}

template <class F>
void check_all(const F& f, const typename F::State& y0, const typename F::Parameters& p) {
  check_gradient<F, tableaux::gauss_4>(f, y0, p);
  check_gradient<F, tableaux::radau_3>(f, y0, p);
  check_gradient<F, tableaux::radau_5>(f, y0, p);
}

// Forced, whose Jacobian is a multiple of the identity, as a sparse problem.
struct SparseForced : problems::Forced {
  using Jacobian = Eigen::SparseMatrix<double>;
  void jacobian(double, const State& y, const Parameters& p, Jacobian& j) const {
    j.resize(y.size(), y.size());
    j.setIdentity();
    j *= p[0];
  }
};

}  // namespace

TEST_CASE("Adjoint and tangent of fully implicit methods are those of the step, by complex steps",
          "[integrate][oracle]") {
  const Eigen::Vector2d y(1.2, 0.7);
  const Eigen::Vector4d p(1.5, 1.1, 2.7, 0.9);
  SECTION("fixed size") {
    check_all(problems::LotkaVolterra{}, y, p);
    check_all(problems::VanDerPol{}, {2, 0.6}, problems::VanDerPol::Parameters(1.3));
  }
  SECTION("mass matrix") {
    Eigen::Matrix2d m;
    m << 2, 0.3, -0.4, 1.5;
    check_all(with_mass(problems::LotkaVolterra{}, m), y, p);
  }
  SECTION("dynamic size, time-dependent, dense and sparse") {
    const Eigen::VectorXd start = Eigen::VectorXd::LinSpaced(11, 0.1, 1.3);
    check_all(problems::Forced{}, start, Eigen::Vector2d(-0.8, 2.1));
    check_all(SparseForced{}, start, Eigen::Vector2d(-0.8, 2.1));
  }
}

TEST_CASE("A fully implicit step depends on nothing that came before, bit for bit",
          "[integrate][property]") {
  const problems::VanDerPol f;
  const NoIntegrand none;
  using Kernel = FullyImplicitKernel<problems::VanDerPol, tableaux::radau_5>;
  const problems::VanDerPol::Parameters p(100);
  Kernel kernel(f, none, p, 2);
  std::vector<Interval> s(20);
  TimeGrid::with_steps(0, 2, 20).fill(0, 20, s.data());
  std::vector<Eigen::Vector2d> rows(20);
  const Kernel::StateRows row_view{reinterpret_cast<std::byte*>(rows.data()), sizeof rows[0]};
  Eigen::Vector2d y(2, 0);
  kernel.advance(s.data(), 20, y, y, row_view, {});
  Eigen::Vector2d lambda(1, 2);
  problems::VanDerPol::Parameters p_bar(0);
  Eigen::Vector2d live(0, 0);
  kernel.reverse(s.data(), 20, live, row_view, lambda, p_bar);

  Eigen::Vector2d one(2, 0);
  Eigen::Vector2d lambda_one(1, 2);
  problems::VanDerPol::Parameters p_one(0);
  for (std::size_t k = 0; k < 20; ++k) {
    CHECK(one == rows[k]);
    Kernel(f, none, p, 2).advance(&s[k], 1, one, one, {}, {});
  }
  for (std::size_t k = 20; k-- > 0;) {
    Kernel(f, none, p, 2).reverse(&s[k], 1, rows[k], {}, lambda_one, p_one);
  }
  CHECK(one == y);
  CHECK(lambda_one == lambda);
  CHECK(p_one == p_bar);
}
