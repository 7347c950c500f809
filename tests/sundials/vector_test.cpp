#include "costate/sundials/vector.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <nvector/nvector_serial.h>

#include "support/catch.hpp"

using costate::sundials::Context;
using costate::sundials::entries;
using costate::sundials::make_vector;
using costate::sundials::Vector;

namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

// The same numbers in vectors of the library and of ours.
struct Pair {
  Vector theirs;
  Vector ours;
  Pair(std::size_t n, unsigned seed, const Context& context)
      : theirs(N_VNew_Serial(static_cast<sunindextype>(n), context)),
        ours(make_vector(n, context)) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> numbers(-2, 2);
    for (std::size_t i = 0; i < n; ++i) {
      entries(theirs.get())[i] = entries(ours.get())[i] = numbers(random);
    }
  }
};

// No entry is larger than 40 in what follows, and each is the sum of at most 7 products.
void check_same(const Pair& pair) {
  for (std::size_t i = 0; i < entries(pair.ours.get()).size(); ++i) {
    const double a = entries(pair.theirs.get())[i];
    const double b = entries(pair.ours.get())[i];
    CHECK(std::abs(a - b) <= 7 * 40 * eps);
  }
}

}  // namespace

TEST_CASE("Own operations give what the library's give", "[sundials][property]") {
  const Context context;
  const std::size_t n = GENERATE(1U, 2U, 3U, 4U, 5U, 11U, 257U);
  Pair x(n, 1, context);
  Pair y(n, 2, context);
  Pair z(n, 3, context);
  const auto on_both = [&](const std::function<void(N_Vector, N_Vector, N_Vector)>& work) {
    work(x.theirs.get(), y.theirs.get(), z.theirs.get());
    work(x.ours.get(), y.ours.get(), z.ours.get());
    check_same(x);
    check_same(y);
    check_same(z);
  };
  const auto numbers = [&](const std::function<double(N_Vector, N_Vector)>& work) {
    const double a = work(x.theirs.get(), y.theirs.get());
    const double b = work(x.ours.get(), y.ours.get());
    // Sums of n terms below 40 in another order.
    CHECK(std::abs(a - b) <= 40 * static_cast<double>(n * n) * eps);
  };

  SECTION("entry by entry, into a vector of its own") {
    on_both([](N_Vector a, N_Vector b, N_Vector c) { N_VLinearSum(1.7, a, -0.3, b, c); });
    on_both([](N_Vector a, N_Vector b, N_Vector c) { N_VLinearSum(1, a, -1, b, c); });
    on_both([](N_Vector a, N_Vector b, N_Vector c) { N_VProd(a, b, c); });
    on_both([](N_Vector a, N_Vector, N_Vector c) { N_VScale(-1.3, a, c); });
    on_both([](N_Vector a, N_Vector, N_Vector c) { N_VAbs(a, c); });
    on_both([](N_Vector a, N_Vector, N_Vector c) { N_VAddConst(a, 3.5, c); });
    on_both([](N_Vector a, N_Vector, N_Vector c) { N_VInv(c, c), N_VScale(0, a, c); });
    on_both([](N_Vector, N_Vector, N_Vector c) { N_VConst(2.5, c); });
    on_both([](N_Vector a, N_Vector, N_Vector c) { N_VDiv(a, c, c); });
  }
  SECTION("where arguments are one vector") {
    on_both([](N_Vector a, N_Vector b, N_Vector) { N_VLinearSum(1.7, a, -0.3, b, a); });
    on_both([](N_Vector a, N_Vector b, N_Vector) { N_VLinearSum(1.7, a, -0.3, b, b); });
    on_both([](N_Vector a, N_Vector, N_Vector) { N_VLinearSum(1.7, a, -0.3, a, a); });
    on_both([](N_Vector a, N_Vector b, N_Vector) { N_VProd(a, b, a); });
    on_both([](N_Vector a, N_Vector, N_Vector) { N_VProd(a, a, a); });
    on_both([](N_Vector a, N_Vector, N_Vector) { N_VScale(-0.3, a, a); });
    on_both([](N_Vector a, N_Vector, N_Vector) { N_VAbs(a, a); });
  }
  SECTION("fused") {
    Pair u(n, 4, context);
    Pair v(n, 5, context);
    Pair w(n, 6, context);
    Pair r(n, 7, context);
    for (int count = 1; count <= 6; ++count) {
      CAPTURE(count);
      std::array<double, 6> c = {0.5, -1.5, 1, 0.25, -1, 0.75};
      std::array<N_Vector, 6> theirs = {z.theirs.get(), x.theirs.get(), y.theirs.get(),
                                        u.theirs.get(), v.theirs.get(), w.theirs.get()};
      std::array<N_Vector, 6> ours = {z.ours.get(), x.ours.get(), y.ours.get(),
                                      u.ours.get(), v.ours.get(), w.ours.get()};
      N_VLinearCombination(count, c.data(), theirs.data(), r.theirs.get());
      N_VLinearCombination(count, c.data(), ours.data(), r.ours.get());
      check_same(r);
      // Into the first of them.
      N_VLinearCombination(count, c.data(), theirs.data(), z.theirs.get());
      N_VLinearCombination(count, c.data(), ours.data(), z.ours.get());
      check_same(z);
      N_VScaleAddMulti(count, c.data(), r.theirs.get(), theirs.data(), theirs.data());
      N_VScaleAddMulti(count, c.data(), r.ours.get(), ours.data(), ours.data());
      for (const Pair* pair : {&x, &y, &z, &u, &v, &w}) check_same(*pair);
      for (const Pair* pair : {&x, &y, &z, &u, &v, &w}) {  // so that nothing grows
        N_VScale(0.3, pair->theirs.get(), pair->theirs.get());
        N_VScale(0.3, pair->ours.get(), pair->ours.get());
      }
      std::array<double, 6> a{};
      std::array<double, 6> b{};
      N_VDotProdMulti(count, r.theirs.get(), theirs.data(), a.data());
      N_VDotProdMulti(count, r.ours.get(), ours.data(), b.data());
      for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
        CHECK(std::abs(a[k] - b[k]) <= 1600 * static_cast<double>(n * n) * eps);
      }
    }
  }
  SECTION("to one number") {
    numbers([](N_Vector a, N_Vector b) { return N_VDotProd(a, b); });
    numbers([](N_Vector a, N_Vector b) { return N_VWrmsNorm(a, b); });
    numbers([](N_Vector a, N_Vector b) { return N_VWL2Norm(a, b); });
    numbers([](N_Vector a, N_Vector) { return N_VL1Norm(a); });
    numbers([](N_Vector a, N_Vector) { return N_VMaxNorm(a); });
  }
}

TEST_CASE("A NaN anywhere reaches every norm", "[sundials][unit]") {
  const Context context;
  const std::size_t n = GENERATE(1U, 4U, 7U);
  for (std::size_t at = 0; at < n; ++at) {
    CAPTURE(n, at);
    Pair x(n, 1, context);
    Pair w(n, 2, context);
    entries(x.ours.get())[at] = no_number;
    CHECK(std::isnan(N_VMaxNorm(x.ours.get())));
    CHECK(std::isnan(N_VL1Norm(x.ours.get())));
    CHECK(std::isnan(N_VDotProd(x.ours.get(), w.ours.get())));
    CHECK(std::isnan(N_VWrmsNorm(x.ours.get(), w.ours.get())));
    CHECK(std::isnan(N_VWL2Norm(x.ours.get(), w.ours.get())));
    N_VLinearSum(0, x.ours.get(), 1, w.ours.get(), w.ours.get());
    CHECK(std::isnan(entries(w.ours.get())[at]));
  }
}

TEST_CASE("A clone has memory of its own and the same operations", "[sundials][unit]") {
  const Context context;
  std::vector<double> data = {1, 2, 3};
  const Vector v = costate::sundials::wrap(data, context);
  const Vector clone(N_VClone(v.get()));
  CHECK(entries(v.get()).data() == data.data());
  CHECK(entries(clone.get()).data() != data.data());
  CHECK(clone->ops->nvlinearsum == v->ops->nvlinearsum);
  CHECK(clone->ops->nvlinearcombination == v->ops->nvlinearcombination);
  N_VScale(2, v.get(), v.get());
  CHECK(data == std::vector<double>{2, 4, 6});
}
