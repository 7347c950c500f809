#include "costate/integrate/multistep_kernel.hpp"

#include <cmath>
#include <vector>

#include "costate/integrate/multistep.hpp"
#include "support/catch.hpp"
#include "support/problems.hpp"

using namespace costate;

namespace {

// The integral of y_1² p_last cos t.
struct Integrand {
  template <class Y, class P>
  double integrand(double t, const Y& y, const P& p) const {
    return y[0] * y[0] * p[p.size() - 1] * std::cos(t);
  }
  template <class Y, class P>
  void integrand_gradient(double t, const Y& y, const P& p, Y& y_bar, P& p_bar) const {
    y_bar[0] += 2 * y[0] * p[p.size() - 1] * std::cos(t);
    p_bar[p.size() - 1] += y[0] * y[0] * std::cos(t);
  }
};

template <class V>
V counting(V v, double first, double step) {
  for (Eigen::Index i = 0; i < v.size(); ++i) v[i] = first + step * static_cast<double>(i);
  return v;
}

// <λ, y(t1)> + integral: the derivative along (dy, dp) by the tangent and by the adjoint.
template <class F, class Method>
void check_dot_product(const Method& method, const typename F::State& y0,
                       const typename F::Parameters& p) {
  INFO(Method::name);
  const F f;
  const Integrand objective;
  using Kernel = typename Method::template Kernel<F, Integrand>;
  Kernel kernel(f, method, objective, p, y0.size());
  const TimeGrid grid = TimeGrid::listed({0.2, 0.25, 0.4, 0.6, 0.8, 0.85, 0.9, 1.0});
  std::vector<Interval> s(static_cast<std::size_t>(grid.steps()));
  grid.fill(0, grid.steps(), s.data());
  typename F::State y = y0;
  std::vector<std::byte> rows(s.size() * kernel.state_bytes());
  kernel.advance(s.data(), grid.steps(), y, y, {rows.data(), kernel.state_bytes()},
                 {.accumulate = true});

  const auto weights = counting(y, 1, -0.4);
  auto dy = counting(y, 0.3, 1);
  const auto dp = counting(p, 0.7, -1);
  const typename F::State dy0 = dy;
  double tangent = 0;
  kernel.begin_tangent();
  for (std::size_t k = 0; k < s.size(); ++k) {
    kernel.load(y, rows.data() + k * kernel.state_bytes());
    kernel.tangent(s[k], y, dy, dp, tangent);
  }
  tangent += weights.dot(dy);

  typename F::State lambda = weights;
  typename F::Parameters p_bar = p;
  p_bar.setZero();
  kernel.begin_adjoint();
  kernel.reverse(s.data(), grid.steps(), y, {rows.data(), kernel.state_bytes()}, lambda, p_bar);
  const double adjoint = lambda.dot(dy0) + p_bar.dot(dp);

  // Both are sums of terms no larger than this product.
  const double size = std::hypot(lambda.norm(), p_bar.norm()) * std::hypot(dy0.norm(), dp.norm());
  CHECK(std::abs(tangent - adjoint) < 1e-13 * size);
}

}  // namespace

TEST_CASE("Tangent and adjoint of a multistep run are transposes of each other",
          "[integrate][property]") {
  const auto check = [](const auto& method) {
    check_dot_product<problems::LotkaVolterra>(method, {1.2, 0.7}, {1.5, 1.1, 2.7, 0.9});
    check_dot_product<problems::Forced>(method, Eigen::VectorXd::LinSpaced(11, 0.1, 1.3),
                                        Eigen::Vector2d(-0.8, 2.1));
  };
  check(AdamsBashforth2{});
  check(AdamsBashforth3{});
  check(Leapfrog{.filter = 0.2});
}

TEST_CASE("A range of multistep steps has the bits of single steps, with rows or without",
          "[integrate][property]") {
  const problems::LotkaVolterra f;
  const NoIntegrand none;
  using Kernel = AdamsBashforth3::Kernel<problems::LotkaVolterra, NoIntegrand>;
  Kernel kernel(f, {}, none, Eigen::Vector4d(1.5, 1, 3, 1), 2);
  const TimeGrid grid = TimeGrid::with_steps(0, 1, 20);
  std::vector<Interval> s(20);
  grid.fill(0, 20, s.data());

  std::vector<std::vector<std::byte>> saved;
  Eigen::Vector2d one(1, 1);
  for (const Interval& step : s) {
    saved.emplace_back(kernel.state_bytes());
    kernel.save(one, saved.back().data());
    kernel.advance(&step, 1, one, one, {}, {});
  }
  std::vector<std::byte> rows(20 * kernel.state_bytes());
  Kernel again(f, {}, none, Eigen::Vector4d(1.5, 1, 3, 1), 2);
  Eigen::Vector2d range(1, 1);
  again.advance(s.data(), 20, range, range, {rows.data(), again.state_bytes()}, {});

  CHECK(range == one);
  for (std::size_t k = 0; k < 20; ++k) {
    CHECK(std::equal(saved[k].begin(), saved[k].end(), rows.data() + k * kernel.state_bytes()));
  }

  Eigen::Vector2d lambda_one(1, 2);
  Eigen::Vector2d lambda_range(1, 2);
  Eigen::Vector4d p_one(0, 0, 0, 0);
  Eigen::Vector4d p_range(0, 0, 0, 0);
  Eigen::Vector2d live;
  kernel.begin_adjoint();
  for (std::size_t k = 20; k-- > 0;) {
    kernel.load(live, saved[k].data());
    kernel.reverse(&s[k], 1, live, {}, lambda_one, p_one);
  }
  again.begin_adjoint();
  again.reverse(s.data(), 20, live, {rows.data(), again.state_bytes()}, lambda_range, p_range);

  CHECK(lambda_range == lambda_one);
  CHECK(p_range == p_one);
  std::vector<std::byte> at_start(again.state_bytes());
  again.save(live, at_start.data());
  CHECK(at_start == saved.front());
}

TEST_CASE("On equal steps the coefficients are the well-known ones", "[integrate][golden]") {
  const double h = 0.5;  // a power of two: every product is exact, every quotient rounded once
  const std::vector<double> before = {h, h};
  const auto two = AdamsBashforth2::coefficients(h, before);
  CHECK(two.y_slope == 0.75);
  CHECK(two.y[1] == -0.25);
  const auto three = AdamsBashforth3::coefficients(h, before);
  const double eps = 2.3e-16;
  CHECK(std::abs(three.y_slope - h * 23 / 12) < 4 * eps);
  CHECK(std::abs(three.y[1] + h * 16 / 12) < 4 * eps);
  CHECK(std::abs(three.y[2] - h * 5 / 12) < 4 * eps);
  const auto frog = Leapfrog{}.coefficients(h, before);
  CHECK(frog.y == std::array<double, 2>{0, 1});
  CHECK(frog.y_slope == 2 * h);
  CHECK(frog.pushed == std::array<double, 2>{1, 0});
}
