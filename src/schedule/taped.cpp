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
#include "costate/schedule/mixed.hpp"
#include "plan_parts.hpp"

namespace costate {
namespace {

using Kind = Command::Kind;

class Stretches final : public Generator {
 public:
  // Stretch i are the steps starts[i] … starts[i+1]-1; the state before all but the last is kept,
  // in slot i.
  Stretches(std::vector<Step> starts, Slot sigma)
      : starts_(std::move(starts)), sigma_(sigma), stretch_(starts_.size() - 2) {}

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
    return static_cast<Slot>(stretch_) + (k - starts_[stretch_]) * sigma_;
  }

  void decide() {
    switch (phase_) {
      case Phase::forward:
        if (kept_ < stretch_) {
          emit(Kind::save, starts_[kept_], 0, static_cast<Slot>(kept_));
          emit(Kind::advance, starts_[kept_], starts_[kept_ + 1]);
          ++kept_;
          return;
        }
        at_ = starts_[stretch_];
        phase_ = Phase::tape;
        [[fallthrough]];
      case Phase::tape:
        emit(Kind::record, at_);
        if (at_ + 1 < starts_[stretch_ + 1]) {
          emit(Kind::save, at_, 0, slot_of(at_), Content::tape);
          ++at_;
          return;
        }
        if (at_ + 1 == starts_.back()) emit(Kind::turn, at_ + 1);
        emit(Kind::reverse, at_);
        phase_ = Phase::untape;
        return;
      case Phase::untape:
        if (at_ > starts_[stretch_]) {
          --at_;
          emit(Kind::load, at_, 0, slot_of(at_), Content::tape);
          emit(Kind::drop, 0, 0, slot_of(at_));
          emit(Kind::reverse, at_);
          return;
        }
        if (stretch_ == 0) {
          phase_ = Phase::done;
          return;
        }
        --stretch_;
        at_ = starts_[stretch_];
        emit(Kind::load, at_, 0, static_cast<Slot>(stretch_));
        emit(Kind::drop, 0, 0, static_cast<Slot>(stretch_));
        phase_ = Phase::tape;
        return;
      case Phase::done:
        return;
    }
  }

  std::vector<Step> starts_;
  Slot sigma_;
  std::size_t stretch_;
  std::size_t kept_ = 0;
  Step at_ = 0;
  Phase phase_ = Phase::forward;
  std::array<Command, 4> queue_{};
  std::size_t queued_ = 0;
  std::size_t given_ = 0;
};

constexpr Slot most_stretches = 1'000'000;

// The starts of the stretches, and n; nothing if the slots are too few.
std::optional<std::vector<Step>> starts_of(Step n, Slot slots, Slot sigma) {
  // Before the c-th stretch with room for `before` steps in those above it.
  Slot c = 0;
  Step before = 0;
  while (before + 1 + (slots - c) / sigma < n) {
    if (c == slots) return std::nullopt;
    if (c == most_stretches) {
      throw InvalidArgument(std::to_string(n) + " steps in " + std::to_string(slots) +
                            " slots take more than " + std::to_string(most_stretches) +
                            " taped stretches");
    }
    ++c;
    before += 1 + (slots - c + 1) / sigma;
  }
  const Step last = std::min(n - c, 1 + (slots - c) / sigma);
  std::vector<Step> starts{0};
  for (Slot i = 1; i <= c; ++i) {
    const Step left = n - last - starts.back();
    starts.push_back(starts.back() + std::min(1 + (slots - i + 1) / sigma, left - (c - i)));
  }
  starts.push_back(n);
  return starts;
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
  const auto starts = starts_of(n, slots, sigma);
  if (!starts) {
    throw InvalidArgument(std::to_string(slots) + " slots are too few to tape " +
                          std::to_string(n) + " steps that are advanced once at most");
  }
  const auto kept = static_cast<Slot>(starts->size()) - 2;  // states
  TierCounts count{tiers.front().name, slots, kept, n - 1, n - 1};
  for (Slot i = 0; i <= kept; ++i) {
    const auto j = static_cast<std::size_t>(i);
    count.peak = std::max(count.peak, i + ((*starts)[j + 1] - (*starts)[j] - 1) * sigma);
  }
  const Step advances = (*starts)[static_cast<std::size_t>(kept)];
  Counts counts;
  counts.steps = counts.records = n;
  counts.advances = advances;
  counts.max_runs = advances > 0 ? 1 : 0;
  counts.runs = {{0, n - advances}};
  if (advances > 0) counts.runs.push_back({1, advances});
  counts.tiers = {count};
  Plan plan{
      Schedule("taped", n, {{count.name, slots}}, std::make_unique<Stretches>(*starts, sigma)),
      std::move(counts)};
  plan.cost = static_cast<double>(advances) * costs.step +
              static_cast<double>(n - 1) * (costs.tiers[0].write + costs.tiers[0].read);
  plan.fixed_cost = fixed_cost(costs, n);
  // A state in the place of each tape makes it a schedule without tapes, see mixed.hpp.
  plan.lower_bound = advances == 0 ? plan.cost
                                   : static_cast<double>(std::max<Step>(
                                         0, binomial_advances(n, std::max<Slot>(1, slots)) - n)) *
                                         costs.step;
  plan.lower_bound = std::min(plan.lower_bound, plan.cost);
  return time.stop(std::move(plan));
}

Plan tapes_at_once(const Costs& costs, Step n) {
  std::optional<Plan> best;
  std::string why;
  try {
    best = taped(costs, n);
  } catch (const InvalidArgument& error) {
    why = error.what();
  }
  if (best && best->counts.advances == 0) return std::move(*best);
  constexpr double at_once = 5e7;  // n² M that mixed() gets through in some ten milliseconds
  const std::vector<TierSlots> tiers = rooms(costs);
  const auto steps = static_cast<double>(n);
  if (tiers.size() == 1 && tiers.front().slots > 0 &&
      steps * steps * static_cast<double>(tiers.front().slots) <= at_once) {
    Plan other = mixed(costs, n, costs.tape_has_next);
    if (!best || other.counts.advances < best->counts.advances) best = std::move(other);
  }
  if (!best) throw InvalidArgument(why);
  return std::move(*best);
}

}  // namespace costate
