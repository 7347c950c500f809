#pragma once

#include "costate/core/step.hpp"
#include "costate/schedule/costs.hpp"

namespace costate {

/// What n steps of equal cost u cost at least in c slots of the first tier and any number of slots
/// in the others, which are taken for one disk with the least write w and the least read r of any
/// of them; writes to the first tier are taken to be free. 0 if nothing is known.
///
/// With B(l) the cost in the first tier alone, O and P those of tier_tables.hpp,
///
///     O(l) = min(B(l), w + P(l)),   P(l) = min(B(l), min over j of j u + O(l-j) + r + P(j)).
///
/// Up to `longest` steps the relaxation of tier_bounds.hpp is used. Beyond, let lambda be the least
/// (w + r + j u + P(j)) / j over j <= longest, the cost a step of a stretch between two states on
/// disk, and a = max over l of lambda l - B(l). Then, if longest u + r >= a,
///
///     O(l) >= lambda l - a   and   P(l) >= lambda l - a - w   for all l,
///
/// by induction: B(l) is as large by the choice of a; w + P(l) is; and j u + O(l-j) + r + P(j) is
/// at least lambda l - a - w because w + r + j u + P(j) >= lambda j, by the choice of lambda, or
/// because P(j) >= lambda j - a - w and j u + r >= a.
[[nodiscard]] double open_disk_bound(const Costs& costs, Step n, Step longest = 200'000);

}  // namespace costate
