#include "costate/integrate/transpose.hpp"

#include <array>

#include "support/catch.hpp"

using namespace costate;

namespace {

// Reads a square from rows 11 numbers apart and writes it to rows 13 apart; nothing else.
template <class Scalar, int side>
void check() {
  CAPTURE(side, sizeof(Scalar));
  std::array<Scalar, 11 * 8> in;
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<Scalar>(i + 1);
  std::array<Scalar, 13 * 8> out{};
  transpose_square<side>(in.data() + 1, 11, out.data() + 1, 13);
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 13; ++j) {
      const bool inside = i < side && j >= 1 && j <= side;
      CHECK(out[i * 13 + j] == (inside ? in[1 + (j - 1) * 11 + i] : Scalar(0)));
    }
  }
}

}  // namespace

TEST_CASE("Squares are transposed and nothing beside them is written", "[integrate][unit]") {
  check<double, 2>();
  check<double, 4>();
  check<double, 8>();
  check<float, 2>();
  check<float, 4>();
  check<float, 8>();
}
