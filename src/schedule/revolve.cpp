#include "costate/schedule/revolve.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "slot_stack.hpp"

namespace costate {
namespace {

// a b / d, which is known to be whole and to fit.
Step multiply_divide(Step a, Step b, Step d) noexcept {
  if (std::bit_width(static_cast<std::uint64_t>(a)) +
          std::bit_width(static_cast<std::uint64_t>(b)) <
      64) {
    return a * b / d;
  }
  const Step common = std::gcd(a, d);
  return a / common * (b / (d / common));
}

class Revolve final : public Generator {
 public:
  Revolve(Step n, SlotStack stack) : n_(n), end_(n), stack_(std::move(stack)) {
    kept_.reserve(static_cast<std::size_t>(std::min<Slot>(stack_.height(), 1024)));
  }

  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<Revolve>(*this);
  }

  Command next() override {
    if (given_ == ready_.size()) {
      if (done_) return {};
      ready_.clear();
      given_ = 0;
      prepare();
    }
    return ready_[given_++];
  }

 private:
  using Kind = Command::Kind;

  // A checkpoint of the stack, whose height is its index. `below` = beta(c, r-1) for the c slots
  // from it upwards and the r of the segment from it to the end: neighbours of `below` in the table
  // of binomials follow by one multiplication and one division, which is what makes a split O(1).
  struct Kept {
    Step at;
    Step r;
    Step below;
  };

  [[nodiscard]] Slot height() const noexcept { return static_cast<Slot>(kept_.size()) - 1; }

  void emit(Kind kind, Step from = 0, Step to = 0, Slot slot = 0) {
    ready_.push_back({kind, Content::state, from, to, slot});
  }

  // Fills ready_ with the commands up to the next load, at least one.
  void prepare() {
    if (!started_) {
      started_ = true;
      if (n_ <= 1) {
        if (n_ == 1) emit(Kind::record, 0);
        emit(Kind::turn, n_);
        if (n_ == 1) emit(Kind::reverse, 0);
        done_ = true;
        return;
      }
      const Slot c = stack_.height();
      if (n_ - 1 <= c) {
        dense(0, 0, false);
      } else {
        const Step r = repetitions(n_, c);
        keep({0, r, beta(c, r - 1)});
        descend();
      }
    } else {
      const Kept& top = kept_.back();
      const Step l = end_ - top.at;
      const Slot c = stack_.height() - height();
      if (l == 1) {
        emit(Kind::unwind, top.at, top.at + 1, stack_.slot(height()));
        end_ = top.at;
        kept_.pop_back();
      } else {
        emit(Kind::load, top.at, 0, stack_.slot(height()));
        if (l - 1 <= c) {
          dense(top.at, height(), true);
          kept_.pop_back();
        } else {
          descend();
        }
      }
    }
    done_ = kept_.empty();
  }

  void keep(const Kept& checkpoint) {
    kept_.push_back(checkpoint);
    emit(Kind::save, checkpoint.at, 0, stack_.slot(height()));
  }

  // The state at the top of the stack is live: advance, keeping states, to the last step and
  // reverse it.
  void descend() {
    for (;;) {
      Kept& top = kept_.back();
      const Step l = end_ - top.at;
      const Slot c = stack_.height() - height();
      const Step at = top.at;
      Kept right{};
      const Step k = c == 1 ? l - 1 : split(top, l, c, right);
      emit(Kind::advance, at, at + k);
      right.at = at + k;
      if (l - k == 1) {
        reverse(at + k);
        return;
      }
      if (l - k - 1 <= c - 1) {
        dense(at + k, height() + 1, false);
        return;
      }
      keep(right);
    }
  }

  // The distance to the next checkpoint (binomial_split), and r and below of both parts.
  static Step split(Kept& top, Step l, Slot c, Kept& right) noexcept {
    const Step r = top.r;
    const Step first = top.below;                                  // beta(c, r-1)
    const Step left = multiply_divide(first, r - 1, c + r - 1);    // beta(c, r-2)
    const Step second = first - left;                              // beta(c-1, r-1)
    const Step third = multiply_divide(second, c - 1, c + r - 2);  // beta(c-2, r-1)
    Step k = 0;
    if (l <= first + third) {
      k = std::max<Step>(1, left);
    } else if (l >= first + second + third) {
      k = first;
    } else {
      k = l - second - third;
    }
    if (l - k > second) {
      right.r = r;
      right.below = second;
    } else {
      right.r = r - 1;
      right.below = second - third;
    }
    if (k > left) {
      top.r = r - 1;
      top.below = left;
    } else {  // k == left
      top.r = r - 2;
      top.below = r >= 2 ? multiply_divide(left, r - 2, c + r - 2) : 0;
    }
    return k;
  }

  void reverse(Step k) {
    emit(Kind::record, k);
    if (end_ == n_) emit(Kind::turn, n_);
    emit(Kind::reverse, k);
    end_ = k;
  }

  // All states from the live state b to the end fit from `height` upwards. `kept`: b lies there.
  void dense(Step b, Slot height, bool kept) {
    const Step last = end_ - 1;
    Step from = b;
    if (kept) {
      emit(Kind::advance, b, b + 1);
      ++from;
    }
    while (from < last) {
      const Slot at = height + (from - b);
      const Step to = std::min(last, from + (stack_.contiguous_end(at) - at));
      emit(Kind::keep, from, to, stack_.slot(at));
      from = to;
    }
    reverse(last);
    unwind(b, last, height);
    end_ = b;
  }

  void unwind(Step from, Step to, Slot height) {
    const Step middle = std::min(to, from + (stack_.contiguous_end(height) - height));
    if (middle < to) unwind(middle, to, height + (middle - from));
    emit(Kind::unwind, from, middle, stack_.slot(height));
  }

  Step n_;
  Step end_;  // the steps end_ … n-1 are reversed
  SlotStack stack_;
  bool started_ = false;
  bool done_ = false;
  std::vector<Kept> kept_;
  std::vector<Command> ready_;
  std::size_t given_ = 0;
};

SlotStack stack_for(Step n, const std::vector<TierSlots>& tiers) {
  if (n < 0) {
    throw InvalidArgument("the number of steps must be at least 0, not " + std::to_string(n));
  }
  SlotStack stack(tiers, std::max<Step>(0, n - 1));
  if (n > 1 && stack.height() < 1) {
    throw InvalidArgument("reversing " + std::to_string(n) + " steps needs at least one slot");
  }
  return stack;
}

Schedule named(const char* name, Step n, const std::vector<TierSlots>& tiers) {
  SlotStack stack = stack_for(n, tiers);
  std::vector<TierSlots> used = stack.tiers();
  return {name, n, std::move(used), std::make_unique<Revolve>(n, std::move(stack))};
}

}  // namespace

Schedule revolve(Step n, Slot slots) {
  return named("revolve", n, {{"memory", slots}});
}

Schedule revolve(Step n, const std::vector<TierSlots>& tiers) {
  return named("revolve", n, tiers);
}

Schedule store_all(Step n) {
  return named("store-all", n, {{"memory", std::max<Step>(0, n - 1)}});
}

Schedule recompute_all(Step n) {
  return named("recompute-all", n, {{"memory", 1}});
}

Counts revolve_counts(Step n, const std::vector<TierSlots>& tiers) {
  const SlotStack stack = stack_for(n, tiers);
  const Slot c = stack.height();
  Counts counts;
  counts.steps = n;
  counts.records = n;
  counts.advances = binomial_advances(n, c);
  counts.max_runs = n > 1 ? repetitions(n, c) : 0;
  Slot end = c;
  std::vector<Traffic> traffic;
  if (stack.tiers().size() > 1) traffic = binomial_traffic(n, c);
  for (const TierSlots& tier : stack.tiers()) {  // from the top of the stack downwards
    TierCounts count{tier.name, tier.slots, tier.slots, 0, 0};
    if (stack.tiers().size() == 1) {
      count.writes = binomial_writes(n, c);
      count.reads = std::max<Step>(0, n - 1);
    } else {
      for (Slot height = end - tier.slots; height < end; ++height) {
        const Traffic& here = traffic[static_cast<std::size_t>(height)];
        count.writes = saturating_add(count.writes, here.writes);
        count.reads = saturating_add(count.reads, here.reads);
      }
    }
    end -= tier.slots;
    counts.tiers.push_back(std::move(count));
  }
  return counts;
}

}  // namespace costate
