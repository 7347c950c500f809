#include "costate/integrate/order_conditions.hpp"

#include <limits>
#include <span>

#include "costate/core/error.hpp"
#include "costate/integrate/more_explicit_methods.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

template <std::size_t S>
void check_claims(const Tableau<S>& m) {
  INFO(m.name);
  CHECK(order_of(m, 9) == m.order);
  if (m.embedded_order > 0) CHECK(embedded_order_of(m) == m.embedded_order);
  if (m.low_order > 0) {
    CHECK(order_of(std::span(m.a.front().data(), S * S), m.b_low) == m.low_order);
  }
  CHECK_NOTHROW(check_order(m));
  Tableau<S> boast = m;
  ++boast.order;
  CHECK_THROWS_AS(check_order(boast), InvalidArgument);
}

}  // namespace

TEST_CASE("There are as many rooted trees as Cayley counted", "[integrate][golden]") {
  const std::size_t numbers[] = {1, 1, 2, 4, 9, 20, 48, 115, 286, 719};
  for (int n = 1; n <= 10; ++n) CHECK(rooted_trees(n).size() == numbers[n - 1]);
}

TEST_CASE("Every tableau has exactly the orders that it claims", "[integrate][oracle]") {
  check_claims(tableaux::euler);
  check_claims(tableaux::heun);
  check_claims(tableaux::midpoint);
  check_claims(tableaux::ssprk3);
  check_claims(tableaux::bogacki_shampine_32);
  check_claims(tableaux::runge_kutta_4);
  check_claims(tableaux::dormand_prince_54);
  check_claims(tableaux::tsitouras_54);
  check_claims(tableaux::ssprk_43);
  check_claims(tableaux::carpenter_kennedy_4);
  check_claims(tableaux::verner_65);
  check_claims(tableaux::dormand_prince_853);
}

TEST_CASE("One wrong digit is noticed", "[integrate][unit]") {
  // The change cancels in the row sum, so that only conditions of higher order can see it.
  Tableau<8> m = tableaux::verner_65;
  m.a[5][1] += 1e-9;
  m.a[5][0] -= 1e-9;
  CHECK(consistent(m));
  CHECK(order_of(m) == 2);
  CHECK_THROWS_WITH(check_order(m),
                    "Verner 6(5): order 6 is claimed, but the coefficients have order 2");
}

TEST_CASE("Implicit methods obey the same conditions", "[integrate][oracle]") {
  const double r = 0.28867513459481288225;  // sqrt(3) / 6
  const double gauss[] = {0.25, 0.25 - r, 0.25 + r, 0.25};
  const double b[] = {0.5, 0.5};
  CHECK(order_of(gauss, b) == 4);
}

TEST_CASE("Bad arguments of the order conditions are refused", "[integrate][unit]") {
  const double one[] = {1};
  const double two[] = {1, 1};
  CHECK_THROWS_AS(rooted_trees(0), InvalidArgument);
  CHECK_THROWS_AS(order_of(one, two), InvalidArgument);
  CHECK_THROWS_AS(order_of(one, one, 11), InvalidArgument);
  const double nan[] = {std::numeric_limits<double>::quiet_NaN()};
  CHECK(order_of(one, nan) == 0);
}
