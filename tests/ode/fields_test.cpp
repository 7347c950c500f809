// Reference gradients of problems with many unknowns.

#include "support/fields.hpp"

#include <cmath>

#include "costate/costate.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

double relative(double x, double reference) {
  return std::abs(x - reference) / std::abs(reference);
}

template <class P>
auto sum_of(Eigen::Index a, Eigen::Index b) {
  return terminal([a, b](const Eigen::VectorXd& y, const P&) { return y[a] + y[b]; },
                  [a, b](const Eigen::VectorXd&, const P&, Eigen::VectorXd& y_bar, P&) {
                    y_bar[a] += 1;
                    y_bar[b] += 1;
                  });
}

auto gray_scott(Eigen::Index points, Step steps) {
  const problems::GrayScott problem(points);
  const Eigen::Index centre = (points - 1) / 2;
  const Eigen::Index at = centre * points + centre;
  return value_and_gradient(problem, RungeKutta4{.h = 0.5},
                            sum_of<Eigen::Vector2d>(at, at + points * points),
                            {.t0 = 0,
                             .t1 = 0.5 * static_cast<double>(steps),
                             .y0 = problem.start(),
                             .p = {0.024, 0.06},
                             .budget = {.memory = 4_MiB}});
}

}  // namespace

TEST_CASE("Gray-Scott has the reference gradients", "[ode][golden]") {
  // The reference has 13 digits.
  SECTION("20² points, 10 steps") {
    const auto r = gray_scott(20, 10);
    CHECK(relative(r.value, 7.382093081566e-1) < 1e-12);
    CHECK(relative(r.dy0.head(400).norm(), 7.592018224810e-1) < 1e-12);
    CHECK(relative(r.dy0.tail(400).norm(), 4.770816516642e-1) < 1e-12);
  }
  SECTION("64² points, 400 steps in 4 MiB") {
    const auto r = gray_scott(64, 400);
    CHECK(relative(r.value, 8.680326951500e-1) < 1e-12);
    CHECK(relative(r.dy0.head(4096).norm(), 5.399145608191e-2) < 1e-12);
    CHECK(relative(r.dy0.tail(4096).norm(), 2.263042257367e-1) < 1e-12);
    CHECK(relative(r.dy0.tail(4096).sum(), 1.777010214560) < 1e-12);
    CHECK(r.report.advances > 399);
    CHECK(r.report.memory_peak <= 4_MiB);
  }
}

TEST_CASE("Lorenz 96 has the reference gradient", "[ode][golden]") {
  using P = problems::Lorenz96::Parameters;
  Eigen::VectorXd y0 = Eigen::VectorXd::Constant(40, 8);
  y0[19] = 8.008;
  const auto energy =
      terminal([](const Eigen::VectorXd& y, const P&) { return 0.5 * y.squaredNorm(); },
               [](const Eigen::VectorXd& y, const P&, Eigen::VectorXd& y_bar, P&) { y_bar += y; });
  const RunOf<problems::Lorenz96> run{.t0 = 0, .t1 = 1, .y0 = y0, .p = P(8)};

  const auto r = value_and_gradient(problems::Lorenz96{}, RungeKutta4{.h = 0.01}, energy, run);
  const auto v = value(problems::Lorenz96{}, RungeKutta4{.h = 0.01}, energy, run);

  CHECK(relative(v.y1[0], 7.544312114016438259) < 1e-12);
  CHECK(relative(v.y1[19], 8.782726984660354415) < 1e-12);
  CHECK(v.value == r.value);
  CHECK(relative(r.value, 1.278249121263456123e+03) < 1e-12);
  CHECK(relative(r.dp[0], 2.0092220030640816e+02) < 1e-12);
  CHECK(relative(r.dy0.norm(), 1.1183412017943727e+03) < 1e-12);
  // Single entries are differences of ones of the size of the norm.
  const double size = 1.1183412017943727e+03;
  CHECK(std::abs(r.dy0[0] - -6.6249042739088645e+00) < 1e-12 * size);
  CHECK(std::abs(r.dy0[18] - -1.0869495336782083e+02) < 1e-12 * size);
  CHECK(std::abs(r.dy0[19] - -4.3451368494579228e+02) < 1e-12 * size);
  CHECK(std::abs(r.dy0[20] - -1.0859795063450053e+02) < 1e-12 * size);
  CHECK(std::abs(r.dy0[21] - 3.6870209713666125e+02) < 1e-12 * size);
}

TEST_CASE("The heat equation has the reference gradient", "[ode][golden]") {
  using P = problems::Heat::Parameters;
  Eigen::VectorXd y0 = Eigen::VectorXd::Zero(100);
  y0[0] = 20;
  const auto total = terminal(
      [](const Eigen::VectorXd& y, const P&) { return y.sum(); },
      [](const Eigen::VectorXd&, const P&, Eigen::VectorXd& y_bar, P&) { y_bar.array() += 1; });
  const RunOf<problems::Heat> run{.t0 = 0, .t1 = 500, .y0 = y0, .p = P(0.5)};
  const auto r = value_and_gradient(problems::Heat{}, Euler{.h = 1}, total, run);
  const auto v = value(problems::Heat{}, Euler{.h = 1}, total, run);
  CHECK(relative(v.y1.norm(), 66.21987468492061) < 1e-12);
  CHECK(relative(r.dy0.segment(1, 98).norm(), 6.970279349365908) < 1e-12);
}
