// The explicit Runge-Kutta methods of more_explicit_methods.hpp at the solver door.

#include "costate/integrate/more_explicit_methods.hpp"

#include <cmath>
#include <vector>

#include "costate/costate.hpp"
#include "support/catch.hpp"
#include "support/ode_battery.hpp"

using namespace costate;
using battery::ComplexVector;
using battery::Trajectory;

namespace {

template <const auto& T>
struct Textbook {
  template <class F, class G>
  Trajectory operator()(const F& f, const std::vector<double>& times, const ComplexVector& y0,
                        const G& g) const {
    Trajectory run{{y0}, 0};
    for (std::size_t n = 0; n + 1 < times.size(); ++n) {
      const double h = times[n + 1] - times[n];
      std::vector<ComplexVector> k;
      ComplexVector y = run.y[n];
      for (std::size_t i = 0; i < T.b.size(); ++i) {
        ComplexVector stage = run.y[n];
        for (std::size_t j = 0; j < i; ++j) stage += h * T.a[i][j] * k[j];
        const double t = times[n] + T.c[i] * h;
        k.push_back(f(t, stage));
        y += h * T.b[i] * k[i];
        run.integral += h * T.b[i] * g(t, stage);
      }
      run.y.push_back(y);
    }
    return run;
  }
};

const Eigen::Vector2d start(1.2, 0.7);
const Eigen::Vector4d rates(1.5, 1.1, 2.7, 0.9);

// Stages of size up to 10 times their sum, 8 steps, 12 stages.
constexpr double roundings = 5000;

template <class Method>
void check_gradient() {
  INFO(Method::tableau.name);
  const std::vector<double> times = {0.2, 0.3, 0.55, 0.6, 0.9};
  const Textbook<Method::tableau> textbook;
  battery::check_against_textbook<problems::LotkaVolterra>(Method{.grid = times}, textbook, times,
                                                           {0.55, 0.2}, start, rates, roundings);
  battery::check_against_textbook<problems::Forced>(Method{.grid = times}, textbook, times, {0.9},
                                                    Eigen::VectorXd::LinSpaced(11, 0.1, 1.3),
                                                    Eigen::Vector2d(-0.8, 2.1), roundings);
  battery::check_taylor<problems::LotkaVolterra>(Method{.steps = 20}, 0, 1, start, rates);
}

template <class Method>
void check_bits(const Method& method) {
  INFO(Method::tableau.name);
  battery::check_bits<problems::LotkaVolterra>(method, 0, 2, start, rates, {0.33, 1.5});
  battery::check_bits<problems::Forced>(method, 2, 0, Eigen::VectorXd::LinSpaced(37, 0.1, 1.3),
                                        Eigen::Vector2d(-0.8, 2.1));
}

// The leading error term is followed by one that is smaller by h times a constant: with so few
// steps the measured order is off by a few tenths.
template <class Method>
void check_order(double t1, Step steps) {
  INFO(Method::tableau.name);
  const auto orders = battery::orders<problems::LotkaVolterra>(
      [](Step n) { return Method{.steps = n}; }, 0, t1, start, rates, steps);
  CHECK(std::abs(orders.value - Method::tableau.order) < 0.3);
  CHECK(std::abs(orders.gradient - Method::tableau.order) < 0.3);
}

}  // namespace

TEST_CASE("Gradients of the further explicit methods are the derivatives of the textbook's",
          "[ode][oracle]") {
  check_gradient<Ssprk43>();
  check_gradient<CarpenterKennedy4>();
  check_gradient<Verner65>();
  check_gradient<DormandPrince853>();
}

TEST_CASE("The further explicit methods have the same bits in any number of slots",
          "[ode][property]") {
  check_bits(Ssprk43{.steps = 23});
  check_bits(CarpenterKennedy4{.steps = 23});
  check_bits(Verner65{.steps = 23});
  check_bits(Verner65{.rtol = 1e-8, .atol = 1e-8});
  check_bits(DormandPrince853{.steps = 23});
  check_bits(DormandPrince853{.rtol = 1e-11, .atol = 1e-11});
}

TEST_CASE("The further explicit methods converge at their order, value and gradient",
          "[ode][property]") {
  check_order<Ssprk43>(1.5, 160);
  check_order<CarpenterKennedy4>(1.5, 80);
  check_order<Verner65>(6, 200);
}

TEST_CASE("A method in 2N form takes the steps of its tableau", "[integrate][oracle]") {
  // Williamson's two registers, written down from the paper; y' = λ y + cos ω t.
  const double a[] = {0, -567301805773. / 1357537059087., -2404267990393. / 2016746695238.,
                      -3550918686646. / 2091501179385., -1275806237668. / 842570457699.};
  const double b[] = {1432997174477. / 9575080441755., 5161836677717. / 13612068292357.,
                      1720146321549. / 2090206949498., 3134564353537. / 4481467310338.,
                      2277821191437. / 14882151754819.};
  const double c[] = {0, 1432997174477. / 9575080441755., 2526269341429. / 6820363962896.,
                      2006345519317. / 3224310063776., 2802321613138. / 2924317926251.};
  const double h = 0.3;
  double y = 0.8;
  double dy = 0;
  for (int i = 0; i < 5; ++i) {
    dy = a[i] * dy + h * (-0.7 * y + std::cos(2 * c[i] * h));
    y += b[i] * dy;
  }
  using V = Eigen::VectorXd;
  const auto end = terminal([](const V& x, const V&) { return x[0]; },
                            [](const V&, const V&, V& x_bar, V&) { x_bar[0] += 1; });
  const auto result =
      value(problems::Forced{}, CarpenterKennedy4{.steps = 1}, end,
            {.t0 = 0, .t1 = h, .y0 = V::Constant(1, 0.8), .p = Eigen::Vector2d(-0.7, 2)});
  CHECK(std::abs(result.value - y) < 1e-15);  // ten roundings of numbers below one
}

TEST_CASE("C28: the further explicit methods stay between t0 and t1", "[ode][property]") {
  battery::check_inside(Ssprk43{.h = 0.07});
  battery::check_inside(CarpenterKennedy4{.h = 0.07});
  battery::check_inside(Verner65{.h = 0.07});
  battery::check_inside(Verner65{.rtol = 1e-6, .atol = 1e-6});
  battery::check_inside(DormandPrince853{.h = 0.07});
  battery::check_inside(DormandPrince853{.rtol = 1e-6, .atol = 1e-6});
}
