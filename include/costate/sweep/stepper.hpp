#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/storage/rows.hpp"
#include "costate/storage/state_field.hpp"

/// @file
/// The one interface that a simulation implements. It is compiled and type-erased on purpose:
/// ranges of steps amortise the call, the driver stays out of headers, and a C or Fortran code can
/// be wrapped thinly. `make_stepper` (make_stepper.hpp) makes one from any type with the same
/// functions.

namespace costate {

/// Why steps are run. On the first pass every step is run exactly once, in order: this is where the
/// objective accumulates, an adaptive integrator chooses its steps, and output is written. A replay
/// must give the same states and do nothing else.
enum class Pass : unsigned char { first, replay };

/// A simulation of `n` steps and its adjoint. Owns the live state x, the adjoint x̄, the objective
/// and the gradient with respect to everything else; the driver only tells it what to do when, and
/// keeps bytes for it. When a sweep starts, x is x_0; when it has ended, x̄ is x̄_0.
///
/// A step must be a function of the state (and of the step's index, and of data that does not
/// change during the sweep): everything else that the next step reads, such as a second time level,
/// the step size, a random generator or an initial guess, belongs to the state that `save` writes.
///
/// Any function may throw; the driver passes the exception on and can be called again.
class Stepper {
 public:
  virtual ~Stepper() = default;

  /// x_from → x_to, in place. Returns the index reached: `to`, or less when the simulation has
  /// ended (`from` if it had ended before). A simulation that knows beforehand that a step is its
  /// last one may stop in front of it and let `steps()` tell; that saves a step.
  virtual Step advance(Step from, Step to, Pass pass) = 0;

  /// x is x_n, the final state: completes the objective and sets x̄ to its derivative x̄_n. Called
  /// exactly once a sweep, after the first pass.
  virtual void turn(Step n) = 0;

  /// x is x_k and stays so; x̄_{k+1} → x̄_k. Redoes the forward work of step k that it needs. Called
  /// for k = n-1 … 0.
  virtual void reverse(Step k) = 0;

  /// The size of the live state in bytes, at least 1. May differ from step to step; then
  /// `max_state_bytes` must be overridden.
  [[nodiscard]] virtual std::size_t state_bytes() const = 0;

  /// Copies x, and everything else that the next step reads, out.
  /// @param out  state_bytes() bytes, aligned to 8
  virtual void save(std::span<std::byte> out) const = 0;

  /// The reverse of `save`.
  virtual void load(std::span<const std::byte> in) = 0;

  // ----- What only some simulations can do. The defaults say "cannot" or do it step by step. -----

  /// The largest `state_bytes()` of the run.
  [[nodiscard]] virtual std::size_t max_state_bytes() const { return state_bytes(); }

  /// The memory of x, `state_bytes()` long, if `save` just copies it and its size never varies: a
  /// disk reads straight into it, and `load` is then called with this memory itself, for what else
  /// it does. Empty: x does not lie in one piece.
  [[nodiscard]] virtual std::span<std::byte> state_memory() { return {}; }

  /// Whether `state_bytes()` changes during the run. Asked once, with x_0 live. To be overridden
  /// where x_0 is the largest state but not all are.
  [[nodiscard]] virtual bool state_size_varies() const {
    return state_bytes() != max_state_bytes();
  }

  /// The number of steps of the run, `unknown` as long as it is not known. Asked before the sweep,
  /// whenever `advance` has come back short, and, as long as it is unknown, after each `advance`:
  /// to know on arrival at x_{n-1} that step n-1 is the last one can save a checkpoint and steps.
  [[nodiscard]] virtual Step steps() const { return unknown; }

  /// For k = from … to-1: saves x_k into rows[k - from] and advances by one step; the same as
  /// calling `save` and `advance`, which is what the default does. Overridden where a step is so
  /// cheap that two virtual calls count. Returns the index reached; x_reached is saved too when it
  /// is below `to`.
  virtual Step advance_keeping(Step from, Step to, Pass pass, Rows rows);

  /// For k = to-1 … from: loads x_k from rows[k - from] and reverses step k; the same as calling
  /// `load` and `reverse`.
  virtual void reverse_kept(Step from, Step to, Rows rows);

  /// Whether `step_back` works. A sweep of such a simulation stores no states.
  [[nodiscard]] virtual bool can_step_back() const { return false; }

  /// x_from → x_to, to <= from: undoes steps that were made, to the last bit, and leaves x̄ alone.
  /// @throws Unsupported unless overridden
  virtual void step_back(Step from, Step to);

  // ----- Tapes: what the reverse of a step needs of it, so that the step need not be run again
  // (docs/own_stepper.md). Worth it where a step costs much more than to copy its tape. -----

  /// The size of the tape of a step, the same for all; 0: none can be kept. With a size, the next
  /// two functions must be overridden. Asked once, with x_0 live.
  [[nodiscard]] virtual std::size_t tape_bytes() const { return 0; }

  /// x_k → x_{k+1}, as `advance(k, k+1, pass)` does it, and writes the tape of step k. Returns
  /// whether the step was made.
  /// @param out  tape_bytes() bytes, aligned to 8
  /// @throws Unsupported unless overridden
  virtual bool save_tape(Step k, Pass pass, std::span<std::byte> out);

  /// x̄_{k+1} → x̄_k, with the bits of `reverse(k)`, from the tape of step k. x holds anything before
  /// and after.
  /// @throws Unsupported unless overridden
  virtual void reverse_tape(Step k, std::span<const std::byte> tape);

  /// Whether the tape of step k holds x_{k+1}, so that a run can go on from a tape. Then the next
  /// function must be overridden.
  [[nodiscard]] virtual bool tape_has_next() const { return false; }

  /// x becomes x_{k+1}, from the tape of step k.
  /// @throws Unsupported unless overridden
  virtual void load_tape(Step k, std::span<const std::byte> tape);

  /// What the gradient is accurate to, for the report, if it is not the derivative of the computed
  /// value.
  [[nodiscard]] virtual std::string accuracy() const { return {}; }

  // ----- For those who look at checkpoints on disk with other programs (docs/storage.md). -----

  /// The time of x_k, which the first pass has reached; NaN: not known.
  [[nodiscard]] virtual double time(Step /*k*/) const {
    return std::numeric_limits<double>::quiet_NaN();
  }
  /// What `save` writes, in this order and without gaps; none: not known.
  [[nodiscard]] virtual std::vector<StateField> fields() const { return {}; }

  // ----- To go on after an interruption (run.hpp). -----

  /// The size of what `save_progress` writes; 0: the run cannot be resumed. May change while it
  /// runs, up to the value before the sweep.
  [[nodiscard]] virtual std::size_t progress_bytes() const { return 0; }

  /// Copies out what the sweep has accumulated besides x: in the forward sweep the objective so
  /// far, in the reverse sweep the objective, x̄ and all gradients.
  /// @param out  progress_bytes() bytes
  virtual void save_progress(std::span<std::byte> out) const;
  /// The reverse, in a new process. In the forward sweep x was loaded before.
  virtual void load_progress(std::span<const std::byte> in);

  /// What is recorded of each step on the first pass and needed to replay it, such as t and h of an
  /// adaptive method: bytes a step, 0 if nothing.
  [[nodiscard]] virtual std::size_t step_log_bytes() const { return 0; }
  /// The logs of the steps [from, to).
  virtual void save_step_log(Step from, Step to, std::span<std::byte> out) const;
  virtual void load_step_log(Step from, Step to, std::span<const std::byte> in);

 protected:
  Stepper() = default;
  Stepper(const Stepper&) = default;
  Stepper& operator=(const Stepper&) = default;
};

}  // namespace costate
