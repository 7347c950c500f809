#include "costate/integrate/banded_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/LU>

#include "costate/core/error.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

// y' = J y with a banded J of the parameters' making; the diagonal may be weak.
template <int L, int U, bool periodic>
struct Linear {
  using State = Eigen::VectorXd;
  using Parameters = Eigen::Matrix<double, 1, 1>;
  using Jacobian = BandedMatrix<double, L, U, periodic>;
  void rhs(double, const State&, const Parameters&, State&) const {}
  void vjp(double, const State&, const Parameters&, const State&, State&, Parameters&) const {}
  void jacobian(double, const State& y, const Parameters& p, Jacobian& j) const {
    for (Eigen::Index i = 0; i < y.size(); ++i) {
      for (int d = -L; d <= U; ++d) {
        j.band(i, d) =
            std::sin(static_cast<double>(7 * i * i + 3 * i + 5 * d)) - (d == 0 ? p[0] : 0);
      }
    }
  }
};

// W itself.
template <class F>
Eigen::MatrixXd matrix_of(const F& f, const Eigen::VectorXd& y, double p, double a) {
  using Jacobian = typename F::Jacobian;
  Jacobian j(y.size());
  f.jacobian(0, y, typename F::Parameters(p), j);
  Eigen::MatrixXd w = Eigen::MatrixXd::Identity(y.size(), y.size());
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    for (int d = -Jacobian::lower; d <= Jacobian::upper; ++d) {
      Eigen::Index c = i + d;
      if (Jacobian::is_periodic) c = (c + y.size()) % y.size();
      if (c >= 0 && c < y.size()) w(i, c) -= a * j.band(i, d);
    }
  }
  return w;
}

// Prepares and solves with W and its transpose.
template <class F>
void check_solves(const F& f, Eigen::Index n, double p) {
  using Jacobian = typename F::Jacobian;
  CAPTURE(Jacobian::lower, Jacobian::upper, Jacobian::is_periodic, n, p);
  const typename F::Parameters parameters(p);
  const Eigen::VectorXd y = Eigen::VectorXd::Zero(n);
  const Eigen::MatrixXd w = matrix_of(f, y, p, 1.7);
  BandedShiftedSolver<F> solver(f, parameters, n);
  if (!solver.prepare(0, y, parameters, 1.7)) {
    CHECK_FALSE(w.partialPivLu().rcond() > 2.3e-16);  // singular but for rounding; NaN if at once
    return;
  }
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(n, -1, 2);
  // Backward stable: the residual is a multiple of rounding, growth of the pivots included.
  const double bound = 1e4 * 2.3e-16;
  const auto size = [&](const Eigen::VectorXd& of) {
    return w.cwiseAbs().rowwise().sum().maxCoeff() * of.cwiseAbs().maxCoeff() + 1;
  };
  Eigen::VectorXd x = b;
  solver.solve(x);
  CHECK((w * x - b).cwiseAbs().maxCoeff() <= bound * size(x));
  x = b;
  solver.solve_transpose(x);
  CHECK((w.transpose() * x - b).cwiseAbs().maxCoeff() <= bound * size(x));
}

// Solves with W = 1 - 1.7 J and its transpose in so many blocks.
template <class Scalar, Eigen::Index lanes, class F>
void check_blocks(const F& f, Eigen::Index n, double p) {
  using J = typename F::Jacobian;
  using Lu = BlockedBandedLu<Scalar, J::lower, J::upper, J::is_periodic, lanes>;
  using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
  if (n < Lu::least) return;
  CAPTURE(J::lower, J::upper, J::is_periodic, n, p, lanes);
  J exact(n);
  f.jacobian(0, Eigen::VectorXd::Zero(n), typename F::Parameters(p), exact);
  BandedMatrix<Scalar, J::lower, J::upper, J::is_periodic> j(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (int d = -J::lower; d <= J::upper; ++d)
      j.band(i, d) = static_cast<Scalar>(exact.band(i, d));
  }
  const Eigen::MatrixXd w = matrix_of(f, Eigen::VectorXd::Zero(n), p, 1.7);
  Lu lu(n);
  REQUIRE(lu.compute(j, Scalar(1.7), [](Eigen::Index) { return Scalar(1); }));
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(n, -1, 2);
  // Diagonally dominant: no growth.
  const auto solved = [&](const Vector& x, const Eigen::MatrixXd& of) {
    const Eigen::VectorXd d = x.template cast<double>();
    const double bound = 100 * static_cast<double>(std::numeric_limits<Scalar>::epsilon()) *
                         w.cwiseAbs().rowwise().sum().maxCoeff() * d.norm();
    return (of * d - b).cwiseAbs().maxCoeff() <= bound;
  };
  Vector x = b.cast<Scalar>();
  lu.solve(x.data());
  CHECK(solved(x, w));
  x = b.cast<Scalar>();
  lu.solve_transpose(x.data());
  CHECK(solved(x, w.transpose()));
}

// For the smallest matrix, and blocks around the ends of stretches of 8 rows, with all numbers of
// rows left over in turn. In the largest of them Z vanishes if the diagonal dominates by far.
template <class Scalar, Eigen::Index lanes, class F>
void check_block_sizes(const F& f) {
  using J = typename F::Jacobian;
  const Eigen::Index gap = std::max(J::lower, J::upper);
  const double weak = J::lower + J::upper + 1;  // just dominant: Z does not vanish
  for (const double p : {30., weak}) {
    check_blocks<Scalar, lanes>(
        f, BlockedBandedLu<Scalar, J::lower, J::upper, J::is_periodic, lanes>::least, p);
    Eigen::Index more = 0;
    for (const Eigen::Index rows : {3, 6, 7, 8, 9, 10, 11, 15, 16, 17, 24, 26, 33, 40}) {
      check_blocks<Scalar, lanes>(f, lanes * (rows + gap) + more, p);
      more = (more + 3) % lanes;
    }
  }
}

template <int L, int U, bool periodic>
void check_band() {
  for (const Eigen::Index n : {2 * (L + U + 1), 23, 60, 149, 150, 151, 152, 160}) {
    if (n < 2 * (L + U + 1)) continue;
    // Diagonally dominant; and such that pivots have to be looked for.
    for (const double p : {30., 0.}) check_solves(Linear<L, U, periodic>{}, n, p);
  }
}

// On a circle with 10 on the diagonal and -1 beside it W⁻¹ decays by 10 from row to row: entries
// far below rounding are as accurate as those on the diagonal.
template <Eigen::Index lanes>
void check_decay() {
  const Eigen::Index n = lanes * 50 + 3;
  BandedMatrix<double, 1, 1, true> j(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    j.band(i, -1) = j.band(i, 1) = 1;
    j.band(i, 0) = -9;
  }
  BlockedBandedLu<double, 1, 1, true, lanes> lu(n);
  REQUIRE(lu.compute(j, 1, [](Eigen::Index) { return 1.; }));
  const double rate = 5 - std::sqrt(24.);
  for (const Eigen::Index i : {Eigen::Index(0), (n - 3) / lanes - 1, n / 2, n - 1}) {
    for (const bool transposed : {false, true}) {
      CAPTURE(lanes, i, transposed);
      Eigen::VectorXd x = Eigen::VectorXd::Unit(n, i);
      transposed ? lu.solve_transpose(x.data()) : lu.solve(x.data());
      double worst = 0;
      for (Eigen::Index k = 0; k < n; ++k) {
        const auto apart = static_cast<double>(std::abs(k - i));
        const double exact =
            (std::pow(rate, apart) + std::pow(rate, static_cast<double>(n) - apart)) /
            std::sqrt(96.);
        if (exact > 1e-18) worst = std::max(worst, std::abs(x[k] / exact - 1));
      }
      CHECK(worst < 1e-12);
    }
  }
}

// W = 1 + 2 P with P a rotation of a circle: its condition is 3, that of each of its blocks 2 to
// the power of its size.
struct Rotation {
  using State = Eigen::VectorXd;
  using Parameters = Eigen::Matrix<double, 1, 1>;
  using Jacobian = BandedMatrix<double, 0, 1, true>;
  void rhs(double, const State&, const Parameters&, State&) const {}
  void vjp(double, const State&, const Parameters&, const State&, State&, Parameters&) const {}
  void jacobian(double, const State& y, const Parameters&, Jacobian& j) const {
    for (Eigen::Index i = 0; i < y.size(); ++i) {
      j.band(i, 0) = 0;
      j.band(i, 1) = -2 / 1.7;
    }
  }
};

}  // namespace

TEST_CASE("Banded systems and their transposes are solved", "[integrate][oracle]") {
  check_band<1, 1, false>();
  check_band<1, 1, true>();
  check_band<2, 2, false>();
  check_band<2, 2, true>();
  check_band<0, 3, false>();
  check_band<3, 0, false>();
  check_band<3, 1, false>();
  check_band<3, 1, true>();
  check_band<1, 3, true>();
  check_band<0, 0, false>();
}

TEST_CASE("Banded systems are solved in blocks", "[integrate][oracle]") {
  check_block_sizes<double, 4>(Linear<1, 1, false>{});
  check_block_sizes<double, 8>(Linear<1, 1, true>{});
  check_block_sizes<double, 16>(Linear<1, 1, false>{});
  check_block_sizes<double, 16>(Linear<1, 1, true>{});
  check_block_sizes<double, 16>(Linear<0, 2, true>{});
  check_block_sizes<double, 4>(Linear<2, 2, true>{});
  check_block_sizes<double, 8>(Linear<2, 2, false>{});
  check_block_sizes<double, 4>(Linear<0, 3, false>{});
  check_block_sizes<double, 8>(Linear<3, 0, true>{});
  check_block_sizes<double, 8>(Linear<3, 1, false>{});
  check_block_sizes<double, 4>(Linear<1, 3, true>{});
  check_block_sizes<double, 8>(Linear<0, 0, false>{});
}

TEST_CASE("Banded systems of single precision are solved in blocks", "[integrate][oracle]") {
  check_block_sizes<float, 4>(Linear<1, 1, true>{});
  check_block_sizes<float, 8>(Linear<2, 1, true>{});
  check_block_sizes<float, 16>(Linear<1, 1, false>{});
}

TEST_CASE("Where Z is left out no digit is lost of what decays", "[integrate][oracle]") {
  check_decay<4>();
  check_decay<8>();
  check_decay<16>();
}

TEST_CASE("A zero on the diagonal is no obstacle, a singular matrix is one", "[integrate][unit]") {
  const BandedMatrix<double, 1, 1> empty(6);
  BandedMatrix<double, 1, 1> a = empty;
  for (Eigen::Index i = 0; i < 6; ++i) a.band(i, -1) = a.band(i, 1) = 2;
  BandedLu<double, 1, 1> lu;
  REQUIRE(lu.compute(a));
  Eigen::VectorXd x = Eigen::VectorXd::LinSpaced(6, 1, 6);
  lu.solve(x.data());
  Eigen::VectorXd back(6);
  for (Eigen::Index i = 0; i < 6; ++i) {
    back[i] = 2 * ((i > 0 ? x[i - 1] : 0) + (i < 5 ? x[i + 1] : 0));
  }
  CHECK((back - Eigen::VectorXd::LinSpaced(6, 1, 6)).cwiseAbs().maxCoeff() < 1e-14);
  CHECK_FALSE(lu.compute(empty));
}

TEST_CASE("On a circle blocks may be much worse conditioned than the whole",
          "[integrate][oracle]") {
  // In one piece if there are few rows, in blocks that are refused above.
  for (const Eigen::Index n : {20, 30, 31, 32, 60, 152, 160}) check_solves(Rotation{}, n, 0);
}

TEST_CASE("A pivot that is no number to divide by is found wherever it is", "[integrate][unit]") {
  using Matrix = BandedMatrix<double, 1, 1>;
  const Eigen::Index n = 150;
  const auto unit = [](Eigen::Index) { return 1.; };
  for (const double wrong :
       {1., std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    for (Eigen::Index i = 0; i < n; ++i) {
      CAPTURE(wrong, i);
      Matrix j(n);
      j.band(i, 0) = wrong;  // of W = 1 - J

      BlockedBandedLu<double, 1, 1, false, 4> four(n);
      CHECK_FALSE(four.compute(j, 1, unit));
      BlockedBandedLu<double, 1, 1, false, 8> eight(n);
      CHECK_FALSE(eight.compute(j, 1, unit));
      BlockedBandedLu<double, 1, 1, false, 16> sixteen(n);
      CHECK_FALSE(sixteen.compute(j, 1, unit));

      Matrix w(n);
      for (Eigen::Index k = 0; k < n; ++k) w.band(k, 0) = 1 - j.band(k, 0);
      BandedLu<double, 1, 1> lu;
      CHECK_FALSE(lu.compute(w));
    }
  }
}

TEST_CASE("A band wider than half the matrix is refused", "[integrate][unit]") {
  const Linear<1, 1, true> f;
  using Solver = BandedShiftedSolver<Linear<1, 1, true>>;
  CHECK_THROWS_AS(Solver(f, Eigen::Matrix<double, 1, 1>(0.), 5), InvalidArgument);
}
