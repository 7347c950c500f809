#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/sundials/context.hpp"
#include "costate/sweep/stepper.hpp"

namespace costate::sundials {

/// A simulation whose state is a vector of SUNDIALS. Its functions work on that vector as they are.
struct VectorModel {
  Step steps = unknown;  ///< of the run, if known

  /// x_k → x_{k+1} in place. False: the simulation had ended at x_k, and nothing was done.
  std::function<bool(Step k, N_Vector x, Pass pass)> step = {};
  /// x is x_n: completes the objective, and sets x̄, which is zero, to its derivative.
  std::function<void(Step n, N_Vector x, N_Vector x_bar)> turn = {};
  /// x̄_{k+1} → x̄_k in place, x is x_k and has to be so afterwards.
  std::function<void(Step k, N_Vector x, N_Vector x_bar)> reverse = {};
  /// The time of x_k, for those who look at checkpoints. May be absent.
  std::function<double(Step k)> time = {};

  /// What the functions accumulate besides x̄: the objective, gradients by parameters. Saved with
  /// the records of a run that can be resumed. Must outlive the stepper.
  std::span<double> sums = {};
};

/// A vector of any kind that can be packed (`N_VBufPack`) as the state of a simulation: serial,
/// threaded, made of several, or, with `mpi::sweep`, the part of this rank of a parallel one. One
/// whose entries lie in one array is copied between that array and the row of the checkpoint,
/// nothing else; the others are packed into the row.
class VectorStepper final : public Stepper {
 public:
  /// @param x  the live state; not copied, must outlive the stepper. x_0 when a sweep begins
  /// @throws InvalidArgument  if a function is missing or the vector cannot be packed
  /// @throws SundialsError    if it cannot be cloned
  VectorStepper(N_Vector x, VectorModel model);

  [[nodiscard]] N_Vector state() const { return x_; }
  [[nodiscard]] N_Vector adjoint() const { return x_bar_.get(); }

  Step advance(Step from, Step to, Pass pass) override;
  void turn(Step n) override;
  void reverse(Step k) override { model_.reverse(k, x_, x_bar_.get()); }
  [[nodiscard]] std::size_t state_bytes() const override { return bytes_; }
  void save(std::span<std::byte> out) const override { copy_out(x_, out); }
  void load(std::span<const std::byte> in) override { copy_in(x_, in); }
  [[nodiscard]] Step steps() const override { return steps_; }
  [[nodiscard]] double time(Step k) const override;
  [[nodiscard]] std::vector<StateField> fields() const override;
  [[nodiscard]] std::size_t progress_bytes() const override;
  void save_progress(std::span<std::byte> out) const override;
  void load_progress(std::span<const std::byte> in) override;

 private:
  void copy_out(N_Vector v, std::span<std::byte> out) const;
  void copy_in(N_Vector v, std::span<const std::byte> in) const;

  N_Vector x_;
  Vector x_bar_;
  VectorModel model_;
  bool in_one_array_ = false;
  std::size_t bytes_ = 0;
  Step steps_;
};

}  // namespace costate::sundials
