#include "costate/sundials/linear_solver.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <string>
#include <utility>

#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include "costate/core/error.hpp"
#include "costate/sundials/vector.hpp"

namespace costate::sundials::detail {

namespace {

using Index = sunindextype;

// Where the entry (j, i) is where (i, j) was.
void transpose_dense(SUNMatrix a, SUNMatrix out) {
  const Index rows = SUNDenseMatrix_Rows(a);
  for (Index j = 0; j < SUNDenseMatrix_Columns(a); ++j) {
    const double* column = SUNDenseMatrix_Column(a, j);
    for (Index i = 0; i < rows; ++i) SUNDenseMatrix_Column(out, i)[j] = column[i];
  }
}

void transpose_band(SUNMatrix a, SUNMatrix out) {
  const Index n = SUNBandMatrix_Columns(a);
  const Index above = SUNBandMatrix_UpperBandwidth(a);
  const Index below = SUNBandMatrix_LowerBandwidth(a);
  for (Index j = 0; j < n; ++j) {
    const double* column = SUNBandMatrix_Column(a, j);  // column[i - j] is the entry (i, j)
    for (Index i = std::max<Index>(0, j - above); i <= std::min(n - 1, j + below); ++i) {
      SUNBandMatrix_Column(out, i)[j - i] = column[i - j];
    }
  }
}

// The rows of a matrix stored by columns are the columns of its transpose stored by rows.
void transpose_sparse(SUNMatrix a, SUNMatrix out) {
  const Index outer = SUNSparseMatrix_NP(a);
  const Index* starts = SUNSparseMatrix_IndexPointers(a);
  const Index entries = starts[outer];
  if (SUNSparseMatrix_NNZ(out) < entries)
    check(SUNSparseMatrix_Reallocate(out, entries), "SUNSparseMatrix_Reallocate");
  std::copy_n(starts, outer + 1, SUNSparseMatrix_IndexPointers(out));
  std::copy_n(SUNSparseMatrix_IndexValues(a), entries, SUNSparseMatrix_IndexValues(out));
  std::copy_n(SUNSparseMatrix_Data(a), entries, SUNSparseMatrix_Data(out));
}

// An empty matrix for the transposes of a, and how to fill it.
struct Transposing {
  Matrix matrix;
  std::function<void(SUNMatrix, SUNMatrix)> fill;
};

Transposing transposing(const DirectSolver& solver, SUNMatrix a) {
  const auto made = [&](auto make) {
    return solver.transposed_matrix ? solver.transposed_matrix() : Matrix(make());
  };
  if (solver.transpose) {
    return {solver.transposed_matrix ? solver.transposed_matrix() : solver.matrix(),
            solver.transpose};
  }
  switch (SUNMatGetID(a)) {
    case SUNMATRIX_DENSE:
      return {made([&] {
                return SUNDenseMatrix(SUNDenseMatrix_Columns(a), SUNDenseMatrix_Rows(a),
                                      solver.context);
              }),
              transpose_dense};
    case SUNMATRIX_BAND:
      return {made([&] {
                return SUNBandMatrix(SUNBandMatrix_Columns(a), SUNBandMatrix_LowerBandwidth(a),
                                     SUNBandMatrix_UpperBandwidth(a), solver.context);
              }),
              transpose_band};
    case SUNMATRIX_SPARSE:
      return {made([&] {
                return SUNSparseMatrix(
                    SUNSparseMatrix_Columns(a), SUNSparseMatrix_Rows(a), SUNSparseMatrix_NNZ(a),
                    SUNSparseMatrix_SparseType(a) == CSC_MAT ? CSR_MAT : CSC_MAT, solver.context);
              }),
              transpose_sparse};
    default:
      throw InvalidArgument(
          "a matrix that is neither dense nor banded nor sparse: give DirectSolver::transpose");
  }
}

class Direct final : public ShiftedSystem {
 public:
  Direct(const DirectSolver& solver, std::size_t size)
      : solver_(solver),
        y_(make_vector(size, solver.context)),
        x_(make_vector(size, solver.context)),
        w_(checked(solver.matrix().release(), "DirectSolver::matrix")),
        transposed_(transposing(solver, w_.get())) {
    checked(transposed_.matrix.get(), "DirectSolver::transposed_matrix");
    forward_.reset(checked(solver.solver(y_.get(), w_.get()).release(), "DirectSolver::solver"));
    backward_.reset(checked(solver.solver(y_.get(), transposed_.matrix.get()).release(),
                            "DirectSolver::solver"));
    check(SUNLinSolInitialize(forward_.get()), "SUNLinSolInitialize");
    check(SUNLinSolInitialize(backward_.get()), "SUNLinSolInitialize");
  }

  bool prepare(double t, const double* y, double a) override {
    std::copy_n(y, entries(y_.get()).size(), entries(y_.get()).data());
    check(SUNMatZero(w_.get()), "SUNMatZero");
    solver_.jacobian(t, y_.get(), w_.get());
    check(SUNMatScaleAddI(-a, w_.get()), "SUNMatScaleAddI");
    // Solvers factor in place: the transpose is taken before, and factored when it is asked for.
    check(SUNMatZero(transposed_.matrix.get()), "SUNMatZero");
    transposed_.fill(w_.get(), transposed_.matrix.get());
    transposed_is_ready_ = false;
    const int flag = SUNLinSolSetup(forward_.get(), w_.get());
    check(flag, "SUNLinSolSetup");
    return flag == 0;
  }
  void solve(double* x) override { solve(forward_.get(), w_.get(), x); }
  void solve_transpose(double* x) override {
    if (!transposed_is_ready_) {
      // W can be inverted, so its transpose can.
      const int flag = SUNLinSolSetup(backward_.get(), transposed_.matrix.get());
      if (flag != 0) throw SundialsError("SUNLinSolSetup failed for a transposed matrix", flag);
      transposed_is_ready_ = true;
    }
    solve(backward_.get(), transposed_.matrix.get(), x);
  }

 private:
  void solve(SUNLinearSolver solver, SUNMatrix a, double* x) {
    const auto right = entries(y_.get());
    std::copy_n(x, right.size(), right.data());
    const int flag = SUNLinSolSolve(solver, a, x_.get(), y_.get(), 0);
    if (flag != 0) throw SundialsError("SUNLinSolSolve failed", flag);
    std::copy_n(entries(x_.get()).data(), right.size(), x);
  }

  DirectSolver solver_;
  Vector y_;  // the state, then right-hand sides
  Vector x_;
  Matrix w_;
  Transposing transposed_;
  LinearSolver forward_;
  LinearSolver backward_;
  bool transposed_is_ready_ = false;
};

class Krylov final : public ShiftedSystem {
 public:
  Krylov(const KrylovSolver& solver, std::size_t size, Products products)
      : solver_(solver),
        products_(std::move(products)),
        y_(make_vector(size, solver.context)),
        b_(make_vector(size, solver.context)),
        x_(make_vector(size, solver.context)),
        forward_{*this, false, made()},
        backward_{*this, true, made()} {
    attach(forward_);
    attach(backward_);
  }

  bool prepare(double t, const double* y, double a) override {
    a_ = a;
    products_.at(t, y);
    std::copy_n(y, entries(y_.get()).size(), entries(y_.get()).data());
    if (solver_.setup) solver_.setup(t, y_.get(), a);
    for (Side* side : {&forward_, &backward_}) {
      check(SUNLinSolSetup(side->solver.get(), nullptr), "SUNLinSolSetup");
    }
    return true;
  }
  void solve(double* x) override { solve(forward_, x); }
  void solve_transpose(double* x) override { solve(backward_, x); }

 private:
  struct Side {
    Krylov& owner;
    bool transposed;
    LinearSolver solver;
  };

  LinearSolver made() const {
    return LinearSolver(checked(solver_.solver(y_.get()).release(), "KrylovSolver::solver"));
  }

  void attach(Side& side) {
    check(SUNLinSolSetATimes(side.solver.get(), &side, product), "SUNLinSolSetATimes");
    if (solver_.precondition) {
      check(SUNLinSolSetPreconditioner(side.solver.get(), &side, nullptr, precondition),
            "SUNLinSolSetPreconditioner");
    }
    check(SUNLinSolInitialize(side.solver.get()), "SUNLinSolInitialize");
  }

  // An exception of the user's function is kept while C code is on the stack.
  template <class Function>
  int guarded(const Function& function) noexcept {
    try {
      function();
      return 0;
    } catch (...) {
      thrown_ = std::current_exception();
      return -1;
    }
  }

  static int product(void* self, N_Vector v, N_Vector z) {
    auto& side = *static_cast<Side*>(self);
    Krylov& k = side.owner;
    return k.guarded([&] {
      const auto& times = side.transposed ? k.products_.j_transpose : k.products_.j;
      times(entries(v).data(), entries(z).data());
      N_VLinearSum(1, v, -k.a_, z, z);
    });
  }
  static int precondition(void* self, N_Vector r, N_Vector z, double, int) {
    auto& side = *static_cast<Side*>(self);
    const KrylovSolver& solver = side.owner.solver_;
    return side.owner.guarded(
        [&] { (side.transposed ? solver.precondition_transpose : solver.precondition)(r, z); });
  }

  void solve(Side& side, double* x) {
    const auto right = entries(b_.get());
    std::copy_n(x, right.size(), right.data());
    const double size = std::sqrt(N_VDotProd(b_.get(), b_.get()));
    if (size == 0) return;
    N_VConst(0, x_.get());
    check(SUNLinSolSetZeroGuess(side.solver.get(), SUNTRUE), "SUNLinSolSetZeroGuess");
    const int flag =
        SUNLinSolSolve(side.solver.get(), nullptr, x_.get(), b_.get(), solver_.reduction * size);
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    // A residual that has not been reduced enough is reduced further by whoever asked.
    check(flag, "SUNLinSolSolve");
    std::copy_n(entries(x_.get()).data(), right.size(), x);
  }

  KrylovSolver solver_;
  Products products_;
  Vector y_, b_, x_;
  Side forward_;
  Side backward_;
  double a_ = 0;
  std::exception_ptr thrown_;
};

}  // namespace

std::unique_ptr<ShiftedSystem> shifted_system(const DirectSolver& solver, std::size_t size) {
  if (solver.context == nullptr || !solver.matrix || !solver.solver || !solver.jacobian) {
    throw InvalidArgument("a DirectSolver needs a context, matrix, solver and jacobian");
  }
  return std::make_unique<Direct>(solver, size);
}

std::unique_ptr<ShiftedSystem> shifted_system(const KrylovSolver& solver, std::size_t size,
                                              Products products) {
  if (solver.context == nullptr || !solver.solver) {
    throw InvalidArgument("a KrylovSolver needs a context and a solver");
  }
  if (bool(solver.precondition) != bool(solver.precondition_transpose)) {
    throw InvalidArgument("a preconditioner needs its transpose, for the adjoint");
  }
  return std::make_unique<Krylov>(solver, size, std::move(products));
}

}  // namespace costate::sundials::detail
