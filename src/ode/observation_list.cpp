#include "costate/ode/observation_list.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace costate {

ObservationList::ObservationList(std::span<const double> times, double t0, double t1)
    : sign_(t1 < t0 ? -1 : 1) {
  entries_.reserve(times.size());
  for (std::size_t i = 0; i < times.size(); ++i) entries_.push_back({times[i], i, unknown});
  std::stable_sort(entries_.begin(), entries_.end(),
                   [this](const Entry& a, const Entry& b) { return sign_ * a.t < sign_ * b.t; });
}

void ObservationList::bind(const TimeGrid& grid) {
  for (Entry& entry : entries_) entry.index = grid.index_of(entry.t);
  reached_ = entries_.size();
}

void ObservationList::reach(Step k, double t) {
  // Times that differ by rounding only were one stop for the step controller.
  while (reached_ < entries_.size()) {
    Entry& entry = entries_[reached_];
    const double rounding =
        8 * std::numeric_limits<double>::epsilon() * std::max(std::abs(t), std::abs(entry.t));
    if (sign_ * (entry.t - t) > rounding) break;
    entry.index = k;
    ++reached_;
  }
}

}  // namespace costate
