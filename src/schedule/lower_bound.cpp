#include "costate/schedule/lower_bound.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"

namespace costate {

double least_advance_cost(std::vector<double> weights, Slot slots) {
  if (slots < 1) {
    throw InvalidArgument("reversing steps needs at least 1 slot, not " + std::to_string(slots));
  }
  if (weights.empty()) return 0;
  weights.pop_back();
  std::sort(weights.begin(), weights.end(), std::greater<>());
  double sum = 0;
  Step r = 1;
  Step reach = beta(slots, r);
  Step m = 2;
  for (const double weight : weights) {
    while (m > reach) reach = beta(slots, ++r);
    sum += weight * static_cast<double>(r);
    ++m;
  }
  return sum;
}

}  // namespace costate
