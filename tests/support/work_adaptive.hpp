#pragma once

// A run that chooses its steps: y_j' = -kappa c_j y_j^2 by Euler steps whose size follows from the
// state and is logged; J = integral of the mean of y_j^2, accumulated on the first pass. The number
// of steps is not known beforehand.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "costate/sweep/stepper.hpp"

namespace costate::test {

class AdaptiveDecay : public Stepper {
 public:
  explicit AdaptiveDecay(std::size_t size, double end = 1) : end_(end), y_(size), y_bar_(size) {
    for (std::size_t j = 0; j < size; ++j) y_[j] = 1 + static_cast<double>(j % 5) / 4;
  }

  [[nodiscard]] std::vector<std::uint64_t> bits() const {
    std::vector<std::uint64_t> out = {std::bit_cast<std::uint64_t>(value_),
                                      std::bit_cast<std::uint64_t>(kappa_bar_)};
    for (const double y : y_bar_) out.push_back(std::bit_cast<std::uint64_t>(y));
    return out;
  }
  virtual void at(Step /*k*/, bool /*reverse*/) {}

  Step advance(Step from, Step to, Pass pass) override {
    for (Step k = from; k < to; ++k) {
      if (pass == Pass::first) {
        if (t_ >= end_) return k;
        at(k, false);
        const double h = std::min(0.01 / (1 + y_[0]), end_ - t_);
        log_.resize(static_cast<std::size_t>(k));
        log_.push_back(h);
        double mean = 0;
        for (const double y : y_) mean += y * y;
        value_ += h * mean / static_cast<double>(y_.size());
      } else {
        at(k, false);
      }
      const double h = log_[static_cast<std::size_t>(k)];
      t_ = h < end_ - t_ ? t_ + h : end_;
      for (std::size_t j = 0; j < y_.size(); ++j) y_[j] -= h * kappa * c(j) * y_[j] * y_[j];
    }
    return to;
  }
  void turn(Step /*n*/) override {
    std::fill(y_bar_.begin(), y_bar_.end(), 0.0);
    kappa_bar_ = 0;
  }
  void reverse(Step k) override {
    at(k, true);
    const double h = log_[static_cast<std::size_t>(k)];
    for (std::size_t j = 0; j < y_.size(); ++j) {
      kappa_bar_ -= h * c(j) * y_[j] * y_[j] * y_bar_[j];
      y_bar_[j] += -2 * h * kappa * c(j) * y_[j] * y_bar_[j] +
                   2 * h * y_[j] / static_cast<double>(y_.size());
    }
  }
  [[nodiscard]] std::size_t state_bytes() const override { return 8 * y_.size() + 8; }
  void save(std::span<std::byte> out) const override {
    std::memcpy(out.data(), y_.data(), 8 * y_.size());
    std::memcpy(out.data() + 8 * y_.size(), &t_, 8);
  }
  void load(std::span<const std::byte> in) override {
    std::memcpy(y_.data(), in.data(), 8 * y_.size());
    std::memcpy(&t_, in.data() + 8 * y_.size(), 8);
  }
  [[nodiscard]] std::size_t progress_bytes() const override { return 8 * y_bar_.size() + 16; }
  void save_progress(std::span<std::byte> out) const override {
    const std::array<double, 2> more = {value_, kappa_bar_};
    std::memcpy(out.data(), y_bar_.data(), 8 * y_bar_.size());
    std::memcpy(out.data() + 8 * y_bar_.size(), more.data(), sizeof more);
  }
  void load_progress(std::span<const std::byte> in) override {
    std::array<double, 2> more{};
    std::memcpy(y_bar_.data(), in.data(), 8 * y_bar_.size());
    std::memcpy(more.data(), in.data() + 8 * y_bar_.size(), sizeof more);
    value_ = more[0];
    kappa_bar_ = more[1];
  }
  [[nodiscard]] std::size_t step_log_bytes() const override { return 8; }
  void save_step_log(Step from, Step to, std::span<std::byte> out) const override {
    std::memcpy(out.data(), log_.data() + from, 8 * static_cast<std::size_t>(to - from));
  }
  void load_step_log(Step from, Step to, std::span<const std::byte> in) override {
    log_.resize(static_cast<std::size_t>(to));
    std::memcpy(log_.data() + from, in.data(), in.size());
  }

 private:
  static constexpr double kappa = 0.9;
  static double c(std::size_t j) { return 1 + static_cast<double>(j % 7) / 10; }

  double end_;
  double t_ = 0;
  double value_ = 0;
  double kappa_bar_ = 0;
  std::vector<double> y_;
  std::vector<double> y_bar_;
  std::vector<double> log_;
};

}  // namespace costate::test
