// IMEX methods through the solver door.

#include "costate/integrate/imex.hpp"

#include <cmath>
#include <complex>
#include <vector>

#include <Eigen/LU>

#include "costate/integrate/explicit_runge_kutta.hpp"
#include "costate/ode/value_and_gradient.hpp"
#include "costate/schedule/revolve.hpp"
#include "support/catch.hpp"
#include "support/complex_step.hpp"

using namespace costate;

namespace {

using V2 = Eigen::Vector2d;

// van der Pol, y1' = y2, y2' = p1 (1 - y1²) y2 - p2 y1 + cos t, in two parts.
struct Damping {
  using State = V2;
  using Parameters = V2;
  template <class Y, class P, class Out>
  static void f(double, const Y& y, const P& p, Out& out) {
    out[0] = 0;
    out[1] = p[0] * (1. - y[0] * y[0]) * y[1];
  }
  template <class Y, class P>
  static auto jacobian(const Y& y, const P& p) {
    Eigen::Matrix<typename Y::Scalar, 2, 2> j;
    j << 0., 0., -2. * p[0] * y[0] * y[1], p[0] * (1. - y[0] * y[0]);
    return j;
  }
  void rhs(double t, const V2& y, const V2& p, V2& out) const { f(t, y, p, out); }
  void vjp(double, const V2& y, const V2& p, const V2& w, V2& y_bar, V2& p_bar) const {
    y_bar = jacobian(y, p).transpose() * w;
    p_bar[0] += (1 - y[0] * y[0]) * y[1] * w[1];
  }
};

struct Swing {
  using State = V2;
  using Parameters = V2;
  template <class Y, class P, class Out>
  static void f(double t, const Y& y, const P& p, Out& out) {
    out[0] = y[1];
    out[1] = -p[1] * y[0] + std::cos(t);
  }
  void rhs(double t, const V2& y, const V2& p, V2& out) const { f(t, y, p, out); }
  void vjp(double, const V2& y, const V2& p, const V2& w, V2& y_bar, V2& p_bar) const {
    y_bar[0] = -p[1] * w[1];
    y_bar[1] = w[0];
    p_bar[1] -= y[0] * w[1];
  }
};

using VanDerPol = SplitProblem<Damping, Swing>;
const VanDerPol van_der_pol = split(Damping{}, Swing{});

// J = y_2 at the end.
auto second_entry() {
  return terminal([](const V2& y, const V2&) { return y[1]; },
                  [](const V2&, const V2&, V2& y_bar, V2&) { y_bar[1] += 1; });
}

template <class Method>
Eigen::Matrix<double, 5, 1> value_and_derivatives(const Method& method, const V2& p) {
  const auto r = value_and_gradient(van_der_pol, method, second_entry(),
                                    {.t0 = 0.2, .t1 = 0.9, .y0 = V2(1.2, 0.7), .p = p});
  Eigen::Matrix<double, 5, 1> out;
  out << r.value, r.dy0, r.dp;
  return out;
}

// The method as it stands in the paper, in complex arithmetic, with the stages solved by fifteen
// Newton iterations.
template <std::size_t S>
oracle::Complex last_entry(const ImexTableau<S>& m, const std::vector<double>& times,
                           Eigen::Vector2cd y, const Eigen::Vector2cd& p) {
  using V = Eigen::Vector2cd;
  for (std::size_t n = 0; n + 1 < times.size(); ++n) {
    const double h = times[n + 1] - times[n];
    std::vector<V> f(S);
    std::vector<V> g(S);
    for (std::size_t i = 0; i < S; ++i) {
      const double t = times[n] + m.c[i] * h;
      V base = y;
      for (std::size_t j = 0; j < i; ++j) {
        base += h * m.a[i][j] * f[j] + h * m.a_explicit[i][j] * g[j];
      }
      V x = base;
      for (int iteration = 0; iteration < 15; ++iteration) {
        Damping::f(t, x, p, f[i]);
        const Eigen::Matrix2cd w =
            Eigen::Matrix2cd::Identity() - h * m.a[i][i] * Damping::jacobian(x, p);
        x += w.inverse() * (base + h * m.a[i][i] * f[i] - x);
      }
      Damping::f(t, x, p, f[i]);
      Swing::f(t, x, p, g[i]);
    }
    for (std::size_t i = 0; i < S; ++i) y += h * m.b[i] * f[i] + h * m.b_explicit[i] * g[i];
  }
  return y[1];
}

template <class Method>
void check_against_complex_steps() {
  INFO(Method::tableau.name);
  const std::vector<double> times{0.2, 0.3, 0.55, 0.6, 0.9};
  const V2 p(1.5, 0.8);
  const auto result = value_and_derivatives(Method{.grid = times}, p);
  Eigen::Vector4d expected;
  for (int i = 0; i < 4; ++i) {
    Eigen::Vector2cd y(1.2, 0.7);
    Eigen::Vector2cd q = p.cast<oracle::Complex>();
    (i < 2 ? y[i] : q[i - 2]) += oracle::Complex(0, 1e-30);
    expected[i] = last_entry(Method::tableau, times, y, q).imag() / 1e-30;
  }
  // Four steps of at most six stages, entries of order one: some hundred roundings.
  CHECK((Eigen::Vector4d(result.tail(4)) - expected).norm() < 1e-13 * expected.norm());
}

template <class Method>
void check_order(Step n) {
  INFO(Method::tableau.name);
  const V2 p(1.5, 0.8);
  // The classical method with steps so small that rounding is all that is left.
  static const auto exact = value_and_derivatives(RungeKutta4{.steps = 2000}, p);
  const auto error = [&](Step steps) {
    const Eigen::Matrix<double, 5, 1> e = value_and_derivatives(Method{.steps = steps}, p) - exact;
    return V2(std::abs(e[0]), e.tail(4).norm());
  };
  const V2 coarse = error(n);
  const V2 fine = error(2 * n);
  for (int i = 0; i < 2; ++i) {
    CAPTURE(i, coarse[i], fine[i]);
    // Halving h changes the observed order by O(h).
    CHECK(std::abs(std::log2(coarse[i] / fine[i]) - Method::tableau.order) < 0.25);
  }
}

}  // namespace

TEST_CASE("The adjoint of IMEX methods is the derivative of the step, by complex steps",
          "[ode][oracle]") {
  check_against_complex_steps<Ars222>();
  check_against_complex_steps<Ark43>();
}

TEST_CASE("Value and gradient of IMEX methods converge with the order of the method",
          "[ode][property]") {
  check_order<Ars222>(64);
  check_order<Ark43>(32);
}

TEST_CASE("An integral in the quadrature of an IMEX method has the right gradient",
          "[ode][oracle]") {
  // y1' = y2, so the integral of p1 y2 is p1 (y1(t1) - y1(t0)), in the discrete values, too.
  const auto distance = integral([](double, const V2& y, const V2& p) { return p[0] * y[1]; },
                                 [](double, const V2& y, const V2& p, V2& y_bar, V2& p_bar) {
                                   y_bar[1] += p[0];
                                   p_bar[0] += y[1];
                                 });
  const auto end = terminal([](const V2& y, const V2& p) { return p[0] * (y[0] - 1.2); },
                            [](const V2& y, const V2& p, V2& y_bar, V2& p_bar) {
                              y_bar[0] += p[0];
                              p_bar[0] += y[0] - 1.2;
                            });
  const RunOf<VanDerPol> run{.t0 = 0.2, .t1 = 0.9, .y0 = V2(1.2, 0.7), .p = V2(1.5, 0.8)};
  const auto a = value_and_gradient(van_der_pol, Ark43{.steps = 10}, distance, run);
  const auto b = value_and_gradient(van_der_pol, Ark43{.steps = 10}, end, run);
  CHECK(std::abs(a.value - b.value) < 1e-14);
  CHECK(std::abs(a.dy0[0] - (b.dy0[0] - 1.5)) < 1e-13);  // the start of the distance moves, too
  CHECK(std::abs(a.dy0[1] - b.dy0[1]) < 1e-13);
  CHECK((a.dp - b.dp).norm() < 1e-13);
}

TEST_CASE("Adaptive IMEX runs through stiffness and has the bits of its own grid",
          "[ode][property]") {
  const RunOf<VanDerPol> forward{.t0 = 0, .t1 = 2, .y0 = V2(2, 0), .p = V2(1e3, 1)};
  const auto all =
      value_and_gradient(van_der_pol, Ark43{.rtol = 1e-5, .atol = 1e-8}, second_entry(), forward);
  // y1 stays near 2, so the eigenvalue is about -3000, and an explicit method of order 4 would need
  // 2 * 3000 / 2.8 steps for stability alone.
  CHECK(all.grid.steps() < 2000);
  for (const Slot slots : {Slot{3}, Slot{8}}) {
    RunOf<VanDerPol> again = forward;
    again.schedule = revolve(all.grid.steps(), slots);
    const auto r =
        value_and_gradient(van_der_pol, Ark43{.grid = all.times()}, second_entry(), again);
    CHECK(r.value == all.value);
    CHECK(r.dy0 == all.dy0);
    CHECK(r.dp == all.dp);
  }
}
