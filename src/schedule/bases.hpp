#pragma once

#include <cstddef>
#include <vector>

#include "binomial_table.hpp"
#include "costate/core/step.hpp"

namespace costate {

/// A state from which a gap is reversed: `start` is where it is fetched from, itself if stored.
struct Base {
  Step at;
  Step start;
};

struct Bases {
  std::vector<Base> bases;  ///< ascending
  Price price;
};

/// The states that a set of stored ones is best turned into before the reversal of the steps
/// [0, end): each is kept where it is, moved up to below the next one, or dropped. The live one, if
/// any, is one more that takes no slot until it is used.
///
/// With q(y) the highest of these at or below y, and s slots for x and all above it, what is left
/// above x costs
///
///     V(x, s) = min over y in (x, end] of  t(y - x, s) + G(y, s),
///     G(y, s) = y - q(y) + V(y, s-1),  G(end, s) = 0,
///
/// y not in the same gap as x: what is made from x can as well be made when that gap is reversed,
/// and a second state made from the same one when the gap above the first is. t is convex and
/// linear between a few whole corners, with whole slopes. So, for y in an interval where G is
/// convex, is the minimum as a function of x. And if y < z are the best ones from two intervals, z
/// becomes the better one once and for all as x grows. V(., s) hence consists of convex parts that
/// are found in one sweep over those of V(., s-1), and is known for all x by its corners, however
/// long the run. Parts that cannot be the minimum for any x below are left out. Costs are ordered
/// by advances and then by writes, for which all of this holds too.
///
/// O(m most_dropped) parts, some microseconds each, if m are stored.
///
/// @param stored        ascending, 0 first; all below `end`
/// @param live          of the live state, not `end` - 1, or `unknown`
/// @param slots         all there are, >= 1; no fewer than stored, but for x_0 if it is only live
/// @param most_dropped  more are dropped only if all above are
[[nodiscard]] Bases best_bases(const std::vector<Step>& stored, Step live, Step end, Slot slots,
                               std::size_t most_dropped, BinomialTable& table);

}  // namespace costate
