#pragma once

// What the adjoint of a step costs, in forward steps of the same run.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "costate/costate.hpp"
#include "support/measure.hpp"

namespace bench {

struct AdjointCost {
  double forward = 0;     // seconds of a forward step, nothing kept
  double from_state = 0;  // adjoint of a step from the state before it, in forward steps
  double from_tape = 0;   // from its tape; 0: no tapes
};

// Medians of `rounds` runs forward and back, all states and all tapes kept, in turn.
template <class F, class Method, class O>
AdjointCost adjoint_cost(const F& f, const Method& method, const O& objective,
                         const costate::RunOf<F>& run, int rounds) {
  using costate::Pass, costate::Step;
  costate::OdeStepper<F, Method, O> stepper(f, method, objective, run.t0, run.t1, run.y0, run.p);
  const Step n = stepper.steps();
  const std::size_t row = stepper.state_bytes();
  const std::size_t tape = stepper.tape_bytes();
  const auto count = static_cast<std::size_t>(n);
  std::vector<std::byte> states(count * row);
  std::vector<std::byte> tapes(count * tape);
  const costate::Rows rows(states.data(), row, row);
  std::vector<std::byte> start(row);
  stepper.save(start);
  stepper.advance_keeping(0, n, Pass::first, rows);
  stepper.turn(n);
  stepper.reverse_kept(0, n, rows);
  for (Step k = 0; k < n && tape > 0; ++k) {
    if (k == 0) stepper.load(start);
    stepper.save_tape(k, Pass::replay, {tapes.data() + static_cast<std::size_t>(k) * tape, tape});
  }
  std::vector<double> forward;
  std::vector<double> by_state;
  std::vector<double> by_tape;
  for (int i = 0; i < rounds; ++i) {
    stepper.load(start);
    forward.push_back(seconds_of([&] { stepper.advance(0, n, Pass::replay); }));
    stepper.turn(n);
    by_state.push_back(seconds_of([&] { stepper.reverse_kept(0, n, rows); }) / forward.back());
    if (tape == 0) continue;
    stepper.load(start);
    stepper.advance(0, n, Pass::replay);
    stepper.turn(n);
    by_tape.push_back(
        seconds_of([&] {
          for (Step k = n - 1; k >= 0; --k) {
            stepper.reverse_tape(k, {tapes.data() + static_cast<std::size_t>(k) * tape, tape});
          }
        }) /
        forward.back());
  }
  return {median(forward) / static_cast<double>(n), median(by_state),
          tape > 0 ? median(by_tape) : 0};
}

}  // namespace bench
