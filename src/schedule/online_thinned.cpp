#include "costate/schedule/online_thinned.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "reversal.hpp"

namespace costate {
namespace {

class Thinned final : public Generator {
 public:
  explicit Thinned(Slot slots) : slots_(slots) {}

  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<Thinned>(*this);
  }

  Command next() override {
    for (;;) {
      if (given_ < ready_.size()) return ready_[given_++];
      ready_.clear();
      given_ = 0;
      if (ended_) {
        const Command command = reversal_.next();
        if (command.kind != Kind::end || kept_.empty()) return command;
        reverse_gap();
      } else {
        go_on();
      }
    }
  }

  void end_at(Step n, Step live, Step saved_end) override {
    ready_.clear();
    given_ = 0;
    ended_ = true;
    if (filling_) {
      for (Step at = 0; at < saved_end; ++at) kept_.push_back({at, at});
    }
    end_ = n;
    if (live < n) {
      emit(Kind::record, live);
      emit(Kind::turn, n);
      emit(Kind::reverse, live);
      end_ = live;
    } else {
      emit(Kind::turn, n);
    }
  }

 private:
  using Kind = Command::Kind;
  struct Kept {
    Step at;
    Slot slot;
  };

  void emit(Kind kind, Step from = 0, Step to = 0, Slot slot = 0) {
    ready_.push_back({kind, Content::state, from, to, slot});
  }

  // The commands from the live state to the next multiple of the stride.
  void go_on() {
    if (!filling_ && live_ == 0) {
      filling_ = true;
      live_ = slots_;
      emit(Kind::keep, 0, slots_, 0);
      return;
    }
    if (filling_) {
      filling_ = false;
      for (Step at = 0; at < slots_; ++at) kept_.push_back({at, at});
    }
    if (free_.empty()) {
      stride_ = saturating_multiply(stride_, 2);
      const auto goes = [this](const Kept& k) { return k.at % stride_ != 0; };
      for (auto k = kept_.rbegin(); k != kept_.rend(); ++k) {
        if (!goes(*k)) continue;
        emit(Kind::drop, 0, 0, k->slot);
        free_.push_back(k->slot);
      }
      kept_.erase(std::remove_if(kept_.begin(), kept_.end(), goes), kept_.end());
      std::sort(free_.rbegin(), free_.rend());  // the lowest, which is the fastest, last
    }
    if (live_ % stride_ == 0 && !free_.empty()) {
      kept_.push_back({live_, free_.back()});
      emit(Kind::save, live_, 0, free_.back());
      free_.pop_back();
    }
    const Step to = saturating_add(live_, stride_ - live_ % stride_);
    emit(Kind::advance, live_, to);
    live_ = to;
  }

  // Prepares the reversal of the last gap that is left.
  void reverse_gap() {
    Kept first = kept_.back();
    kept_.pop_back();
    if (first.at >= end_) {  // the state at which the run ended
      emit(Kind::drop, 0, 0, first.slot);
      free_.push_back(first.slot);
      return;
    }
    if (first.at == end_ - 1) {  // a run of states without gaps
      const Kept last = first;
      free_.push_back(first.slot);
      while (!kept_.empty() && kept_.back().at == first.at - 1 &&
             kept_.back().slot == first.slot - 1) {
        first = kept_.back();
        kept_.pop_back();
        free_.push_back(first.slot);
      }
      emit(Kind::unwind, first.at, last.at + 1, first.slot);
      end_ = first.at;
      return;
    }
    std::sort(free_.rbegin(), free_.rend());
    std::vector<Slot> stack{first.slot};
    stack.insert(stack.end(), free_.begin(), free_.end());
    reversal_ = Reversal({first.at, end_, false, true, false}, SlotStack(stack));
    end_ = first.at;
    free_.push_back(first.slot);
  }

  Slot slots_;
  Step stride_ = 1;
  bool filling_ = false;  // the states from 0 on are being kept, all of them
  bool ended_ = false;
  Step live_ = 0;
  Step end_ = 0;  // the steps from here on are reversed, or will be by what is prepared
  std::vector<Kept> kept_;
  std::vector<Slot> free_;  // the next one to use last
  std::vector<Command> ready_;
  std::size_t given_ = 0;
  Reversal reversal_;
};

}  // namespace

Schedule online_thinned(Slot slots) {
  return online_thinned(std::vector<TierSlots>{{"memory", slots}});
}

Schedule online_thinned(const std::vector<TierSlots>& tiers) {
  std::vector<TierSlots> needed = needed_tiers(tiers, saturated);
  Slot slots = 0;
  for (const TierSlots& tier : needed) slots += tier.slots;
  if (slots < 1) throw InvalidArgument("a run of unknown length needs at least one slot");
  return {"online-thinned", unknown, std::move(needed), std::make_unique<Thinned>(slots)};
}

}  // namespace costate
