#include "costate/schedule/online_tiered.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "costate/schedule/online.hpp"
#include "online_set.hpp"
#include "pinned.hpp"
#include "replanner.hpp"
#include "set_reversal.hpp"
#include "tiered_set.hpp"
#include "tiered_tuning.hpp"

namespace costate {
namespace {

using Kind = Command::Kind;

constexpr Slot few = 64;    // with more slots in memory the disk is left alone as long as possible
constexpr Slot tried = 16;  // with more the weights matter little
constexpr Step last_tuning = 4096;   // live states from which on no weights are tried
constexpr Step most_waiting = 4096;  // steps that are looked ahead for one advance

class OnlineTiered final : public Generator {
 public:
  // Costs in steps.
  OnlineTiered(std::vector<TierLevel> levels, const OnlineTieredOptions& options)
      : levels_(std::move(levels)),
        memory_(levels_[0].slots),
        every_(options.every),
        stride_(std::max<Step>(every_, memory_ / few)),
        tune_(every_ == 1 && memory_ <= tried),
        guess_(options.guess),
        prepared_(std::make_shared<Prepared>()),
        dense_(memory_),
        next_disk_slot_(memory_) {}
  [[nodiscard]] std::unique_ptr<Generator> clone() const override {
    return std::make_unique<OnlineTiered>(*this);
  }

  Command next() override {
    if (stage_ == Stage::reversing) return reversal_.next();
    if (given_ == ready_.size()) {
      ready_.clear();
      given_ = 0;
      go_on();
    }
    return ready_[given_++];
  }

  [[nodiscard]] bool made_as(const Generator& other) const override {
    const auto* const same = dynamic_cast<const OnlineTiered*>(&other);
    return same != nullptr && levels_[0].slots == same->levels_[0].slots &&
           levels_[1].slots == same->levels_[1].slots &&
           levels_[1].write == same->levels_[1].write && levels_[1].read == same->levels_[1].read &&
           every_ == same->every_ && guess_ == same->guess_;
  }

  void end_at(Step n, Step live, Step saved_end) override {
    SetReversal::Start start;
    start.steps = start.end = n;
    start.live = live;
    std::vector<TierSlots> tiers{{"memory", memory_}, {"disk", levels_[1].slots}};
    if (levels_[1].open()) tiers[1].slots = unbounded - memory_;
    if (stage_ == Stage::first_level) tiers.resize(1);  // the disk is not needed
    SlotPool pool(tiers);
    if (stage_ == Stage::dense) {
      if (n > 0) start.kept.push_back({0, std::min(saved_end, n), 0});
      if (saved_end > n) start.drops.push_back(n);
      pool.claim_first(saved_end);
    } else if (stage_ == Stage::first_level) {
      pool.claim_first(memory_);
      keep_best(first_.front().stored(), memory_, live == n ? n : n - 1, start);
    } else if (stage_ == Stage::later) {
      keep(start, pool, live == n ? n : n - 1);
    }
    reversal_ = SetReversal(std::move(start), std::move(pool));
    set_.clear();
    first_.clear();
    stage_ = Stage::reversing;
  }

 private:
  // Done once for all copies, when it is needed.
  struct Prepared {
    std::once_flag costs_once;
    std::optional<GapCosts> costs;
    Guess guess;
    std::once_flag opening_once;
    std::vector<TieredMove> opening;
    std::mutex tuning;
    std::vector<TieredWeights> weights;  // in the order in which they are used
  };
  const Prepared& prepared() {
    std::call_once(prepared_->costs_once, [&] {
      GapCosts& costs = prepared_->costs.emplace(levels_);
      if (guess_ > memory_ + 1) prepared_->guess = {guess_, costs.best_set(guess_)};
    });
    return *prepared_;
  }
  enum class Stage : unsigned char { start, dense, first_level, later, reversing };

  void emit(Kind kind, Step from = 0, Step to = 0, Slot slot = 0) {
    ready_.push_back({kind, Content::state, from, to, slot});
  }

  // What is stored when the run has ended; the steps [0, end) remain.
  void keep(SetReversal::Start& start, SlotPool& pool, Step end) {
    const std::vector<Kept> kept = set_.front().best_kept(start.steps, end);
    std::size_t next = 0;
    Step longest = 2;
    for (const Kept& each : set_.front().states()) {
      const bool useless = next == kept.size() || kept[next].at != each.at;
      for (const Slot slot : {each.memory, each.disk}) {
        if (slot == unknown) continue;
        pool.claim(slot);
        const bool copy = slot == each.disk && each.in_memory();
        if (useless || copy) start.drops.push_back(slot);
      }
      if (useless) continue;
      ++next;
      start.kept.push_back({each.at, each.at + 1, each.in_memory() ? each.memory : each.disk});
      const Step above = next < kept.size() ? kept[next].at : end;
      if (!each.in_memory()) longest = std::max(longest, above - each.at);
    }
    start.rule = set_.front().costs().rule(longest);
    start.near = set_.front().costs().near();
  }

  // The commands from the live state to the next one at which something is done.
  void go_on() {
    switch (stage_) {
      case Stage::start:
        stage_ = Stage::dense;
        if (guess_ > memory_ + 1) {
          pins_ = prepared().guess.pins;
          // A state moves to disk while the live one takes the place of another, which must be
          // one that is not wanted, or a free slot.
          const bool all_wanted = static_cast<Slot>(pins_.size()) >= memory_ &&
                                  pins_[static_cast<std::size_t>(memory_ - 1)].at == memory_ - 1;
          if (all_wanted && pins_[0].tier == 1) --dense_;
        }
        live_ = dense_;
        return emit(Kind::keep, 0, dense_, 0);
      case Stage::dense:
        if (memory_ > few && next_pin(0) >= memory_) {
          stage_ = Stage::first_level;
          first_level_end_ = std::min(beta(memory_, 2), next_pin(memory_ - 1));
          first_.emplace_back(memory_, OnlineRule::fewest_advances);
        } else {
          std::vector<Stored> states;
          for (Slot i = 0; i < dense_; ++i) states.push_back({i, i});
          for (Slot i = dense_; i < memory_; ++i) free_in_memory_.push_back(i);
          begin_set(states);
        }
        break;
      default:
        break;
    }
    if (stage_ == Stage::first_level) {
      if (live_ < first_level_end_) return go_on_in_memory();
      begin_set(first_.front().stored());
      first_.clear();
    }
    act();
    const Step from = live_;
    do {
      live_ = std::min(live_ + stride_, next_pin(live_));
      next_ = decide();
    } while (next_.idle() && live_ - from < most_waiting);
    emit(Kind::advance, from, live_);
  }

  // The first index beyond this one that the plan for the guess keeps.
  [[nodiscard]] Step next_pin(Step at) const {
    const auto pin = std::upper_bound(pins_.begin(), pins_.end(), at,
                                      [](Step index, const Pin& each) { return index < each.at; });
    return pin != pins_.end() ? pin->at : saturated;
  }

  void begin_set(const std::vector<Stored>& states) {
    const Prepared& ready = prepared();
    set_.emplace_back(*ready.costs, TieredWeights{}, states, ready.guess);
    if (tune_ && pins_.empty()) {
      std::call_once(prepared_->opening_once, [&] { prepared_->opening = opening(*ready.costs); });
      opening_left_ = prepared_->opening.size();
    }
    tuned_until_ = pins_.empty() ? live_ : guess_ + 1;
    next_ = decide();
    stage_ = Stage::later;
  }

  // What is best at the live state.
  TieredMove decide() {
    TieredSet& set = set_.front();
    if (opening_left_ > 0) {
      const std::vector<TieredMove>& moves = prepared_->opening;
      return moves[moves.size() - opening_left_--];
    }
    if (tune_ && live_ >= tuned_until_) {
      tune(set);
      tuned_until_ = 2 * live_;
    }
    return set.decide(live_);
  }

  // Every copy asks the same, because all have the same set at the same live state.
  void tune(TieredSet& set) {
    if (live_ < last_tuning) {
      const std::lock_guard<std::mutex> lock(prepared_->tuning);
      if (prepared_->weights.size() == tunings_) {
        prepared_->weights.push_back(tuned(set, live_));
      }
      weights_ = prepared_->weights[tunings_++];
    } else if (levels_[1].slots != unbounded) {
      weights_.apart *= 2;
    }
    set.use(weights_);
  }

  void go_on_in_memory() {
    OnlineSet& set = first_.front();
    const Slot slot = set.replace(live_);
    if (slot >= 0) {
      emit(Kind::drop, 0, 0, slot);
      emit(Kind::save, live_, 0, slot);
    }
    const Step from = live_;
    live_ = std::min(set.next_event(live_), first_level_end_);
    emit(Kind::advance, from, live_);
  }

  // Does what is best at the live state.
  void act() {
    for (;;) {
      const TieredMove move = next_;
      obey(move);
      if (!move.only_frees()) return;
      next_ = decide();
    }
  }

  void give_up(const Kept& state) {
    for (const Slot slot : {state.memory, state.disk}) {
      if (slot != unknown) free(slot);
    }
  }
  void free(Slot slot) {
    emit(Kind::drop, 0, 0, slot);
    (slot < memory_ ? free_in_memory_ : free_on_disk_).push_back(slot);
  }
  Slot take_in_memory() {
    const Slot slot = free_in_memory_.back();
    free_in_memory_.pop_back();
    return slot;
  }
  Slot take_on_disk() {
    if (free_on_disk_.empty()) return next_disk_slot_++;
    const Slot slot = free_on_disk_.back();
    free_on_disk_.pop_back();
    return slot;
  }

  void obey(const TieredMove& move) {
    const std::vector<Kept>& states = set_.front().states();
    TieredSet::Slots slots;
    if (move.lost != 0) {
      const Kept& lost = states[move.lost];
      lost.on_disk() ? free(lost.memory) : give_up(lost);
    }
    if (move.lost_on_disk != 0) give_up(states[move.lost_on_disk]);
    bool saved = false;
    const auto save_in_memory = [&] {
      slots.memory = take_in_memory();
      emit(Kind::save, live_, 0, slots.memory);
      saved = true;
    };
    if (move.moved != TieredMove::none) {
      const Kept moved = states[move.moved];
      if (moved.on_disk()) {
        free(moved.memory);
      } else {
        slots.moved = take_on_disk();
        const Slot waiting = move.back == TieredMove::waits ? take_on_disk() : unknown;
        if (waiting != unknown) emit(Kind::save, live_, 0, waiting);
        if (move.back == TieredMove::stays) save_in_memory();
        emit(Kind::load, moved.at, 0, moved.memory);
        emit(Kind::save, moved.at, 0, slots.moved);
        if (!move.copies) free(moved.memory);
        if (waiting != unknown) {
          emit(Kind::load, live_, 0, waiting);
          free(waiting);
        } else if (saved) {
          emit(Kind::load, live_, 0, slots.memory);
        } else {
          const auto highest = std::find_if(
              states.rbegin(), states.rend(),
              [&moved](const Kept& each) { return each.in_memory() && each.at != moved.at; });
          emit(Kind::load, highest->at, 0, highest->memory);
          emit(Kind::advance, highest->at, live_);
        }
      }
    }
    if (move.to_memory && !saved) save_in_memory();
    if (move.to_disk) {
      slots.disk = take_on_disk();
      emit(Kind::save, live_, 0, slots.disk);
    }
    set_.front().apply(move, live_, slots);
  }

  std::vector<TierLevel> levels_;
  Slot memory_;
  Step every_;
  Step stride_;  // at how many steps something may be done
  bool tune_;    // weights are tried out
  Step guess_;   // of the number of steps, or unknown
  std::shared_ptr<Prepared> prepared_;
  std::vector<Pin> pins_;  // of the guess
  Slot dense_;             // states that are kept before anything is decided
  Stage stage_ = Stage::start;
  Step live_ = 0;
  Step first_level_end_ = 0;
  std::vector<OnlineSet> first_;  // of at most one element, as the next
  std::vector<TieredSet> set_;
  TieredMove next_;               // at the live state
  std::size_t opening_left_ = 0;  // moves
  Step tuned_until_ = 0;          // live state at which weights are to be tried again
  std::size_t tunings_ = 0;
  TieredWeights weights_;
  std::vector<Slot> free_in_memory_;
  std::vector<Slot> free_on_disk_;
  Slot next_disk_slot_;
  std::vector<Command> ready_;
  std::size_t given_ = 0;
  SetReversal reversal_;
};

}  // namespace

Schedule online_tiered(const Costs& costs, const OnlineTieredOptions& options) {
  check(costs, static_cast<Step>(costs.weights.size()));
  const std::vector<TierSlots> tiers = rooms(costs);
  if (tiers.size() != 2) {
    throw InvalidArgument("online_tiered() is for two tiers, not " + std::to_string(tiers.size()));
  }
  if (options.every < 1) {
    throw InvalidArgument("online_tiered() decides at every n-th step, with n at least 1, not " +
                          std::to_string(options.every));
  }
  check_guess(options.guess);
  if (tiers[0].slots < 2 || tiers[1].slots < 2) {
    return online(tiers, OnlineRule::few_writes, options.guess).renamed("online-tiered");
  }
  if (tiers[0].slots == unbounded) return online(unbounded);
  const std::vector<TierLevel> levels = {
      {0, tiers[0].slots, 0, 0},
      {1, tiers[1].slots, costs.tiers[1].write / costs.step, costs.tiers[1].read / costs.step}};
  std::vector<TierSlots> used = tiers;
  if (used[1].slots == unbounded) used[1].slots = unbounded - used[0].slots;
  return {"online-tiered", unknown, used, std::make_unique<OnlineTiered>(levels, options)};
}

}  // namespace costate
