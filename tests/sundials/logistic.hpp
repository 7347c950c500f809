#pragma once

// Logistic growth in every entry of a vector of any kind, by the operations of SUNDIALS alone:
//
//   x += h p x (1 - x),  J = 1/2 x_n . x_n
//
// `growth_bar` is this process's sum where the vector's scalar product is.

#include <bit>
#include <cstdint>
#include <vector>

#include "costate/sundials/context.hpp"
#include "costate/sundials/vector.hpp"
#include "costate/sundials/vector_stepper.hpp"

namespace costate::test {

struct Logistic {
  static constexpr double h = 0.05;
  double growth = 1.3;
  double sums[2] = {0, 0};  // J, dJ/dp
  sundials::Vector a;
  sundials::Vector b;

  explicit Logistic(N_Vector like) : a(N_VClone(like)), b(N_VClone(like)) {}

  sundials::VectorModel model(Step steps, bool known) {
    return {.steps = known ? steps : unknown,
            .step =
                [this, steps](Step k, N_Vector x, Pass) {
                  if (k == steps) return false;
                  N_VProd(x, x, a.get());
                  N_VLinearSum(1, x, -1, a.get(), a.get());
                  N_VLinearSum(1, x, h * growth, a.get(), x);
                  return true;
                },
            .turn =
                [this](Step, N_Vector x, N_Vector x_bar) {
                  sums[0] = 0.5 * N_VDotProd(x, x);
                  sums[1] = 0;
                  N_VScale(1, x, x_bar);
                },
            .reverse =
                [this](Step, N_Vector x, N_Vector x_bar) {
                  N_VProd(x, x, a.get());
                  N_VLinearSum(1, x, -1, a.get(), a.get());
                  sums[1] += h * N_VDotProd(x_bar, a.get());
                  N_VProd(x, x_bar, b.get());
                  N_VLinearSum(1 + h * growth, x_bar, -2 * h * growth, b.get(), x_bar);
                },
            .sums = sums};
  }
};

/// The bits of a vector, packed.
inline std::vector<std::uint64_t> bits(N_Vector v) {
  std::vector<std::uint64_t> out(sundials::packed_bytes(v) / 8);
  sundials::pack(v, std::as_writable_bytes(std::span(out)));
  return out;
}

}  // namespace costate::test
