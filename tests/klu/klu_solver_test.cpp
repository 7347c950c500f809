#include "costate/klu/klu_solver.hpp"

#include <cmath>

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include "costate/core/error.hpp"
#include "support/burgers.hpp"
#include "support/catch.hpp"

using namespace costate;
using problems::Burgers;
using problems::burgers_gradient;
using Sparse = Eigen::SparseMatrix<double>;

TEST_CASE("KLU gives the gradient of Eigen's sparse LU", "[klu][oracle]") {
  const Eigen::VectorXd by_eigen = burgers_gradient(Burgers<Sparse>{});
  const Eigen::VectorXd by_klu = burgers_gradient(with_klu(Burgers<Sparse>{}));
  // Twenty transposed systems whose matrix has a condition of about a hundred.
  CHECK((by_klu - by_eigen).norm() < 1e-13 * by_eigen.norm());
  CHECK(burgers_gradient(with_klu(Burgers<Sparse>{})) == by_klu);

  Sparse two(24, 24);
  two.setIdentity();
  two *= 2;
  const Eigen::VectorXd scaled = burgers_gradient(with_mass(Burgers<Sparse>{}, two));
  const Eigen::VectorXd scaled_klu = burgers_gradient(with_klu(with_mass(Burgers<Sparse>{}, two)));
  CHECK((scaled_klu - scaled).norm() < 1e-13 * scaled.norm());
}

TEST_CASE("Factors by KLU solve with the matrix and with its transpose", "[klu][unit]") {
  Sparse w(3, 3);
  w.coeffRef(0, 0) = 2;
  w.coeffRef(0, 2) = 1;
  w.coeffRef(1, 1) = 4;
  w.coeffRef(2, 0) = 1;
  w.coeffRef(2, 2) = 3;
  w.makeCompressed();
  KluFactors factors;
  REQUIRE(factors.factor(w));
  const Eigen::Vector3d b(1, 2, 3);
  Eigen::Vector3d x = b;
  factors.solve(x);
  CHECK((w * x - b).norm() < 1e-15);
  w.coeffRef(0, 2) = 5;
  REQUIRE(factors.factor(w));
  x = b;
  factors.solve_transpose(x);
  CHECK((w.transpose() * x - b).norm() < 1e-15);

  SECTION("a singular matrix is told") {
    w.coeffRef(1, 1) = 0;
    CHECK_FALSE(factors.factor(w));
    w.coeffRef(1, 1) = 4;
    CHECK(factors.factor(w));
  }
  SECTION("they can be moved") {
    KluFactors other = std::move(factors);
    x = b;
    other.solve_transpose(x);
    CHECK((w.transpose() * x - b).norm() < 1e-15);
  }
}
