#pragma once

#include <cmath>
#include <utility>

#include <Eigen/Core>

#include "costate/integrate/problem.hpp"

/// @file
/// What implicit methods can make use of in a problem, beyond f and its products. Every problem
/// works without: its Jacobian is then put together from products of `vjp` with unit vectors.
///
///     using Jacobian = Eigen::Matrix<…> or Eigen::SparseMatrix<…>;
///     jacobian(t, y, p, J)     J = ∂f/∂y
///     mass()                   M of M y' = f(t, y, p): constant, dense, diagonal or sparse
///
/// A dense J arrives with its size and holds anything; a sparse one arrives as the last call left
/// it, and its pattern must not change. Sparse problems include sparse_solver.hpp.
///
/// The Jacobian only decides how fast the iterations converge: their residuals are formed with
/// `rhs` and `vjp`, so an approximate one costs time, never exactness.

namespace costate {

/// Brings its Jacobian matrix.
template <class F>
concept HasJacobian = Problem<F> &&
    requires(const F& f, double t, const typename F::State& y, const typename F::Parameters& p,
             typename F::Jacobian& j) {
  f.jacobian(t, y, p, j);
};

/// Brings a mass matrix.
template <class F>
concept HasMass = Problem<F> && requires(const F& f) {
  f.mass();
};

/// r += M d
template <Problem F, class V>
void add_mass_product(const F& f, const V& d, V& r) {
  if constexpr (HasMass<F>) {
    r.noalias() += f.mass() * d;
  } else {
    r += d;
  }
}

/// r = Mᵀ d
template <Problem F, class V>
void mass_transpose_product(const F& f, const V& d, V& r) {
  if constexpr (!HasMass<F>) {
    r = d;
  } else if constexpr (requires { f.mass().transpose(); }) {
    r.noalias() = f.mass().transpose() * d;
  } else {  // diagonal
    r.noalias() = f.mass() * d;
  }
}

/// The square matrix that fits the states of a problem.
template <Problem F>
using DenseMatrix = Eigen::Matrix<typename F::State::Scalar, F::State::SizeAtCompileTime,
                                  F::State::SizeAtCompileTime, Eigen::ColMajor,
                                  F::State::MaxSizeAtCompileTime, F::State::MaxSizeAtCompileTime>;

/// `f` with a Jacobian given as a function.
template <Problem F, class Matrix, class Function>
class WithJacobian : public F {
 public:
  using Jacobian = Matrix;
  WithJacobian(F f, Function function) : F(std::move(f)), function_(std::move(function)) {}
  void jacobian(double t, const typename F::State& y, const typename F::Parameters& p,
                Jacobian& j) const {
    function_(t, y, p, j);
  }

 private:
  [[no_unique_address]] Function function_;
};

/// @param function  (t, y, p, J), writes J
template <class Matrix, Problem F, class Function>
auto with_jacobian(F f, Function function) {
  return WithJacobian<F, Matrix, Function>(std::move(f), std::move(function));
}

/// `f` with a constant mass matrix: M y' = f(t, y, p). M may be singular, for a problem of index 1
/// and a stiffly accurate method without an explicit stage (`BackwardEuler`, `Sdirk2`, `Sdirk43`,
/// Radau IIA), from consistent initial values.
template <Problem F, class Matrix>
class WithMass : public F {
 public:
  WithMass(F f, Matrix m) : F(std::move(f)), mass_(std::move(m)) {}
  [[nodiscard]] const Matrix& mass() const { return mass_; }

 private:
  Matrix mass_;
};

template <class Matrix, Problem F>
auto with_mass(F f, Matrix mass) {
  return WithMass<F, Matrix>(std::move(f), std::move(mass));
}

/// `f` with a Jacobian by forward differences, for right-hand sides whose `vjp` is dear: n + 1
/// evaluations of f. Gradients stay exact, see above.
template <Problem F>
class DifferencedJacobian : public F {
 public:
  using Jacobian = DenseMatrix<F>;
  static constexpr bool approximate = true;  ///< no method whose steps J is a part of takes it
  explicit DifferencedJacobian(F f) : F(std::move(f)) {}
  void jacobian(double t, const typename F::State& y, const typename F::Parameters& p,
                Jacobian& j) const {
    using Scalar = typename F::State::Scalar;
    typename F::State base = y;
    typename F::State moved = y;
    typename F::State slope = y;
    F::rhs(t, y, p, base);
    const Scalar root = std::sqrt(Eigen::NumTraits<Scalar>::epsilon());
    for (Eigen::Index i = 0; i < y.size(); ++i) {
      moved[i] = y[i] + root * (std::abs(y[i]) + root);
      F::rhs(t, moved, p, slope);
      j.col(i) = (slope - base) / (moved[i] - y[i]);
      moved[i] = y[i];
    }
  }
};

template <Problem F>
auto with_jacobian_by_differences(F f) {
  return DifferencedJacobian<F>(std::move(f));
}

}  // namespace costate
