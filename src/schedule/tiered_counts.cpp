#include <algorithm>
#include <string>
#include <unordered_map>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "tier_rule.hpp"

namespace costate {
namespace {

// What is done to a stretch of steps; vectors by level.
struct Tally {
  explicit Tally(std::size_t levels) : writes(levels), reads(levels), peak(levels) {}
  Step advances = 0;
  Step max_runs = 0;
  std::vector<Step> runs;  // steps by how often they are advanced, if listed at all
  std::vector<Step> writes;
  std::vector<Step> reads;
  std::vector<Slot> peak;
};

constexpr std::size_t most_listed = 20'000'000;  // numbers in all the lists of runs

// Different parts of a schedule, a million of which take some seconds; over an open level, where
// one stretch follows another, there are few, unless the rule goes astray for very long runs.
constexpr double most_parts = 1e6;
constexpr double quick_parts = 1.5e7;  // times the effort
constexpr double most_of_open = 20'000;

class Counter {
 public:
  Counter(const TierRule& rule, double effort)
      : rule_(rule),
        most_parts_(static_cast<std::size_t>(rule.levels().back().open()
                                                 ? most_of_open
                                                 : std::min(most_parts, quick_parts * effort))) {}

  // Whether the runs of all parts are listed.
  [[nodiscard]] bool lists() const noexcept { return listed_ <= most_listed; }

  Tally run(Step n) {
    const Node root = resolve({top(), n, rule_.all_slots(top())});
    if (root.kept) {
      // Parts are counted before the whole that they belong to; the depth can be that of the chain.
      std::vector<Key> open{root.key};
      while (!open.empty()) {
        const Key key = open.back();
        if (open.size() + done_.size() > most_parts_) {
          throw InvalidArgument("a schedule of " + std::to_string(n) +
                                " steps has too many different parts to be counted");
        }
        if (done_.count(key) != 0) {
          open.pop_back();
          continue;
        }
        const Parts parts = parts_of(key);
        const std::size_t before = open.size();
        if (parts.right.kept && done_.count(parts.right.key) == 0) open.push_back(parts.right.key);
        if (parts.left && done_.count(parts.left_key) == 0) open.push_back(parts.left_key);
        if (open.size() > before) continue;
        listed_ += done_.emplace(key, whole(key, parts)).first->second.runs.size();
        open.pop_back();
      }
    }
    return tally(root);
  }

 private:
  // l steps from a start that is kept at level k in one of s slots (or is to be kept or not).
  struct Key {
    std::size_t k;
    Step l;
    Slot s;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      const auto mixed = (static_cast<std::size_t>(key.l) * 0x9e3779b97f4a7c15U) ^
                         (static_cast<std::size_t>(key.s) * 0xc2b2ae3d27d4eb4fU) ^ key.k;
      return mixed ^ (mixed >> 32U);
    }
  };
  // What becomes of a start that is not kept yet: kept at key.k, or left to the binomial bottom.
  struct Node {
    bool kept;
    Key key;
  };
  struct Parts {
    Step split;
    Step times;  // in a row; those but the first are kept, too
    Node right;  // behind the next checkpoint, or all of it on a lower level if split == 0
    bool left;   // the part that starts at the same checkpoint is longer than a step
    Key left_key;
  };

  [[nodiscard]] std::size_t top() const { return rule_.levels().size() - 1; }

  [[nodiscard]] Node resolve(Key key) const {
    while (key.l > 1) {
      if (key.k == 0 && rule_.binomial_bottom()) break;
      if (rule_.any_free(key.k, key.s) && rule_.keeps(key.k, key.l, key.s)) return {true, key};
      --key.k;
      key.s = rule_.all_slots(key.k);
    }
    return {false, key};
  }

  [[nodiscard]] Parts parts_of(const Key& key) const {
    const Step j = rule_.split(key.k, key.l, key.s);
    if (j == 0) {
      return {0, 0, resolve({key.k - 1, key.l, rule_.all_slots(key.k - 1)}), false, key};
    }
    const Step times = rule_.levels()[key.k].open() ? rule_.repeats(key.k, key.l) : 1;
    return {j,
            times,
            resolve({key.k, key.l - times * j, rule_.one_less(key.k, key.s)}),
            j > 1,
            {key.k, j, key.s}};
  }

  [[nodiscard]] Tally tally(const Node& node) {
    const Key& key = node.key;
    if (node.kept) {
      Tally all = done_.at(key);
      all.writes[key.k] = saturating_add(all.writes[key.k], 1);
      return all;
    }
    Tally all(rule_.levels().size());
    if (key.l == 1) all.runs = {1};
    if (key.l > 1) {
      const Slot c = std::min<Slot>(rule_.levels()[0].slots, key.l - 1);
      all.advances = binomial_advances(key.l, c);
      all.max_runs = repetitions(key.l, c);
      if (lists()) {
        const std::vector<RunCount> runs = binomial_runs(key.l, c);
        if (runs.empty()) listed_ = most_listed + 1;
        for (const RunCount& each : runs) all.runs.push_back(each.steps);
      }
      all.writes[0] = binomial_writes(key.l, c);
      all.reads[0] = key.l - 1;
      all.peak[0] = c;
    }
    return all;
  }

  [[nodiscard]] Tally whole(const Key& key, const Parts& parts) {
    Tally all = tally(parts.right);
    if (parts.split == 0) {
      all.peak[key.k] = std::max<Slot>(all.peak[key.k], 1);
      return all;
    }
    const Step times = parts.times;
    const auto add_each = [times](Step& sum, Step once) {
      sum = saturating_add(sum, saturating_multiply(times, once));
    };
    all.peak[key.k] += times;
    add_each(all.reads[key.k], 1);
    all.writes[key.k] = saturating_add(all.writes[key.k], times - 1);
    add_each(all.advances, parts.split);
    if (!parts.left) {
      all.max_runs = std::max<Step>(all.max_runs, 1);
      add(all.runs, {1}, times);
      return all;
    }
    const Tally& left = done_.at(parts.left_key);
    add_each(all.advances, left.advances);
    all.max_runs = std::max(all.max_runs, saturating_add(left.max_runs, 1));
    add(all.runs, left.runs, times);
    for (std::size_t i = 0; i < all.writes.size(); ++i) {
      add_each(all.writes[i], left.writes[i]);
      add_each(all.reads[i], left.reads[i]);
      const Slot below = i == key.k ? times - 1 : 0;  // the last but one start is the highest
      all.peak[i] = std::max(all.peak[i], left.peak[i] + below);
    }
    return all;
  }

  // So many times the steps that are advanced once more than they are listed.
  void add(std::vector<Step>& runs, const std::vector<Step>& once_less, Step times) {
    if (static_cast<Step>(once_less.size()) >= most_run_counts) listed_ = most_listed + 1;
    if (!lists()) return runs.clear();
    if (runs.size() <= once_less.size()) runs.resize(once_less.size() + 1);
    for (std::size_t i = 0; i < once_less.size(); ++i) runs[i + 1] += times * once_less[i];
  }

  const TierRule& rule_;
  std::size_t most_parts_;
  std::unordered_map<Key, Tally, Hash> done_;  // without the write of the start itself
  std::size_t listed_ = 0;                     // numbers in their lists of runs
};

}  // namespace

Counts tiered_counts(const TierRule& rule, Step n, const std::vector<TierSlots>& rooms,
                     double effort) {
  Counts counts;
  counts.steps = n;
  counts.records = n;
  for (const TierSlots& room : rooms) counts.tiers.push_back({room.name, 0, 0, 0, 0});
  if (n < 1) return counts;
  Counter counter(rule, effort);
  const Tally all = counter.run(n);
  counts.advances = all.advances;
  counts.max_runs = all.max_runs;
  for (std::size_t i = 0; i < all.runs.size() && counter.lists(); ++i) {
    if (all.runs[i] > 0) counts.runs.push_back({static_cast<Step>(i), all.runs[i]});
  }
  for (std::size_t k = 0; k < rule.levels().size(); ++k) {
    TierCounts& tier = counts.tiers[rule.levels()[k].tier];
    tier.slots = all.peak[k];
    tier.peak = all.peak[k];
    tier.writes = all.writes[k];
    tier.reads = all.reads[k];
  }
  return counts;
}

}  // namespace costate
