#pragma once

// A problem whose solver keeps the factors of all matrices it has met, and finds them again by
// time, step size and state: what the adjoint of a step costs without its factorisation.

#include <map>
#include <memory>
#include <utility>

#include "costate/integrate/shifted_solver.hpp"

namespace bench {

template <class F>
struct KeptFactors : F {
  class Solver {
   public:
    using State = typename F::State;
    using Parameters = typename F::Parameters;
    static constexpr bool cheap = costate::cheap_to_prepare<costate::ShiftedSolver<F>>;

    Solver(const KeptFactors& f, const Parameters& p, Eigen::Index size)
        : f_(f), p_(p), size_(size) {}
    bool prepare(double t, const State& y, const Parameters& p, double a) {
      Kept& kept = kept_[{t, a}];
      now_ = &kept;
      if (kept.solver && kept.y == y) return true;
      kept.y = y;
      if (!kept.solver) kept.solver = std::make_unique<Inner>(f_, p_, size_);
      return kept.solver->prepare(t, y, p, a);
    }
    [[nodiscard]] double prepare_cost() const { return costate::prepare_cost(*now_->solver); }
    void solve(State& x) { now_->solver->solve(x); }
    void solve_transpose(State& x) { now_->solver->solve_transpose(x); }

   private:
    using Inner = costate::ShiftedSolver<F>;
    struct Kept {
      State y;
      std::unique_ptr<Inner> solver;
    };
    const F& f_;
    Parameters p_;
    Eigen::Index size_;
    std::map<std::pair<double, double>, Kept> kept_;
    Kept* now_ = nullptr;
  };
};

}  // namespace bench
