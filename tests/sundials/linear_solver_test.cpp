#include "costate/sundials/linear_solver.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>
#ifdef COSTATE_TEST_sunlinsolklu
#include <sunlinsol/sunlinsol_klu.h>
#endif

#include "costate/costate.hpp"
#include "costate/integrate/diagonally_implicit.hpp"
#include "costate/integrate/imex.hpp"
#include "support/catch.hpp"

using costate::sundials::Context;
using costate::sundials::DirectSolver;
using costate::sundials::KrylovSolver;
using costate::sundials::LinearSolver;
using costate::sundials::Matrix;

namespace {

using State = Eigen::VectorXd;
using Parameters = Eigen::Vector2d;
constexpr Eigen::Index size = 24;

// u' = p0 u_xx - 30 u_x + p1 u², u = 0 at both ends: a nonsymmetric tridiagonal Jacobian.
constexpr double h = 1. / (size + 1);
double diffusion(const Parameters& p) {
  return p[0] / (h * h);
}
constexpr double advection = 30 / (2 * h);

auto transport() {
  const auto left = [](const State& u, Eigen::Index i) { return i > 0 ? u[i - 1] : 0.; };
  const auto right = [](const State& u, Eigen::Index i) { return i + 1 < size ? u[i + 1] : 0.; };
  return costate::problem<State, Parameters>(
      [=](double, const State& u, const Parameters& p, State& out) {
        const double d = diffusion(p);
        for (Eigen::Index i = 0; i < size; ++i) {
          out[i] = d * (left(u, i) - 2 * u[i] + right(u, i)) -
                   advection * (right(u, i) - left(u, i)) + p[1] * u[i] * u[i];
        }
      },
      [=](double, const State& u, const Parameters& p, const State& w, State& u_bar,
          Parameters& p_bar) {
        const double d = diffusion(p);
        for (Eigen::Index i = 0; i < size; ++i) {
          u_bar[i] = d * (left(w, i) - 2 * w[i] + right(w, i)) +
                     advection * (right(w, i) - left(w, i)) + 2 * p[1] * u[i] * w[i];
          p_bar[0] += w[i] * (left(u, i) - 2 * u[i] + right(u, i)) / (h * h);
          p_bar[1] += w[i] * u[i] * u[i];
        }
      },
      [=](double, const State& u, const Parameters& p, const State& du, const Parameters& dp,
          State& out) {
        const double d = diffusion(p);
        for (Eigen::Index i = 0; i < size; ++i) {
          out[i] = d * (left(du, i) - 2 * du[i] + right(du, i)) -
                   advection * (right(du, i) - left(du, i)) + 2 * p[1] * u[i] * du[i] +
                   dp[0] * (left(u, i) - 2 * u[i] + right(u, i)) / (h * h) + dp[1] * u[i] * u[i];
        }
      });
}

auto half_square() {
  return costate::terminal(
      [](const State& u, const Parameters&) { return 0.5 * u.squaredNorm(); },
      [](const State& u, const Parameters&, State& u_bar, Parameters&) { u_bar += u; });
}

State bump() {
  State u(size);
  for (Eigen::Index i = 0; i < size; ++i) {
    u[i] = std::sin(3.14159 * h * double(i + 1)) + 0.3 * std::sin(9.4 * h * double(i + 1));
  }
  return u;
}

const Parameters rates(1, 0.7);

// J entry by entry: set(i, j, value).
template <class Set>
void jacobian(N_Vector y, const Set& set) {
  const double* u = N_VGetArrayPointer(y);
  const double d = diffusion(rates);
  for (Eigen::Index j = 0; j < size; ++j) {
    if (j > 0) set(j - 1, j, d - advection);
    set(j, j, -2 * d + 2 * rates[1] * u[j]);
    if (j + 1 < size) set(j + 1, j, d + advection);
  }
}

DirectSolver dense(SUNContext context) {
  return {.context = context,
          .matrix = [=] { return Matrix(SUNDenseMatrix(size, size, context)); },
          .solver = [=](N_Vector like,
                        SUNMatrix a) { return LinearSolver(SUNLinSol_Dense(like, a, context)); },
          .jacobian =
              [](double, N_Vector y, SUNMatrix m) {
                jacobian(y, [&](Eigen::Index i, Eigen::Index j, double v) {
                  SUNDenseMatrix_Column(m, j)[i] = v;
                });
              }};
}
DirectSolver band(SUNContext context) {
  return {.context = context,
          .matrix = [=] { return Matrix(SUNBandMatrix(size, 1, 2, context)); },
          .solver = [=](N_Vector like,
                        SUNMatrix a) { return LinearSolver(SUNLinSol_Band(like, a, context)); },
          .jacobian =
              [](double, N_Vector y, SUNMatrix m) {
                jacobian(y, [&](Eigen::Index i, Eigen::Index j, double v) {
                  SUNBandMatrix_Column(m, j)[i - j] = v;
                });
              }};
}
#ifdef COSTATE_TEST_sunlinsolklu
DirectSolver klu(SUNContext context, int type) {
  return {.context = context,
          .matrix = [=] { return Matrix(SUNSparseMatrix(size, size, 3 * size, type, context)); },
          .solver = [=](N_Vector like,
                        SUNMatrix a) { return LinearSolver(SUNLinSol_KLU(like, a, context)); },
          .jacobian =
              [=](double, N_Vector y, SUNMatrix m) {
                Eigen::MatrixXd j = Eigen::MatrixXd::Zero(size, size);
                jacobian(y, [&](Eigen::Index r, Eigen::Index c, double v) { j(r, c) = v; });
                if (type == CSR_MAT) j.transposeInPlace();
                sunindextype next = 0;
                for (Eigen::Index c = 0; c < size; ++c) {
                  SUNSparseMatrix_IndexPointers(m)[c] = next;
                  for (Eigen::Index r = std::max<Eigen::Index>(0, c - 1);
                       r <= std::min(size - 1, c + 1); ++r) {
                    SUNSparseMatrix_IndexValues(m)[next] = r;
                    SUNSparseMatrix_Data(m)[next++] = j(r, c);
                  }
                }
                SUNSparseMatrix_IndexPointers(m)[size] = next;
              }};
}

#endif

// SPGMR, alone or with the tridiagonal matrix itself as preconditioner.
struct Tridiagonal {
  Eigen::PartialPivLU<Eigen::MatrixXd> lu;
  int solves = 0;
  int transposed_solves = 0;
};
KrylovSolver spgmr(SUNContext context, std::shared_ptr<Tridiagonal> with) {
  KrylovSolver out{.context = context, .solver = [=](N_Vector like) {
                     return LinearSolver(
                         SUNLinSol_SPGMR(like, with ? SUN_PREC_RIGHT : SUN_PREC_NONE, 30, context));
                   }};
  if (!with) return out;
  out.setup = [=](double, N_Vector y, double a) {
    Eigen::MatrixXd w = Eigen::MatrixXd::Identity(size, size);
    jacobian(y, [&](Eigen::Index i, Eigen::Index j, double v) { w(i, j) -= a * v; });
    with->lu.compute(w);
  };
  using In = Eigen::Map<const State>;
  using Out = Eigen::Map<State>;
  out.precondition = [=](N_Vector r, N_Vector z) {
    ++with->solves;
    Out(N_VGetArrayPointer(z), size) = with->lu.solve(In(N_VGetArrayPointer(r), size));
  };
  out.precondition_transpose = [=](N_Vector r, N_Vector z) {
    ++with->transposed_solves;
    Out(N_VGetArrayPointer(z), size) = with->lu.transpose().solve(In(N_VGetArrayPointer(r), size));
  };
  return out;
}

template <class Method>
void agrees_with_costates_own(const Method& method) {
  const auto objective = half_square();
  const auto f = transport();
  const costate::RunOf<decltype(f)> run{.t0 = 0, .t1 = 0.05, .y0 = bump(), .p = rates};
  const auto right = costate::value_and_gradient(f, method, objective, run);
  const auto compare = [&](const char* name, const auto& problem) {
    INFO(name);
    const auto result = costate::value_and_gradient(problem, method, objective, run);
    // The stages of both solve the same equations to rounding.
    CHECK(std::abs(result.value - right.value) < 1e-12 * std::abs(right.value));
    CHECK((result.dy0 - right.dy0).norm() < 1e-11 * right.dy0.norm());
    CHECK((result.dp - right.dp).norm() < 1e-11 * right.dp.norm());
    auto bounded = run;
    bounded.budget = {.memory = costate::memory_for(3, size * sizeof(double))};
    const auto again = costate::value_and_gradient(problem, method, objective, bounded);
    CHECK(again.report.advances > again.report.steps);
    CHECK(again.dy0 == result.dy0);
    CHECK(again.dp == result.dp);
  };
  const Context context;
  compare("dense", costate::sundials::with_linear_solver(f, dense(context)));
  compare("band", costate::sundials::with_linear_solver(f, band(context)));
#ifdef COSTATE_TEST_sunlinsolklu
  compare("KLU by columns", costate::sundials::with_linear_solver(f, klu(context, CSC_MAT)));
  compare("KLU by rows", costate::sundials::with_linear_solver(f, klu(context, CSR_MAT)));
#endif
  compare("SPGMR", costate::sundials::with_linear_solver(f, spgmr(context, nullptr)));
  const auto preconditioner = std::make_shared<Tridiagonal>();
  compare("SPGMR, preconditioned",
          costate::sundials::with_linear_solver(f, spgmr(context, preconditioner)));
  CHECK(preconditioner->solves > 0);
  CHECK(preconditioner->transposed_solves > 0);
}

}  // namespace

TEST_CASE("SUNDIALS' linear solvers in diagonally implicit methods", "[oracle]") {
  agrees_with_costates_own(costate::Esdirk43{.steps = 12});
}

TEST_CASE("SUNDIALS' linear solvers in the theta method", "[oracle]") {
  agrees_with_costates_own(costate::CrankNicolson{.steps = 12});
}

TEST_CASE("SUNDIALS' linear solvers in an IMEX method", "[oracle]") {
  const Context context;
  const auto growth = costate::problem<State, Parameters>(
      [](double, const State& u, const Parameters& p, State& out) { out = p[1] * u; },
      [](double, const State& u, const Parameters& p, const State& w, State& u_bar,
         Parameters& p_bar) {
        u_bar = p[1] * w;
        p_bar[1] += u.dot(w);
      });
  const auto own = costate::split(transport(), growth);
  const auto other =
      costate::split(costate::sundials::with_linear_solver(transport(), band(context)), growth);
  const costate::RunOf<decltype(own)> run{.t0 = 0, .t1 = 0.05, .y0 = bump(), .p = rates};
  const auto right =
      costate::value_and_gradient(own, costate::Ark43{.steps = 12}, half_square(), run);
  const auto result = costate::value_and_gradient(
      other, costate::Ark43{.steps = 12}, half_square(),
      costate::RunOf<decltype(other)>{.t0 = 0, .t1 = 0.05, .y0 = bump(), .p = rates});
  CHECK((result.dy0 - right.dy0).norm() < 1e-11 * right.dy0.norm());
  CHECK((result.dp - right.dp).norm() < 1e-11 * right.dp.norm());
}

TEST_CASE("Incomplete linear solvers are refused") {
  const Context context;
  const auto f = transport();
  const auto objective = half_square();
  const costate::RunOf<decltype(f)> run{.t0 = 0, .t1 = 0.05, .y0 = bump(), .p = rates};
  const auto refused = [&](auto solver) {
    const auto problem = costate::sundials::with_linear_solver(f, solver);
    CHECK_THROWS_AS(
        costate::value_and_gradient(problem, costate::BackwardEuler{.steps = 3}, objective, run),
        costate::InvalidArgument);
  };
  refused(DirectSolver{});
  refused(KrylovSolver{});
  auto half = spgmr(context, std::make_shared<Tridiagonal>());
  half.precondition_transpose = {};
  refused(half);
}

TEST_CASE("An exception in a preconditioner arrives") {
  struct Mine {};
  const Context context;
  const auto f = transport();
  auto solver = spgmr(context, std::make_shared<Tridiagonal>());
  solver.precondition = [](N_Vector, N_Vector) { throw Mine{}; };
  const auto problem = costate::sundials::with_linear_solver(f, solver);
  const costate::RunOf<decltype(f)> run{.t0 = 0, .t1 = 0.05, .y0 = bump(), .p = rates};
  CHECK_THROWS_AS(
      costate::value_and_gradient(problem, costate::BackwardEuler{.steps = 3}, half_square(), run),
      Mine);
}
