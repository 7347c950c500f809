#pragma once

// Maps of a few numbers as steppers, for tests of the driver: cheap, chaotic enough that a wrong
// state shows, and with every way of ending that the interface allows.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "costate/sweep/stepper.hpp"

namespace costate::test {

/// How a stepper lets the driver know the number of steps.
enum class Ending { known, before_last, after_last };

struct MapOptions {
  Step steps = 10;
  Ending ending = Ending::known;
  double y0 = 1;
  double p = 1.2;
  double h = 0.5;
  std::size_t padding = 0;     ///< bytes of the state that follow the number, a function of it
  std::size_t varying = 0;     ///< the size of the padding goes up and down by up to this
  bool noise = false;          ///< case C75: random numbers...
  bool noise_in_state = true;  ///< ... whose generator belongs to the state
};

/// y_{k+1} = y_k + h p sin(y_k) [+ 0.3 y_k xi_k], J = y_n^2 (J = y_n with noise): map M1 of the
/// cases with h = 1/2.
class MapStepper final : public Stepper {
 public:
  explicit MapStepper(const MapOptions& options) : o_(options) { start(); }

  void start() {
    y_ = o_.y0;
    random_ = 12345;
    value = y_bar = p_bar = 0;
    fill();
  }

  double value = 0;
  double y_bar = 0;
  double p_bar = 0;
  Step first_steps = 0;   ///< steps run on the first pass
  Step replay_steps = 0;  ///< and again
  Step throw_at = -1;     ///< advancing from this index throws

  /// The bits of the result, for comparison.
  [[nodiscard]] std::vector<std::uint64_t> bits() const {
    return {std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(y_bar),
            std::bit_cast<std::uint64_t>(p_bar)};
  }

  Step advance(Step from, Step to, Pass pass) override {
    for (Step k = from; k < to; ++k) {
      if (k == o_.steps) return k;
      if (k + 1 == o_.steps && o_.ending == Ending::before_last && !told_) {
        told_ = true;
        return k;
      }
      if (k == throw_at) throw std::runtime_error("the step failed");
      y_ = next(k);
      fill();
      ++(pass == Pass::first ? first_steps : replay_steps);
    }
    return to;
  }

  void turn(Step /*n*/) override {
    value = o_.noise ? y_ : y_ * y_;
    y_bar = o_.noise ? 1 : 2 * y_;
    p_bar = 0;
  }

  void reverse(Step k) override {
    const double y = y_;
    const std::uint32_t random = random_;
    next(k);  // the forward work of the step, for its noise
    const double xi = last_noise_;
    random_ = o_.noise_in_state ? random : random_;
    p_bar += y_bar * o_.h * std::sin(y);
    y_bar *= 1 + o_.h * o_.p * std::cos(y) + (o_.noise ? 0.3 * xi : 0.0);
    y_ = y;
  }

  [[nodiscard]] std::size_t state_bytes() const override { return 16 + padding_.size(); }
  [[nodiscard]] std::size_t max_state_bytes() const override {
    return 16 + o_.padding + o_.varying;
  }
  [[nodiscard]] bool state_size_varies() const override { return o_.varying > 0; }

  void save(std::span<std::byte> out) const override {
    const std::uint64_t random = o_.noise_in_state ? random_ : 0;
    std::memcpy(out.data(), &y_, 8);
    std::memcpy(out.data() + 8, &random, 8);
    if (!padding_.empty()) std::memcpy(out.data() + 16, padding_.data(), padding_.size());
  }
  void load(std::span<const std::byte> in) override {
    std::memcpy(&y_, in.data(), 8);
    std::uint64_t random = 0;
    std::memcpy(&random, in.data() + 8, 8);
    if (o_.noise_in_state) random_ = static_cast<std::uint32_t>(random);
    padding_.assign(in.begin() + 16, in.end());
  }

  [[nodiscard]] Step steps() const override {
    return o_.ending == Ending::known || told_ ? o_.steps : unknown;
  }

 private:
  double next(Step /*k*/) {
    double y = y_ + o_.h * o_.p * std::sin(y_);
    if (o_.noise) {
      random_ = 1664525U * random_ + 1013904223U;
      last_noise_ = static_cast<double>(random_) / 4294967296.0 - 0.5;
      y += 0.3 * y_ * last_noise_;
    }
    return y;
  }

  // The padding is a function of y, so that a byte lost on the way is a state that differs.
  void fill() {
    const auto bits = std::bit_cast<std::uint64_t>(y_);
    const std::size_t more = o_.varying == 0 ? 0 : (bits >> 20U) % (o_.varying + 1);
    padding_.resize(o_.padding + more);
    for (std::size_t i = 0; i < padding_.size(); ++i) {
      padding_[i] = static_cast<std::byte>((bits >> (8 * (i % 8))) + i);
    }
  }

  MapOptions o_;
  double y_ = 0;
  std::uint32_t random_ = 0;
  double last_noise_ = 0;
  std::vector<std::byte> padding_;
  bool told_ = false;
};

}  // namespace costate::test
