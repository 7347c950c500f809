#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/sweep/stepper.hpp"

/// @file
/// A stepper from any type with the functions of one, so that a simulation need not derive from
/// anything:
///
/// | a model has one of each row                        | meaning                                |
/// | -------------------------------------------------- | -------------------------------------- |
/// | `advance(from, to[, pass])` or `step(k[, pass])`    | x_from → x_to; x_k → x_{k+1}           |
/// | `reverse(k)`                                       | x̄_{k+1} → x̄_k, x stays x_k             |
/// | `turn(n)`                                          | x̄ = derivative of the objective at x_n |
/// | `state()`, or `state_bytes()`, `save`, `load`      | what the next step reads               |
/// | `steps()`, or none                                 | n; none: unknown                       |
/// | `step_back(k)`, or none                            | x_{k+1} → x_k to the last bit          |
/// | `tape_bytes`, `save_tape(k[, pass], tape)`,        | tapes of steps, kept in the place of   |
/// | `reverse_tape(k, tape)`[, `load_tape(k, tape)`]    | states where that spares steps         |
/// | `time(k)`, `fields()`, or none                     | for files of checkpoints (stepper.hpp) |
/// | `progress_bytes`, `save_progress`, `load_progress` | to go on after an interruption         |
/// | `step_log_bytes`, `save_step_log`, `load_step_log` | the same, if steps are logged          |
///
/// `advance` returns the index reached, or nothing if that is always `to`; `step` returns whether
/// the step was made, or nothing if it always is, and so does `save_tape`. A model with `load_tape`
/// has tapes that hold the next state. `state()` returns something that std::span takes,
/// of numbers or plain structs, always of the same length. The rows of tapes and the last two may
/// be absent.

namespace costate {

namespace detail {

template <typename Model>
concept HasState = requires(Model& m) {
  std::as_writable_bytes(std::span(m.state()));
};

template <typename Model>
concept HasSaveAndLoad = requires(Model& m, std::span<std::byte> out,
                                  std::span<const std::byte> in) {
  { m.state_bytes() } -> std::convertible_to<std::size_t>;
  m.save(out);
  m.load(in);
};

template <typename Model>
concept HasAdvance = requires(Model& m, Step k) {
  m.advance(k, k);
}
|| requires(Model& m, Step k, Pass pass) {
  m.advance(k, k, pass);
};

template <typename Model>
concept HasStep = requires(Model& m, Step k) {
  m.step(k);
}
|| requires(Model& m, Step k, Pass pass) {
  m.step(k, pass);
};

template <typename Model>
concept HasStepBack = requires(Model& m, Step k) {
  m.step_back(k);
};

template <typename Model>
concept HasTape = requires(const Model& m) {
  { m.tape_bytes() } -> std::convertible_to<std::size_t>;
}
&&requires(Model& m, Step k, std::span<const std::byte> in) {
  m.reverse_tape(k, in);
}
&&(
    requires(Model& m, Step k, std::span<std::byte> out) { m.save_tape(k, out); } ||
    requires(Model & m, Step k, Pass pass, std::span<std::byte> out) {
      m.save_tape(k, pass, out);
    });

template <typename Model>
concept HasTapeWithNext = HasTape<Model> &&
    requires(Model& m, Step k, std::span<const std::byte> in) {
  m.load_tape(k, in);
};

template <typename Model>
concept HasProgress = requires(Model& m, std::span<std::byte> out, std::span<const std::byte> in) {
  { m.progress_bytes() } -> std::convertible_to<std::size_t>;
  m.save_progress(out);
  m.load_progress(in);
};

template <typename Model>
concept HasStepLog = requires(Model& m, Step k, std::span<std::byte> out,
                              std::span<const std::byte> in) {
  { m.step_log_bytes() } -> std::convertible_to<std::size_t>;
  m.save_step_log(k, k, out);
  m.load_step_log(k, k, in);
};

}  // namespace detail

/// What `make_stepper` can make a stepper from.
template <typename Model>
concept StepperModel = (detail::HasAdvance<Model> || detail::HasStep<Model>)&&(
    detail::HasState<Model> || detail::HasSaveAndLoad<Model>)&&requires(Model& m, Step k) {
  m.reverse(k);
  m.turn(k);
};

/// Refers to a model and does what it does. The model must outlive it.
template <StepperModel Model>
class StepperOf final : public Stepper {
 public:
  explicit StepperOf(Model& model) noexcept : model_(&model) {}

  Step advance(Step from, Step to, Pass pass) override {
    if constexpr (requires { model_->advance(from, to, pass); }) {
      return advanced(to, [&] { return model_->advance(from, to, pass); });
    } else if constexpr (detail::HasAdvance<Model>) {
      return advanced(to, [&] { return model_->advance(from, to); });
    } else {
      for (Step k = from; k < to; ++k) {
        if (!step(k, pass)) return k;
      }
      return to;
    }
  }

  void turn(Step n) override { model_->turn(n); }
  void reverse(Step k) override { model_->reverse(k); }

  [[nodiscard]] std::size_t state_bytes() const override {
    if constexpr (detail::HasSaveAndLoad<Model>) {
      return model_->state_bytes();
    } else {
      return state().size();
    }
  }
  void save(std::span<std::byte> out) const override {
    if constexpr (detail::HasSaveAndLoad<Model>) {
      model_->save(out);
    } else {
      std::memcpy(out.data(), state().data(), out.size());
    }
  }
  void load(std::span<const std::byte> in) override {
    if constexpr (detail::HasSaveAndLoad<Model>) {
      model_->load(in);
    } else {
      if (in.data() != state().data()) std::memcpy(state().data(), in.data(), in.size());
    }
  }
  [[nodiscard]] std::span<std::byte> state_memory() override {
    if constexpr (detail::HasSaveAndLoad<Model>) {
      return {};
    } else {
      return state();
    }
  }
  [[nodiscard]] std::size_t max_state_bytes() const override {
    if constexpr (requires { model_->max_state_bytes(); }) {
      return model_->max_state_bytes();
    } else {
      return state_bytes();
    }
  }
  [[nodiscard]] bool state_size_varies() const override {
    if constexpr (requires { model_->state_size_varies(); }) {
      return model_->state_size_varies();
    } else {
      return Stepper::state_size_varies();
    }
  }
  [[nodiscard]] Step steps() const override {
    if constexpr (requires { model_->steps(); }) {
      return model_->steps();
    } else {
      return unknown;
    }
  }

  [[nodiscard]] double time(Step k) const override {
    if constexpr (requires { model_->time(k); }) {
      return model_->time(k);
    } else {
      return Stepper::time(k);
    }
  }
  [[nodiscard]] std::vector<StateField> fields() const override {
    if constexpr (requires { model_->fields(); }) {
      return model_->fields();
    } else if constexpr (!detail::HasSaveAndLoad<Model>) {
      return fields_of(std::span(model_->state()));
    } else {
      return Stepper::fields();
    }
  }

  [[nodiscard]] std::size_t progress_bytes() const override {
    if constexpr (detail::HasProgress<Model>) {
      return model_->progress_bytes();
    } else {
      return 0;
    }
  }
  void save_progress(std::span<std::byte> out) const override {
    if constexpr (detail::HasProgress<Model>) {
      model_->save_progress(out);
    } else {
      Stepper::save_progress(out);
    }
  }
  void load_progress(std::span<const std::byte> in) override {
    if constexpr (detail::HasProgress<Model>) {
      model_->load_progress(in);
    } else {
      Stepper::load_progress(in);
    }
  }
  [[nodiscard]] std::size_t step_log_bytes() const override {
    if constexpr (detail::HasStepLog<Model>) {
      return model_->step_log_bytes();
    } else {
      return 0;
    }
  }
  void save_step_log(Step from, Step to, std::span<std::byte> out) const override {
    if constexpr (detail::HasStepLog<Model>) {
      model_->save_step_log(from, to, out);
    } else {
      Stepper::save_step_log(from, to, out);
    }
  }
  void load_step_log(Step from, Step to, std::span<const std::byte> in) override {
    if constexpr (detail::HasStepLog<Model>) {
      model_->load_step_log(from, to, in);
    } else {
      Stepper::load_step_log(from, to, in);
    }
  }

  [[nodiscard]] bool can_step_back() const override { return detail::HasStepBack<Model>; }
  void step_back(Step from, Step to) override {
    if constexpr (detail::HasStepBack<Model>) {
      for (Step k = from - 1; k >= to; --k) model_->step_back(k);
    } else {
      Stepper::step_back(from, to);
    }
  }

  [[nodiscard]] std::size_t tape_bytes() const override {
    if constexpr (detail::HasTape<Model>) {
      return model_->tape_bytes();
    } else {
      return 0;
    }
  }
  bool save_tape(Step k, Pass pass, std::span<std::byte> out) override {
    if constexpr (!detail::HasTape<Model>) {
      return Stepper::save_tape(k, pass, out);
    } else if constexpr (requires { model_->save_tape(k, pass, out); }) {
      return made([&] { return model_->save_tape(k, pass, out); });
    } else {
      return made([&] { return model_->save_tape(k, out); });
    }
  }
  void reverse_tape(Step k, std::span<const std::byte> tape) override {
    if constexpr (detail::HasTape<Model>) {
      model_->reverse_tape(k, tape);
    } else {
      Stepper::reverse_tape(k, tape);
    }
  }
  [[nodiscard]] bool tape_has_next() const override { return detail::HasTapeWithNext<Model>; }
  void load_tape(Step k, std::span<const std::byte> tape) override {
    if constexpr (detail::HasTapeWithNext<Model>) {
      model_->load_tape(k, tape);
    } else {
      Stepper::load_tape(k, tape);
    }
  }

  // The same as in the base, without its virtual calls.
  Step advance_keeping(Step from, Step to, Pass pass, Rows rows) override {
    for (Step k = from; k < to; ++k) {
      StepperOf::save(rows[k - from]);
      if (const Step got = StepperOf::advance(k, k + 1, pass); got != k + 1) return got;
    }
    return to;
  }
  void reverse_kept(Step from, Step to, Rows rows) override {
    for (Step k = to - 1; k >= from; --k) {
      StepperOf::load(rows[k - from]);
      StepperOf::reverse(k);
    }
  }

 private:
  template <typename Work>
  static Step advanced(Step to, Work work) {
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      return to;
    } else {
      return work();
    }
  }
  template <typename Work>
  static bool made(Work work) {
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      return true;
    } else {
      return work();
    }
  }
  bool step(Step k, Pass pass) {
    return made([&] {
      if constexpr (requires { model_->step(k, pass); }) {
        return model_->step(k, pass);
      } else {
        return model_->step(k);
      }
    });
  }
  // An array of numbers tells by itself what it is.
  template <typename Number, std::size_t size>
  static std::vector<StateField> fields_of(std::span<Number, size> numbers) {
    using Type = StateField::Type;
    using N = std::remove_cv_t<Number>;
    const auto array = [&](Type type) {
      return std::vector<StateField>{{.name = "state", .type = type, .shape = {numbers.size()}}};
    };
    if constexpr (std::is_same_v<N, double>) {
      return array(Type::float64);
    } else if constexpr (std::is_same_v<N, float>) {
      return array(Type::float32);
    } else {
      return {};
    }
  }
  [[nodiscard]] std::span<std::byte> state() const {
    return std::as_writable_bytes(std::span(model_->state()));
  }

  Model* model_;
};

/// A stepper that does what the model does.
template <StepperModel Model>
[[nodiscard]] StepperOf<Model> make_stepper(Model& model) {
  return StepperOf<Model>(model);
}

}  // namespace costate
