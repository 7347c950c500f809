#include <algorithm>
#include <map>
#include <tuple>

#include "costate/schedule/binomial.hpp"
#include "tier_rule.hpp"

namespace costate {
namespace {

// What is done to a stretch of steps; vectors by level.
struct Tally {
  explicit Tally(std::size_t levels) : writes(levels), reads(levels), peak(levels) {}
  Step advances = 0;
  Step max_runs = 0;
  std::vector<Step> writes;
  std::vector<Step> reads;
  std::vector<Slot> peak;
};

class Counter {
 public:
  explicit Counter(const TierRule& rule) : rule_(rule) {}

  // The start is kept on the top level, or not.
  Tally run(Step n, bool kept) {
    const Key whole_run{top(), n, rule_.all_slots(top())};
    const Node root = kept && n > 1 ? Node{true, whole_run} : resolve(whole_run);
    if (root.kept) {
      // Parts are counted before the whole that they belong to; the depth can be that of the chain.
      std::vector<Key> open{root.key};
      while (!open.empty()) {
        const Key key = open.back();
        if (done_.count(key) != 0) {
          open.pop_back();
          continue;
        }
        const Parts parts = parts_of(key);
        const std::size_t before = open.size();
        if (parts.right.kept && done_.count(parts.right.key) == 0) open.push_back(parts.right.key);
        if (parts.left && done_.count(parts.left_key) == 0) open.push_back(parts.left_key);
        if (open.size() > before) continue;
        done_.emplace(key, whole(key, parts));
        open.pop_back();
      }
    }
    if (!kept) return tally(root);
    Tally all = root.kept ? done_.at(root.key) : Tally(rule_.levels().size());
    all.peak[top()] = std::max<Slot>(all.peak[top()], 1);
    return all;
  }

 private:
  // l steps from a start that is kept at level k in one of s slots (or is to be kept or not).
  struct Key {
    std::size_t k;
    Step l;
    Slot s;
    friend bool operator<(const Key& a, const Key& b) {
      return std::tie(a.k, a.l, a.s) < std::tie(b.k, b.l, b.s);
    }
  };
  // What becomes of a start that is not kept yet: kept at key.k, or left to the binomial bottom.
  struct Node {
    bool kept;
    Key key;
  };
  struct Parts {
    Step split;
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
      return {0, resolve({key.k - 1, key.l, rule_.all_slots(key.k - 1)}), false, key};
    }
    return {j, resolve({key.k, key.l - j, rule_.one_less(key.k, key.s)}), j > 1, {key.k, j, key.s}};
  }

  [[nodiscard]] Tally tally(const Node& node) const {
    const Key& key = node.key;
    if (node.kept) {
      Tally all = done_.at(key);
      all.writes[key.k] = saturating_add(all.writes[key.k], 1);
      return all;
    }
    Tally all(rule_.levels().size());
    if (key.l > 1) {
      const Slot c = std::min<Slot>(rule_.levels()[0].slots, key.l - 1);
      all.advances = binomial_advances(key.l, c);
      all.max_runs = repetitions(key.l, c);
      all.writes[0] = binomial_writes(key.l, c);
      all.reads[0] = key.l - 1;
      all.peak[0] = c;
    }
    return all;
  }

  [[nodiscard]] Tally whole(const Key& key, const Parts& parts) const {
    Tally all = tally(parts.right);
    if (parts.split == 0) {
      all.peak[key.k] = std::max<Slot>(all.peak[key.k], 1);
      return all;
    }
    all.peak[key.k] += 1;
    all.reads[key.k] = saturating_add(all.reads[key.k], 1);
    all.advances = saturating_add(all.advances, parts.split);
    if (!parts.left) {
      all.max_runs = std::max<Step>(all.max_runs, 1);
      return all;
    }
    const Tally& left = done_.at(parts.left_key);
    all.advances = saturating_add(all.advances, left.advances);
    all.max_runs = std::max(all.max_runs, saturating_add(left.max_runs, 1));
    for (std::size_t i = 0; i < all.writes.size(); ++i) {
      all.writes[i] = saturating_add(all.writes[i], left.writes[i]);
      all.reads[i] = saturating_add(all.reads[i], left.reads[i]);
      all.peak[i] = std::max(all.peak[i], left.peak[i]);
    }
    return all;
  }

  const TierRule& rule_;
  std::map<Key, Tally> done_;  // without the write of the start itself
};

}  // namespace

namespace {

Counts counts_of(const TierRule& rule, Step n, bool kept, const std::vector<TierSlots>& rooms) {
  Counts counts;
  counts.steps = n;
  counts.records = n;
  for (const TierSlots& room : rooms) counts.tiers.push_back({room.name, 0, 0, 0, 0});
  if (n < 1) return counts;
  const Tally all = Counter(rule).run(n, kept);
  counts.advances = all.advances;
  counts.max_runs = all.max_runs;
  for (std::size_t k = 0; k < rule.levels().size(); ++k) {
    TierCounts& tier = counts.tiers[rule.levels()[k].tier];
    tier.slots = all.peak[k];
    tier.peak = all.peak[k];
    tier.writes = all.writes[k];
    tier.reads = all.reads[k];
  }
  return counts;
}

}  // namespace

Counts tiered_counts(const TierRule& rule, Step n, const std::vector<TierSlots>& rooms) {
  return counts_of(rule, n, false, rooms);
}

Counts tiered_counts_kept(const TierRule& rule, Step n, const std::vector<TierSlots>& rooms) {
  return counts_of(rule, n, true, rooms);
}

}  // namespace costate
