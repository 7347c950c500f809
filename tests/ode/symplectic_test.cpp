// Symplectic methods: complex steps, order, bits, conservation.

#include "costate/integrate/symplectic.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "costate/costate.hpp"
#include "support/catch.hpp"
#include "support/chain.hpp"
#include "support/ode_battery.hpp"

using namespace costate;
using battery::Complex;
using battery::ComplexVector;
using battery::NoIntegralObjective;
using battery::Trajectory;

namespace {

using Small = problems::Chain<Eigen::Vector2d>;
using Large = problems::Chain<Eigen::VectorXd>;

// Kicks and drifts of the whole state; the integral by the trapezoidal rule.
struct Textbook {
  std::vector<double> kicks;
  std::vector<double> drifts;
  bool integrate = true;

  template <class F, class G>
  Trajectory operator()(const F& f, const std::vector<double>& t, const ComplexVector& y0,
                        const G& g) const {
    Trajectory run{{y0}, 0};
    const Eigen::Index d = y0.size() / 2;
    for (std::size_t n = 0; n + 1 < t.size(); ++n) {
      const double h = t[n + 1] - t[n];
      ComplexVector y = run.y[n];
      for (std::size_t i = 0; i < kicks.size(); ++i) {
        y.tail(d) += h * kicks[i] * f(0, y).tail(d);
        y.head(d) += h * drifts[i] * f(0, y).head(d);
      }
      if (integrate) run.integral += h / 2 * (g(t[n], run.y[n]) + g(t[n + 1], y));
      run.y.push_back(y);
    }
    return run;
  }
};

const Textbook euler{{1}, {1}};
const Textbook verlet{{0.5, 0.5}, {1, 0}};
Textbook yoshida() {
  const double outer = 1 / (2 - std::cbrt(2.));
  const double inner = -std::cbrt(2.) / (2 - std::cbrt(2.));
  return {{outer / 2, (outer + inner) / 2, (outer + inner) / 2, outer / 2},
          {outer, inner, outer, 0},
          false};
}

const Eigen::Vector4d small_start(1.1, -0.4, 0.3, 0.8);
const Eigen::VectorXd large_start = Eigen::VectorXd::LinSpaced(22, -0.9, 1.3);
const Eigen::Vector3d rates(1.3, 0.7, 0.9);

// Eight steps of four kicks and drifts: some hundred roundings, terms up to ten times their sum.
constexpr double roundings = 2000;

template <class O, class Method>
void check_gradient(const Textbook& textbook) {
  INFO(Method::splitting.name);
  const std::vector<double> times = {0.2, 0.3, 0.55, 0.6, 0.9, 1.0, 1.1, 1.3};
  battery::check_against_textbook<Small, O>(Method{.grid = times}, textbook, times, {0.55, 0.2},
                                            small_start, rates, roundings);
  battery::check_against_textbook<Large, O>(Method{.grid = times}, textbook, times, {1.3},
                                            large_start, rates, roundings);
  battery::check_taylor<Small, O>(Method{.steps = 20}, 0, 1, small_start, rates);
}

template <class O, class Method>
void check_bits() {
  INFO(Method::splitting.name);
  battery::check_bits<Small, O>(Method{.steps = 23}, 0, 2, small_start, rates);
  battery::check_bits<Small, O>(Method{.h = 0.09}, 0, 2, small_start, rates, {0.33, 1.5});
  battery::check_bits<Large, O>(Method{.steps = 23}, 2, 0, large_start, rates);
}

// The next term of the error is smaller by h or h² times a constant.
template <class O, class Method>
void check_order(Step steps) {
  INFO(Method::splitting.name);
  const auto orders = battery::orders<Small, O>([](Step n) { return Method{.steps = n}; }, 0, 2,
                                                small_start, rates, steps);
  CHECK(std::abs(orders.value - Method::splitting.order) < 0.1);
  CHECK(std::abs(orders.gradient - Method::splitting.order) < 0.1);
}

// The Jacobian of a run by tangents, column by column, with that of the parameters behind.
template <class Method>
Eigen::MatrixXd jacobian(Step steps) {
  const Small f;
  const NoIntegrand none;
  using Kernel = typename Method::template Kernel<Small, NoIntegrand>;
  Kernel kernel(f, none, rates, 4);
  const TimeGrid grid = TimeGrid::with_steps(0, 2, steps);
  Eigen::MatrixXd columns(4, 7);
  for (int j = 0; j < 7; ++j) {
    Eigen::Vector4d y = small_start;
    Eigen::Vector4d dy = Eigen::Vector4d::Zero();
    Eigen::Vector3d dp = Eigen::Vector3d::Zero();
    (j < 4 ? dy[j] : dp[j - 4]) = 1;
    double no_integral = 0;
    for (Step k = 0; k < steps; ++k) {
      const Interval s = grid.interval(k);
      kernel.tangent(s, y, dy, dp, no_integral);
      kernel.advance(&s, 1, y, y, {}, {});
    }
    columns.col(j) = dy;
  }
  return columns;
}

template <class Method>
void check_symplectic() {
  INFO(Method::splitting.name);
  const Step steps = 20;
  const Eigen::MatrixXd all = jacobian<Method>(steps);
  const Eigen::Matrix4d forward = all.leftCols(4);
  Eigen::Matrix4d omega = Eigen::Matrix4d::Zero();
  omega.topRightCorner(2, 2) = Eigen::Matrix2d::Identity();
  omega.bottomLeftCorner(2, 2) = -Eigen::Matrix2d::Identity();
  // 20 steps of four kicks and drifts and two products of matrices: some hundred roundings.
  const double bound = 1e-13 * forward.squaredNorm();
  CHECK((forward.transpose() * omega * forward - omega).norm() < bound);

  // Rows of the Jacobian by adjoints.
  const Small f;
  for (int i = 0; i < 4; ++i) {
    const auto row =
        terminal([i](const Eigen::Vector4d& y, const Eigen::Vector3d&) { return y[i]; },
                 [i](const Eigen::Vector4d&, const Eigen::Vector3d&, Eigen::Vector4d& y_bar,
                     Eigen::Vector3d&) { y_bar[i] += 1; });
    const auto g = value_and_gradient(f, Method{.steps = steps}, row,
                                      {.t0 = 0, .t1 = 2, .y0 = small_start, .p = rates});
    CHECK((g.dy0.transpose() - all.row(i).head(4)).norm() < bound);
    CHECK((g.dp.transpose() - all.row(i).tail(3)).norm() < bound);
  }
}

}  // namespace

TEST_CASE("Symplectic gradients are the derivatives of the textbook's methods", "[ode][oracle]") {
  check_gradient<battery::Objective, SymplecticEuler>(euler);
  check_gradient<battery::Objective, StoermerVerlet>(verlet);
  check_gradient<NoIntegralObjective, Yoshida4>(yoshida());
}

TEST_CASE("Symplectic gradients have the same bits in any number of slots", "[ode][property]") {
  check_bits<battery::Objective, SymplecticEuler>();
  check_bits<battery::Objective, StoermerVerlet>();
  check_bits<NoIntegralObjective, Yoshida4>();
}

TEST_CASE("Symplectic methods converge at their order, value and gradient", "[ode][property]") {
  check_order<battery::Objective, SymplecticEuler>(320);
  check_order<battery::Objective, StoermerVerlet>(160);
  check_order<NoIntegralObjective, Yoshida4>(160);
}

TEST_CASE("Tangents of symplectic methods are symplectic, and the transposes of the adjoints",
          "[integrate][property]") {
  check_symplectic<SymplecticEuler>();
  check_symplectic<StoermerVerlet>();
  check_symplectic<Yoshida4>();
}

TEST_CASE("The energy error of a symplectic method does not grow", "[ode][property]") {
  // Over a time 20 times as long, an error that grew would be up to 20 times as large.
  const Small f;
  const NoIntegrand none;
  const auto drift = [&](auto kernel, Step steps) {
    const TimeGrid grid = TimeGrid::with_steps(0, 0.1 * static_cast<double>(steps), steps);
    Eigen::Vector4d y = small_start;
    const double energy = Small::Functions::energy(y, rates);
    double worst = 0;
    for (Step k = 0; k < steps; ++k) {
      const Interval s = grid.interval(k);
      kernel.advance(&s, 1, y, y, {}, {});
      worst = std::max(worst, std::abs(Small::Functions::energy(y, rates) - energy));
    }
    return worst;
  };
  using Verlet = StoermerVerlet::Kernel<Small, NoIntegrand>;
  CHECK(drift(Verlet(f, none, rates, 4), 20000) < 1.5 * drift(Verlet(f, none, rates, 4), 1000));
}

TEST_CASE("A run of Verlet steps evaluates one force a step", "[integrate][unit]") {
  struct Counting : problems::ChainFunctions<Eigen::Vector2d> {
    int* forces;
    void force(const Half& x, const Parameters& p, Half& out) const {
      ++*forces;
      ChainFunctions::force(x, p, out);
    }
  };
  int forces = 0;
  Counting functions;
  functions.forces = &forces;
  const auto f = separable(functions);
  const NoIntegrand none;
  StoermerVerlet::Kernel<SeparableProblem<Counting>, NoIntegrand> kernel(f, none, rates, 4);
  const TimeGrid grid = TimeGrid::with_steps(0, 1, 20);
  std::vector<Interval> s(20);
  grid.fill(0, 20, s.data());
  Eigen::Vector4d y = small_start;
  kernel.advance(s.data(), 20, y, y, {}, {});
  CHECK(forces == 21);
  Eigen::Vector4d lambda = small_start;
  Eigen::Vector3d p_bar = Eigen::Vector3d::Zero();
  kernel.reverse(s.data(), 1, y, {}, lambda, p_bar);
  CHECK(forces == 22);
}

TEST_CASE("Splittings that cannot be methods are refused", "[integrate][unit]") {
  CHECK(consistent(splittings::yoshida_4));
  CHECK(stays_inside(splittings::stoermer_verlet));
  CHECK_FALSE(stays_inside(splittings::yoshida_4));
  Splitting<2> wrong = splittings::stoermer_verlet;
  wrong.kick[1] = 0.4;
  CHECK_FALSE(consistent(wrong));
  wrong = splittings::stoermer_verlet;
  wrong.drift = {0, 1};
  CHECK_FALSE(consistent(wrong));
}

TEST_CASE("verify proves symplectic methods", "[ode][property]") {
  const auto check = [](const auto& method, const auto& objective) {
    const Verification result =
        verify(Small{}, method, objective, {.t0 = 0, .t1 = 2, .y0 = small_start, .p = rates});
    INFO(to_string(result));
    CHECK(result.ok);
  };
  check(SymplecticEuler{.steps = 20}, battery::Objective{{0.33, 1}});
  check(StoermerVerlet{.h = 0.09}, battery::Objective{{0.33, 1}});
  check(Yoshida4{.steps = 20}, NoIntegralObjective{{0.33, 1}});
}
