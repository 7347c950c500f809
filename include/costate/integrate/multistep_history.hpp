#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include <Eigen/Core>

namespace costate {

/// What a multistep method reads besides y: M vectors of y's size, slopes or states, the latest
/// first, and the sizes of the M steps before, 0 for those that have not been made.
template <class State, std::size_t M>
struct MultistepHistory {
  std::array<State, M> x;
  std::array<double, M> h = {};

  /// Empties it.
  void clear(Eigen::Index size) {
    for (State& v : x) v.setZero(size);
    h = {};
  }

  /// Bytes of y and the history.
  [[nodiscard]] std::size_t bytes() const { return (M + 1) * vector_bytes() + sizeof h; }
  /// y, the vectors, the step sizes.
  void save(const State& y, std::byte* out) const {
    out = put(y, out);
    for (const State& v : x) out = put(v, out);
    std::memcpy(out, h.data(), sizeof h);
  }
  void load(State& y, const std::byte* in) {
    in = get(y, in);
    for (State& v : x) in = get(v, in);
    std::memcpy(h.data(), in, sizeof h);
  }
  /// Leaves the vectors as they are.
  void load_without_vectors(State& y, const std::byte* in) {
    get(y, in);
    std::memcpy(h.data(), in + (M + 1) * vector_bytes(), sizeof h);
  }

  /// The vectors alone.
  [[nodiscard]] std::size_t vectors_bytes() const { return M * vector_bytes(); }
  void save_vectors(std::byte* out) const {
    for (const State& v : x) out = put(v, out);
  }
  void load_vectors(const std::byte* in) {
    for (State& v : x) in = get(v, in);
  }

 private:
  [[nodiscard]] std::size_t vector_bytes() const {
    return static_cast<std::size_t>(x[0].size()) * sizeof(typename State::Scalar);
  }
  std::byte* put(const State& v, std::byte* out) const {
    std::memcpy(out, v.data(), vector_bytes());
    return out + vector_bytes();
  }
  const std::byte* get(State& v, const std::byte* in) const {
    std::memcpy(v.data(), in, vector_bytes());
    return in + vector_bytes();
  }
};

}  // namespace costate
