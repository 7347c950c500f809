#include "costate/schedule/taped.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "costate/schedule/mixed.hpp"
#include "plan_parts.hpp"

namespace costate {
namespace {

using Kind = Command::Kind;

// How a run is cut up. Stretch i are the steps [start(i), end(i)); what all but the last are begun
// from again is kept: of the first `states` ones the state before them, of the others the tape of
// the step before them, which belongs to no stretch.
struct Cut {
  Slot slots;
  Slot sigma;
  Slot states = 0;
  Slot tapes = 0;
  std::vector<Step> ends{};

  [[nodiscard]] Slot kept() const { return states + tapes; }
  [[nodiscard]] Step end(Slot i) const { return ends[static_cast<std::size_t>(i)]; }
  [[nodiscard]] bool after_tape(Slot i) const { return i >= states && i < kept(); }
  [[nodiscard]] Step start(Slot i) const {
    return (i == 0 ? 0 : end(i - 1)) + (after_tape(i) ? 1 : 0);
  }
  /// Where that from which stretch i is begun again lies.
  [[nodiscard]] Slot place(Slot i) const { return i < states ? i : states + (i - states) * sigma; }
  /// The first slot for tapes of stretch i: a state makes room for them, a tape is needed after
  /// them.
  [[nodiscard]] Slot room(Slot i) const { return place(i) + (after_tape(i) ? sigma : 0); }
  /// The steps that stretch i can have.
  [[nodiscard]] Step most(Slot i) const { return 1 + (slots - room(i)) / sigma; }
};

class Stretches final : public Generator {
 public:
  explicit Stretches(Cut cut) : cut_(std::move(cut)), stretch_(cut_.kept()) {}

  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<Stretches>(*this);
  }

  Command next() override {
    if (given_ == queued_) {
      given_ = queued_ = 0;
      decide();
      if (queued_ == 0) return {};
    }
    return queue_[given_++];
  }

 private:
  enum class Phase : unsigned char { forward, tape, untape, done };

  void emit(Kind kind, Step from = 0, Step to = 0, Slot slot = 0, Content what = Content::state) {
    queue_[queued_++] = {kind, what, from, to, slot};
  }
  [[nodiscard]] Slot slot_of(Step k) const {
    return cut_.room(stretch_) + (k - cut_.start(stretch_)) * cut_.sigma;
  }
  void reverse_tape(Step k, Slot slot) {
    emit(Kind::load, k, 0, slot, Content::tape);
    emit(Kind::drop, 0, 0, slot);
    emit(Kind::reverse, k);
  }

  void decide() {
    switch (phase_) {
      case Phase::forward:
        if (kept_ < stretch_) {
          const Step start = cut_.start(kept_);
          if (cut_.after_tape(kept_)) {
            emit(Kind::record, start - 1);
            emit(Kind::save, start - 1, 0, cut_.place(kept_), Content::tape);
          } else {
            emit(Kind::save, start, 0, cut_.place(kept_));
          }
          emit(Kind::advance, start, cut_.end(kept_));
          ++kept_;
          return;
        }
        at_ = cut_.start(stretch_);
        phase_ = Phase::tape;
        [[fallthrough]];
      case Phase::tape:
        emit(Kind::record, at_);
        if (at_ + 1 < cut_.end(stretch_)) {
          emit(Kind::save, at_, 0, slot_of(at_), Content::tape);
          ++at_;
          return;
        }
        if (at_ + 1 == cut_.ends.back()) emit(Kind::turn, at_ + 1);
        emit(Kind::reverse, at_);
        phase_ = Phase::untape;
        return;
      case Phase::untape:
        if (at_ > cut_.start(stretch_)) {
          --at_;
          reverse_tape(at_, slot_of(at_));
          return;
        }
        if (cut_.after_tape(stretch_)) reverse_tape(at_ - 1, cut_.place(stretch_));
        if (stretch_ == 0) {
          phase_ = Phase::done;
          return;
        }
        --stretch_;
        again();
        return;
      case Phase::done:
        return;
    }
  }

  // To the start of the stretch below.
  void again() {
    at_ = cut_.start(stretch_);
    const Slot place = cut_.place(stretch_);
    if (cut_.after_tape(stretch_)) {
      emit(Kind::load, at_ - 1, 0, place, Content::tape);
    } else {
      emit(Kind::load, at_, 0, place);
      emit(Kind::drop, 0, 0, place);
    }
    phase_ = Phase::tape;
  }

  Cut cut_;
  Slot stretch_;
  Slot kept_ = 0;
  Step at_ = 0;
  Phase phase_ = Phase::forward;
  std::array<Command, 5> queue_{};
  std::size_t queued_ = 0;
  std::size_t given_ = 0;
};

constexpr Slot most_stretches = 1'000'000;

// Nothing if the slots are too few.
std::optional<Cut> cut_up(Step n, Slot slots, Slot sigma, bool tape_has_next) {
  // The fewest states with which n steps find room, for the steps that are advanced are
  // n - 1 - floor((slots - states) / sigma); then the fewest tapes.
  Cut cut{slots, sigma};
  Step before = 0;  // the room of the stretches that are begun from a state
  Step free = slots / sigma;
  const auto room = [&](Slot tapes) {  // 1 + free + the sum over i <= tapes of 1 + free - i
    const Step twice = saturating_multiply(tapes, 2 * free + 1 - tapes);
    return saturating_add(before + 1 + free, twice / 2);
  };
  while (room(tape_has_next ? free : 0) < n) {
    if (cut.states == slots) return std::nullopt;
    before += 1 + (slots - cut.states) / sigma;
    ++cut.states;
    free = (slots - cut.states) / sigma;
    if (cut.states > most_stretches) break;
  }
  while (cut.kept() <= most_stretches && room(cut.tapes) < n) ++cut.tapes;
  if (cut.kept() > most_stretches) {
    throw InvalidArgument(std::to_string(n) + " steps in " + std::to_string(slots) +
                          " slots take more than " + std::to_string(most_stretches) +
                          " taped stretches");
  }
  // As long as they may be, but with a step left for each that follows.
  cut.ends.resize(static_cast<std::size_t>(cut.kept()) + 1, n);
  const Step last = std::min(cut.most(cut.kept()), n - cut.kept() - cut.tapes);
  for (Slot i = 0; i < cut.kept(); ++i) {
    const Slot states_after = std::max<Slot>(0, cut.states - 1 - i);
    const Slot tapes_after = std::min(cut.tapes, cut.kept() - 1 - i);
    const Step start = cut.start(i);
    const Step left = n - last - start - states_after - 2 * tapes_after;
    cut.ends[static_cast<std::size_t>(i)] = start + std::min(cut.most(i), left);
  }
  return cut;
}

}  // namespace

Plan taped(const Costs& costs, Step n) {
  const PlanningTime time;
  check(costs, n);
  const std::vector<TierSlots> tiers = rooms(costs);
  if (tiers.size() != 1) {
    throw InvalidArgument("taped() is for one tier, not " + std::to_string(tiers.size()));
  }
  if (costs.state_bytes == 0 || costs.tape_bytes == 0) {
    throw InvalidArgument("keeping tapes needs the sizes of a state and of a tape");
  }
  if (n < 1) throw InvalidArgument("a run without steps has no tapes");
  const auto sigma = static_cast<Slot>((costs.tape_bytes - 1) / costs.state_bytes + 1);
  const Slot slots = std::min(tiers.front().slots, saturating_multiply(n - 1, sigma));
  const auto cut = cut_up(n, slots, sigma, costs.tape_has_next);
  if (!cut) {
    throw InvalidArgument(std::to_string(slots) + " slots are too few to tape " +
                          std::to_string(n) + " steps that are advanced once at most");
  }
  const Slot kept = cut->kept();
  TierCounts count{tiers.front().name, slots, kept, n - 1 - cut->tapes, n - 1};
  for (Slot i = 0; i <= kept; ++i) {
    const Slot tapes = (cut->end(i) - cut->start(i) - 1) * sigma;
    count.peak = std::max(count.peak, cut->room(i) + tapes);
  }
  const Step advances = cut->start(kept) - cut->tapes;
  Counts counts;
  counts.steps = counts.records = n;
  counts.advances = advances;
  counts.max_runs = advances > 0 ? 1 : 0;
  counts.runs = {{0, n - advances}};
  if (advances > 0) counts.runs.push_back({1, advances});
  counts.tiers = {count};
  Plan plan{Schedule("taped", n, {{count.name, slots}}, std::make_unique<Stretches>(*cut)),
            std::move(counts)};
  const TierCosts& tier = costs.tiers.front();
  plan.cost = cost_of(plan.counts, costs);
  set_fixed(plan, costs, n);
  // When the end is reached no more than slots / sigma tapes are kept, and one is live; every other
  // step has been advanced or will be.
  const Step least = std::max<Step>(0, n - 1 - slots / sigma);
  plan.lower_bound = static_cast<double>(least) * costs.step;
  if (n > 1) plan.lower_bound += tier.write + static_cast<double>(n - 1) * tier.read;
  return time.stop(std::move(plan));
}

Plan tapes_at_once(const Costs& costs, Step n) {
  try {
    return taped(costs, n);
  } catch (const InvalidArgument&) {
    constexpr double at_once = 5e7;  // n² M that mixed() gets through in some ten milliseconds
    const std::vector<TierSlots> tiers = rooms(costs);
    const auto steps = static_cast<double>(n);
    if (tiers.size() != 1 || tiers.front().slots < 1 ||
        steps * steps * static_cast<double>(tiers.front().slots) > at_once) {
      throw;
    }
  }
  return mixed(costs, n, costs.tape_has_next);
}

}  // namespace costate
