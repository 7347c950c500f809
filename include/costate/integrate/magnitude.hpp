#pragma once

#include <cmath>

#include <Eigen/Core>

/// @file
/// The largest magnitudes in vectors, found in the pass that computes them. A NaN anywhere makes
/// them NaN.

namespace costate {

/// What a correction of a linear system has left of the right-hand side, in the maximum norm.
template <class Scalar>
struct Remainder {
  Scalar term;  ///< the largest magnitude among the terms of the product that was subtracted
  Scalar left;  ///< that of the residual
};

namespace magnitude_detail {

constexpr int width = 8;

// Entry by entry, or `width` of them at a time. A maximum may lose a NaN, the sum of what should be
// zeros does not.
template <class V>
class Largest {
 public:
  void see(const V& v) {
    largest_ = largest_.max(v.abs());
    zeros_ += v * typename V::Scalar(0);
  }
  [[nodiscard]] typename V::Scalar value() const { return largest_.maxCoeff() + zeros_.sum(); }

 private:
  V largest_ = V::Zero();
  V zeros_ = V::Zero();
};

// The larger one, or NaN.
template <class Scalar>
Scalar larger(Scalar a, Scalar b) {
  return a >= b || std::isnan(a) ? a : b;
}

template <class V>
using Part = Eigen::Array<typename V::Scalar, width, 1>;
template <class V>
using Entry = Eigen::Array<typename V::Scalar, 1, 1>;

}  // namespace magnitude_detail

/// d ← r; returns the largest |r_i|, NaN if r is not finite.
template <class V>
typename V::Scalar copy_magnitude(const V& r, V& d) {
  using namespace magnitude_detail;
  Largest<Part<V>> largest;
  Largest<Entry<V>> last;
  const auto copy = [&]<class P>(Eigen::Index i, Largest<P>& seen) {
    const P part = r.template segment<P::SizeAtCompileTime>(i);
    d.template segment<P::SizeAtCompileTime>(i) = part;
    seen.see(part);
  };
  Eigen::Index i = 0;
  for (; i + width <= r.size(); i += width) copy(i, largest);
  for (; i < r.size(); ++i) copy(i, last);
  return larger(largest.value(), last.value());
}

/// r ← r + a x - y
template <class V>
Remainder<typename V::Scalar> add_difference(typename V::Scalar a, const V& x, const V& y, V& r) {
  using namespace magnitude_detail;
  Largest<Part<V>> term;
  Largest<Part<V>> left;
  Largest<Entry<V>> last_term;
  Largest<Entry<V>> last_left;
  const auto add = [&]<class P>(Eigen::Index i, Largest<P>& terms, Largest<P>& lefts) {
    constexpr int size = P::SizeAtCompileTime;
    const P p = a * x.template segment<size>(i).array();
    const P q = y.template segment<size>(i);
    const P sum = r.template segment<size>(i).array() + (p - q);
    r.template segment<size>(i) = sum;
    terms.see(p.abs().max(q.abs()));
    lefts.see(sum);
  };
  Eigen::Index i = 0;
  for (; i + width <= r.size(); i += width) add(i, term, left);
  for (; i < r.size(); ++i) add(i, last_term, last_left);
  return {larger(term.value(), last_term.value()), larger(left.value(), last_left.value())};
}

/// `term` and the largest magnitude in what is left, r.
template <class V>
Remainder<typename V::Scalar> remainder_of(typename V::Scalar term, const V& r) {
  return {term, r.cwiseAbs().template maxCoeff<Eigen::PropagateNaN>()};
}
/// The same, if it is known already.
template <class V>
Remainder<typename V::Scalar> remainder_of(const Remainder<typename V::Scalar>& of, const V&) {
  return of;
}

}  // namespace costate
