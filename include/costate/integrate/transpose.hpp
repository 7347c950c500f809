#pragma once

#include <cstddef>
#include <cstring>
#include <utility>

#include <Eigen/Core>

/// @file
/// Squares of numbers transposed in registers, for recurrences over many rows side by side.

namespace costate {

namespace transpose_detail {

#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define COSTATE_SHUFFLES
#endif
#endif

#ifdef COSTATE_SHUFFLES
template <class Scalar, std::size_t size>
struct Register {
  typedef Scalar type __attribute__((vector_size(size * sizeof(Scalar))));
};

// Two halves next to each other.
template <class V, class Scalar, int... i>
void join(const Scalar* left, const Scalar* right, V& v, std::integer_sequence<int, i...>) {
  if constexpr (sizeof...(i) == 2) {
    v = V{*left, *right};
  } else {
    typename Register<Scalar, sizeof...(i) / 2>::type a, b;
    std::memcpy(&a, left, sizeof a);
    std::memcpy(&b, right, sizeof b);
    v = __builtin_shufflevector(a, b, i...);
  }
}

// Exchanges the right upper with the left lower quarter of each square of 2 `apart` rows, then of
// the squares in it. Without loops over rows: these must stay in registers.
template <int apart, class V, int... i>
void exchange(V* rows, std::integer_sequence<int, i...> all) {
  constexpr int n = sizeof...(i);
  [[maybe_unused]] const auto with_next = [&](V& a, V& b) {
    const V left = __builtin_shufflevector(a, b, ((i & apart) != 0 ? n + i - apart : i)...);
    b = __builtin_shufflevector(a, b, ((i & apart) != 0 ? n + i : i + apart)...);
    a = left;
  };
  (((i & apart) != 0 ? void() : with_next(rows[i], rows[(i + apart) % n])), ...);
  if constexpr (apart > 1) exchange<apart / 2>(rows, all);
}
#endif

}  // namespace transpose_detail

/// out[i * out_apart + j] = in[j * in_apart + i] for i, j < side, a power of 2.
template <int side, class Scalar>
void transpose_square(const Scalar* in, Eigen::Index in_apart, Scalar* out,
                      Eigen::Index out_apart) {
#ifdef COSTATE_SHUFFLES
  {
    using namespace transpose_detail;
    using V = typename Register<Scalar, static_cast<std::size_t>(side)>::type;
    constexpr int half = side / 2;
    V rows[sizeof(V) / sizeof(Scalar)];
    // The first exchange is one of halves: two loads.
    [&]<int... i>(std::integer_sequence<int, i...> all) {
      const auto at = [&](int r) { return in + (r % half) * in_apart + (r < half ? 0 : half); };
      (join(at(i), at(i) + half * in_apart, rows[i], all), ...);
      if constexpr (half > 1) exchange<half / 2>(rows, all);
      (std::memcpy(out + i * out_apart, &rows[i], sizeof(V)), ...);
    }
    (std::make_integer_sequence<int, side>{});
    return;
  }
#endif
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < side; ++j) out[i * out_apart + j] = in[j * in_apart + i];
  }
}

#undef COSTATE_SHUFFLES

}  // namespace costate
