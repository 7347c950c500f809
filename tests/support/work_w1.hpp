#pragma once

// Workload W1 of the cases: N components, y_j' = -kappa c_j y_j^2 + cos(t)/5, RK4 with h = 0.01,
// 200 steps; J = mean of y_j(2)^2. States of any size, a gradient that does not depend on it.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "costate/sweep/stepper.hpp"

namespace costate::test {

class W1 : public Stepper {
 public:
  explicit W1(std::size_t size, double kappa = 0.9, double h = 0.01, Step n = 200)
      : kappa_(kappa), h_(h), n_(n), y_(size), y_bar_(size) {
    start();
  }
  void start() {
    for (std::size_t j = 0; j < y_.size(); ++j) y_[j] = 1 + static_cast<double>(j % 5) / 4;
    kappa_bar_ = Sum{};
    value = 0;
  }

  double value = 0;
  [[nodiscard]] double kappa_bar() const { return kappa_bar_.value(); }
  [[nodiscard]] double scaled_y_bar(std::size_t j) const {
    return y_bar_[j] * static_cast<double>(y_.size());
  }
  [[nodiscard]] std::string identity() const {
    return "W1 RK4 N=" + std::to_string(y_.size()) + " kappa=" + std::to_string(kappa_) +
           " h=" + std::to_string(h_) + " n=" + std::to_string(n_);
  }
  [[nodiscard]] std::vector<std::uint64_t> bits() const {
    std::vector<std::uint64_t> out = {std::bit_cast<std::uint64_t>(value),
                                      std::bit_cast<std::uint64_t>(kappa_bar())};
    for (const double y : y_bar_) out.push_back(std::bit_cast<std::uint64_t>(y));
    return out;
  }

  /// Called with each step run or reversed: to fail or to die there.
  virtual void at(Step /*k*/, bool /*reverse*/) {}

  Step advance(Step from, Step to, Pass /*pass*/) override {
    for (Step k = from; k < to; ++k) {
      at(k, false);
      for (std::size_t j = 0; j < y_.size(); ++j) step(k, j);
    }
    return to;
  }
  void turn(Step /*n*/) override {
    Sum sum;
    const auto size = static_cast<double>(y_.size());
    for (std::size_t j = 0; j < y_.size(); ++j) {
      sum.add(y_[j] * y_[j] / size);
      y_bar_[j] = 2 * y_[j] / size;
    }
    value = sum.value();
    kappa_bar_ = Sum{};
  }
  void reverse(Step k) override {
    at(k, true);
    for (std::size_t j = 0; j < y_.size(); ++j) reverse_step(k, j);
  }

  [[nodiscard]] std::size_t state_bytes() const override { return 8 * y_.size(); }
  void save(std::span<std::byte> out) const override {
    std::memcpy(out.data(), y_.data(), out.size());
  }
  void load(std::span<const std::byte> in) override {
    std::memcpy(y_.data(), in.data(), in.size());
  }
  [[nodiscard]] Step steps() const override { return n_; }

  [[nodiscard]] std::size_t progress_bytes() const override { return 8 * y_bar_.size() + 24; }
  void save_progress(std::span<std::byte> out) const override {
    std::memcpy(out.data(), y_bar_.data(), 8 * y_bar_.size());
    const std::array<double, 3> more = {value, kappa_bar_.sum, kappa_bar_.lost};
    std::memcpy(out.data() + 8 * y_bar_.size(), more.data(), sizeof more);
  }
  void load_progress(std::span<const std::byte> in) override {
    std::array<double, 3> more{};
    std::memcpy(y_bar_.data(), in.data(), 8 * y_bar_.size());
    std::memcpy(more.data(), in.data() + 8 * y_bar_.size(), sizeof more);
    value = more[0];
    kappa_bar_ = {more[1], more[2]};
  }

 private:
  struct Sum {  // Neumaier's compensated sum
    double sum = 0;
    double lost = 0;
    void add(double x) {
      const double t = sum + x;
      lost += std::abs(sum) >= std::abs(x) ? (sum - t) + x : (x - t) + sum;
      sum = t;
    }
    [[nodiscard]] double value() const { return sum + lost; }
  };
  struct Stages {
    double c;
    double y1, y2, y3, y4;
  };
  Stages stages(Step k, std::size_t j, double y, double& next) const {
    const double c = 1 + static_cast<double>(j % 7) / 10;
    const double t = static_cast<double>(k) * h_;
    const auto f = [&](double time, double x) { return -kappa_ * c * x * x + std::cos(time) / 5; };
    const double k1 = f(t, y);
    const double y2 = y + h_ / 2 * k1;
    const double k2 = f(t + h_ / 2, y2);
    const double y3 = y + h_ / 2 * k2;
    const double k3 = f(t + h_ / 2, y3);
    const double y4 = y + h_ * k3;
    next = y + h_ / 6 * (k1 + 2 * k2 + 2 * k3 + f(t + h_, y4));
    return {c, y, y2, y3, y4};
  }
  void step(Step k, std::size_t j) {
    double next = 0;
    stages(k, j, y_[j], next);
    y_[j] = next;
  }
  void reverse_step(Step k, std::size_t j) {
    double next = 0;
    const Stages s = stages(k, j, y_[j], next);
    const auto f_y = [&](double x) { return -2 * kappa_ * s.c * x; };
    const auto f_kappa = [&](double x) { return -s.c * x * x; };
    const double w = y_bar_[j];
    const double w4 = h_ / 6 * w;
    const double v4 = f_y(s.y4) * w4;
    const double w3 = h_ / 3 * w + h_ * v4;
    const double v3 = f_y(s.y3) * w3;
    const double w2 = h_ / 3 * w + h_ / 2 * v3;
    const double v2 = f_y(s.y2) * w2;
    const double w1 = h_ / 6 * w + h_ / 2 * v2;
    const double v1 = f_y(s.y1) * w1;
    y_bar_[j] = w + v1 + v2 + v3 + v4;
    kappa_bar_.add(f_kappa(s.y1) * w1 + f_kappa(s.y2) * w2 + f_kappa(s.y3) * w3 +
                   f_kappa(s.y4) * w4);
  }

  double kappa_;
  double h_;
  Step n_;
  std::vector<double> y_;
  std::vector<double> y_bar_;
  Sum kappa_bar_;
};

}  // namespace costate::test
