// Transposed solves by the factors of a dense matrix, against the matrix itself.

#include "costate/integrate/dense_transpose.hpp"

#include <limits>

#include "support/catch.hpp"

using namespace costate;

namespace {

// How much is left of b - Aᵀ x, relative to the terms it is made of.
template <class Matrix>
double residual(Eigen::Index size) {
  using Scalar = typename Matrix::Scalar;
  using Vector = Eigen::Matrix<Scalar, Matrix::RowsAtCompileTime, 1>;
  const Matrix a = Matrix::Random(size, size);  // so that rows are interchanged
  const Vector b = Vector::Random(size);
  const Eigen::PartialPivLU<Matrix> lu(a);
  Vector x = b;
  Vector work(size);
  solve_transposed_system(lu, x, work);
  const Vector left = b - a.transpose() * x;
  const Vector terms = a.cwiseAbs().transpose() * x.cwiseAbs() + b.cwiseAbs();
  return static_cast<double>((left.array() / terms.array()).abs().maxCoeff()) /
         static_cast<double>(std::numeric_limits<Scalar>::epsilon());
}

}  // namespace

TEST_CASE("A transposed system is solved as accurately as by partial pivoting") {
  for (Eigen::Index n = 1; n <= 70; ++n) {
    CAPTURE(n);
    CHECK(residual<Eigen::MatrixXd>(n) <= 8 * static_cast<double>(n));
    CHECK(residual<Eigen::MatrixXf>(n) <= 8 * static_cast<double>(n));
  }
  for (const Eigen::Index n : {127, 128, 200}) {
    CAPTURE(n);
    CHECK(residual<Eigen::MatrixXd>(n) <= 8 * static_cast<double>(n));
  }
  CHECK(residual<Eigen::Matrix<double, 1, 1>>(1) <= 8);
  CHECK(residual<Eigen::Matrix2d>(2) <= 16);
  CHECK(residual<Eigen::Matrix3d>(3) <= 24);
  CHECK(residual<Eigen::Matrix<double, 9, 9>>(9) <= 72);
  CHECK(residual<Eigen::Matrix4f>(4) <= 32);
}

TEST_CASE("The factors of a singular matrix give no finite solution") {
  Eigen::Matrix2d a;
  a << 1, 2, 2, 4;
  Eigen::Vector2d x(1, 1);
  Eigen::Vector2d work;
  solve_transposed_system(Eigen::PartialPivLU<Eigen::Matrix2d>(a), x, work);
  CHECK_FALSE(x.allFinite());
}
