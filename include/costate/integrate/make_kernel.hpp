#pragma once

#include <type_traits>

#include <Eigen/Core>

namespace costate {

/// Chooses the step of a method for one problem; specialised for problems and objectives that need
/// something around it (ode/pieces.hpp).
template <class F, class Method, class Objective>
struct ChooseKernel {
  using type = typename Method::template Kernel<F, Objective>;
};

/// The step of a method for one problem.
template <class F, class Method, class Objective>
using KernelOf = typename ChooseKernel<F, Method, Objective>::type;

/// Makes it. Kernels of methods with options of their own, besides those of the step size, take the
/// method, too.
template <class F, class Method, class Objective>
auto make_kernel(const F& f, const Method& method, const Objective& objective,
                 const typename F::Parameters& p, Eigen::Index size) {
  using Kernel = KernelOf<F, Method, Objective>;
  if constexpr (std::is_constructible_v<Kernel, const F&, const Method&, const Objective&,
                                        const typename F::Parameters&, Eigen::Index>) {
    return Kernel(f, method, objective, p, size);
  } else {
    return Kernel(f, objective, p, size);
  }
}

}  // namespace costate
