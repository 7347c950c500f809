#pragma once

#include <type_traits>

#include <Eigen/Core>

/// @file
/// States and parameters are real, `float` or `double`. Complex ones are refused by one sentence
/// instead of a page of failed constraints. (The derivative of a real objective by complex numbers
/// would need a convention; by their parts it needs none.)

namespace costate {

/// A vector of complex numbers.
template <class V>
concept VectorOfComplex = requires {
  typename V::Scalar;
}
&&(Eigen::NumTraits<typename V::Scalar>::IsComplex != 0);

/// A problem with complex states or parameters.
template <class F>
concept ComplexProblem = requires {
  typename F::State;
  typename F::Parameters;
}
&&(VectorOfComplex<typename F::State> || VectorOfComplex<typename F::Parameters>);

/// What a complex problem comes to.
template <class F>
struct RefuseComplexNumbers {
  static constexpr bool real = sizeof(F) == 0;  // false, and known when F is
  static_assert(real,
                "costate differentiates real states and parameters only: write each complex number "
                "as two real ones, its real and its imaginary part");
};

/// Looks like a run of a complex problem.
template <ComplexProblem F>
struct ComplexRun {
  double t0 = 0;
  double t1 = 0;
  typename F::State y0 = {};
  typename F::Parameters p = {};
};

template <class State, class Parameters, class... Functions>
  requires(VectorOfComplex<State> || VectorOfComplex<Parameters>)
auto problem(Functions&&...) {
  return RefuseComplexNumbers<State>();
}
template <class State, class Parameters, class Function>
  requires(VectorOfComplex<State> || VectorOfComplex<Parameters>)
auto autodiff(Function&&) {
  return RefuseComplexNumbers<State>();
}
template <ComplexProblem F, class Method, class O>
auto value_and_gradient(const F&, const Method&, const O&, const ComplexRun<F>&) {
  return RefuseComplexNumbers<F>();
}
template <ComplexProblem F, class Method, class O>
auto value(const F&, const Method&, const O&, const ComplexRun<F>&) {
  return RefuseComplexNumbers<F>();
}

}  // namespace costate
