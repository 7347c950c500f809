#pragma once

// Viscous Burgers flow on a ring of cells that are spread over the ranks, with the cells next door
// exchanged in every step and every reverse step:
//
//   u_i += dt (nu (u_{i+1} - 2 u_i + u_{i-1}) / dx^2 - (u_{i+1}^2 - u_{i-1}^2) / (4 dx))
//   J    = sum over steps of dt dx sum_i u_i^2  +  dx/2 sum_i u_i^2 at the end

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numbers>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "costate/mpi/ranks.hpp"
#include "costate/sweep/stepper.hpp"

namespace costate::test {

struct BurgersOptions {
  std::size_t cells = 37;  // of all ranks
  Step steps = 60;
  bool known = true;        // otherwise the flow ends when its energy has fallen far enough
  double end_energy = 0;    // of those of unknown length
  std::size_t padding = 0;  // bytes of the state that follow the cells: large states are looked at
                            // more often
};

class Burgers : public Stepper {
 public:
  // Collective. The ranks have unequal parts.
  Burgers(mpi::Ranks& ranks, const BurgersOptions& options) : ranks_(ranks), o_(options) {
    // Rank r has a share of r + 2.
    const auto border = [&](int rank) {
      const auto upto = [](int r) { return static_cast<std::size_t>(r * (r + 3) / 2); };
      return o_.cells * upto(rank) / upto(ranks.size());
    };
    first_ = border(ranks.rank());
    cells_.resize(border(ranks.rank() + 1) - first_ + 2);
    adjoint_.resize(cells_.size());
    old_.resize(cells_.size());
    start();
  }

  void start() {
    for (std::size_t i = 1; i + 1 < cells_.size(); ++i) {
      const double x = 2 * std::numbers::pi * static_cast<double>(first_ + i - 1) /
                       static_cast<double>(o_.cells);
      cells_[i] = 1 + std::sin(x) + 0.3 * std::cos(3 * x);
    }
    std::ranges::fill(adjoint_, 0.);
    value_ = nu_bar_ = 0;
    end_ = o_.known ? o_.steps : unknown;
  }

  double nu = 0.05;

  // This rank's part of the objective and of its derivative by nu; dJ/du of its cells.
  [[nodiscard]] double value() const { return value_; }
  [[nodiscard]] double nu_bar() const { return nu_bar_; }
  [[nodiscard]] std::span<const double> adjoint() const { return inner(adjoint_); }
  [[nodiscard]] std::size_t first() const { return first_; }

  [[nodiscard]] std::vector<std::uint64_t> bits() const {
    std::vector<std::uint64_t> out = {std::bit_cast<std::uint64_t>(value_),
                                      std::bit_cast<std::uint64_t>(nu_bar_),
                                      static_cast<std::uint64_t>(end_)};
    for (const double a : adjoint()) out.push_back(std::bit_cast<std::uint64_t>(a));
    return out;
  }

  // Called before each step and reverse step.
  virtual void at(Step /*k*/) {}

  Step advance(Step from, Step to, Pass pass) override {
    for (Step k = from; k < to; ++k) {
      if (k == end_) return k;
      at(k);
      exchange(cells_);
      if (pass == Pass::first) value_ += dt_ * energy();
      old_ = cells_;
      for (std::size_t i = 1; i + 1 < cells_.size(); ++i) {
        const double left = old_[i - 1];
        const double right = old_[i + 1];
        cells_[i] += dt_ * (nu * (right - 2 * old_[i] + left) / (dx() * dx()) -
                            (right * right - left * left) / (4 * dx()));
      }
      if (pass == Pass::first && !o_.known && ranks_.sum(energy()) < o_.end_energy) end_ = k + 1;
    }
    return to;
  }

  void turn(Step /*n*/) override {
    value_ += energy() / 2;
    for (std::size_t i = 1; i + 1 < cells_.size(); ++i) adjoint_[i] = dx() * cells_[i];
  }

  void reverse(Step k) override {
    at(k);
    exchange(cells_);
    exchange(adjoint_);
    old_ = adjoint_;
    for (std::size_t i = 1; i + 1 < cells_.size(); ++i) {
      const double u = cells_[i];
      const double diffusion = nu / (dx() * dx());
      const double advection = u / (2 * dx());
      adjoint_[i] += dt_ * ((diffusion - advection) * old_[i - 1] - 2 * diffusion * old_[i] +
                            (diffusion + advection) * old_[i + 1]) +
                     2 * dt_ * dx() * u;
      nu_bar_ += dt_ * old_[i] * (cells_[i + 1] - 2 * u + cells_[i - 1]) / (dx() * dx());
    }
  }

  [[nodiscard]] std::size_t state_bytes() const override {
    return inner(cells_).size_bytes() + o_.padding;
  }
  void save(std::span<std::byte> out) const override {
    std::ranges::fill(out.last(o_.padding), std::byte{1});
    put(out.data(), inner(cells_));
  }
  void load(std::span<const std::byte> in) override { take(inner(cells_), in.data()); }
  [[nodiscard]] Step steps() const override { return end_; }

  [[nodiscard]] std::size_t progress_bytes() const override {
    return 3 * sizeof(double) + adjoint().size_bytes();
  }
  void save_progress(std::span<std::byte> out) const override {
    std::memcpy(out.data(), &value_, 8);
    std::memcpy(out.data() + 8, &nu_bar_, 8);
    std::memcpy(out.data() + 16, &end_, 8);
    put(out.data() + 24, inner(adjoint_));
  }
  void load_progress(std::span<const std::byte> in) override {
    std::memcpy(&value_, in.data(), 8);
    std::memcpy(&nu_bar_, in.data() + 8, 8);
    std::memcpy(&end_, in.data() + 16, 8);
    take(inner(adjoint_), in.data() + 24);
  }

 private:
  static std::span<const double> inner(const std::vector<double>& all) {
    return std::span(all).subspan(1, all.size() - 2);
  }
  static std::span<double> inner(std::vector<double>& all) {
    return std::span(all).subspan(1, all.size() - 2);
  }
  static void put(std::byte* out, std::span<const double> values) {
    std::memcpy(out, values.data(), values.size_bytes());
  }
  static void take(std::span<double> values, const std::byte* in) {
    std::memcpy(values.data(), in, values.size_bytes());
  }
  [[nodiscard]] double dx() const { return 2 * std::numbers::pi / static_cast<double>(o_.cells); }
  [[nodiscard]] double energy() const {
    double sum = 0;
    for (const double u : inner(cells_)) sum += u * u * dx();
    return sum;
  }

  // The cells next door, from the ranks next door.
  void exchange(std::vector<double>& all) const {
    const int right = (ranks_.rank() + 1) % ranks_.size();
    const int left = (ranks_.rank() + ranks_.size() - 1) % ranks_.size();
    MPI_Comm comm = ranks_.communicator();
    const std::size_t last = all.size() - 1;
    MPI_Sendrecv(&all[last - 1], 1, MPI_DOUBLE, right, 0, &all[0], 1, MPI_DOUBLE, left, 0, comm,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&all[1], 1, MPI_DOUBLE, left, 1, &all[last], 1, MPI_DOUBLE, right, 1, comm,
                 MPI_STATUS_IGNORE);
  }

  mpi::Ranks& ranks_;
  BurgersOptions o_;
  static constexpr double dt_ = 0.02;
  std::size_t first_ = 0;
  std::vector<double> cells_;  // with one more at each end
  std::vector<double> adjoint_;
  std::vector<double> old_;
  double value_ = 0;
  double nu_bar_ = 0;
  Step end_ = unknown;
};

}  // namespace costate::test
