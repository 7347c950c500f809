// The programme over several tiers, of steps or of blocks.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "costate/schedule/binomial.hpp"
#include "tiered_programme.hpp"
#include "weighted_plan.hpp"

namespace costate {
namespace {

constexpr double all_tries = 1.5e9;     // splits looked at if all of them are
constexpr double most_cells = 2.5e7;    // intervals times slots
constexpr double inside_tries = 1.5e8;  // squares of the steps of all blocks, times slots
constexpr Slot most_slots = 1024;       // of all levels together
constexpr Step step_slack = 16;
constexpr Step block_slack = 5;

// A write costs so much more than is said, part of the whole: see weighted_exact.cpp.
double tie_of(const Chain& chain, Step n, Slot slots) {
  return 0x1p-46 * chain.span(0, n) / static_cast<double>(n) *
         static_cast<double>(binomial_advances(n, slots));
}

std::vector<Step> each_step(Step first, Step end) {
  std::vector<Step> borders(static_cast<std::size_t>(end - first) + 1);
  std::iota(borders.begin(), borders.end(), first);
  return borders;
}

}  // namespace

std::optional<WeightedDecisions> split_over_tiers(const Chain& chain,
                                                  const std::vector<TierLevel>& levels,
                                                  double effort) {
  const Step n = chain.steps();
  const auto length = static_cast<double>(n);
  double columns = 0;  // beyond level 0
  Slot slots = 0;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    const Slot mine = levels[k].open() ? 1 : levels[k].slots;
    slots = saturating_add(slots, mine);
    if (k > 0) columns += static_cast<double>(mine);
  }
  if (slots > most_slots) return std::nullopt;
  const auto all_columns = static_cast<double>(slots);
  const double tie = tie_of(chain, n, levels[0].slots);
  WeightedDecisions out;
  const auto none = [](Step, std::size_t, Slot, std::vector<Decision>&) {};
  const bool complete = length * length * length / 6 * columns <= all_tries * effort &&
                        length * length / 2 * all_columns <= most_cells * 6;
  if (complete || length * length / 2 * all_columns <= most_cells * effort) {
    const TieredProgramme programme(
        chain, {levels, each_step(0, n), tie, complete ? 0 : step_slack}, nullptr);
    programme.append(out.decisions, none);
    out.proven = complete && ordered(levels);
    return out;
  }
  const auto most = static_cast<Step>(std::sqrt(2 * most_cells * effort / all_columns));
  std::vector<Step> borders = even_borders(chain, 0, n, std::clamp<Step>(most, 2, n / 2));
  // A block that memory reverses with few repetitions needs no other level.
  const Step short_enough = beta(levels[0].slots, 2);
  const auto begin = [&](Step block) { return borders[static_cast<std::size_t>(block)]; };
  const auto end = [&](Step block) { return borders[static_cast<std::size_t>(block) + 1]; };
  // Blocks too long for the work there is are cut once more.
  const auto parts = static_cast<Step>(
      std::sqrt(inside_tries * effort / static_cast<double>(borders.size()) / all_columns));
  const auto of_steps = [&](Step block) {
    const Step steps = end(block) - begin(block);
    const Step most_parts = std::clamp<Step>(parts, 2, std::max<Step>(2, steps / 2));
    return TieredProgramme::Task{levels,
                                 steps <= parts
                                     ? each_step(begin(block), end(block))
                                     : even_borders(chain, begin(block), end(block), most_parts),
                                 tie, block_slack};
  };
  const auto inside = [&](Step block) -> TieredProgramme::Inside {
    if (end(block) - begin(block) <= short_enough) return {};
    return TieredProgramme(chain, of_steps(block), nullptr).whole();
  };
  const auto leaf = [&](Step block, std::size_t k, Slot s, std::vector<Decision>& plan) {
    TieredProgramme(chain, of_steps(block), nullptr).append_stored(k, s, plan, none);
  };
  const TieredProgramme programme(chain, {levels, borders, tie, block_slack}, inside);
  programme.append(out.decisions, leaf);
  return out;
}

}  // namespace costate
