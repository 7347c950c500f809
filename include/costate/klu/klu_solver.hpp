#pragma once

#include <concepts>
#include <memory>
#include <utility>

#include <Eigen/Core>
#include <Eigen/SparseCore>

#include "costate/integrate/problem.hpp"
#include "costate/integrate/sparse_solver.hpp"

/// @file
/// Sparse systems by KLU of SuiteSparse (T. A. Davis, E. Palamadai Natarajan, ACM Trans. Math.
/// Softw. 37 (2010) 36): made for matrices of networks and of equations on lines and thin domains,
/// which fill in little. A component of its own, there if SuiteSparse is: `costate::klu`.

namespace costate {

/// Factors of a square sparse matrix. The pattern is analysed once and must not change. Each
/// factorisation chooses its pivots anew, so it depends on the matrix alone.
class KluFactors {
 public:
  using Matrix = Eigen::SparseMatrix<double>;

  KluFactors();
  KluFactors(KluFactors&&) noexcept;
  KluFactors& operator=(KluFactors&&) noexcept;
  ~KluFactors();

  /// False if W cannot be inverted.
  bool factor(const Matrix& w);

  /// Of both factors.
  [[nodiscard]] double entries() const;

  /// x ← W⁻¹ x
  template <class V>
  void solve(V& x) {
    solve_in_place(x.data());
  }
  /// x ← W⁻ᵀ x
  template <class V>
  void solve_transpose(V& x) {
    solve_transpose_in_place(x.data());
  }

 private:
  void solve_in_place(double* x);
  void solve_transpose_in_place(double* x);

  struct Handles;
  std::unique_ptr<Handles> handles_;
};

/// `f`, whose Jacobian is an `Eigen::SparseMatrix<double>`, with its systems solved by KLU. For
/// diagonally implicit methods, IMEX methods and BDF.
template <Problem F>
class WithKlu : public F {
  static_assert(std::same_as<typename F::Jacobian, Eigen::SparseMatrix<double>>,
                "KLU factors an Eigen::SparseMatrix<double>: the Jacobian must be one");

 public:
  using Solver = SparseShiftedSolver<F, KluFactors>;
  explicit WithKlu(F f) : F(std::move(f)) {}
};

template <Problem F>
auto with_klu(F f) {
  return WithKlu<F>(std::move(f));
}

}  // namespace costate
