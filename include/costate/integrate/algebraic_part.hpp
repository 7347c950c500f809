#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <type_traits>

#include <Eigen/Core>
#include <Eigen/QR>
#include <Eigen/SparseCore>

#include "costate/integrate/implicit_problem.hpp"

namespace costate {

/// The Jacobian type of a problem, if it has one.
template <class F>
struct JacobianTypeOf {};
template <HasJacobian F>
struct JacobianTypeOf<F> {
  using Jacobian = typename F::Jacobian;
};

/// The problem M y' = P f(t, y, p), where P projects on the directions in which M y' vanishes:
/// what remains of M y' = f are its algebraic equations. With a step of length 1 of
/// Euler's backward method, M (y⁺ - y) = P f(t, y⁺, p): M y is kept, and the algebraic equations
/// hold in y⁺.
///
/// P picks the rows in which M is zero. A dense M may be singular without such rows: then P is the
/// projector on its left null space that is orthogonal where rows are scaled to a largest entry of
/// 1. A sparse or diagonal M may not.
template <HasMass F>
class AlgebraicPart : public JacobianTypeOf<F> {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Scalar = typename State::Scalar;

  /// @param f     must outlive it
  /// @param size  of the state
  AlgebraicPart(const F& f, Eigen::Index size)
      : f_(f), algebraic_(State::Zero(size)), column_(State::Zero(size)), v_(size) {
    const auto& m = f.mass();
    using Mass = std::remove_cvref_t<decltype(m)>;
    State rows = State::Zero(size);  // largest magnitudes
    const auto see = [&](Eigen::Index i, Eigen::Index j, Scalar entry) {
      rows[i] = std::max(rows[i], std::abs(entry));
      column_[j] = std::max(column_[j], std::abs(entry));
    };
    if constexpr (std::derived_from<Mass, Eigen::DiagonalBase<Mass>>) {
      for (Eigen::Index i = 0; i < size; ++i) see(i, i, m.diagonal()[i]);
    } else if constexpr (std::derived_from<Mass, Eigen::SparseMatrixBase<Mass>>) {
      for (Eigen::Index k = 0; k < m.outerSize(); ++k) {
        for (typename Mass::InnerIterator it(m, k); it; ++it) see(it.row(), it.col(), it.value());
      }
    } else {
      const DenseMatrix<F> dense = m;
      for (Eigen::Index i = 0; i < size; ++i) {
        for (Eigen::Index j = 0; j < size; ++j) see(i, j, dense(i, j));
      }
      // In rows of one scale, whatever their units.
      const State scale = (rows.array() == 0).select(State::Ones(size), rows.cwiseInverse());
      const Eigen::ColPivHouseholderQR<DenseMatrix<F>> qr(scale.asDiagonal() * dense);
      if (size - qr.rank() > (rows.array() == 0).count()) {
        const DenseMatrix<F> q = qr.householderQ();
        const auto null = q.rightCols(size - qr.rank());
        projector_ = scale.cwiseInverse().asDiagonal() * (null * null.transpose()).eval() *
                     scale.asDiagonal();
      }
    }
    algebraic_ = (rows.array() == 0).template cast<Scalar>();
  }

  [[nodiscard]] decltype(auto) mass() const { return f_.mass(); }
  /// Whether M does not read component i of the state.
  [[nodiscard]] bool unread(Eigen::Index i) const { return column_[i] == 0; }

  void rhs(double t, const State& y, const Parameters& p, State& out) const {
    f_.rhs(t, y, p, out);
    project(out);
  }
  void vjp(double t, const State& y, const Parameters& p, const State& w, State& y_bar,
           Parameters& p_bar) const {
    v_ = w;
    project<true>(v_);
    f_.vjp(t, y, p, v_, y_bar, p_bar);
  }
  void jvp(double t, const State& y, const Parameters& p, const State& dy, const Parameters& dp,
           State& out) const requires TangentProblem<F> {
    f_.jvp(t, y, p, dy, dp, out);
    project(out);
  }
  template <class Jacobian>
  void jacobian(double t, const State& y, const Parameters& p,
                Jacobian& j) const requires HasJacobian<F> {
    f_.jacobian(t, y, p, j);
    if constexpr (requires { Jacobian::is_periodic; }) {
      for (Eigen::Index i = 0; i < j.size(); ++i) {
        for (int k = -Jacobian::lower; k <= Jacobian::upper; ++k) j.band(i, k) *= algebraic_[i];
      }
    } else if constexpr (std::derived_from<Jacobian, Eigen::SparseMatrixBase<Jacobian>>) {
      for (Eigen::Index k = 0; k < j.outerSize(); ++k) {
        for (typename Jacobian::InnerIterator it(j, k); it; ++it) {
          it.valueRef() *= algebraic_[it.row()];
        }
      }
    } else {
      for (Eigen::Index k = 0; k < j.cols(); ++k) {
        v_ = j.col(k);
        project(v_);
        j.col(k) = v_;
      }
    }
  }

 private:
  // v ← P v or Pᵀ v
  template <bool transposed = false>
  void project(State& v) const {
    if (projector_.size() == 0) {
      v.array() *= algebraic_.array();
    } else if constexpr (transposed) {
      v = State(projector_.transpose() * v);
    } else {
      v = State(projector_ * v);
    }
  }

  const F& f_;
  State algebraic_;  // 1 where a row of M is zero, else 0
  State column_;     // largest magnitudes in the columns of M
  Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic> projector_;  // empty if that is all
  mutable State v_;
};

}  // namespace costate
