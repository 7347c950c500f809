#include "mean_tables.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "costate/schedule/binomial.hpp"
#include "replan_exact.hpp"
#include "required_exact.hpp"

namespace costate {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr Step most_steps_by_mean = 200'000;
constexpr Slot most_slots = 5000;
constexpr double wanted_looks = 4e6;  // at gaps, for what is stored; some 50 ns each
constexpr double most_looks = 3e7;
constexpr Step most_places = 300;
constexpr double most_in_windows = 6e8;  // additions

std::vector<TierLevel> levels_of(const std::vector<GapTier>& tiers, double mean, Step n) {
  const Slot disk = tiers[1].slots >= n ? unbounded : tiers[1].slots;
  return {{0, std::min<Slot>(tiers[0].slots, n), 0, 0},
          {1, disk, tiers[1].write / mean, tiers[1].read / mean}};
}

double looks(const std::vector<GapTier>& tiers, Step places) {
  auto cost = static_cast<double>(places) * static_cast<double>(places) / 2;
  for (const GapTier& tier : tiers) cost *= static_cast<double>(std::min(tier.slots, places)) + 1;
  return cost * static_cast<double>(tiers.size());
}

// Where states may be stored: these, the last but one, and some all over the run, half of them by
// the number of steps and half by what the steps cost.
std::vector<Step> places_for(std::vector<Step> anchors, const Chain& chain,
                             const std::vector<GapTier>& tiers) {
  const Step n = chain.steps();
  Step count = most_places;
  while (count > 8 && looks(tiers, count) > wanted_looks) count -= 1 + count / 16;
  for (const Step at : even_borders(chain, 0, n, std::clamp<Step>(count, 2, n))) {
    if (at < n) anchors.push_back(at);
  }
  anchors.push_back(n - 1);
  std::sort(anchors.begin(), anchors.end());
  anchors.erase(std::unique(anchors.begin(), anchors.end()), anchors.end());
  return anchors;
}

Chain chain_of(const Costs& costs, Step n) {
  return Chain(costs.weights.empty()
                   ? std::vector<double>(static_cast<std::size_t>(n), costs.step)
                   : std::vector<double>(costs.weights.begin(), costs.weights.begin() + n));
}

}  // namespace

MeanTables::MeanTables(const std::vector<GapTier>& tiers, const Chain& chain, double mean,
                       Step places)
    : GapTables(tiers, 0x1p-30 * mean, places),
      chain_(chain),
      advances_(std::min<Slot>(tiers[0].slots, chain.steps()) + 1),
      tiers_(tiers) {
  if (tiers.size() == 2) costs_.emplace(levels_of(tiers, mean, chain.steps()));
}

std::unique_ptr<const MeanTables> MeanTables::make(const std::vector<GapTier>& tiers,
                                                   const Chain& chain, Step places, bool equal) {
  const Step n = chain.steps();
  if (n > most_steps_by_mean || looks(tiers, places) > most_looks) return nullptr;
  for (const GapTier& tier : tiers) {
    if (tier.slots > most_slots && (tier.slots < n || &tier == &tiers[0])) return nullptr;
  }
  const double mean = chain.at(n) / static_cast<double>(n);
  if (!(mean > 0)) return nullptr;
  std::unique_ptr<MeanTables> made(new MeanTables(tiers, chain, mean, places));
  if (made->costs_ && !made->costs_->covers(n)) return nullptr;
  if (!equal) {
    std::vector<Slot> all;
    for (const GapTier& tier : tiers) all.push_back(tier.slots);
    for (Step l = 16; l <= n; l += l / 4) {
      const std::vector<GapTier> few = made->window_tiers(0, all, l);
      const double windows = static_cast<double>(n) / static_cast<double>(l);
      if (WeightedGapTables::effort(few, l) * windows > most_in_windows) break;
      made->longest_window_ = l;
    }
  }
  return made;
}

double MeanTables::kept_in(std::size_t t, Step b, Step e, const std::vector<Slot>& free) const {
  const Step length = e - b;
  if (length <= 1) return 0;
  const double advances =
      costs_ ? costs_->kept(t, length, std::min(free[0], costs_->memory()), free[1])
             : static_cast<double>(advances_.advances(length, free[0] + 1));
  return advances * chain_.span(b, e) / static_cast<double>(length);
}

double MeanTables::unkept(Step b, Step e, const std::vector<Slot>& free, std::size_t& tier) const {
  if (e - b <= 1) return 0;
  double least = infinite;
  std::vector<Slot> left = free;
  for (std::size_t t = 0; t < tiers(); ++t) {
    if (free[t] == 0) continue;
    --left[t];
    const double cost = write(Set{1} << t) + kept_in(t, b, e, left);
    ++left[t];
    if (cost < least) {
      least = cost;
      tier = t;
    }
  }
  return least;
}

// The slots of a start and those that are free, as far as they are of use for so many steps: of the
// second tier some more than there are stretches that memory reverses with few repetitions.
std::vector<GapTier> MeanTables::window_tiers(Set m, const std::vector<Slot>& free,
                                              Step length) const {
  std::vector<GapTier> tiers = tiers_;
  const Slot second = 2 + length / beta(tiers[0].slots, 2);
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    const Slot own = (m >> t & 1U) != 0 ? 1 : 0;
    tiers[t].slots = std::min<Slot>(free[t] + own, t == 0 ? 16 : second);
  }
  return tiers;
}

void MeanTables::open_window(Set m, Step b, Step e, const std::vector<Slot>& free) const {
  window_.begin = b;
  window_.end = e;
  window_.tiers = window_tiers(m, free, longest_window_);
  window_.besides.clear();
  for (std::size_t t = 0; t < tiers(); ++t) {
    const Slot own = (m >> t & 1U) != 0 ? 1 : 0;
    window_.besides.push_back(free[t] + own - window_.tiers[t].slots);
  }
  std::vector<double> weights;
  for (Step k = b; k < e; ++k) weights.push_back(chain_.span(k, k + 1));
  window_.tables = std::make_unique<WeightedGapTables>(window_.tiers, weights);
}

const double* MeanTables::kept(Step b, Step e) const {
  std::vector<double>& found = kept_[b * (chain_.steps() + 1) + e];
  if (!found.empty()) return found.data();
  found.assign(rows(), infinite);
  std::vector<Slot> each(tiers());
  for (Free f = 0; f < columns(); ++f) {
    for (std::size_t t = 0; t < tiers(); ++t) each[t] = free(f, t) + besides(t);
    for (std::size_t t = 0; t < tiers(); ++t) found[row(Set{1} << t, f)] = kept_in(t, b, e, each);
  }
  return found.data();
}

GapTables::Next MeanTables::next(Set m, Step b, Step e, const std::vector<Slot>& free) const {
  if (e - b <= longest_window_) {
    if (b < window_.begin || e > window_.end) open_window(m, b, e, free);
    std::vector<Slot> left = free;
    for (std::size_t t = 0; t < tiers(); ++t) {  // there may be more than there were
      const Slot own = (m >> t & 1U) != 0 ? 1 : 0;
      left[t] = std::min(free[t] - window_.besides[t], window_.tiers[t].slots - own);
    }
    return window_.tables->next(m, b - window_.begin, e - window_.begin, left);
  }
  if ((m & (m - 1)) != 0) return {Next::drop, 0, 1};
  const std::size_t mine = m == 1 ? 0 : 1;
  Next next{Next::advance, 1, 0};
  double least = infinite;
  const auto consider = [&](Step k) {
    std::size_t tier = 0;
    const double cost =
        chain_.span(b, k) + unkept(k, e, free, tier) + read(m) + kept_in(mine, b, k, free);
    if (!(cost < least)) return;
    least = cost;
    next.ahead = k - b;
    next.tier = tier;
  };
  consider(e - 1);
  // On a grid, then around its best.
  constexpr Step points = 16;
  Step width = std::max<Step>(1, (e - b) / points);
  for (Step k = b + width; k < e - 1; k += width) consider(k);
  while (width > 1) {
    const Step around = b + next.ahead;
    const Step from = std::max(b + 1, around - width + 1);
    const Step to = std::min(e - 1, around + width - 1);
    width = std::max<Step>(1, width / 4);
    for (Step k = from; k <= to; k += width) consider(k);
  }
  if (mine == 1 && free[0] > 0) {
    const double copied = write(1) + kept_in(0, b, e, {free[0] - 1, free[1] + 1});
    if (copied < least) return {Next::copy, 0, 0};
  }
  return next;
}

FewTiers few_tiers(ResumePoint point, const Costs& costs) {
  std::vector<TierSlots>& tiers = point.tiers;
  std::vector<GapTier> priced;
  for (std::size_t t = 0; t < tiers.size(); ++t) {
    priced.push_back({tiers[t].slots, costs.tiers[t].write, costs.tiers[t].read});
  }
  const auto join = [&](std::size_t t) {  // with the next
    if (priced[t].slots == 0) {
      priced[t] = priced[t + 1];
    } else {
      priced[t].slots = saturating_add(priced[t].slots, priced[t + 1].slots);
    }
    tiers[t].slots = saturating_add(tiers[t].slots, tiers[t + 1].slots);
    priced.erase(priced.begin() + static_cast<std::ptrdiff_t>(t) + 1);
    tiers.erase(tiers.begin() + static_cast<std::ptrdiff_t>(t) + 1);
  };
  while (tiers.size() > 2) join(1);
  if (tiers.size() == 2 && (tiers[0].slots == 0 || tiers[1].slots == 0)) join(0);
  return {std::move(point), std::move(priced)};
}

std::optional<std::vector<Command>> replan_by_mean(const ResumePoint& given, const Costs& costs) {
  if (given.end > most_steps_by_mean) return std::nullopt;
  auto [point, tiers] = few_tiers(given, costs);
  // Of copies in what is now one tier one is kept.
  std::vector<Command> commands;
  const SlotPool pool(point.tiers);
  std::vector<Stored> once;
  for (const Stored& each : point.stored) {
    if (!once.empty() && once.back().at == each.at &&
        pool.tier_of(once.back().slot) == pool.tier_of(each.slot)) {
      commands.push_back({Command::Kind::drop, Content::state, 0, 0, each.slot});
    } else {
      once.push_back(each);
    }
  }
  point.stored = std::move(once);
  const Chain chain = chain_of(costs, point.end);
  std::vector<Step> anchors;
  for (const Stored& each : point.stored) anchors.push_back(each.at);
  if (point.live != unknown && point.live < point.end) anchors.push_back(point.live);
  std::vector<Step> places = places_for(std::move(anchors), chain, tiers);
  const auto tables =
      MeanTables::make(tiers, chain, static_cast<Step>(places.size()), costs.weights.empty());
  if (!tables) return std::nullopt;
  const std::vector<Command> others = replan_at(point, *tables, std::move(places)).commands;
  commands.insert(commands.end(), others.begin(), others.end());
  return commands;
}

std::optional<std::vector<Command>> required_by_mean(const std::vector<Step>& required, Step n,
                                                     const std::vector<TierSlots>& rooms,
                                                     const Costs& costs) {
  if (n > most_steps_by_mean) return std::nullopt;
  const auto [point, tiers] = few_tiers({.steps = n, .end = n, .live = 0, .tiers = rooms}, costs);
  const Chain chain = chain_of(costs, n);
  // Above the last of them it is the tables that decide.
  std::vector<Step> places = places_for(required, chain, tiers);
  std::erase_if(places, [&](Step at) { return at > required.back(); });
  const auto tables =
      MeanTables::make(tiers, chain, static_cast<Step>(places.size()), costs.weights.empty());
  if (!tables) return std::nullopt;
  return carried_out(required_exact(*tables, required, n, std::move(places)), point, *tables);
}

}  // namespace costate
