#include "costate/sweep/stepper.hpp"

#include "costate/core/error.hpp"

namespace costate {
namespace {

[[noreturn]] void cannot_resume() {
  throw Unsupported("this stepper does not save its progress, so its run cannot be resumed");
}

[[noreturn]] void no_tapes() {
  throw Unsupported("this simulation keeps no tapes of its steps");
}

}  // namespace

Step Stepper::advance_keeping(Step from, Step to, Pass pass, Rows rows) {
  for (Step k = from; k < to; ++k) {
    save(rows[k - from]);
    if (const Step got = advance(k, k + 1, pass); got != k + 1) return got;
  }
  return to;
}

void Stepper::reverse_kept(Step from, Step to, Rows rows) {
  for (Step k = to - 1; k >= from; --k) {
    load(rows[k - from]);
    reverse(k);
  }
}

void Stepper::save_progress(std::span<std::byte> /*out*/) const {
  cannot_resume();
}
void Stepper::load_progress(std::span<const std::byte> /*in*/) {
  cannot_resume();
}
void Stepper::save_step_log(Step /*from*/, Step /*to*/, std::span<std::byte> /*out*/) const {
  cannot_resume();
}
void Stepper::load_step_log(Step /*from*/, Step /*to*/, std::span<const std::byte> /*in*/) {
  cannot_resume();
}

bool Stepper::save_tape(Step /*k*/, Pass /*pass*/, std::span<std::byte> /*out*/) {
  no_tapes();
}
void Stepper::reverse_tape(Step /*k*/, std::span<const std::byte> /*tape*/) {
  no_tapes();
}
void Stepper::load_tape(Step /*k*/, std::span<const std::byte> /*tape*/) {
  no_tapes();
}

void Stepper::step_back(Step /*from*/, Step /*to*/) {
  throw Unsupported("this simulation cannot step back");
}

}  // namespace costate
