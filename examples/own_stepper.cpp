// One's own time loop behind the stepper door: which source makes these seismograms?
//
//   Model      u_tt = c(x)^2 (u_xx + u_yy) + w(t) delta(x - x_s) in a closed box, c in two layers;
//              leapfrog in time, five points in space, so the state is two fields
//   Data       u at 12 receivers after every step, from a Ricker wavelet
//   Unknown    w_k, the source at every step
//   Objective  J = 1/2 dt sum over receivers and steps of (u - data)^2, quadratic in w
//
// The loop below was written without costate; what costate asks for is the seven functions of
// costate::Stepper. The gradient is checked by a dot-product test, then used in a conjugate
// gradient iteration. Usage: own_stepper [--output FOLDER]

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <exception>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "costate/core/bytes.hpp"
#include "costate/sweep/stepper.hpp"
#include "costate/sweep/sweep.hpp"
#include "support/options.hpp"
#include "support/picture.hpp"

namespace {

using costate::Pass;
using costate::Step;
using namespace costate::literals;
using Field = std::vector<double>;

constexpr std::size_t size = 200;  // points in each direction
constexpr double spacing = 10;     // metres
constexpr double dt = 0.002;       // seconds
constexpr Step step_count = 1000;
constexpr std::size_t receivers = 12;

std::size_t index(std::size_t row, std::size_t column) {
  return row * size + column;
}

class Wave final : public costate::Stepper {
 public:
  Wave() : factor_(size * size), source_(index(30, size / 2)) {
    for (std::size_t row = 0; row < size; ++row) {
      const double speed = row < size / 2 ? 1500 : 2500;
      for (std::size_t column = 0; column < size; ++column) {
        factor_[index(row, column)] = std::pow(speed * dt / spacing, 2);
      }
    }
    for (std::size_t r = 0; r < receivers; ++r) receiver_.push_back(index(20, 15 + r * 15));
  }

  // What is to be run and compared with. `wavelet` has a value per step, `data` one per step and
  // receiver; both must outlive the sweep.
  void prepare(const std::vector<double>& wavelet, const std::vector<double>& data) {
    wavelet_ = &wavelet;
    data_ = &data;
    before_.assign(size * size, 0);
    now_ = next_ = bar_before_ = bar_now_ = before_;
    traces.assign(static_cast<std::size_t>(step_count) * receivers, 0);
    gradient.assign(static_cast<std::size_t>(step_count), 0);
    value = 0;
  }

  std::vector<double> traces;    // u at the receivers, shape (steps, receivers)
  std::vector<double> gradient;  // dJ/dw, shape (steps)
  double value = 0;              // J

  [[nodiscard]] const Field& field() const { return now_; }
  [[nodiscard]] const Field& adjoint_field() const { return bar_now_; }

  // ----- the seven functions -----
  [[nodiscard]] Step steps() const override { return step_count; }

  Step advance(Step from, Step to, Pass pass) override {
    for (Step k = from; k < to; ++k) {
      leapfrog((*wavelet_)[static_cast<std::size_t>(k)]);
      if (pass == Pass::first) read(k);
    }
    return to;
  }

  void turn(Step /*n*/) override {}  // the objective was complete after the last reading

  void reverse(Step k) override {
    // The adjoint of the reading after step k, then of the step: linear, so x_k is not needed.
    for (std::size_t r = 0; r < receivers; ++r) bar_now_[receiver_[r]] += dt * residual(k, r);
    gradient[static_cast<std::size_t>(k)] = dt * dt * bar_now_[source_];
    for (std::size_t row = 1; row + 1 < size; ++row) {
      for (std::size_t i = index(row, 1); i < index(row, size - 1); ++i) {
        const auto weighted = [this](std::size_t j) { return factor_[j] * bar_now_[j]; };
        next_[i] = bar_before_[i] + 2 * bar_now_[i] + weighted(i - 1) + weighted(i + 1) +
                   weighted(i - size) + weighted(i + size) - 4 * weighted(i);
        bar_before_[i] = -bar_now_[i];
      }
    }
    bar_now_.swap(next_);
  }

  [[nodiscard]] std::size_t state_bytes() const override {
    return 2 * size * size * sizeof(double);
  }

  void save(std::span<std::byte> out) const override {
    std::memcpy(out.data(), before_.data(), out.size() / 2);
    std::memcpy(out.data() + out.size() / 2, now_.data(), out.size() / 2);
  }

  void load(std::span<const std::byte> in) override {
    std::memcpy(before_.data(), in.data(), in.size() / 2);
    std::memcpy(now_.data(), in.data() + in.size() / 2, in.size() / 2);
  }

 private:
  void leapfrog(double source) {
    for (std::size_t row = 1; row + 1 < size; ++row) {
      for (std::size_t i = index(row, 1); i < index(row, size - 1); ++i) {
        next_[i] = 2 * now_[i] - before_[i] +
                   factor_[i] *
                       (now_[i - 1] + now_[i + 1] + now_[i - size] + now_[i + size] - 4 * now_[i]);
      }
    }
    next_[source_] += dt * dt * source;
    before_.swap(now_);
    now_.swap(next_);
  }

  void read(Step k) {
    for (std::size_t r = 0; r < receivers; ++r) {
      traces[static_cast<std::size_t>(k) * receivers + r] = now_[receiver_[r]];
      value += 0.5 * dt * residual(k, r) * residual(k, r);
    }
  }

  [[nodiscard]] double residual(Step k, std::size_t r) const {
    const std::size_t i = static_cast<std::size_t>(k) * receivers + r;
    return traces[i] - (*data_)[i];
  }

  Field factor_;  // (c dt / h)^2
  std::size_t source_;
  std::vector<std::size_t> receiver_;
  const std::vector<double>* wavelet_ = nullptr;
  const std::vector<double>* data_ = nullptr;
  Field before_, now_, next_;  // the state, and room for the next one
  Field bar_before_, bar_now_;
};

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void run(const std::string& output) {
  const auto n = static_cast<std::size_t>(step_count);
  std::vector<double> truth(n);
  for (std::size_t k = 0; k < n; ++k) {  // a Ricker wavelet of 8 Hz
    const double a = std::pow(std::numbers::pi * 8 * (static_cast<double>(k) * dt - 0.15), 2);
    truth[k] = 1e4 * (1 - 2 * a) * std::exp(-a);
  }

  Wave wave;
  costate::SweepOptions options{.budget = {.memory = 16_MiB}};
  const std::vector<double> silence(n * receivers, 0);
  const auto sweep = [&](const std::vector<double>& wavelet, const std::vector<double>& data) {
    wave.prepare(wavelet, data);
    return costate::sweep(wave, options);
  };
  const auto seismograms = [&](const std::vector<double>& wavelet) {
    wave.prepare(wavelet, silence);
    wave.advance(0, step_count, Pass::first);
    return wave.traces;
  };
  const auto data = seismograms(truth);
  const Field picture_of_wave = wave.field();

  // Dot-product test: <F v, r> = <v, F' r> for random v and r. F' r is the gradient where the
  // residual is r, at a wavelet whose seismograms are r above the data.
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> v(n);
  std::vector<double> r(n * receivers);
  for (double& x : v) x = normal(random);
  for (double& x : r) x = normal(random);
  std::vector<double> shifted = seismograms(v);
  for (std::size_t i = 0; i < r.size(); ++i) shifted[i] -= r[i];
  const double left = dt * dot(seismograms(v), r);
  const auto checked = sweep(v, shifted);
  const double right = dot(v, wave.gradient);
  const double mismatch = std::abs(left - right) / std::abs(left);

  // Conjugate gradients on the quadratic J(w): its Hessian times p is the gradient at p without
  // data.
  std::vector<double> w(n, 0);
  costate::Report report = sweep(w, data);
  const double value_at_start = wave.value;
  std::vector<double> residual = wave.gradient;
  for (double& x : residual) x = -x;
  std::vector<double> direction = residual;
  for (int iteration = 0; iteration < 15; ++iteration) {
    sweep(direction, silence);
    const double length = dot(residual, residual) / dot(direction, wave.gradient);
    const double old = dot(residual, residual);
    for (std::size_t k = 0; k < n; ++k) {
      w[k] += length * direction[k];
      residual[k] -= length * wave.gradient[k];
    }
    const double ratio = dot(residual, residual) / old;
    for (std::size_t k = 0; k < n; ++k) direction[k] = residual[k] + ratio * direction[k];
  }
  report = sweep(w, data);

  std::vector<double> time(n);
  for (std::size_t k = 0; k < n; ++k) time[k] = static_cast<double>(k) * dt;
  picture::write_svg(output + "/own_stepper_source.svg",
                     "The source that made the seismograms (15 iterations)", "time, s", "w",
                     {{"true", "#bbbbbb", true, time, truth}, {"found", "#c0392b", true, time, w}});
  picture::write_png(output + "/own_stepper_wave.png", size, size,
                     {{picture_of_wave, true}, {wave.adjoint_field(), true}});

  std::printf("value      J = %.6e before, %.6e after 15 iterations (ratio %.1e)\n", value_at_start,
              wave.value, wave.value / value_at_start);
  std::printf("gradient   |dJ/dw| = %.6e, %zu components\n",
              std::sqrt(dot(wave.gradient, wave.gradient)), n);
  std::printf("check      dot-product test: <Fv,r> = %.15e, <v,F'r> = %.15e, relative %.1e\n", left,
              right, mismatch);
  std::printf("%s", costate::to_string(report).c_str());
  // Rounding: the two products sum 1e4 terms after 1e3 steps each.
  if (!(mismatch < 1e-11) || !(wave.value < 0.05 * value_at_start)) {
    throw std::runtime_error("the check failed");
  }
  static_cast<void>(checked);
}

}  // namespace

int main(int argc, char** argv) try {
  run(example::option(argc, argv, "--output", "."));
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "own_stepper: %s\n", error.what());
  return 1;
}
