#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <type_traits>

#include <Eigen/Core>

/// @file
/// Numbers that carry second derivatives: those of one direction d with each of C others.

namespace costate {

/// A value x, its derivative along d, its derivatives along C directions, and the derivatives of
/// these along d. Not an expression template: `auto` is safe.
template <class Real, int C>
struct SecondOrderNumber {
  using Many = std::array<Real, static_cast<std::size_t>(C)>;

  Real value = 0;
  Real along = 0;  ///< d · ∇x
  Many each{};     ///< e_i · ∇x
  Many mixed{};    ///< d · ∇∇x · e_i

  SecondOrderNumber() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a number among numbers
  SecondOrderNumber(Real v) : value(v) {}
  template <class N>
    requires(std::is_arithmetic_v<N> && !std::is_same_v<N, Real>)
  SecondOrderNumber(N v) : value(static_cast<Real>(v)) {}

  /// g(x), from g, g' and g'' at x.
  [[nodiscard]] SecondOrderNumber chain(Real g, Real g1, Real g2) const {
    SecondOrderNumber out(g);
    out.along = g1 * along;
    for (std::size_t i = 0; i < each.size(); ++i) {
      out.each[i] = g1 * each[i];
      out.mixed[i] = g1 * mixed[i] + g2 * along * each[i];
    }
    return out;
  }

  SecondOrderNumber& operator+=(const SecondOrderNumber& b) { return *this = *this + b; }
  SecondOrderNumber& operator-=(const SecondOrderNumber& b) { return *this = *this - b; }
  SecondOrderNumber& operator*=(const SecondOrderNumber& b) { return *this = *this * b; }
  SecondOrderNumber& operator/=(const SecondOrderNumber& b) { return *this = *this / b; }

  friend SecondOrderNumber operator+(const SecondOrderNumber& a) { return a; }
  friend SecondOrderNumber operator-(const SecondOrderNumber& a) {
    return a.chain(-a.value, -1, 0);
  }
  friend SecondOrderNumber operator+(const SecondOrderNumber& a, const SecondOrderNumber& b) {
    SecondOrderNumber out(a.value + b.value);
    out.along = a.along + b.along;
    for (std::size_t i = 0; i < a.each.size(); ++i) {
      out.each[i] = a.each[i] + b.each[i];
      out.mixed[i] = a.mixed[i] + b.mixed[i];
    }
    return out;
  }
  friend SecondOrderNumber operator-(const SecondOrderNumber& a, const SecondOrderNumber& b) {
    return a + (-b);
  }
  friend SecondOrderNumber operator*(const SecondOrderNumber& a, const SecondOrderNumber& b) {
    SecondOrderNumber out(a.value * b.value);
    out.along = a.along * b.value + a.value * b.along;
    for (std::size_t i = 0; i < a.each.size(); ++i) {
      out.each[i] = a.each[i] * b.value + a.value * b.each[i];
      out.mixed[i] =
          a.mixed[i] * b.value + a.each[i] * b.along + a.along * b.each[i] + a.value * b.mixed[i];
    }
    return out;
  }
  friend SecondOrderNumber operator/(const SecondOrderNumber& a, const SecondOrderNumber& b) {
    const Real r = 1 / b.value;
    return a * b.chain(r, -r * r, 2 * r * r * r);
  }
  friend bool operator==(const SecondOrderNumber& a, const SecondOrderNumber& b) {
    return a.value == b.value;
  }
  friend auto operator<=>(const SecondOrderNumber& a, const SecondOrderNumber& b) {
    return a.value <=> b.value;
  }

  friend SecondOrderNumber abs(const SecondOrderNumber& a) { return a.value < 0 ? -a : a; }
  friend SecondOrderNumber abs2(const SecondOrderNumber& a) { return a * a; }
  friend SecondOrderNumber min(const SecondOrderNumber& a, const SecondOrderNumber& b) {
    return b < a ? b : a;
  }
  friend SecondOrderNumber max(const SecondOrderNumber& a, const SecondOrderNumber& b) {
    return a < b ? b : a;
  }
  friend SecondOrderNumber sqrt(const SecondOrderNumber& a) {
    const Real r = std::sqrt(a.value);
    return a.chain(r, 1 / (2 * r), -1 / (4 * r * a.value));
  }
  friend SecondOrderNumber exp(const SecondOrderNumber& a) {
    const Real e = std::exp(a.value);
    return a.chain(e, e, e);
  }
  friend SecondOrderNumber log(const SecondOrderNumber& a) {
    const Real r = 1 / a.value;
    return a.chain(std::log(a.value), r, -r * r);
  }
  friend SecondOrderNumber sin(const SecondOrderNumber& a) {
    const Real s = std::sin(a.value);
    return a.chain(s, std::cos(a.value), -s);
  }
  friend SecondOrderNumber cos(const SecondOrderNumber& a) {
    const Real c = std::cos(a.value);
    return a.chain(c, -std::sin(a.value), -c);
  }
  friend SecondOrderNumber tan(const SecondOrderNumber& a) { return sin(a) / cos(a); }
  friend SecondOrderNumber asin(const SecondOrderNumber& a) {
    const Real r = 1 / std::sqrt(1 - a.value * a.value);
    return a.chain(std::asin(a.value), r, a.value * r * r * r);
  }
  friend SecondOrderNumber acos(const SecondOrderNumber& a) {
    const Real r = 1 / std::sqrt(1 - a.value * a.value);
    return a.chain(std::acos(a.value), -r, -a.value * r * r * r);
  }
  friend SecondOrderNumber atan(const SecondOrderNumber& a) {
    const Real r = 1 / (1 + a.value * a.value);
    return a.chain(std::atan(a.value), r, -2 * a.value * r * r);
  }
  friend SecondOrderNumber sinh(const SecondOrderNumber& a) {
    const Real s = std::sinh(a.value);
    return a.chain(s, std::cosh(a.value), s);
  }
  friend SecondOrderNumber cosh(const SecondOrderNumber& a) {
    const Real c = std::cosh(a.value);
    return a.chain(c, std::sinh(a.value), c);
  }
  friend SecondOrderNumber tanh(const SecondOrderNumber& a) {
    const Real t = std::tanh(a.value);
    return a.chain(t, 1 - t * t, -2 * t * (1 - t * t));
  }
  /// A constant power.
  template <class N>
    requires std::is_arithmetic_v<N>
  friend SecondOrderNumber pow(const SecondOrderNumber& a, N power) {
    const Real n = static_cast<Real>(power);
    return a.chain(std::pow(a.value, n), n == 0 ? 0 : n * std::pow(a.value, n - 1),
                   n == 0 || n == 1 ? 0 : n * (n - 1) * std::pow(a.value, n - 2));
  }
  friend SecondOrderNumber pow(const SecondOrderNumber& a, const SecondOrderNumber& power) {
    return exp(power * log(a));
  }
};

}  // namespace costate

namespace Eigen {

template <class R, int C>
struct NumTraits<costate::SecondOrderNumber<R, C>> : NumTraits<R> {
  using Real = costate::SecondOrderNumber<R, C>;
  using Literal = R;
  using NonInteger = Real;
  using Nested = Real;
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = 1,
    AddCost = 2 * C + 2,
    MulCost = 7 * C + 3
  };
};

// Products and sums with plain numbers.
template <class Real, int C, class Op>
struct ScalarBinaryOpTraits<costate::SecondOrderNumber<Real, C>, Real, Op> {
  using ReturnType = costate::SecondOrderNumber<Real, C>;
};
template <class Real, int C, class Op>
struct ScalarBinaryOpTraits<Real, costate::SecondOrderNumber<Real, C>, Op> {
  using ReturnType = costate::SecondOrderNumber<Real, C>;
};

}  // namespace Eigen
