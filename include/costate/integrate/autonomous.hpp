#pragma once

#include <utility>

#include "costate/integrate/problem.hpp"

namespace costate {

/// `f`, whose right-hand side does not depend on time: it has no derivative by time to bring.
template <Problem F>
class Autonomous : public F {
 public:
  static constexpr bool autonomous = true;
  explicit Autonomous(F f) : F(std::move(f)) {}
};

template <Problem F>
auto autonomous(F f) {
  return Autonomous<F>(std::move(f));
}

}  // namespace costate
