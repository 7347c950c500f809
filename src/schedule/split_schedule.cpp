#include "split_schedule.hpp"

#include <array>
#include <utility>

namespace costate {
namespace {

using Kind = Command::Kind;

class SplitSchedule final : public Generator {
 public:
  SplitSchedule(Step n, std::vector<Decision> plan, const std::vector<TierSlots>& tiers)
      : steps_(n),
        end_(n),
        plan_(std::make_shared<std::vector<Decision>>(std::move(plan))),
        pool_(tiers) {}
  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<SplitSchedule>(*this);
  }

  Command next() override {
    if (given_ == queued_) {
      given_ = queued_ = 0;
      while (queued_ == 0 && !(turned_ && end_ == 0 && frames_.empty())) decide();
      if (queued_ == 0) return {};
    }
    return queue_[given_++];
  }

 private:
  // A stored state; what is to be reversed from it ends at the base of the frame above, or at end_.
  struct Frame {
    Step base;
    Slot slot;
  };

  void emit(Kind kind, Step from = 0, Step to = 0, Slot slot = 0) {
    queue_[queued_++] = {kind, Content::state, from, to, slot};
  }
  [[nodiscard]] const Decision& decision() const { return (*plan_)[next_]; }

  void decide() {
    if (steps_ == 0) {
      emit(Kind::turn);
      turned_ = true;
      return;
    }
    if (live_ == end_ - 1 && (frames_.empty() || frames_.back().base != live_)) {
      return reverse_live();
    }
    if (live_ < end_ && (frames_.empty() || live_ > frames_.back().base)) return store(live_);
    const Frame top = frames_.back();
    if (top.base == end_ - 1) return unwind();
    if (top.base >= end_) {  // stored twice: all of it is reversed
      emit(Kind::drop, 0, 0, top.slot);
      pool_.give_back(top.slot);
      frames_.pop_back();
      return;
    }
    if (decision().split == unknown) {
      make_live(top);
      return store(top.base);
    }
    // What is emitted as one run: splits one step apart, each stored in the next slot of one tier.
    const Step first = decision().split;
    const std::size_t tier = pool_.tier_of(top.slot);
    Slot run = 0;
    if (first == top.base + 1) {
      const auto most = (plan_->size() - next_) / 2;
      while (static_cast<std::size_t>(run) < most && stores_next(run, first, tier)) ++run;
      run = run < 2 ? 0 : pool_.contiguous(tier, run);
    }
    make_live(top);
    emit(Kind::advance, top.base, first);
    live_ = first;
    if (run < 2) {
      ++next_;
      return;
    }
    next_ += 2 * static_cast<std::size_t>(run);
    emit(Kind::keep, first, first + run, pool_.take(tier));
    frames_.push_back({first, queue_[queued_ - 1].slot});
    for (Slot i = 1; i < run; ++i) frames_.push_back({first + i, pool_.take(tier)});
    live_ = first + run;
    ++next_;  // the split that a run ends with: its advance is part of the run
  }
  // Whether the decisions are: cut at first + i, store there on the tier, cut at first + i + 1.
  [[nodiscard]] bool stores_next(Slot i, Step first, std::size_t tier) const {
    const std::size_t at = next_ + 2 * static_cast<std::size_t>(i);
    return at + 2 < plan_->size() && (*plan_)[at].split == first + i &&
           (*plan_)[at + 1] == Decision::store(tier) && (*plan_)[at + 2].split == first + i + 1;
  }

  void make_live(const Frame& frame) {
    if (live_ != frame.base) emit(Kind::load, frame.base, 0, frame.slot);
    live_ = frame.base;
  }
  void store(Step at) {
    const Slot slot = pool_.take(decision().tier);
    ++next_;
    emit(Kind::save, at, 0, slot);
    frames_.push_back({at, slot});
  }
  void reverse_live() {
    emit(Kind::record, live_);
    if (!turned_) emit(Kind::turn, steps_);
    turned_ = true;
    emit(Kind::reverse, live_);
    end_ = live_;
  }
  // The frame on top has one step to go, and so have those below as long as they are dense.
  void unwind() {
    const Frame top = frames_.back();
    Frame bottom = top;
    frames_.pop_back();
    pool_.give_back(top.slot);
    while (!frames_.empty() && frames_.back().base == bottom.base - 1 &&
           frames_.back().slot == bottom.slot - 1 &&
           pool_.tier_of(bottom.slot) == pool_.tier_of(bottom.slot - 1)) {
      bottom = frames_.back();
      frames_.pop_back();
      pool_.give_back(bottom.slot);
    }
    end_ = bottom.base;
    if (live_ == top.base) {  // need not be loaded
      emit(Kind::drop, 0, 0, top.slot);
      emit(Kind::record, top.base);
      if (!turned_) emit(Kind::turn, steps_);
      turned_ = true;
      emit(Kind::reverse, top.base);
      if (bottom.base < top.base) emit(Kind::unwind, bottom.base, top.base, bottom.slot);
    } else {
      emit(Kind::unwind, bottom.base, top.base + 1, bottom.slot);
    }
    live_ = bottom.base;
  }

  Step steps_;
  Step end_;
  Step live_ = 0;
  bool turned_ = false;
  std::shared_ptr<const std::vector<Decision>> plan_;  // shared by copies; never changes
  std::size_t next_ = 0;
  std::vector<Frame> frames_;
  SlotPool pool_;
  std::array<Command, 8> queue_{};
  std::size_t queued_ = 0;
  std::size_t given_ = 0;
};

}  // namespace

std::unique_ptr<Generator> carry_out(Step n, std::vector<Decision> plan,
                                     const std::vector<TierSlots>& tiers) {
  return std::make_unique<SplitSchedule>(n, std::move(plan), tiers);
}

}  // namespace costate
