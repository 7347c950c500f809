#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "costate/mpi/ranks.hpp"
#include "costate/sweep/stepper.hpp"

namespace costate::mpi {

/// Does what another stepper does, after a meeting in front of everything in which steppers of
/// several ranks talk to each other.
class MeetingStepper final : public Stepper {
 public:
  MeetingStepper(Stepper& inner, Ranks& ranks) noexcept : inner_(inner), ranks_(ranks) {}

  Step advance(Step from, Step to, Pass pass) override {
    ranks_.meet("advance", from, to);
    return inner_.advance(from, to, pass);
  }
  Step advance_keeping(Step from, Step to, Pass pass, Rows rows) override {
    ranks_.meet("advance and keep", from, to);
    return inner_.advance_keeping(from, to, pass, rows);
  }
  void turn(Step n) override {
    ranks_.meet("turn", n, n);
    inner_.turn(n);
  }
  void reverse(Step k) override {
    ranks_.meet("reverse", k + 1, k);
    inner_.reverse(k);
  }
  void reverse_kept(Step from, Step to, Rows rows) override {
    ranks_.meet("reverse", to, from);
    inner_.reverse_kept(from, to, rows);
  }
  void step_back(Step from, Step to) override {
    ranks_.meet("step back", from, to);
    inner_.step_back(from, to);
  }

  [[nodiscard]] std::size_t state_bytes() const override { return inner_.state_bytes(); }
  void save(std::span<std::byte> out) const override { inner_.save(out); }
  void load(std::span<const std::byte> in) override { inner_.load(in); }
  [[nodiscard]] std::span<std::byte> state_memory() override { return inner_.state_memory(); }
  [[nodiscard]] std::size_t max_state_bytes() const override { return inner_.max_state_bytes(); }
  [[nodiscard]] bool state_size_varies() const override { return inner_.state_size_varies(); }
  [[nodiscard]] Step steps() const override { return inner_.steps(); }
  [[nodiscard]] bool can_step_back() const override { return inner_.can_step_back(); }
  [[nodiscard]] std::string accuracy() const override { return inner_.accuracy(); }
  [[nodiscard]] double time(Step k) const override { return inner_.time(k); }
  [[nodiscard]] std::vector<StateField> fields() const override { return inner_.fields(); }
  [[nodiscard]] std::size_t progress_bytes() const override { return inner_.progress_bytes(); }
  void save_progress(std::span<std::byte> out) const override { inner_.save_progress(out); }
  void load_progress(std::span<const std::byte> in) override { inner_.load_progress(in); }
  [[nodiscard]] std::size_t step_log_bytes() const override { return inner_.step_log_bytes(); }
  void save_step_log(Step from, Step to, std::span<std::byte> out) const override {
    inner_.save_step_log(from, to, out);
  }
  void load_step_log(Step from, Step to, std::span<const std::byte> in) override {
    inner_.load_step_log(from, to, in);
  }

 private:
  Stepper& inner_;
  Ranks& ranks_;
};

}  // namespace costate::mpi
