#include <algorithm>
#include <utility>

#include "reversal.hpp"
#include "tier_rule.hpp"

namespace costate {
namespace {

class Tiered final : public Generator {
 public:
  Tiered(Step n, const std::vector<TierSlots>& tiers, std::shared_ptr<const TierRule> rule)
      : n_(n), end_(n), rule_(std::move(rule)) {
    for (const TierLevel& level : rule_->levels()) {
      Slot first = 0;
      for (std::size_t i = 0; i < level.tier; ++i) first += tiers[i].slots;
      first_slot_.push_back(first);
      held_.push_back(0);
    }
    const TierLevel& bottom = rule_->levels().front();
    std::vector<TierSlots> bottom_tier{{"", tiers[bottom.tier].slots}};
    bottom_ = SlotStack(bottom_tier, bottom_tier[0].slots).shifted(first_slot_.front());
  }

  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<Tiered>(*this);
  }

  Command next() override {
    for (;;) {
      if (given_ < ready_.size()) return ready_[given_++];
      const Command command = reversal_.next();
      if (command.kind != Kind::end) return command;
      ready_.clear();
      given_ = 0;
      if (!begun_) {
        begun_ = true;
        begin();
      } else if (!kept_.empty()) {
        go_back();
      } else {
        return {};
      }
    }
  }

 private:
  using Kind = Command::Kind;
  struct Kept {
    Step at;
    std::size_t k;
    Slot s;  // slots of level k from this one upwards
  };

  void emit(Kind kind, Step from = 0, Step to = 0, Slot slot = 0) {
    ready_.push_back({kind, Content::state, from, to, slot});
  }
  [[nodiscard]] Slot slot(const Kept& kept) const {
    return first_slot_[kept.k] + held_[kept.k] - 1;
  }

  void begin() {
    if (n_ == 0) return emit(Kind::turn, 0);
    const std::size_t top = rule_->levels().size() - 1;
    descend(0, top, rule_->all_slots(top));
  }

  // x_b is live and not kept: keep states and advance up to the last step, or up to where the
  // binomial bottom takes over.
  void descend(Step b, std::size_t k, Slot s) {
    for (;;) {
      const Step l = end_ - b;
      if (l == 1) return reverse(b);
      if (k == 0 && rule_->binomial_bottom()) {
        reversal_ = Reversal({b, end_, end_ == n_, false, true}, bottom_);
        end_ = b;
        return;
      }
      if (!rule_->any_free(k, s) || !rule_->keeps(k, l, s)) {
        --k;
        s = rule_->all_slots(k);
        continue;
      }
      kept_.push_back({b, k, s});
      ++held_[k];
      emit(Kind::save, b, 0, slot(kept_.back()));
      advance(b, k, s);
    }
  }

  // From x_b, which is live and kept at the top of the stack, to the next checkpoint; or drops x_b.
  void advance(Step& b, std::size_t& k, Slot& s) {
    const Step j = rule_->split(k, end_ - b, s);
    if (j == 0) {
      emit(Kind::drop, 0, 0, slot(kept_.back()));
      --held_[k];
      kept_.pop_back();
      --k;
      s = rule_->all_slots(k);
      return;
    }
    emit(Kind::advance, b, b + j);
    b += j;
    s = rule_->one_less(k, s);
  }

  void reverse(Step k) {
    emit(Kind::record, k);
    if (end_ == n_) emit(Kind::turn, n_);
    emit(Kind::reverse, k);
    end_ = k;
  }

  void go_back() {
    const Kept top = kept_.back();
    if (end_ - top.at == 1) {
      emit(Kind::unwind, top.at, end_, slot(top));
      end_ = top.at;
      --held_[top.k];
      kept_.pop_back();
      return;
    }
    emit(Kind::load, top.at, 0, slot(top));
    Step b = top.at;
    std::size_t k = top.k;
    Slot s = top.s;
    advance(b, k, s);
    descend(b, k, s);
  }

  Step n_;
  Step end_;  // the steps from here on are reversed, or will be by reversal_
  std::shared_ptr<const TierRule> rule_;
  std::vector<Slot> first_slot_;  // by level
  std::vector<Slot> held_;        // by level
  std::vector<Kept> kept_;
  SlotStack bottom_{std::vector<Slot>{}};
  Reversal reversal_;
  bool begun_ = false;
  std::vector<Command> ready_;
  std::size_t given_ = 0;
};

}  // namespace

Schedule tiered_schedule(std::string name, Step n, std::vector<TierSlots> tiers,
                         std::shared_ptr<const TierRule> rule) {
  auto generator = std::make_unique<Tiered>(n, tiers, std::move(rule));
  return {std::move(name), n, std::move(tiers), std::move(generator)};
}

}  // namespace costate
