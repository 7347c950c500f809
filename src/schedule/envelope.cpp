#include "envelope.hpp"

#include <algorithm>
#include <limits>

#include "costate/schedule/binomial.hpp"

namespace costate {
namespace {

// So many pieces of a binomial cost are laid out; what is beyond takes longer to look up.
constexpr std::size_t laid_out = 20'000;

double binomial_value(Step x, Slot slots, double step, double read) {
  return static_cast<double>(binomial_advances(x, slots)) * step +
         static_cast<double>(x - 1) * read;
}

}  // namespace

Envelope Envelope::binomial(Step n, Slot slots, double step, double read) {
  // t grows by r with each step from beta(slots, r-1) to beta(slots, r).
  Envelope made;
  made.push(1, 0);
  for (Step r = 1; made.last_ < n && made.corners_.size() < laid_out; ++r) {
    const Step reach = beta(slots, r);
    if (reach == saturated || binomial_advances(reach, slots) == saturated) break;
    made.push(reach, binomial_value(reach, slots, step, read));
  }
  made.go_on_binomially(slots, step, read);
  return made;
}

void Envelope::push(Step x, double value) {
  last_ = x;
  double slope = 0;
  while (!corners_.empty()) {
    const Corner& top = corners_.back();
    slope = (value - top.value) / static_cast<double>(last_ - top.x);
    if (corners_.size() == 1 || slope > top.slope) break;
    corners_.pop_back();
  }
  corners_.push_back({last_, value, slope});
}

void Envelope::go_on_at(double slope) {
  while (corners_.size() > 1 && corners_.back().slope > slope) corners_.pop_back();
  last_ = corners_.back().x;
  tail_ = Tail::straight;
  read_ = slope;
}

void Envelope::go_on_binomially(Slot slots, double step, double read) {
  tail_ = Tail::binomial;
  slots_ = slots;
  step_ = step;
  read_ = read;
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
  if (x >= last_) {
    const double value = corners_.back().value;
    if (x == last_ || tail_ == Tail::none) return value;
    if (tail_ == Tail::straight) return value + read_ * static_cast<double>(x - last_);
    return value + binomial_value(x, slots_, step_, read_) -
           binomial_value(last_, slots_, step_, read_);
  }
  seek(x, hint);
  const Corner& end = corners_[hint];
  return end.value - end.slope * static_cast<double>(end.x - x);
}

double Envelope::slope(Step x, std::size_t& hint) const {
  if (x < last_) {
    seek(x, hint);
    return corners_[hint].slope;
  }
  if (tail_ == Tail::none) return std::numeric_limits<double>::infinity();
  if (tail_ == Tail::straight) return read_;
  return static_cast<double>(repetitions(x + 1, slots_)) * step_ + read_;
}

Step Envelope::least_sum(const Envelope& left, const Envelope& right, double step, Step l) {
  if (left.last_ < l || right.last_ < l) return 0;
  // The first piece of the left at whose end the right falls no faster than the left rises.
  const auto rises = [&](const Corner& piece) {
    if (piece.x >= l) return true;
    std::size_t hint = right.corners_.size();
    return step + piece.slope >= right.slope(l - piece.x, hint);
  };
  const auto piece = std::partition_point(left.corners_.begin() + 1, left.corners_.end(),
                                          [&](const Corner& each) { return !rises(each); });
  // In it, as much to the right as is not steeper.
  const auto steeper =
      std::upper_bound(right.corners_.begin() + 1, right.corners_.end(), step + piece->slope,
                       [](double slope, const Corner& corner) { return slope < corner.slope; });
  return std::clamp<Step>(l - std::prev(steeper)->x, std::prev(piece)->x, l - 1);
}

Step Envelope::end_of_piece(Step x, std::size_t& hint) const {
  if (x < last_) {
    seek(x, hint);
    return corners_[hint].x;
  }
  if (tail_ == Tail::none) return x;
  return tail_ == Tail::straight ? saturated : beta(slots_, repetitions(x + 1, slots_));
}

}  // namespace costate
