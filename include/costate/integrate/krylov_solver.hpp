#pragma once

#include <algorithm>
#include <concepts>
#include <limits>
#include <utility>

#include <Eigen/Core>
#include <Eigen/IterativeLinearSolvers>
#include <unsupported/Eigen/IterativeSolvers>

#include "costate/integrate/implicit_problem.hpp"
#include "costate/integrate/problem.hpp"

/// @file
/// Implicit methods without matrices: the systems with W = M - a J are solved by an iteration of
/// Krylov's kind that asks for products with `jvp` and `vjp` only.
///
/// @code
///   auto solved = costate::with_krylov<Eigen::BiCGSTAB>(problem);
///   auto better = costate::with_krylov<Eigen::GMRES, Smoother>(problem);
/// @endcode
///
/// What an iteration leaves over costs corrections, never exactness: residuals of stages and of
/// adjoints are formed with `rhs` and `vjp`, and corrected until they have vanished. Each solve
/// starts from zero, so it is a function of its arguments.
///
/// A preconditioner approximates W⁻¹ and W⁻ᵀ. It is a type that is made from (f, p, size) and has
///
///     bool prepare(t, y, p, a)     of the next solves; false if it cannot
///     solve(x) const               x ← P⁻¹ x
///     solve_transpose(x) const     x ← P⁻ᵀ x

namespace costate {

namespace krylov_detail {

/// W or Wᵀ as Eigen's solvers want to see it.
template <class Solver, class Number>
class Operator : public Eigen::EigenBase<Operator<Solver, Number>> {
 public:
  using Scalar = Number;
  using RealScalar = Number;
  using StorageIndex = int;
  enum {
    ColsAtCompileTime = Eigen::Dynamic,
    MaxColsAtCompileTime = Eigen::Dynamic,
    IsRowMajor = 0
  };

  Operator() = default;
  Operator(const Solver* solver, Eigen::Index size, bool transposed)
      : solver_(solver), size_(size), transposed_(transposed) {}
  [[nodiscard]] Eigen::Index rows() const { return size_; }
  [[nodiscard]] Eigen::Index cols() const { return size_; }
  template <class Rhs>
  auto operator*(const Eigen::MatrixBase<Rhs>& x) const {
    return Eigen::Product<Operator, Rhs, Eigen::AliasFreeProduct>(*this, x.derived());
  }
  template <class V>
  void multiply(const V& x, Eigen::Matrix<Scalar, Eigen::Dynamic, 1>& out) const {
    solver_->multiply(x, out, transposed_);
  }
  template <class V>
  void precondition(V& x) const {
    solver_->precondition(x, transposed_);
  }

 private:
  const Solver* solver_ = nullptr;
  Eigen::Index size_ = 0;
  bool transposed_ = false;
};

/// The preconditioner of an operator, in the form that Eigen's solvers ask for.
template <class Op>
class OperatorPreconditioner {
 public:
  using Vector = Eigen::Matrix<typename Op::Scalar, Eigen::Dynamic, 1>;
  template <class M>
  OperatorPreconditioner& analyzePattern(const M&) {
    return *this;
  }
  template <class M>
  OperatorPreconditioner& factorize(const M& op) {
    op_ = op.derived();
    return *this;
  }
  template <class M>
  OperatorPreconditioner& compute(const M& op) {
    return factorize(op);
  }
  template <class V>
  Vector solve(const Eigen::MatrixBase<V>& b) const {
    Vector x = b;
    op_.precondition(x);
    return x;
  }
  static Eigen::ComputationInfo info() { return Eigen::Success; }

 private:
  Op op_;
};

}  // namespace krylov_detail

/// P = 1.
struct NoPreconditioner {
  template <class F, class P>
  NoPreconditioner(const F&, const P&, Eigen::Index) {}
  template <class State, class P>
  static bool prepare(double, const State&, const P&, double) {
    return true;
  }
  template <class State>
  static void solve(State&) {}
  template <class State>
  static void solve_transpose(State&) {}
};

/// Solves with W by products, see above. Has the functions of `DenseShiftedSolver`.
///
/// @tparam Iteration  `Eigen::BiCGSTAB`, `Eigen::GMRES`, or one like them
template <TangentProblem F, template <class, class> class Iteration,
          class Preconditioner = NoPreconditioner>
class KrylovSolver {
 public:
  using State = typename F::State;
  using Parameters = typename F::Parameters;
  using Scalar = typename State::Scalar;
  using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

  /// @param f  must outlive the solver
  KrylovSolver(const F& f, const Parameters& p, Eigen::Index size)
      : f_(f),
        preconditioner_(f, p, size),
        y_(size),
        x_(size),
        out_(size),
        p_(p),
        none_(p),
        p_bar_(p) {
    y_.setZero();
    none_.setZero();
  }

  /// Makes W = M - a J(t, y, p) the matrix of the next solves.
  bool prepare(double t, const State& y, const Parameters& p, double a) {
    t_ = t;
    y_ = y;
    p_ = p;
    a_ = static_cast<Scalar>(a);
    return preconditioner_.prepare(t, y, p, a);
  }

  /// x ← W⁻¹ x, to the relative residual `tolerance`
  void solve(State& x) { iterate(x, false); }

  /// x ← W⁻ᵀ x
  void solve_transpose(State& x) { iterate(x, true); }

  /// out = W x, or Wᵀ x.
  template <class V>
  void multiply(const V& x, Vector& out, bool transposed) const {
    x_ = x;
    if (transposed) {
      p_bar_.setZero();
      f_.vjp(t_, y_, p_, x_, out_, p_bar_);
      State of_mass = x_;
      mass_transpose_product(f_, x_, of_mass);
      out = of_mass - a_ * out_;
    } else {
      f_.jvp(t_, y_, p_, x_, none_, out_);
      out_ *= -a_;
      add_mass_product(f_, x_, out_);
      out = out_;
    }
  }
  template <class V>
  void precondition(V& x, bool transposed) const {
    x_ = x;
    transposed ? preconditioner_.solve_transpose(x_) : preconditioner_.solve(x_);
    x = x_;
  }

 private:
  using Op = krylov_detail::Operator<KrylovSolver, Scalar>;

  void iterate(State& x, bool transposed) {
    const Op op(this, x.size(), transposed);
    Iteration<Op, krylov_detail::OperatorPreconditioner<Op>> iteration;
    // With a mass matrix alone nobody corrects.
    constexpr Scalar epsilon = std::numeric_limits<Scalar>::epsilon();
    iteration.setTolerance(a_ == Scalar(0) ? 4 * epsilon : std::max(Scalar(1e-8), 16 * epsilon));
    iteration.compute(op);
    const Vector b = x;
    const Vector solution = iteration.solve(b);
    x = solution;
  }

  const F& f_;
  Preconditioner preconditioner_;
  double t_ = 0;
  Scalar a_ = 0;
  State y_;
  mutable State x_, out_;  // in products and preconditioners
  Parameters p_, none_;
  mutable Parameters p_bar_;  // not used
};

/// `f` with its systems solved by an iteration. For diagonally implicit methods, IMEX methods and
/// BDF.
template <TangentProblem F, template <class, class> class Iteration, class Preconditioner>
class WithKrylov : public F {
 public:
  using Solver = KrylovSolver<F, Iteration, Preconditioner>;
  explicit WithKrylov(F f) : F(std::move(f)) {}
};

template <template <class, class> class Iteration, class Preconditioner = NoPreconditioner,
          TangentProblem F>
auto with_krylov(F f) {
  return WithKrylov<F, Iteration, Preconditioner>(std::move(f));
}

}  // namespace costate

namespace Eigen::internal {

template <class Solver, class Scalar>
struct traits<costate::krylov_detail::Operator<Solver, Scalar>> : traits<SparseMatrix<Scalar>> {};

template <class Solver, class Scalar, class Rhs>
struct generic_product_impl<costate::krylov_detail::Operator<Solver, Scalar>, Rhs, SparseShape,
                            DenseShape, GemvProduct>
    : generic_product_impl_base<
          costate::krylov_detail::Operator<Solver, Scalar>, Rhs,
          generic_product_impl<costate::krylov_detail::Operator<Solver, Scalar>, Rhs>> {
  template <class Dest>
  static void scaleAndAddTo(Dest& to, const costate::krylov_detail::Operator<Solver, Scalar>& op,
                            const Rhs& x, const Scalar& factor) {
    Matrix<Scalar, Dynamic, 1> product(op.rows());
    op.multiply(x, product);
    to += factor * product;
  }
};

}  // namespace Eigen::internal
