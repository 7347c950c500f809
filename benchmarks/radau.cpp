// Radau IIA 5: the linear algebra of a step with all three stages as one real system of 3 n
// unknowns, which is what the library does, against one real and one complex system of n, which
// the transformation of Hairer & Wanner (1996), IV.8, gets by with.
//
//   cmake --build --preset release --target benchmark_radau && build/release/benchmarks/radau

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdio>
#include <limits>

#include <Eigen/Core>
#include <Eigen/LU>

namespace {

// The least of several runs, in microseconds.
template <class Work>
double time(const Work& work) {
  using Clock = std::chrono::steady_clock;
  double least = std::numeric_limits<double>::infinity();
  double total = 0;
  while (total < 2e5) {
    const auto begin = Clock::now();
    work();
    const std::chrono::duration<double, std::micro> d = Clock::now() - begin;
    least = std::min(least, d.count());
    total += d.count();
  }
  return least;
}

}  // namespace

int main() {
  std::printf(
      "    n   coupled: factor  solve   pair: factor  solve   coupled / pair: factor  solve\n");
  for (const Eigen::Index n : {2, 4, 8, 16, 32, 64, 128, 256}) {
    std::srand(1);
    const Eigen::MatrixXd j = Eigen::MatrixXd::Random(n, n);
    const Eigen::MatrixXd one = Eigen::MatrixXd::Identity(n, n);
    Eigen::MatrixXd coupled = Eigen::MatrixXd::Random(3 * n, 3 * n);
    coupled.diagonal().array() += 10;
    const Eigen::MatrixXd real = 10 * one - j;
    const Eigen::MatrixXcd complex = std::complex<double>(8, 9) * one - j;
    const Eigen::VectorXd b = Eigen::VectorXd::Ones(3 * n);
    const Eigen::VectorXd b_real = Eigen::VectorXd::Ones(n);
    const Eigen::VectorXcd b_complex = Eigen::VectorXcd::Ones(n);

    Eigen::PartialPivLU<Eigen::MatrixXd> lu(3 * n);
    Eigen::PartialPivLU<Eigen::MatrixXd> lu_real(n);
    Eigen::PartialPivLU<Eigen::MatrixXcd> lu_complex(n);
    Eigen::VectorXd x;
    Eigen::VectorXd x_real;
    Eigen::VectorXcd x_complex;
    const double factor = time([&] { lu.compute(coupled); });
    const double solve = time([&] { x = lu.solve(b); });
    const double pair_factor = time([&] {
      lu_real.compute(real);
      lu_complex.compute(complex);
    });
    const double pair_solve = time([&] {
      x_real = lu_real.solve(b_real);
      x_complex = lu_complex.solve(b_complex);
    });
    std::printf("%5ld %15.2f %8.2f %13.2f %6.2f %21.1f %6.1f\n", static_cast<long>(n), factor,
                solve, pair_factor, pair_solve, factor / pair_factor, solve / pair_solve);
  }
}
