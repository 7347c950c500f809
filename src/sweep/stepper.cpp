#include "costate/sweep/stepper.hpp"

namespace costate {

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

}  // namespace costate
