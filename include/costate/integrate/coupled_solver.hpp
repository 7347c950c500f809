#pragma once

#include <array>
#include <cstddef>

#include <Eigen/Core>
#include <Eigen/LU>

#include "costate/integrate/implicit_problem.hpp"
#include "costate/integrate/shifted_solver.hpp"

/// @file
/// Solves with the matrix of all stages of a fully implicit method at once.

namespace costate {

/// W has the blocks W_ij = δ_ij M - h a_ij J(t_j, Y_j); factored as one real matrix by LU with
/// partial pivoting.
template <Problem F, std::size_t S>
class DenseCoupledSolver {
  static constexpr int n = F::State::SizeAtCompileTime;
  static constexpr int sn = n == Eigen::Dynamic ? Eigen::Dynamic : n * static_cast<int>(S);

 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Scalar = typename State::Scalar;
  using Matrix = Eigen::Matrix<Scalar, sn, sn>;
  using Stages = Eigen::Matrix<Scalar, sn, 1>;

  /// @param f  must outlive the solver
  DenseCoupledSolver(const F& f, const Parameters& p, Eigen::Index size)
      : f_(f),
        jacobian_(f, p, size),
        j_(size, size),
        w_(static_cast<Eigen::Index>(S) * size, static_cast<Eigen::Index>(S) * size),
        x_(w_.rows()),
        work_(w_.rows()) {
    j_.setZero();
  }

  /// Evaluates and factors W. False if it cannot be inverted.
  bool prepare(const std::array<double, S>& t, const std::array<State, S>& y, const Parameters& p,
               const std::array<std::array<double, S>, S>& a, double h) {
    const Eigen::Index size = y[0].size();
    for (std::size_t j = 0; j < S; ++j) {
      jacobian_.evaluate(t[j], y[j], p, j_);
      for (std::size_t i = 0; i < S; ++i) {
        auto block = w_.block(static_cast<Eigen::Index>(i) * size,
                              static_cast<Eigen::Index>(j) * size, size, size);
        block = static_cast<Scalar>(-h * a[i][j]) * j_;
        if (i != j) continue;
        if constexpr (HasMass<F>) {
          block += f_.mass();
        } else {
          block.diagonal().array() += Scalar(1);
        }
      }
    }
    lu_.compute(w_);
    return is_regular(lu_);
  }

  [[nodiscard]] double prepare_cost() const { return dense_prepare_cost(w_.rows()); }

  /// x ← W⁻¹ x, all stages in one vector
  template <class V>
  void solve(V& x) {
    x_ = lu_.solve(x);
    x = x_;
  }

  /// x ← W⁻ᵀ x
  template <class V>
  void solve_transpose(V& x) {
    x_ = x;
    solve_transposed_system(lu_, x_, work_);
    x = x_;
  }

 private:
  const F& f_;
  DenseJacobian<F> jacobian_;
  DenseMatrix<F> j_;
  Matrix w_;
  Eigen::PartialPivLU<Matrix> lu_;
  Stages x_, work_;
};

/// Chooses the solver by the type of the Jacobian (sparse_solver.hpp). A problem's own `Solver`
/// knows single stages only.
template <class F, std::size_t S>
struct CoupledSolverOf {
  static_assert(
      !requires { typename F::Solver; },
      "a problem with a solver of its own needs a diagonally implicit method");
  using type = DenseCoupledSolver<F, S>;
};
template <Problem F, std::size_t S>
using CoupledSolver = typename CoupledSolverOf<F, S>::type;

}  // namespace costate
