#include "driver.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "costate/core/error.hpp"
#include "costate/core/hash.hpp"
#include "costate/schedule/online.hpp"
#include "costate/schedule/online_tiered.hpp"
#include "costate/schedule/planner.hpp"
#include "costate/schedule/revolve.hpp"
#include "costate/schedule/taped.hpp"
#include "costate/storage/memory_tier.hpp"
#include "costate/storage/stacked.hpp"

namespace costate::detail {
namespace {

std::string number(Step k) {
  return std::to_string(k);
}

[[noreturn]] void wrong(const std::string& what, Step at) {
  throw ScheduleError(what, at);
}

// Whether the memory does more with tapes in it than with `advances` it does without; if so, this
// is the layout and the schedule.
std::optional<Schedule> choose_tapes(const Stepper& stepper, Step n, Layout& layout,
                                     const SweepOptions& options, Step advances,
                                     Counts& predicted) {
  const Slot sigma = tape_slots(stepper, layout);
  if (!options.tapes || sigma == 0 || n < 2) return std::nullopt;
  const Bytes fixed = layout.fixed + MemoryTier::stride(layout.row_bytes);
  if (fixed >= options.budget.memory) return std::nullopt;
  const Bytes room = (options.budget.memory - fixed) / MemoryTier::bytes_per_slot(layout.row_bytes);
  Costs costs;
  costs.state_bytes = MemoryTier::stride(layout.row_bytes);
  costs.tape_bytes = stepper.tape_bytes();
  costs.tape_has_next = stepper.tape_has_next();
  constexpr auto most = static_cast<Bytes>(unbounded);
  costs.tiers = {{.name = "memory",
                  .slots = std::min(static_cast<Slot>(std::min(room, most)),
                                    saturating_multiply(n - 1, sigma))}};
  if (costs.tiers[0].slots == 0) return std::nullopt;
  try {
    Plan plan = tapes_at_once(costs, n);
    if (plan.counts.advances >= advances) return std::nullopt;
    layout.memory_slots = plan.schedule.slots();
    layout.tape_slots = sigma;
    layout.fixed = fixed;
    predicted = std::move(plan.counts);
    return std::move(plan.schedule);
  } catch (const InvalidArgument&) {  // too few slots
    return std::nullopt;
  }
}

// The schedule, and what it will count, if that is known. May change the layout to one for tapes.
Schedule choose(const Stepper& stepper, Step n, Layout& layout, const SweepOptions& options,
                bool tapes, Counts& predicted) {
  predicted.steps = unknown;
  if (options.schedule) {
    const Step told = options.schedule->steps();
    if (n != unknown && told != unknown && told != n) {
      wrong("the schedule is for " + number(told) + " steps, the run has " + number(n), n);
    }
    return *options.schedule;
  }
  const std::vector<TierSlots> tiers = tiers_of(layout, options);
  if (tiers.size() == 1) {
    if (n == unknown) return online(layout.memory_slots, options.expected_steps);
    predicted = revolve_counts(n, tiers);
    if (tapes) {
      auto taped = choose_tapes(stepper, n, layout, options, predicted.advances, predicted);
      if (taped) return std::move(*taped);
    }
    return revolve(n, tiers);
  }
  Costs costs = costs_of(layout, options);
  if (n == unknown) {  // for these rules all disks are one, at the cost of the first
    costs.tiers.resize(2);
    costs.tiers[1].slots = layout.disk_slots();
    // A decision takes some 50 µs, a step at least as long as streaming through the state does: of
    // states of 4 MiB, a millisecond.
    constexpr Step few = 4096;
    const auto size = static_cast<Step>(std::max<std::size_t>(layout.largest, 1));
    return online_tiered(costs, {.every = std::clamp<Step>(static_cast<Step>(4_MiB) / size, 1, few),
                                 .guess = options.expected_steps});
  }
  Plan plan = choose_at_once(costs, n);
  predicted = std::move(plan.counts);
  return std::move(plan.schedule);
}

}  // namespace

Driver::Driver(Stepper& stepper, const SweepOptions& options, const Layout& layout,
               const RunContext* run)
    : stepper_(stepper),
      options_(options),
      n_(stepper.steps()),
      layout_(layout),
      run_(run),
      schedule_(choose(stepper, n_, layout_, options, run == nullptr, predicted_)),
      guard_(options.guard, layout_.hashes),
      meter_(layout_.largest >= 4096),
      memory_({.row_bytes = layout_.row_bytes,
               .slots = layout_.memory_slots,
               .varying = layout_.varying,
               .touch = n_ != unknown && !options.schedule,
               .workspace = options.budget.workspace}),
      watched_(run != nullptr || most(options.team, options.progress ? 1 : 0) > 0) {
  if (n_ == unknown) n_ = schedule_.steps();
  if (layout_.spare_row) {
    const std::size_t rows = layout_.tape_slots > 0 ? 2 : 1;
    spare_ = Pool(rows * MemoryTier::stride(layout_.row_bytes), options.budget.workspace,
                  Pool::Contents::any);
    spare_.touch(spare_.size());
  }
  set_up_tiers();
  if (run_ != nullptr) begin();
  snapshot_.resize(tiers_.size());
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    if (tiers_[i] != nullptr) snapshot_[i] = tiers_[i]->use();
  }
}

void Driver::set_up_tiers() {
  tiers_.push_back(&memory_);
  if (layout_.disks.empty()) return;
  tiers_.push_back(run_ != nullptr ? &run_->store.tier() : nullptr);
  // What a schedule of known length has slots for it uses for certain.
  const auto& planned = schedule_.tiers();
  const bool used = std::any_of(planned.begin() + 1, planned.end(),
                                [](const TierSlots& tier) { return tier.slots > 0; });
  if (n_ != unknown && !options_.schedule && used) tier(1);
}

void Driver::run() {
  report_.setup_seconds = std::chrono::duration<double>(Meter::Clock::now() - start_).count();
  for (Command command = schedule_.next_command(); command.kind != Command::Kind::end;
       command = schedule_.next_command()) {
    obey(command);
  }
  finish();
  if (watched_) tell();
}

Report Driver::report() {
  report_.schedule = schedule_.name();
  report_.accuracy = stepper_.accuracy();
  report_.steps = n_;
  report_.predicted = predicted_;
  report_.memory_budget = options_.budget.memory;
  report_.memory_peak = layout_.fixed;
  report_.tiers.clear();
  for (const Tier* tier : tiers_) {
    if (tier == nullptr) continue;
    const std::size_t first = report_.tiers.size();
    tier->report_to(report_.tiers);
    if (tier != &memory_) report_.tiers[first].seconds = disk_seconds_;
  }
  if (layout_.spare_row) report_.memory_peak += memory_.use().peak;
  report_.forward_seconds = meter_.seconds(Meter::forward);
  report_.replay_seconds = meter_.seconds(Meter::replay);
  report_.reverse_seconds = meter_.seconds(Meter::reverse);
  report_.storage_seconds = meter_.seconds(Meter::storage);
  report_.guard_seconds = meter_.seconds(Meter::guard);
  report_.total_seconds = std::chrono::duration<double>(Meter::Clock::now() - start_).count();
  return report_;
}

void Driver::obey(const Command& command) {
  using Kind = Command::Kind;
  switch (command.kind) {
    case Kind::advance:
      return advance(command.from, command.to);
    case Kind::save:
      if (command.what == Content::tape) return save_tape(command.from, command.slot);
      return save(command.from, command.slot);
    case Kind::load:
      return load(command.from, command.slot);
    case Kind::drop:
      return drop(command.slot);
    case Kind::record:
      return record(command.from);
    case Kind::turn:
      return turn(command.from);
    case Kind::reverse:
      return reverse(command.from);
    case Kind::keep:
      return keep(command.from, command.to, command.slot);
    case Kind::unwind:
      return unwind(command.from, command.to, command.slot);
    case Kind::end:
      return;
  }
}

// ----- Forward -----

void Driver::advance(Step from, Step to) {
  if (!make_live(from))
    wrong("advance from " + number(from) + ": state " + number(live_) + " is live", from);
  if (to < from) wrong("advance from " + number(from) + " back to " + number(to), from);
  const Step end = front_ != unknown ? front_ : n_;
  if (end != unknown && to > end) {
    wrong("advance to " + number(to) + " beyond " + number(end), from);
  }
  recorded_ = unknown;
  if (from != stored_ && guard_.on() && guard_.wants(from) && from > 0) look(from, true);
  const Step mark = guard_.mark_for(from, to);
  Step at = from;
  while (at < to) {
    const Pass pass = pass_at(at);
    const bool replay = pass == Pass::replay;
    const Step border = replay ? std::min(to, furthest_) : to;
    const Step stop = guard_.stop(at, border, replay, mark);
    const Step got = run_steps(at, stop, pass);
    report_.advances += got - at;
    live_ = got;
    if (got < stop) return ended();
    if (guard_.on()) look(got, got == mark || guard_.every_step());
    at = got;
  }
  arrived();
}

// A simulation may know that the step to come is its last one: then nothing need be saved for it.
void Driver::arrived() {
  if (n_ == unknown && front_ == unknown && stepper_.steps() == live_ + 1) ended();
}

// Steps and nothing else, in pieces that leave room for progress.
Step Driver::run_steps(Step from, Step to, Pass pass) {
  Step at = from;
  while (at < to) {
    const Step stop = watched_ ? std::min(to, at + chunk_) : to;
    meter_.start(stop - at);
    const Step got = stepper_.advance(at, stop, pass);
    const double seconds = meter_.stop(pass == Pass::first ? Meter::forward : Meter::replay);
    if (got < at || got > stop) {
      wrong("the stepper was to advance from " + number(at) + " to " + number(stop) +
                " and says that it reached " + number(got),
            at);
    }
    guard_.earn(got - at);
    live_ = got;
    if (pass == Pass::first) furthest_ = got;
    if (watched_) chunk_done(stop - at, seconds);
    at = got;
    if (got < stop) break;
  }
  return at;
}

// The simulation came up short: its length is known now.
void Driver::ended() {
  const Step told = stepper_.steps();
  if (n_ != unknown || front_ != unknown) {
    wrong("the stepper stopped at step " + number(live_) + " of a run of " +
              number(n_ != unknown ? n_ : told) + " steps",
          live_);
  }
  n_ = told != unknown ? told : live_;
  if (live_ != n_ && live_ != n_ - 1) {
    wrong("the stepper stopped at step " + number(live_) + ", but says that the run has " +
              number(n_) + " steps",
          live_);
  }
  schedule_.end_at(n_, live_);
  look_ahead();
}

void Driver::keep(Step from, Step to, Slot slot) {
  if (!make_live(from))
    wrong("keep from " + number(from) + ": state " + number(live_) + " is live", from);
  const Step end = front_ != unknown ? front_ : n_;
  if (end != unknown && to > end) wrong("keep to " + number(to) + " beyond " + number(end), from);
  recorded_ = unknown;
  if (tape_dropped_) taped_ = unknown;
  Step at = from;
  while (at < to) {
    const Place where = place(slot + (at - from));
    Step stop = std::min(to, at + where.left);
    if (at < furthest_) stop = std::min(stop, furthest_);
    const bool whole = where.tier->has_rows() ? keep_rows(*where.tier, at, stop, where.slot)
                                              : keep_singly(at, stop, slot + (at - from));
    if (!whole) return ended();
    at = stop;
  }
  arrived();
}

bool Driver::keep_rows(Tier& tier, Step from, Step to, Slot slot) {
  const Pass pass = pass_at(from);
  for (Step at = from; at < to;) {
    const Step stop = watched_ ? std::min(to, at + chunk_) : to;
    const Slot first = slot + (at - from);
    const Rows rows = tier.begin_rows(first, stop - at);
    meter_.start(stop - at);
    const Step got = stepper_.advance_keeping(at, stop, pass, rows);
    const double seconds = meter_.stop(pass == Pass::first ? Meter::forward : Meter::replay);
    if (got < at || got > stop) {
      wrong("the stepper was to advance from " + number(at) + " to " + number(stop) +
                " and says that it reached " + number(got),
            at);
    }
    const Step saved_end = std::min(stop, got + 1);
    tier.commit_rows(first, at, saved_end - at);
    stored_ = saved_end - 1;
    report_.advances += got - at;
    guard_.earn(got - at);
    live_ = got;
    if (guard_.on()) {
      const auto hash = [&](Step k) { return hash_bytes(rows[k - at]); };
      meter_.start(guard_.every_step() ? stop - at : 0);
      if (pass == Pass::replay) {
        guard_.each_known(at + 1, saved_end, [&](Step k) { compare(k, hash(k)); });
      } else if (guard_.every_step()) {
        for (Step k = at; k < saved_end; ++k) guard_.add(k, hash(k));
      }
      meter_.stop(Meter::guard);
    }
    if (pass == Pass::first) furthest_ = got;
    if (watched_) chunk_done(stop - at, seconds);
    if (got < stop) return false;
    at = stop;
  }
  if (guard_.on()) look(live_, guard_.every_step());
  return true;
}

bool Driver::keep_singly(Step from, Step to, Slot slot) {
  for (Step at = from; at < to; ++at) {
    save(at, slot + (at - from));
    const Pass pass = pass_at(at);
    live_ = run_steps(at, at + 1, pass);
    report_.advances += live_ - at;
    if (live_ == at) return false;
    if (guard_.on()) look(live_, guard_.every_step());
  }
  return true;
}

// Whether x_at, which is not live, can be had: from the live tape of the step before, or, if that
// step is recorded, by running it.
bool Driver::revive(Step at) {
  if (taped_ != unknown && at == taped_ + 1 && stepper_.tape_has_next()) {
    meter_.start(0);
    stepper_.load_tape(taped_, tape_);
    meter_.stop(Meter::storage);
    live_ = right_ = at;
    stored_ = unknown;
    return true;
  }
  if (live_ != unknown && recorded_ == live_ && at == live_ + 1) {
    return run_steps(live_, at, pass_at(live_)) == at;
  }
  return false;
}

void Driver::record(Step step) {
  if (!make_live(step))
    wrong("record " + number(step) + ": state " + number(live_) + " is live", step);
  recorded_ = step;
  taped_ = unknown;
  if (front_ != unknown || step + 1 != n_) return;

  // The last step: run it for the objective, and keep its start for its reverse.
  meter_.start(0);
  const std::size_t bytes = stepper_.state_bytes();
  stepper_.save(spare(bytes));
  spare_full_ = true;
  meter_.stop(Meter::storage);
  if (guard_.on()) {
    meter_.start(0);
    probe_hash_ = hash_bytes(spare(bytes));
    probe_at_ = step;
    meter_.stop(Meter::guard);
  }
  spare_bytes_ = bytes;
  Step got = run_steps(step, step + 1, Pass::first);
  // A resumed simulation may find only now that this step is its last, and stop in front of it.
  if (got == step && run_ != nullptr) got = run_steps(step, step + 1, Pass::first);
  if (got != step + 1) ended();
}

void Driver::turn(Step at) {
  if (front_ != unknown) wrong("turn " + number(at) + " twice", at);
  if (at != n_ || live_ != n_) {
    wrong("turn " + number(at) + ": state " + number(live_) + " is live, the run has " +
              (n_ == unknown ? std::string("no known number of") : number(n_)) + " steps",
          at);
  }
  // Where tapes are kept, perhaps nothing is replayed, so this step is.
  const bool probed =
      spare_full_ && layout_.tape_slots > 0 && guard_.on() && report_.guard_checks == 0;
  if (guard_.on() && (!spare_full_ || probed) && n_ > 0) {
    probe_hash_ = hash_live();
    probe_at_ = n_;
  }
  meter_.start(1);
  stepper_.turn(at);
  meter_.stop(Meter::reverse);
  front_ = at;
  turned_ = Meter::Clock::now();
  if (spare_full_) {
    stepper_.load(spare(spare_bytes_));
    spare_full_ = false;
    live_ = n_ - 1;
    right_ = live_;
    if (probed) probe(live_, spare(spare_bytes_));
  }
  if (run_ != nullptr) {
    run_->store.retain([this] { write_record(); });
    write_record();
  }
  if (watched_) tell();
}

// ----- Reverse -----

void Driver::reverse(Step step) {
  if (front_ == unknown) wrong("reverse " + number(step) + " before the turn", step);
  if (step != front_ - 1)
    wrong("reverse " + number(step) + ": the adjoint is at " + number(front_), step);
  const bool from_tape = taped_ == step;
  if (!from_tape && (step != live_ || step != recorded_))
    wrong("reverse " + number(step) + ": it is not recorded", step);
  meter_.start(1);
  if (from_tape) {
    stepper_.reverse_tape(step, tape_);
    live_ = taped_ = unknown;
  } else {
    stepper_.reverse(step);
  }
  const double seconds = meter_.stop(Meter::reverse);
  front_ = step;
  ++report_.reverses;
  recorded_ = unknown;
  guard_.forget_from(step);
  guard_.earn(3);
  if (watched_ && seconds >= 0) chunk_done(0, seconds);
}

void Driver::unwind(Step from, Step to, Slot slot) {
  if (front_ == unknown) wrong("unwind to " + number(from) + " before the turn", from);
  if (to != front_)
    wrong("unwind from " + number(to) + ": the adjoint is at " + number(front_), to);
  recorded_ = unknown;
  Step at = to;
  while (at > from) {
    const Place last = place(slot + (at - 1 - from));
    if (!last.tier->has_rows()) {
      load(at - 1, slot + (at - 1 - from));
      drop(slot + (at - 1 - from));
      record(at - 1);
      reverse(at - 1);
      --at;
      continue;
    }
    const Step begin = std::max(from, at - 1 - last.slot);
    unwind_rows(*last.tier, begin, at, last.slot - (at - 1 - begin));
    at = begin;
  }
}

void Driver::unwind_rows(Tier& tier, Step from, Step to, Slot slot) {
  Step at = to;
  while (at > from) {
    const Step begin = watched_ ? std::max(from, at - chunk_) : from;
    const Slot first = slot + (begin - from);
    const Rows rows = tier.read_rows(first, begin, at - begin);
    if (probe_at_ == at && report_.guard_checks == 0) {
      stepper_.load(rows[at - 1 - begin]);
      probe(at - 1, rows[at - 1 - begin]);
    }
    meter_.start(at - begin);
    stepper_.reverse_kept(begin, at, rows);
    const double seconds = meter_.stop(Meter::reverse);
    tier.drop_rows(first, at - begin);
    live_ = begin;
    right_ = begin;
    stored_ = unknown;
    front_ = begin;
    report_.reverses += at - begin;
    guard_.forget_from(begin);
    guard_.earn(3 * (at - begin));
    if (watched_) chunk_done(at - begin, seconds);
    at = begin;
  }
}

// ----- Checkpoints -----

// When a transfer begins, if it is one of the disk, and what it took when it is over. No clock is
// read for the memory.
Meter::Clock::time_point Driver::disk_begin(const Tier& tier) const {
  return &tier == &memory_ ? Meter::Clock::time_point() : Meter::Clock::now();
}

void Driver::disk_end(const Tier& tier, Meter::Clock::time_point begun) {
  if (&tier == &memory_) return;
  disk_seconds_ += std::chrono::duration<double>(Meter::Clock::now() - begun).count();
}

// Where the stepper keeps its state, if the tier can use that. A copy to memory needs no help, and
// a state of another size than the live one has no place there before it is loaded.
std::span<std::byte> Driver::memory_of_state(const Tier& tier) const {
  if (&tier == &memory_ || layout_.varying) return {};
  return stepper_.state_memory();
}

void Driver::save(Step at, Slot slot) {
  if (!make_live(at)) wrong("save " + number(at) + ": state " + number(live_) + " is live", at);
  if (tape_dropped_) taped_ = unknown;
  const Place where = place(slot);
  const auto begun = disk_begin(*where.tier);
  meter_.start(0);
  const std::span<std::byte> out = where.tier->begin_write(where.slot, at, stepper_.state_bytes());
  if (const auto x = memory_of_state(*where.tier); !x.empty()) {
    if (x.size() != out.size()) {
      wrong("save " + number(at) + ": the state has " + std::to_string(out.size()) +
                " bytes, its memory " + std::to_string(x.size()),
            at);
    }
    where.tier->fill(out, x);
  } else {
    stepper_.save(out);
  }
  if (where.tier != &memory_) where.tier->label(stepper_.time(at));
  where.tier->commit(where.slot);
  disk_end(*where.tier, begun);
  ahead_.offer();
  stored_ = at;
  if (const double seconds = meter_.stop(Meter::storage); watched_) chunk_done(0, seconds);
}

// The step is run only now, so that its tape goes straight to its place.
void Driver::save_tape(Step at, Slot slot) {
  if (layout_.tape_slots == 0) throw Unsupported("this simulation keeps no tapes of its steps");
  if (at != live_ || at != recorded_) {
    if (at + 1 == live_ && recorded_ == at) {
      throw Unsupported("the tape of the last step is not kept: its reverse comes next");
    }
    wrong("save tape " + number(at) + ": it is not recorded", at);
  }
  const Place where = place(slot);
  if (where.tier != &memory_) throw Unsupported("tapes are kept in memory only");
  const Slot room = layout_.tape_slots;
  const Pass pass = pass_at(at);
  const std::span<std::byte> out = memory_.begin_tape(where.slot, room, at);
  meter_.start(1);
  if (!stepper_.save_tape(at, pass, out.first(stepper_.tape_bytes()))) {
    wrong("the stepper did not make step " + number(at) + " of a run of " + number(n_), at);
  }
  const double seconds = meter_.stop(pass == Pass::first ? Meter::forward : Meter::replay);
  memory_.commit_tape(where.slot, room, at);
  live_ = at + 1;
  recorded_ = stored_ = taped_ = unknown;
  if (pass == Pass::first) furthest_ = live_;
  guard_.earn(1);
  if (guard_.on()) look(live_, guard_.every_step());
  if (watched_) chunk_done(1, seconds);
}

void Driver::load_tape(Step at, Slot slot) {
  tape_ = memory_.read_tape(slot, layout_.tape_slots, at).first(stepper_.tape_bytes());
  taped_ = at;
  tape_dropped_ = false;
  live_ = recorded_ = stored_ = unknown;
}

void Driver::load(Step at, Slot slot) {
  const Place where = place(slot);
  if (holds_tape(where)) return load_tape(at, where.slot);
  taped_ = unknown;
  const auto begun = disk_begin(*where.tier);
  meter_.start(0);
  const bool probed =
      probe_at_ == at + 1 && front_ == probe_at_ && report_.guard_checks == 0;  // needs it twice
  std::span<const std::byte> in;
  if (const auto x = memory_of_state(*where.tier); !x.empty() && !probed) {
    where.tier->read_into(where.slot, at, x);
    in = x;
  } else {
    in = where.tier->read(where.slot, at);
  }
  stepper_.load(in);
  disk_end(*where.tier, begun);
  const double seconds = meter_.stop(Meter::storage);
  if (where.tier != &memory_) ahead_.loaded();
  live_ = at;
  stored_ = at;
  right_ = at;
  recorded_ = unknown;
  if (probed) probe(at, in);
  if (watched_) chunk_done(0, seconds);
}

void Driver::drop(Slot slot) {
  const Place where = place(slot);
  // A state dropped on the way forward is going to be replayed.
  if (front_ == unknown && where.tier == &memory_ && guard_.on()) {
    if (const Step at = memory_.index(where.slot); at > 0 && guard_.wants(at)) {
      meter_.start(0);
      guard_.add(at, hash_bytes(memory_.peek(where.slot)));
      meter_.stop(Meter::guard);
    }
  }
  if (holds_tape(where)) {
    if (memory_.peek(where.slot).data() == tape_.data()) tape_dropped_ = true;
    return memory_.drop_tape(where.slot, layout_.tape_slots);
  }
  where.tier->drop(where.slot);
  ahead_.offer();
}

void Driver::finish() const {
  if (n_ == unknown || front_ != 0) {
    wrong("the schedule ended with the adjoint at " +
              (front_ == unknown ? std::string("no index: there was no turn") : number(front_)),
          front_);
  }
  for (const Tier* tier : tiers_) {
    if (tier != nullptr && tier->use().held > 0) {
      wrong("the schedule ended with checkpoints left in the tier '" + tier->use().name + "'", 0);
    }
  }
}

Driver::Place Driver::place(Slot slot) {
  if (slot < 0) wrong("there is no slot #" + number(slot), unknown);
  if (tiers_.size() == 1) {
    if (slot >= layout_.memory_slots) {
      wrong("there are " + number(layout_.memory_slots) + " slots, so no slot #" + number(slot),
            unknown);
    }
    return {&memory_, slot, layout_.memory_slots - slot};
  }
  const std::size_t i = schedule_.tier_of(slot);
  for (std::size_t above = 0; above < i; ++above) slot -= schedule_.tiers()[above].slots;
  const Slot left = schedule_.tiers()[i].slots - slot;
  if (i == 0) return {&memory_, slot, left};
  return {&tier(1), disk_start(i) + slot, left};
}

// The disks are one tier to the driver; where the schedule's tier i begins there.
Slot Driver::disk_start(std::size_t i) const {
  return std::accumulate(layout_.disks.begin(),
                         layout_.disks.begin() + static_cast<std::ptrdiff_t>(i) - 1, Slot{0});
}

void Driver::look_ahead() {
  if (tiers_.size() > 1 && tiers_[1] != nullptr && n_ != unknown) {
    looking_ = true;
    std::vector<Slot> starts;
    for (std::size_t i = 1; i < schedule_.tiers().size(); ++i) starts.push_back(disk_start(i));
    ahead_.start(schedule_, *tiers_[1], std::move(starts));
  }
}

Tier& Driver::tier(std::size_t i) {
  if (tiers_[i] == nullptr) {
    const auto fields = layout_.varying ? std::vector<StateField>{} : stepper_.fields();
    std::vector<std::unique_ptr<Tier>> parts;
    for (std::size_t part = 0; part < layout_.disks.size(); ++part) {
      if (layout_.disks[part] == 0) continue;
      const TierFactory& disk = *options_.budget.disk->parts()[part];
      parts.push_back(disk.make(layout_.row_bytes, layout_.disks[part], fields));
    }
    disk_ = parts.size() == 1 ? std::move(parts.front())
                              : std::make_unique<StackedTier>(std::move(parts));
    tiers_[i] = disk_.get();
  }
  if (i == 1 && !looking_) look_ahead();
  return *tiers_[i];
}

// ----- The guard -----

std::uint64_t Driver::hash_live() {
  meter_.start(0);
  const std::span<std::byte> out = scratch(stepper_.state_bytes());
  stepper_.save(out);
  const std::uint64_t hash = hash_bytes(out);
  meter_.stop(Meter::guard);
  return hash;
}

// Compares the live state with what is known of it, or keeps its hash if it is to be marked.
void Driver::look(Step at, bool mark) {
  const bool known = guard_.knows(at);
  if (!known && !mark) return;
  const std::uint64_t hash = hash_live();
  if (known) {
    compare(at, hash);
  } else {
    guard_.add(at, hash);
  }
}

void Driver::compare(Step at, std::uint64_t hash) {
  ++report_.guard_checks;
  if (!guard_.same(at, hash)) {
    throw ReplayError("the replay of step " + number(at - 1) + " gave another state " + number(at) +
                          " than the first pass; state " + number(right_) +
                          " was the last that is known to be right. The step must be a function "
                          "of the state that save() writes and of the step's index",
                      right_, at);
  }
  right_ = at;
}

// Nothing has been replayed, so nothing has been compared: replays one step for that alone.
void Driver::probe(Step at, std::span<const std::byte> state) {
  meter_.start(1);
  const Step got = stepper_.advance(at, at + 1, Pass::replay);
  meter_.stop(Meter::guard);
  ++report_.guard_steps;
  ++report_.guard_checks;
  if (got != at + 1 || hash_live() != probe_hash_) {
    throw ReplayError("the replay of step " + number(at) + " gave another state " + number(at + 1) +
                          " than the first pass. The step must be a function of the state that "
                          "save() writes and of the step's index",
                      at, at + 1);
  }
  stepper_.load(state);
}

// ----- Progress -----

// A piece of `steps` steps is over; seconds < 0: it was too small to time.
void Driver::chunk_done(Step steps, double seconds) {
  if (seconds < 0) {
    if (steps == chunk_) chunk_ *= 2;
    return;
  }
  seconds = most_seconds(options_.team, seconds);
  if (steps == chunk_ && seconds < options_.progress_interval / 8) chunk_ *= 2;
  if (seconds > options_.progress_interval / 2) chunk_ = std::max<Step>(1, chunk_ / 2);
  const double since = std::chrono::duration<double>(meter_.now() - told_).count();
  if (options_.progress && since >= options_.progress_interval) tell();
  if (run_ != nullptr) safe_point();
}

void Driver::tell() {
  if (!options_.progress) return;
  const auto now = Meter::Clock::now();
  told_ = now;
  const bool turned = front_ != unknown;
  const auto share = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double nan = std::numeric_limits<double>::quiet_NaN();

  double left = nan;  // seconds
  if (predicted_.steps != unknown) {
    const double forward = meter_.seconds(Meter::forward) + meter_.seconds(Meter::replay);
    const double backward = meter_.seconds(Meter::reverse);
    const auto advances = static_cast<double>(report_.advances);
    const auto reverses = static_cast<double>(turned ? n_ - front_ : 0);
    const double advance = share(forward, advances);
    // Until it is measured a reverse step is taken to cost as much as three steps.
    const double reverse = reverses > 0 ? share(backward, reverses) : 3 * advance;
    // Storage and guard come on top in proportion.
    const double extra = share(seconds - report_.setup_seconds, forward + backward);
    const double advances_left = std::max(0.0, static_cast<double>(predicted_.advances) - advances);
    left = extra * (advances_left * advance + (static_cast<double>(n_) - reverses) * reverse);
  } else if (turned && front_ < n_) {
    const double since_turn = std::chrono::duration<double>(now - turned_).count();
    left = since_turn * static_cast<double>(front_) / static_cast<double>(n_ - front_);
  }
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    if (tiers_[i] != nullptr) snapshot_[i] = tiers_[i]->use();
  }
  options_.progress({.phase = turned ? Progress::Phase::reverse : Progress::Phase::forward,
                     .step = turned ? front_ : live_,
                     .steps = n_,
                     .tiers = snapshot_,
                     .seconds = seconds,
                     .eta_seconds = left,
                     .fraction = seconds / (seconds + left)});
}

}  // namespace costate::detail
