// Backward differentiation formulas: reference values, complex steps, order, bits, mass matrices.

#include "costate/integrate/bdf.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <Eigen/LU>

#include "costate/costate.hpp"
#include "support/catch.hpp"
#include "support/ode_battery.hpp"
#include "support/problems.hpp"
#include "support/stiff_problems.hpp"

using namespace costate;
using battery::Complex;
using battery::ComplexVector;
using battery::Trajectory;

namespace {

// The weights of the derivative at the new point from the conditions on monomials, and Newton's
// method in complex arithmetic with a Jacobian by complex steps.
struct Textbook {
  int order;

  template <class F, class G>
  Trajectory operator()(const F& f, const std::vector<double>& t, const ComplexVector& y0,
                        const G& g) const {
    Trajectory run{{y0}, 0};
    std::vector<Complex> q = {0};
    for (int n = 0; n + 1 < static_cast<int>(t.size()); ++n) {
      const int points = std::min(order, n + 1) + 1;  // the new one included
      const auto time = [&](int j) { return t[static_cast<std::size_t>(n + 1 - j)]; };
      const double scale = time(0) - time(1);
      Eigen::MatrixXd monomials(points, points);
      for (int k = 0; k < points; ++k) {
        for (int j = 0; j < points; ++j) {
          monomials(k, j) = std::pow((time(j) - time(0)) / scale, k);
        }
      }
      const Eigen::VectorXd d =
          monomials.fullPivLu().solve(Eigen::VectorXd::Unit(points, 1)) / scale;
      ComplexVector past = ComplexVector::Zero(y0.size());
      Complex past_q = 0;
      for (int j = 1; j < points; ++j) {
        past += d[j] * run.y[static_cast<std::size_t>(n + 1 - j)];
        past_q += d[j] * q[static_cast<std::size_t>(n + 1 - j)];
      }
      ComplexVector y = run.y.back();
      for (int iteration = 0; iteration < 30; ++iteration) {
        const ComplexVector base = y.real().cast<Complex>();
        Eigen::MatrixXd w = d[0] * Eigen::MatrixXd::Identity(y.size(), y.size());
        for (Eigen::Index i = 0; i < y.size(); ++i) {
          ComplexVector moved = base;
          moved[i] += Complex(0, 1e-30);
          w.col(i) -= (f(time(0), moved) - f(time(0), base)).imag() / 1e-30;
        }
        const ComplexVector r = f(time(0), y) - d[0] * y - past;
        y += w.cast<Complex>().fullPivLu().solve(r);
      }
      run.y.push_back(y);
      q.push_back((g(time(0), y) - past_q) / d[0]);
    }
    run.integral = q.back();
    return run;
  }
};

const std::vector<std::vector<double>> grids = {TimeGrid::with_steps(0.2, 1.1, 9).times(),
                                                TimeGrid::with_step_size(0.2, 1.1, 0.2).times(),
                                                {0.2, 0.21, 0.25, 0.32, 0.42, 0.6, 0.7, 0.8, 1.0},
                                                {0.2, 0.3},
                                                {0.2, 0.3, 0.5}};

// On these grids coefficients are of order 10 and neighbours of up to five steps count: some
// thousand roundings, and as many of the linear solves of the two sides.
constexpr double roundings = 20000;

template <std::size_t Q>
void check_all() {
  CAPTURE(Q);
  for (const std::vector<double>& times : grids) {
    CAPTURE(times);
    const std::vector<double> seen = {times[times.size() / 2], times.front(), times.back()};
    const Bdf<Q> method{.grid = times};
    const Textbook textbook{static_cast<int>(Q)};
    battery::check_against_textbook<problems::LotkaVolterra>(
        method, textbook, times, seen, {1.2, 0.7}, {1.5, 1.1, 2.7, 0.9}, roundings);
    battery::check_against_textbook<problems::Forced>(method, textbook, times, seen,
                                                      Eigen::VectorXd::LinSpaced(5, 0.1, 1.3),
                                                      Eigen::Vector2d(-0.8, 2.1), roundings);
  }
}

// y' = p1 t^8 - p2 y² from 0: so smooth a start that the low orders of the first steps do no harm,
// neither to y nor to its derivatives.
struct SmoothStart {
  using State = Eigen::Matrix<double, 1, 1>;
  using Parameters = Eigen::Vector2d;
  void rhs(double t, const State& y, const Parameters& p, State& out) const {
    out[0] = p[0] * std::pow(t, 8) - p[1] * y[0] * y[0];
  }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar[0] = -2 * p[1] * y[0] * w[0];
    p_bar[0] += std::pow(t, 8) * w[0];
    p_bar[1] -= y[0] * y[0] * w[0];
  }
};

template <std::size_t Q>
void check_order(Step steps) {
  CAPTURE(Q);
  const auto orders =
      battery::orders<SmoothStart>([](Step n) { return Bdf<Q>{.steps = n}; }, 0, 1.5,
                                   SmoothStart::State(0), Eigen::Vector2d(1.2, 0.9), steps);
  // The next term of the error is smaller by h = 1.5 / steps times a constant of order 50, the
  // ratio of two high derivatives; the deviation halves with h.
  CHECK(std::abs(orders.value - Q) < 0.2);
  CHECK(std::abs(orders.gradient - Q) < 0.2);
}

// Case C47.
struct Riccati {
  using State = Eigen::Matrix<double, 1, 1>;
  using Parameters = Eigen::Matrix<double, 1, 1>;
  void rhs(double t, const State& y, const Parameters& p, State& out) const {
    out[0] = -p[0] * y[0] * y[0] + std::cos(t);
  }
  void vjp(double, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    y_bar[0] = -2 * p[0] * y[0] * w[0];
    p_bar[0] -= y[0] * y[0] * w[0];
  }
};

double relative(double x, double reference) {
  return std::abs(x - reference) / std::abs(reference);
}

// M⁻¹ f of Lotka and Volterra.
const Eigen::Matrix2d mass = (Eigen::Matrix2d() << 2, 0.5, -0.3, 1.5).finished();
struct Divided : problems::LotkaVolterra {
  void rhs(double t, const State& y, const Parameters& p, State& out) const {
    State slope;
    LotkaVolterra::rhs(t, y, p, slope);
    out = mass.inverse() * slope;
  }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    const State v = mass.inverse().transpose() * w;
    LotkaVolterra::vjp(t, y, p, v, y_bar, p_bar);
  }
};

// Robertson's problem with y1 + y2 + y3 = 1 as its third equation.
struct Conserved : problems::Robertson {
  void rhs(double t, const State& y, const Parameters& p, State& out) const {
    Robertson::rhs(t, y, p, out);
    out[2] = y.sum() - 1;
  }
  void jacobian(double t, const State& y, const Parameters& p, Jacobian& j) const {
    Robertson::jacobian(t, y, p, j);
    j.row(2).setOnes();
  }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    Robertson::vjp(t, y, p, {w[0], w[1], 0}, y_bar, p_bar);
    y_bar.array() += w[2];
  }
};

const Eigen::Vector2d start(1.2, 0.7);
const Eigen::Vector4d rates(1.5, 1.1, 2.7, 0.9);

}  // namespace

TEST_CASE("BDF gradients are the derivatives of the textbook's formulas on any grid",
          "[ode][oracle]") {
  check_all<2>();
  check_all<3>();
  check_all<4>();
  check_all<5>();
}

TEST_CASE("Lotka-Volterra by BDF2 has the reference gradient", "[ode][golden]") {
  const auto misfit = terminal(
      [](const Eigen::Vector2d& y, const Eigen::Vector4d&) {
        return 0.5 * (y - Eigen::Vector2d::Ones()).squaredNorm();
      },
      [](const Eigen::Vector2d& y, const Eigen::Vector4d&, Eigen::Vector2d& y_bar,
         Eigen::Vector4d&) { y_bar += y - Eigen::Vector2d::Ones(); });
  const auto result = value_and_gradient(problems::LotkaVolterra{}, Bdf2{.h = 1. / 20}, misfit,
                                         {.t0 = 0, .t1 = 5, .y0 = {1, 1}, .p = {1.5, 1, 3, 1}});
  CHECK(relative(result.value, 1.29481975831410814e+01) < 1e-12);
  const double expected[] = {1.7952112067087899e+01, -8.2896313095364822e+00,
                             5.8802427129592459e+01, -8.0593087642019027e+00,
                             1.9992102585987384e+01, -1.2891001976698977e+01};
  for (int i = 0; i < 2; ++i) CHECK(relative(result.dy0[i], expected[i]) < 1e-12);
  for (int i = 0; i < 4; ++i) CHECK(relative(result.dp[i], expected[i + 2]) < 1e-12);
}

TEST_CASE("C47: BDF2 started with Euler has the tabulated value and gradient in any memory",
          "[ode][golden]") {
  using V = Riccati::State;
  const auto end = terminal([](const V& y, const V&) { return y[0]; },
                            [](const V&, const V&, V& y_bar, V&) { y_bar[0] += 1; });
  for (const Slot slots : {1, 2, 3, 10}) {
    CAPTURE(slots);
    const std::size_t state = 2 * 8 + 8;  // two states, one step size
    const auto result = value_and_gradient(Riccati{}, Bdf2{.steps = 10}, end,
                                           {.t0 = 0,
                                            .t1 = 1,
                                            .y0 = V(0.5),
                                            .p = V(1.1),
                                            .budget = {.memory = memory_for(slots, state)}});
    CHECK(relative(result.value, 0.7759823793641773691) < 1e-12);
    CHECK(relative(result.dy0[0], 0.21088763006952632519) < 1e-11);
    CHECK(relative(result.dp[0], -0.26761210843989737041) < 1e-11);
  }
}

TEST_CASE("BDF runs continued from a saved state have the bits of the uninterrupted one",
          "[ode][property]") {
  using Stepper = OdeStepper<problems::LotkaVolterra, Bdf4, battery::Objective>;
  const problems::LotkaVolterra f;
  const battery::Objective objective;
  const Bdf4 method{.steps = 10};
  Stepper whole(f, method, objective, 0, 1, start, rates);
  whole.advance(0, 10, Pass::first);
  for (const Step at : {1, 2, 3, 5, 9}) {
    CAPTURE(at);
    Stepper one(f, method, objective, 0, 1, start, rates);
    one.advance(0, at, Pass::first);
    std::vector<std::byte> saved(one.state_bytes());
    one.save(saved);
    Stepper other(f, method, objective, 0, 1, start, rates);
    other.load(saved);
    other.advance(at, 10, Pass::replay);
    CHECK(other.state() == whole.state());
  }
}

TEST_CASE("BDF gradients have the same bits in any number of slots", "[ode][property]") {
  const auto check = [](const auto& method) {
    battery::check_bits<problems::LotkaVolterra>(method, 0, 2, start, rates, {0.33, 1.5, 2});
    battery::check_bits<problems::Forced>(method, 2, 0, Eigen::VectorXd::LinSpaced(7, 0.1, 1.3),
                                          Eigen::Vector2d(-0.8, 2.1));
  };
  check(Bdf2{.steps = 23});
  check(Bdf3{.h = 0.09});
  check(Bdf4{.steps = 23});
  check(Bdf5{.steps = 23});
}

TEST_CASE("BDF methods converge at their order, value and gradient", "[ode][property]") {
  check_order<2>(320);
  check_order<3>(640);
  check_order<4>(640);
  check_order<5>(320);
}

TEST_CASE("verify proves BDF methods", "[ode][property]") {
  const auto check = [](const auto& method) {
    const Verification result =
        verify(problems::LotkaVolterra{}, method, battery::Objective{{0.33, 1}},
               {.t0 = 0, .t1 = 1, .y0 = start, .p = rates});
    INFO(to_string(result));
    CHECK(result.ok);
  };
  check(Bdf2{.steps = 20});
  check(Bdf5{.h = 0.07});
}

TEST_CASE("A mass matrix gives what its inverse times f gives", "[ode][oracle]") {
  const battery::Objective objective{{0.5}};
  const auto divided = value_and_gradient(Divided{}, Bdf3{.steps = 20}, objective,
                                          {.t0 = 0, .t1 = 1, .y0 = start, .p = rates});
  const auto massive =
      value_and_gradient(with_mass(problems::LotkaVolterra{}, mass), Bdf3{.steps = 20}, objective,
                         {.t0 = 0, .t1 = 1, .y0 = start, .p = rates});
  // Twenty steps of linear solves, condition below two.
  CHECK(relative(massive.value, divided.value) < 1e-13);
  CHECK((battery::flat(massive) - battery::flat(divided)).norm() <
        1e-13 * battery::flat(divided).norm());
}

TEST_CASE("An algebraic equation in place of a conserved sum changes no derivative to p",
          "[ode][oracle]") {
  // BDF conserves the sum exactly, so the two runs are the same but for rounding, which the
  // rate constants 1e4 and 3e7 amplify.
  std::vector<double> times = {0};
  for (double t = 1e-6; t < 40; t *= 2) times.push_back(t);
  const auto third = terminal([](const Eigen::Vector3d& y, const Eigen::Vector3d&) { return y[2]; },
                              [](const Eigen::Vector3d&, const Eigen::Vector3d&,
                                 Eigen::Vector3d& y_bar, Eigen::Vector3d&) { y_bar[2] += 1; });
  const Eigen::Vector3d y0(1, 0, 0);
  const Eigen::Vector3d p(0.04, 1e4, 3e7);
  const auto plain = value_and_gradient(problems::Robertson{}, Bdf2{.grid = times}, third,
                                        {.t0 = 0, .t1 = times.back(), .y0 = y0, .p = p});
  const Eigen::DiagonalMatrix<double, 3> singular(1, 1, 0);
  const auto algebraic = value_and_gradient(with_mass(Conserved{}, singular), Bdf2{.grid = times},
                                            third, {.t0 = 0, .t1 = times.back(), .y0 = y0, .p = p});
  CHECK(relative(algebraic.value, plain.value) < 1e-10);
  for (int i = 0; i < 3; ++i) CHECK(relative(algebraic.dp[i], plain.dp[i]) < 1e-10);
}

TEST_CASE("C28: BDF methods stay between t0 and t1", "[ode][property]") {
  battery::check_inside(Bdf2{.h = 0.07});
  battery::check_inside(Bdf5{.h = 0.07});
}

TEST_CASE("On equal steps the BDF coefficients are the well-known ones", "[integrate][golden]") {
  const std::vector<double> before(4, 0.1);
  const double eps = 2.3e-16;
  const auto two = Bdf2::coefficients(0.1, std::span(before).first(1));
  CHECK(std::abs(two.slope - 0.1 * 2 / 3) < 4 * eps);
  CHECK(std::abs(two.y[0] - 4. / 3) < 8 * eps);
  CHECK(std::abs(two.y[1] + 1. / 3) < 8 * eps);
}
