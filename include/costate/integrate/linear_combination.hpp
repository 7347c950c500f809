#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <Eigen/Core>

/// @file
/// Linear combinations of stage vectors with coefficients known at compile time, as one Eigen
/// expression: one pass over memory, and nothing at all for zero coefficients.

namespace costate::stage_algebra {

/// Coefficients of a Runge-Kutta tableau `t` with `a` and `b`, as types: rows and columns of a, the
/// weights, and ones.
template <const auto& t>
struct CoefficientsOf {
  template <std::size_t I>
  struct Row {
    static constexpr double at(std::size_t j) { return t.a[I][j]; }
  };
  template <std::size_t I>
  struct Column {
    static constexpr double at(std::size_t j) { return t.a[j][I]; }
  };
  struct Weights {
    static constexpr double at(std::size_t j) { return t.b[j]; }
  };
  struct Ones {
    static constexpr double at(std::size_t) { return 1; }
  };
};

/// Calls f(integral_constant<size_t, 0>) … f(integral_constant<size_t, N-1>).
template <std::size_t N, class F>
constexpr void each(F&& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f(std::integral_constant<std::size_t, I>{}), ...);
  }
  (std::make_index_sequence<N>{});
}

/// The first index in [from, end) whose coefficient `C::at(j)` is not zero, `end` if there is none.
template <class C>
constexpr std::size_t next_nonzero(std::size_t from, std::size_t end) {
  while (from < end && C::at(from) == 0) ++from;
  return from;
}

/// e + sum_{from <= j < end} (h C_j) k_j. Refers to its arguments.
/// @tparam C  has `static constexpr double at(std::size_t j)`
/// @param k   a tuple-like of vectors: `get<j>(k)`
template <class C, std::size_t From, std::size_t End, class E, class K>
auto plus(const Eigen::MatrixBase<E>& e, double h, const K& k) {
  using std::get;
  using Scalar = typename E::Scalar;
  constexpr std::size_t j = next_nonzero<C>(From, End);
  static_assert(j < End, "a sum of nothing");
  const auto term = e.derived() + static_cast<Scalar>(h * C::at(j)) * get<j>(k);
  if constexpr (next_nonzero<C>(j + 1, End) == End) {
    return term;
  } else {
    return plus<C, j + 1, End>(term, h, k);
  }
}

/// The last index in [from, end) whose coefficient is not zero, `end` if there is none.
template <class C>
constexpr std::size_t last_nonzero(std::size_t from, std::size_t end) {
  for (std::size_t j = end; j-- > from;) {
    if (C::at(j) != 0) return j;
  }
  return end;
}

/// The same as `plus`, summed from the last term to the first. In the adjoint the first one is the
/// newest: it should be waited for last.
template <class C, std::size_t From, std::size_t End, class E, class K>
auto plus_down(const Eigen::MatrixBase<E>& e, double h, const K& k) {
  using std::get;
  using Scalar = typename E::Scalar;
  constexpr std::size_t j = last_nonzero<C>(From, End);
  static_assert(j < End, "a sum of nothing");
  const auto term = e.derived() + static_cast<Scalar>(h * C::at(j)) * get<j>(k);
  if constexpr (last_nonzero<C>(From, j) == j) {
    return term;
  } else {
    return plus_down<C, From, j>(term, h, k);
  }
}

/// sum_{from <= j < end} (h C_j) k_j, which must not be empty. Refers to its arguments.
template <class C, std::size_t From, std::size_t End, class K>
auto sum(double h, const K& k) {
  using std::get;
  constexpr std::size_t j = next_nonzero<C>(From, End);
  static_assert(j < End, "a sum of nothing");
  using Scalar = typename std::remove_cvref_t<decltype(get<j>(k))>::Scalar;
  const auto term = static_cast<Scalar>(h * C::at(j)) * get<j>(k);
  if constexpr (next_nonzero<C>(j + 1, End) == End) {
    return term;
  } else {
    return plus<C, j + 1, End>(term, h, k);
  }
}

/// to = e, entry by entry for vectors of up to 8 entries: right-hand sides write such states entry
/// by entry, and reading them back as packets would stall on the store buffer (measured on
/// Lorenz-63: 2.9 times the time of a step). `to` may appear in `e`.
template <class V, class E>
void assign(V& to, const Eigen::MatrixBase<E>& e) {
  if constexpr (V::SizeAtCompileTime != Eigen::Dynamic && V::SizeAtCompileTime <= 8) {
    for (Eigen::Index i = 0; i < to.size(); ++i) to.coeffRef(i) = e.derived().coeff(i);
  } else {
    to.noalias() = e.derived();
  }
}

}  // namespace costate::stage_algebra
