#include "costate/schedule/mixed.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/interpreter.hpp"
#include "mixed_advances.hpp"
#include "plan_parts.hpp"

namespace costate {
namespace {

using Kind = Command::Kind;

constexpr double most_exhaustive = 4e9;  // n² M
constexpr Step most_cells = 20'000'000;  // n M
constexpr Step most_tabled = 1'000'000;  // the cube of it fits a `Step`
constexpr Step window = 32;

// What to do in each situation: the tables A, B, C of the header for up to n steps, and beyond
// them what the binomial schedule does with states.
class Choices {
 public:
  /// @param n         at most `most_tabled`
  /// @param units     more slots are left alone
  /// @param advances  if given, gets those of A(n, M) for M = 0 … units, `saturated` if it cannot
  ///                  be done; nothing else is kept
  Choices(Step n, Slot units, Slot sigma, bool has_next, std::vector<Step>* advances = nullptr)
      : longest_(n),
        units_(units),
        width_(static_cast<std::size_t>(n) + 1),
        sigma_(sigma),
        has_next_(has_next),
        exhaustive_(static_cast<double>(n) * static_cast<double>(n) *
                        static_cast<double>(units + 1) <=
                    most_exhaustive),
        advances_(advances) {
    if (advances_ == nullptr) {
      const auto cells = width_ * static_cast<std::size_t>(units + 1);
      tapes_.resize(cells);
      splits_.resize(cells);
      if (has_next_) restarts_.resize(cells);
    }
    fill(n, units);
  }

  [[nodiscard]] Slot sigma() const noexcept { return sigma_; }
  [[nodiscard]] bool has_next() const noexcept { return has_next_; }
  [[nodiscard]] bool exhaustive() const noexcept { return exhaustive_; }
  /// A: whether to tape the first step; else store its state.
  [[nodiscard]] bool tape(Step l, Slot m) const {
    return l <= longest_ && tapes_[cell(l, std::min(m, units_))] != 0;
  }
  /// B: k, or 0: tape the first step and give its state back.
  [[nodiscard]] Step split(Step l, Slot m) const {
    return l <= longest_ ? splits_[cell(l, std::min(m, units_))] : binomial_split(l, m + 1);
  }
  /// C: k; 1 means that [i+1, j) is reversed from x_{i+1} without coming back to the tape.
  [[nodiscard]] Step restart(Step l, Slot m) const {
    return restarts_[cell(l, std::min(m, units_))];
  }

 private:
  // Forward steps times `unit` plus writes: fewest steps first, then fewest writes.
  using Value = std::int64_t;
  static constexpr Value never = std::numeric_limits<Value>::max() / 4;

  [[nodiscard]] std::size_t cell(Step l, Slot m) const {
    return static_cast<std::size_t>(m) * width_ + static_cast<std::size_t>(l);
  }

  void fill(Step n, Slot units) {
    const Value unit = 2 * n + 1;
    // The rows of the last sigma + 1 values of M.
    const auto kept = static_cast<std::size_t>(std::min<Slot>(sigma_, units) + 1);
    using Rows = std::vector<std::vector<Value>>;
    Rows as(kept, std::vector<Value>(width_, never));
    Rows bs = as;
    Rows cs = as;
    for (Slot m = 0; m <= units; ++m) {
      const auto row = [&](Rows& rows, Slot of) -> std::vector<Value>& {
        return rows[static_cast<std::size_t>(of) % kept];
      };
      std::vector<Value>& a = row(as, m);
      std::vector<Value>& b = row(bs, m);
      std::vector<Value>& c = row(cs, m);
      // After taping the first of l steps with m slots left.
      const auto taped = [&](Step l, Slot left) {
        if (left < 0) return never;
        const auto u = static_cast<std::size_t>(l);
        return unit + 1 + (has_next_ ? row(cs, left)[u] : row(as, left)[u - 1]);
      };
      a[0] = 0;
      a[1] = b[1] = unit;
      c[1] = 0;
      Step last_split = 1;
      Step last_restart = 1;
      for (Step l = 2; l <= n; ++l) {
        const auto u = static_cast<std::size_t>(l);
        const Value store = m >= 1 ? 1 + row(bs, m - 1)[u] : never;
        const Value tape = taped(l, m - sigma_);
        a[u] = std::min(store, tape);
        if (advances_ == nullptr) tapes_[cell(l, m)] = tape < store ? 1 : 0;
        if (has_next_) {
          Value best = a[u - 1];
          Step k_best = 1;
          search(l, 2, last_restart, [&](Step k) {
            const auto v = static_cast<std::size_t>(k);
            const Value value = (k - 1) * unit + a[u - v] + c[v];
            if (value < best) {
              best = value;
              k_best = k;
            }
          });
          c[u] = best;
          if (advances_ == nullptr) restarts_[cell(l, m)] = static_cast<std::int32_t>(k_best);
          last_restart = k_best;
        }
        Value best = taped(l, m + 1 - sigma_);
        Step k_best = 0;
        search(l, 1, last_split, [&](Step k) {
          const auto v = static_cast<std::size_t>(k);
          const Value value = k * unit + a[u - v] + b[v];
          if (value < best) {
            best = value;
            k_best = k;
          }
        });
        b[u] = best;
        if (advances_ == nullptr) splits_[cell(l, m)] = static_cast<std::int32_t>(k_best);
        if (k_best > 0) last_split = k_best;
      }
      if (advances_ != nullptr) {
        const Value whole = a[static_cast<std::size_t>(n)];
        advances_->push_back(whole >= never ? saturated : whole / unit - n);
      }
    }
  }

  template <typename Try>
  void search(Step l, Step first, Step near, Try attempt) const {
    if (exhaustive_) {
      for (Step k = first; k < l; ++k) attempt(k);
      return;
    }
    const Step from = std::max(first, near - window);
    const Step to = std::min(l - 1, near + window);
    for (Step k = from; k <= to; ++k) attempt(k);
    if (l - 1 > to) attempt(l - 1);
  }

  Step longest_;
  Slot units_;
  std::size_t width_;
  Slot sigma_;
  bool has_next_;
  bool exhaustive_;
  std::vector<Step>* advances_;
  std::vector<std::uint8_t> tapes_;
  std::vector<std::int32_t> splits_;
  std::vector<std::int32_t> restarts_;
};

class Mixed final : public Generator {
 public:
  Mixed(Step n, Slot units, std::shared_ptr<const Choices> choices)
      : steps_(n), end_(n), units_(units), choices_(std::move(choices)) {}
  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<Mixed>(*this);
  }

  Command next() override {
    if (given_ == queued_) {
      given_ = queued_ = 0;
      while (queued_ == 0 && !(turned_ && end_ == 0)) decide();
      if (queued_ == 0) return {};
    }
    return queue_[given_++];
  }

 private:
  struct Kept {
    Step at;
    Content what;
    Slot slot;
  };

  void emit(Kind kind, Step from = 0, Step to = 0, Slot slot = 0, Content what = Content::state) {
    queue_[queued_++] = {kind, what, from, to, slot};
  }
  // Slots are a stack.
  [[nodiscard]] Slot height() const {
    if (kept_.empty()) return 0;
    const Kept& top = kept_.back();
    return top.slot + (top.what == Content::tape ? choices_->sigma() : 1);
  }
  [[nodiscard]] Slot free() const { return units_ - height(); }

  void keep(Step at, Content what) {
    const Slot slot = height();
    emit(Kind::save, at, 0, slot, what);
    kept_.push_back({at, what, slot});
  }
  void drop() {
    emit(Kind::drop, 0, 0, kept_.back().slot);
    kept_.pop_back();
  }
  void record(Step k) {
    emit(Kind::record, k);
    next_ = k + 1;
    live_ = k;
  }
  void reverse(Step k) {
    if (!turned_) emit(Kind::turn, steps_);
    turned_ = true;
    emit(Kind::reverse, k);
    end_ = k;
    next_ = unknown;
  }

  void decide() {
    if (steps_ == 0 && !turned_) {
      emit(Kind::turn);
      turned_ = true;
    }
    if (end_ == 0) return;  // of a run without steps
    const Step fresh = next_ != unknown ? next_ : live_;
    if (fresh != unknown && fresh < end_ && (kept_.empty() || fresh > kept_.back().at) &&
        !come_back_) {
      return from_live(fresh);
    }
    come_back_ = false;
    const Kept top = kept_.back();
    if (top.what == Content::state) {
      from_state(top);
    } else {
      from_tape(top);
    }
  }

  // A: x_i is live, nothing is stored of it.
  void from_live(Step i) {
    const Step l = end_ - i;
    if (l == 1) {
      record(i);
      reverse(i);
    } else if (choices_->tape(l, free())) {
      record(i);
      keep(i, Content::tape);
      come_back_ = choices_->has_next();  // where to go on from is the tape's decision
    } else {
      keep(i, Content::state);
      live_ = i;
      next_ = unknown;
      come_back_ = true;
    }
  }

  // B: x_i is stored.
  void from_state(const Kept& top) {
    if (live_ != top.at || next_ != unknown) emit(Kind::load, top.at, 0, top.slot);
    live_ = top.at;
    next_ = unknown;
    const Step l = end_ - top.at;
    if (l == 1) {
      drop();
      record(top.at);
      reverse(top.at);
      return;
    }
    const Step k = choices_->split(l, free());
    if (k > 0) {
      emit(Kind::advance, top.at, top.at + k);
      live_ = top.at + k;
      return;
    }
    drop();
    record(top.at);
    keep(top.at, Content::tape);
    come_back_ = choices_->has_next();
  }

  // C: the tape of step i is stored.
  void from_tape(const Kept& top) {
    const Step l = end_ - top.at;
    const bool is_live = live_ == top.at && next_ == top.at + 1;
    if (l == 1) {
      emit(Kind::load, top.at, 0, top.slot);
      drop();
      live_ = unknown;
      reverse(top.at);
      return;
    }
    if (!is_live) emit(Kind::load, top.at, 0, top.slot);
    const Step k = choices_->restart(l, free());
    live_ = unknown;
    next_ = top.at + 1;
    if (k > 1) {
      emit(Kind::advance, top.at + 1, top.at + k);
      live_ = top.at + k;
      next_ = unknown;
    }
  }

  Step steps_;
  Step end_;
  Slot units_;
  std::shared_ptr<const Choices> choices_;  // shared by copies; never changes
  Step live_ = 0;
  Step next_ = unknown;  // the state that a recorded or loaded tape has made available
  bool turned_ = false;
  bool come_back_ = false;  // go on from what is on top of the stack, although a state is live
  std::vector<Kept> kept_;
  std::array<Command, 8> queue_{};
  std::size_t queued_ = 0;
  std::size_t given_ = 0;
};

// More than the tapes of all steps but the last can never be used.
Slot useful_slots(Step n, Slot sigma) {
  return std::max<Slot>(1, saturating_multiply(std::max<Step>(n - 1, 0), sigma));
}

// The longest run for which there is room for tables of all slots that are of use.
Step longest_tabled(Step n, Slot slots, Slot sigma) {
  const auto fits = [&](Step l) {
    return std::min(slots, useful_slots(l, sigma)) < most_cells / (l + 1);
  };
  Step low = std::min<Step>(n, 1000);  // at least, with fewer slots if need be
  Step high = std::min(n, most_tabled);
  while (low < high) {
    const Step middle = high - (high - low) / 2;
    (fits(middle) ? low : high) = fits(middle) ? middle : middle - 1;
  }
  return low;
}

}  // namespace

MixedAdvances mixed_advances(const Costs& costs, Step n) {
  const auto sigma = static_cast<Slot>((costs.tape_bytes - 1) / costs.state_bytes + 1);
  const Slot useful = useful_slots(n, sigma);
  MixedAdvances all;
  all.most = useful;
  if (n > most_tabled) return all;
  const Slot units = std::min(useful, std::max<Slot>(1, most_cells / (n + 1)));
  all.exact = Choices(n, units, sigma, costs.tape_has_next, &all.by_slots).exhaustive();
  return all;
}

Plan mixed(const Costs& costs, Step n, bool tape_has_next) {
  const PlanningTime time;
  check(costs, n);
  const std::vector<TierSlots> tiers = rooms(costs);
  if (tiers.size() != 1) {
    throw InvalidArgument("mixed() is for one tier, not " + std::to_string(tiers.size()));
  }
  if (costs.state_bytes == 0 || costs.tape_bytes == 0) {
    throw InvalidArgument("keeping tapes needs the sizes of a state and of a tape");
  }
  if (n > most_mixed_steps) {
    throw InvalidArgument("a mixed plan is made for at most " + std::to_string(most_mixed_steps) +
                          " steps, not " + std::to_string(n));
  }
  if (tiers.front().slots < 1 && n > 1) throw InvalidArgument("there is no slot for state 0");
  const auto sigma = static_cast<Slot>((costs.tape_bytes - 1) / costs.state_bytes + 1);
  const Slot units = std::min(tiers.front().slots, useful_slots(n, sigma));
  const InterpretOptions options{.tape_slots = sigma, .tape_has_next = tape_has_next};
  bool proven = false;
  // With tables of so many steps, in which only so many slots have a use.
  const auto with = [&](Step tabled, Slot used) {
    const auto choices = std::make_shared<const Choices>(tabled, used, sigma, tape_has_next);
    proven = choices->exhaustive() && tabled == n && used == units;
    Plan made{Schedule("mixed", n, {{tiers.front().name, units}},
                       std::make_unique<Mixed>(n, units, choices)),
              {}};
    made.counts = interpret(made.schedule, options);
    return made;
  };
  const auto room = [](Step tabled) { return std::max<Slot>(1, most_cells / (tabled + 1)); };
  const Step tabled = longest_tabled(n, units, sigma);
  Plan plan = with(tabled, std::min({units, useful_slots(tabled, sigma), room(tabled)}));
  if (tabled < n && n <= most_tabled) {
    Plan narrow = with(n, room(n));
    if (narrow.counts.advances < plan.counts.advances) plan = std::move(narrow);
  }
  plan.cost = cost_of(plan.counts, costs);
  set_fixed(plan, costs, n);
  const TierCosts& tier = costs.tiers.front();
  const Step advances =
      proven ? plan.counts.advances
             : std::max<Step>(0, binomial_advances(n, std::max<Slot>(1, tiers.front().slots)) - n);
  plan.lower_bound = n <= 1 ? 0
                            : static_cast<double>(advances) * costs.step + tier.write +
                                  static_cast<double>(n - 1) * tier.read;
  return time.stop(std::move(plan));
}

}  // namespace costate
