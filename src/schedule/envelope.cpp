#include "envelope.hpp"

#include <algorithm>

namespace costate {

void Envelope::push(double value) {
  ++last_;
  double slope = 0;
  while (!corners_.empty()) {
    const Corner& top = corners_.back();
    slope = (value - top.value) / static_cast<double>(last_ - top.x);
    if (corners_.size() == 1 || slope > top.slope) break;
    corners_.pop_back();
  }
  corners_.push_back({last_, value, slope});
}

void Envelope::seek(Step x, std::size_t& hint) const {
  std::size_t i = std::min(hint, corners_.size() - 1);
  // A few steps on foot, then by halving.
  for (int tries = 0; tries < 8; ++tries) {
    if (corners_[i].x <= x) {
      ++i;
    } else if (i > 1 && corners_[i - 1].x > x) {
      --i;
    } else {
      hint = i;
      return;
    }
    if (i == corners_.size()) break;
  }
  const auto above = [](Step wanted, const Corner& corner) { return wanted < corner.x; };
  hint = static_cast<std::size_t>(std::upper_bound(corners_.begin() + 1, corners_.end(), x, above) -
                                  corners_.begin());
}

double Envelope::at(Step x, std::size_t& hint) const {
  if (x >= last_ || corners_.size() == 1) return corners_.back().value;
  seek(x, hint);
  const Corner& end = corners_[hint];
  return end.value - end.slope * static_cast<double>(end.x - x);
}

double Envelope::slope(Step x, std::size_t& hint) const {
  seek(x, hint);
  return corners_[hint].slope;
}

}  // namespace costate
