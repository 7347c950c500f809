#include "costate/integrate/dirk_kernel.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "costate/integrate/diagonally_implicit.hpp"
#include "support/catch.hpp"
#include "support/implicit_oracle.hpp"
#include "support/kernel_run.hpp"
#include "support/problems.hpp"

using namespace costate;
using support::KernelRun;
using support::Objective;

namespace {

constexpr auto theta_06 = tableaux::theta(0.6);

// Diagonal entries that differ, an explicit stage in the middle, a stage that only the error
// estimate reads: nothing may depend on the shape of the well-known methods. Order 2.
constexpr Tableau<4> odd{.name = "odd",
                         .a = {{{0.2}, {0.5, 0}, {-0.7, 1.1, 0.6}, {0.1, 0.2, 0.3, 0.4}}},
                         .b = {0.5, 0, 0.5, 0},
                         .c = {0.2, 0.5, 1, 1},
                         .b_hat = {0.25, 0.25, 0.25, 0.25},
                         .order = 1,
                         .embedded_order = 1};
static_assert(consistent_implicit(odd));

template <class F, const auto& T>
using Run = KernelRun<F, DirkKernel<F, T, Objective>>;

// M is the identity if the problem has none.
template <class F>
Eigen::MatrixXd mass_of(const F& f, Eigen::Index size) {
  if constexpr (HasMass<F>) {
    return f.mass();
  } else {
    return Eigen::MatrixXd::Identity(size, size);
  }
}

template <class F, const auto& T>
void check_gradient(const F& f, const typename F::State& y0, const typename F::Parameters& p) {
  INFO(T.name);
  const TimeGrid grid = TimeGrid::listed({0.2, 0.3, 0.55, 0.6, 0.9});
  Run<F, T> run(f, grid, y0, p);
  const auto terminal = [](const auto& y, const auto& q) { return Objective::terminal(y, q); };
  const auto g = [](double t, const auto& y, const auto& q) { return Objective::g(t, y, q); };

  const Eigen::VectorXd gradient = run.gradient();

  const Eigen::MatrixXd mass = mass_of(f, y0.size());
  const Eigen::VectorXd expected =
      oracle::gradient_implicit<F>(T, mass, grid.times(), y0, p, terminal, g);
  const double value =
      oracle::run_implicit<F>(T, mass, grid.times(), y0.template cast<oracle::Complex>(),
                              p.template cast<oracle::Complex>(), terminal, g)
          .real();
  // Four steps of at most six stages, entries of order one: some hundred roundings.
  CHECK(std::abs(run.value() - value) < 1e-13 * std::abs(value));
  CHECK((gradient - expected).norm() < 1e-13 * expected.norm());
}

template <class F>
void check_all_tableaux(const F& f, const typename F::State& y0, const typename F::Parameters& p) {
  check_gradient<F, tableaux::backward_euler>(f, y0, p);
  check_gradient<F, tableaux::implicit_midpoint>(f, y0, p);
  check_gradient<F, tableaux::crank_nicolson>(f, y0, p);
  check_gradient<F, tableaux::sdirk2>(f, y0, p);
  check_gradient<F, tableaux::sdirk_43>(f, y0, p);
  check_gradient<F, tableaux::esdirk_32>(f, y0, p);
  check_gradient<F, tableaux::esdirk_43>(f, y0, p);
  check_gradient<F, theta_06>(f, y0, p);
  check_gradient<F, odd>(f, y0, p);
}

template <class F, const auto& T>
void check_tangent(const F& f, const typename F::State& y0, const typename F::Parameters& p) {
  INFO(T.name);
  Run<F, T> run(f, TimeGrid::with_steps(0.2, 0.9, 5), y0, p);
  const Eigen::VectorXd gradient = run.gradient();
  typename F::State dy = y0;
  typename F::Parameters dp = p;
  for (Eigen::Index i = 0; i < dy.size(); ++i) dy[i] = 0.3 + static_cast<double>(i);
  for (Eigen::Index i = 0; i < dp.size(); ++i) dp[i] = 0.7 - static_cast<double>(i);
  const double along = gradient.head(dy.size()).dot(dy) + gradient.tail(dp.size()).dot(dp);

  CHECK(std::abs(run.tangent(dy, dp) - along) <
        1e-13 * (gradient.norm() * (dy.norm() + dp.norm())));
}

// J of Lotka-Volterra, exact or with an error.
auto lotka_volterra_with_jacobian(double error) {
  return with_jacobian<Eigen::Matrix2d>(
      problems::LotkaVolterra{},
      [error](double, const Eigen::Vector2d& y, const Eigen::Vector4d& p, Eigen::Matrix2d& j) {
        j << p[0] - p[1] * y[1], -p[1] * y[0], p[3] * y[1], -p[2] + p[3] * y[0];
        j *= 1 + error;
      });
}

const Eigen::Vector2d lv_y(1.2, 0.7);
const Eigen::Vector4d lv_p(1.5, 1.1, 2.7, 0.9);

}  // namespace

TEST_CASE("The adjoint of every DIRK tableau is the derivative of the step, by complex steps",
          "[integrate][oracle]") {
  SECTION("fixed size") {
    check_all_tableaux(problems::LotkaVolterra{}, lv_y, lv_p);
    check_all_tableaux(problems::VanDerPol{}, {2, 0.6}, problems::VanDerPol::Parameters(1.3));
  }
  SECTION("dynamic size, time-dependent") {
    check_all_tableaux(problems::Forced{}, Eigen::VectorXd::LinSpaced(11, 0.1, 1.3),
                       Eigen::Vector2d(-0.8, 2.1));
  }
  SECTION("mass matrix") {
    Eigen::Matrix2d m;
    m << 2, 0.3, -0.4, 1.5;
    check_all_tableaux(with_mass(problems::LotkaVolterra{}, m), lv_y, lv_p);
    const Eigen::DiagonalMatrix<double, 2> diagonal(2, 0.5);
    check_gradient<WithMass<problems::LotkaVolterra, Eigen::DiagonalMatrix<double, 2>>,
                   tableaux::esdirk_43>(with_mass(problems::LotkaVolterra{}, diagonal), lv_y, lv_p);
  }
}

TEST_CASE("Tangent and adjoint of DIRK methods are transposes of each other",
          "[integrate][property]") {
  const problems::LotkaVolterra f;
  using F = problems::LotkaVolterra;
  check_tangent<F, tableaux::backward_euler>(f, lv_y, lv_p);
  check_tangent<F, tableaux::crank_nicolson>(f, lv_y, lv_p);
  check_tangent<F, tableaux::sdirk_43>(f, lv_y, lv_p);
  check_tangent<F, tableaux::esdirk_43>(f, lv_y, lv_p);
  check_tangent<F, odd>(f, lv_y, lv_p);
  check_tangent<problems::Forced, tableaux::esdirk_32>({}, Eigen::VectorXd::LinSpaced(11, 0.1, 1.3),
                                                       Eigen::Vector2d(-0.8, 2.1));
  Eigen::Matrix2d m;
  m << 2, 0.3, -0.4, 1.5;
  check_tangent<WithMass<F, Eigen::Matrix2d>, tableaux::esdirk_43>(with_mass(f, m), lv_y, lv_p);
}

TEST_CASE("Where the Jacobian comes from does not change the gradient", "[integrate][property]") {
  using F = problems::LotkaVolterra;
  const TimeGrid grid = TimeGrid::with_steps(0, 1, 8);
  const auto gradient = [&](const auto& f) {
    using P = std::remove_cvref_t<decltype(f)>;
    return Run<P, tableaux::sdirk2>(f, grid, lv_y, lv_p).gradient();
  };
  const Eigen::VectorXd from_products = gradient(F{});
  // Eight steps of two solves, each to a few roundings.
  const double close = 1e-14 * from_products.norm();
  CHECK((gradient(lotka_volterra_with_jacobian(0)) - from_products).norm() < close);
  CHECK((gradient(with_jacobian_by_differences(F{})) - from_products).norm() < close);
  // A Jacobian that is 10 % off costs corrections only.
  CHECK((gradient(lotka_volterra_with_jacobian(0.1)) - from_products).norm() < close);
}

TEST_CASE("A vjp that is not the transpose of the Jacobian is an error with the step",
          "[integrate][fault]") {
  // The Jacobian is so far off that corrections cannot converge.
  const auto f = lotka_volterra_with_jacobian(-60);
  const NoIntegrand none;
  DirkKernel<std::remove_cvref_t<decltype(f)>, tableaux::backward_euler> kernel(f, none, lv_p, 2);
  Eigen::Vector2d y = lv_y;
  Eigen::Vector4d p_bar(0, 0, 0, 0);
  Eigen::Vector2d lambda(1, 1);
  const Interval s{0, 0.5, 0.5, 7};
  try {
    kernel.advance(&s, 1, y, y, {}, {});
    FAIL("the iteration should not have converged");
  } catch (const IntegrationError& error) {
    CHECK(error.step == 7);
  }

  struct Wrong : problems::LotkaVolterra {
    using Jacobian = Eigen::Matrix2d;
    void jacobian(double, const State& y, const Parameters& p, Jacobian& j) const {
      j << p[0] - p[1] * y[1], -p[1] * y[0], p[3] * y[1], -p[2] + p[3] * y[0];
    }
    void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
             Parameters& p_bar) const {
      LotkaVolterra::vjp(t, y, p, w, y_bar, p_bar);
      y_bar *= -40;
    }
  };
  const Wrong wrong;
  DirkKernel<Wrong, tableaux::backward_euler> other(wrong, none, lv_p, 2);
  y = lv_y;
  try {
    other.reverse(&s, 1, y, {}, lambda, p_bar);
    FAIL("the residual should not have vanished");
  } catch (const AdjointResidualError& error) {
    CHECK(error.step == 7);
    CHECK(error.residual > 1e-10);
  }
}

TEST_CASE("A range of DIRK steps has the bits of single steps, whatever came before",
          "[integrate][property]") {
  const problems::VanDerPol f;
  const NoIntegrand none;
  using Kernel = DirkKernel<problems::VanDerPol, tableaux::esdirk_43>;
  const problems::VanDerPol::Parameters p(100);
  Kernel kernel(f, none, p, 2);
  std::vector<Interval> s(20);
  TimeGrid::with_steps(0, 2, 20).fill(0, 20, s.data());
  std::vector<Eigen::Vector2d> rows(20);
  const Kernel::StateRows row_view{reinterpret_cast<std::byte*>(rows.data()), sizeof rows[0]};
  Eigen::Vector2d range(2, 0);
  kernel.advance(s.data(), 20, range, range, row_view, {});

  Eigen::Vector2d lambda_range(1, 2);
  problems::VanDerPol::Parameters p_range(0);
  Eigen::Vector2d live(0, 0);
  kernel.reverse(s.data(), 20, live, row_view, lambda_range, p_range);

  // Each step and each reverse step in a kernel that has done nothing else.
  Eigen::Vector2d one(2, 0);
  Eigen::Vector2d lambda_one(1, 2);
  problems::VanDerPol::Parameters p_one(0);
  for (std::size_t k = 0; k < 20; ++k) {
    CHECK(one == rows[k]);
    Kernel(f, none, p, 2).advance(&s[k], 1, one, one, {}, {});
  }
  CHECK(one == range);
  for (std::size_t k = 20; k-- > 0;) {
    Kernel(f, none, p, 2).reverse(&s[k], 1, rows[k], {}, lambda_one, p_one);
  }
  CHECK(lambda_one == lambda_range);
  CHECK(p_one == p_range);
}

TEST_CASE("The error estimate of a DIRK step is the filtered difference of the two solutions",
          "[integrate][unit]") {
  // y' = -y from 1 with h = 0.1, one step of SDIRK 4(3): the difference by the coefficients.
  const problems::Linear f;
  const NoIntegrand none;
  DirkKernel<problems::Linear, tableaux::sdirk_43> kernel(f, none, problems::Linear::Parameters(-1),
                                                          1);
  const problems::Linear::State y(1);
  problems::Linear::State next;
  const Interval s{0, 0.1, 0.1, 0};
  kernel.advance(&s, 1, y, next, {}, {.keep_slopes = true});
  const auto& m = tableaux::sdirk_43;
  double k[5];
  double difference = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    double base = 1;
    for (std::size_t j = 0; j < i; ++j) base += 0.1 * m.a[i][j] * k[j];
    k[i] = -base / (1 + 0.1 * m.a[i][i]);
    difference += 0.1 * (m.b_hat[i] - m.b[i]) * k[i];
  }
  const double expected = std::abs(difference / (1 + 0.1 / 4)) / (1e-3 + 1e-2);
  // Coefficients up to 16 cancel.
  CHECK(std::abs(kernel.error(s, y, next, 1e-2, 1e-3) - expected) < 1e-14 / 1e-3);

  next[0] = std::numeric_limits<double>::quiet_NaN();
  CHECK(std::isnan(kernel.error(s, y, next, 1e-2, 1e-3)));
}
