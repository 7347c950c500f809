#include "costate/integrate/tableau.hpp"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "costate/integrate/explicit_runge_kutta.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

// Order conditions for rooted trees: E. Hairer, S. P. Nørsett, G. Wanner, Solving ODEs I, table
// II.2.2. A tree is the list of the subtrees of its root; its weight is gamma = order x product.
struct Tree {
  std::vector<Tree> branches;

  int order() const {
    int sum = 1;
    for (const Tree& t : branches) sum += t.order();
    return sum;
  }
  double density() const {
    double product = order();
    for (const Tree& t : branches) product *= t.density();
    return product;
  }
};

// Elementary weight of stage i: product over the branches of sum_j a_ij (weight of the branch at
// j).
template <std::size_t S>
double stage_weight(const Tableau<S>& m, const Tree& tree, std::size_t i) {
  double product = 1;
  for (const Tree& branch : tree.branches) {
    double sum = 0;
    for (std::size_t j = 0; j < S; ++j) sum += m.a[i][j] * stage_weight(m, branch, j);
    product *= sum;
  }
  return product;
}

template <std::size_t S>
double defect(const Tableau<S>& m, const std::array<double, S>& b, const Tree& tree) {
  double sum = 0;
  for (std::size_t i = 0; i < S; ++i) sum += b[i] * stage_weight(m, tree, i);
  return std::abs(sum - 1 / tree.density());
}

const Tree leaf{};

std::vector<Tree> trees_of_order(int order) {
  const Tree chain2{{leaf}};
  const Tree bushy3{{leaf, leaf}};
  const Tree chain3{{chain2}};
  switch (order) {
    case 1:
      return {leaf};
    case 2:
      return {chain2};
    case 3:
      return {bushy3, chain3};
    case 4:
      return {{{leaf, leaf, leaf}}, {{leaf, chain2}}, {{bushy3}}, {{chain3}}};
    default:
      return {{{leaf, leaf, leaf, leaf}}, {{leaf, leaf, chain2}}, {{chain2, chain2}},
              {{leaf, bushy3}},           {{leaf, chain3}},       {{Tree{{leaf, leaf, leaf}}}},
              {{Tree{{leaf, chain2}}}},   {{Tree{{bushy3}}}},     {{Tree{{chain3}}}}};
  }
}

// Largest order up to 5 whose conditions hold to rounding. The published coefficients have 16
// digits, at most 13 in size, and are multiplied at most four times: 1e-13 is rounding.
template <std::size_t S>
int order_of(const Tableau<S>& m, const std::array<double, S>& b) {
  for (int order = 1; order <= 5; ++order) {
    for (const Tree& tree : trees_of_order(order)) {
      if (defect(m, b, tree) > 1e-13) return order - 1;
    }
  }
  return 5;
}

template <std::size_t S>
void check_tableau(const Tableau<S>& m) {
  INFO(m.name);
  CHECK(consistent(m));
  CHECK(order_of(m, m.b) == m.order);
  if (m.embedded_order > 0) CHECK(order_of(m, m.b_hat) == m.embedded_order);
}

}  // namespace

TEST_CASE("Each tableau satisfies the conditions of its order and of no higher one",
          "[integrate][oracle]") {
  check_tableau(tableaux::euler);
  check_tableau(tableaux::heun);
  check_tableau(tableaux::midpoint);
  check_tableau(tableaux::ssprk3);
  check_tableau(tableaux::bogacki_shampine_32);
  check_tableau(tableaux::runge_kutta_4);
  check_tableau(tableaux::dormand_prince_54);
  check_tableau(tableaux::tsitouras_54);
}

TEST_CASE("A tableau that cannot be a method is refused", "[integrate][unit]") {
  Tableau<2> heun = tableaux::heun;
  CHECK(consistent(heun));

  SECTION("row sum") {
    heun.c[1] = 0.9;
  }
  SECTION("implicit") {
    heun.a[0][1] = 1e-3, heun.c[0] = 1e-3;
  }
  SECTION("weights") {
    heun.b[0] = 0.6;
  }
  SECTION("embedded weights") {
    heun.b_hat[1] = 0.5;
  }

  CHECK_FALSE(consistent(heun));
}

TEST_CASE("First-same-as-last and idle stages are seen from the coefficients",
          "[integrate][unit]") {
  CHECK(first_same_as_last(tableaux::dormand_prince_54));
  CHECK(first_same_as_last(tableaux::tsitouras_54));
  CHECK(first_same_as_last(tableaux::bogacki_shampine_32));
  CHECK_FALSE(first_same_as_last(tableaux::runge_kutta_4));
  CHECK_FALSE(first_same_as_last(tableaux::heun));
  CHECK(solution_stages(tableaux::dormand_prince_54) == 6);
  CHECK(solution_stages(tableaux::bogacki_shampine_32) == 3);
  CHECK(solution_stages(tableaux::runge_kutta_4) == 4);
}
