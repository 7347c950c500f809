#include "whole_bound.hpp"

#include <algorithm>

#include "costate/core/error.hpp"
#include "hierarchical_plan.hpp"
#include "least_cost.hpp"
#include "open_disk_bound.hpp"
#include "weighted_plan.hpp"

namespace costate {

double whole_bound(const Costs& costs, Step n) {
  constexpr double quick = 0.1;
  constexpr double quicker = 0.02;  // a whole plan is made for it
  try {
    return costs.weights.empty() ? hierarchical_plan(costs, n, quick).lower_bound
                                 : weighted_cost(costs, n, quicker).lower_bound;
  } catch (const InvalidArgument&) {  // it takes too long
    const double least = least_cost(costs, n);
    return costs.weights.empty() ? std::max(least, open_disk_bound(costs, n)) : least;
  }
}

}  // namespace costate
