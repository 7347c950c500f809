#include "costate/klu/klu_solver.hpp"

#include <klu.h>

namespace costate {

struct KluFactors::Handles {
  Handles() { klu_defaults(&common); }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    klu_free_numeric(&numeric, &common);
    klu_free_symbolic(&symbolic, &common);
  }
  klu_common common{};
  klu_symbolic* symbolic = nullptr;
  klu_numeric* numeric = nullptr;
};

KluFactors::KluFactors() : handles_(std::make_unique<Handles>()) {}
KluFactors::KluFactors(KluFactors&&) noexcept = default;
KluFactors& KluFactors::operator=(KluFactors&&) noexcept = default;
KluFactors::~KluFactors() = default;

bool KluFactors::factor(const Matrix& w) {
  Handles& h = *handles_;
  // KLU reads its arguments only.
  const auto read = [](const auto* p) {
    return const_cast<std::remove_const_t<std::remove_pointer_t<decltype(p)>>*>(p);
  };
  int* starts = read(w.outerIndexPtr());
  int* rows = read(w.innerIndexPtr());
  double* values = read(w.valuePtr());
  if (h.symbolic == nullptr) {
    h.symbolic = klu_analyze(static_cast<int>(w.rows()), starts, rows, &h.common);
    if (h.symbolic == nullptr) return false;  // a row or column without entries
  }
  klu_free_numeric(&h.numeric, &h.common);
  h.numeric = klu_factor(starts, rows, values, h.symbolic, &h.common);
  return h.numeric != nullptr && h.common.status == KLU_OK;
}

double KluFactors::entries() const {
  const klu_numeric* factors = handles_->numeric;  // null if W could not be inverted
  if (factors == nullptr) return 0;
  return static_cast<double>(factors->lnz) + static_cast<double>(factors->unz);
}

void KluFactors::solve_in_place(double* x) {
  Handles& h = *handles_;
  klu_solve(h.symbolic, h.numeric, h.symbolic->n, 1, x, &h.common);
}

void KluFactors::solve_transpose_in_place(double* x) {
  Handles& h = *handles_;
  klu_tsolve(h.symbolic, h.numeric, h.symbolic->n, 1, x, &h.common);
}

}  // namespace costate
