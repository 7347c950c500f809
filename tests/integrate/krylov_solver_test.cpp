#include "costate/integrate/krylov_solver.hpp"

#include <Eigen/Core>

#include "costate/integrate/diagonally_implicit.hpp"
#include "support/burgers.hpp"
#include "support/catch.hpp"
#include "support/problems.hpp"

using namespace costate;
using problems::Burgers;
using problems::burgers_gradient;

namespace {

using Dense = Burgers<Eigen::MatrixXd>;

// The diagonal of W, and how often it is asked for.
struct Diagonal {
  static inline int forward = 0;
  static inline int transposed = 0;

  Diagonal(const Dense&, const Dense::Parameters&, Eigen::Index) {}
  bool prepare(double, const Eigen::VectorXd& u, const Dense::Parameters& p, double a) {
    const auto n = static_cast<double>(u.size());
    inverse_ = 1 / (1 + a * 2 * p[0] * n * n);
    return true;
  }
  void solve(Eigen::VectorXd& x) const {
    ++forward;
    x *= inverse_;
  }
  void solve_transpose(Eigen::VectorXd& x) const {
    ++transposed;
    x *= inverse_;
  }

 private:
  double inverse_ = 1;
};

}  // namespace

TEST_CASE("Krylov iterations without a matrix give the gradient of LU factors",
          "[integrate][oracle]") {
  const Eigen::VectorXd by_factors = burgers_gradient(Dense{});
  // Twenty systems, each corrected to a few roundings, of a condition of about a hundred.
  const double close = 1e-13 * by_factors.norm();
  CHECK((burgers_gradient(with_krylov<Eigen::BiCGSTAB>(Dense{})) - by_factors).norm() < close);
  CHECK((burgers_gradient(with_krylov<Eigen::GMRES>(Dense{})) - by_factors).norm() < close);

  const Eigen::VectorXd preconditioned =
      burgers_gradient(with_krylov<Eigen::BiCGSTAB, Diagonal>(Dense{}));
  CHECK((preconditioned - by_factors).norm() < close);
  CHECK(Diagonal::forward > 0);
  CHECK(Diagonal::transposed > 0);
  CHECK((burgers_gradient(with_krylov<Eigen::GMRES, Diagonal>(Dense{})) - by_factors).norm() <
        close);
}

TEST_CASE("Krylov iterations depend on nothing that came before", "[integrate][property]") {
  const auto f = with_krylov<Eigen::BiCGSTAB>(Dense{});
  CHECK(burgers_gradient(f) == burgers_gradient(f));
}

TEST_CASE("Krylov iterations work with mass matrices and states of fixed size",
          "[integrate][oracle]") {
  Eigen::Matrix2d m;
  m << 2, 0.3, -0.4, 1.5;
  const auto gradient = [](const auto& f) {
    using F = std::remove_cvref_t<decltype(f)>;
    using Kernel = DirkKernel<F, tableaux::esdirk_43, support::Objective>;
    return support::KernelRun<F, Kernel>(f, TimeGrid::with_steps(0, 1, 8), {1.2, 0.7},
                                         {1.5, 1.1, 2.7, 0.9})
        .gradient();
  };
  const auto f = with_mass(problems::LotkaVolterra{}, m);
  const Eigen::VectorXd by_factors = gradient(f);
  CHECK((gradient(with_krylov<Eigen::GMRES>(f)) - by_factors).norm() < 1e-13 * by_factors.norm());
}
