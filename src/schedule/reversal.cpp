#include "reversal.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>

#include "costate/schedule/binomial.hpp"

namespace costate {
namespace {

// a b / d, which is known to be whole and to fit.
Step multiply_divide(Step a, Step b, Step d) noexcept {
  if (std::bit_width(static_cast<std::uint64_t>(a)) +
          std::bit_width(static_cast<std::uint64_t>(b)) <
      64) {
    return a * b / d;
  }
  const Step common = std::gcd(a, d);
  return a / common * (b / (d / common));
}

}  // namespace

Reversal::Reversal(const Segment& segment, SlotStack stack)
    : segment_(segment), end_(segment.end), stack_(std::move(stack)), begun_(false) {}

Command Reversal::next() {
  if (given_ == ready_.size()) {
    ready_.clear();
    given_ = 0;
    if (!begun_) {
      begun_ = true;
      begin();
    } else if (descending_) {
      descend();
    } else if (!kept_.empty()) {
      prepare();
    } else {
      return {};
    }
  }
  return ready_[given_++];
}

void Reversal::begin() {
  const Step l = end_ - segment_.begin;
  const Slot c = stack_.height();
  if (l == 1 && segment_.live) {
    reverse(segment_.begin);
    if (segment_.kept) emit(Kind::drop, 0, 0, stack_.slot(0));
    return;
  }
  const bool fits = l - 1 <= c;
  const Step r = fits ? 0 : repetitions(l, c);
  const Kept bottom{segment_.begin, r, fits ? 0 : beta(c, r - 1)};
  if (segment_.kept) {
    kept_.push_back(bottom);
    if (!segment_.live) {
      prepare();
    } else if (fits) {
      dense(segment_.begin, 0, true);
      kept_.pop_back();
    } else {
      descend();
    }
  } else if (fits) {
    dense(segment_.begin, 0, false);
  } else {
    keep(bottom);
    descend();
  }
}

// A save of the live state and one step from it are what `keep` consists of. With r = 2 most splits
// are by one step, so without this a long descent would be a list of single commands.
bool Reversal::joins_last(Step from) {
  if (ready_.empty() || ready_.back().kind != Kind::save || ready_.back().from != from)
    return false;
  const Slot slot = ready_.back().slot;
  ready_.pop_back();
  if (!ready_.empty()) {
    Command& last = ready_.back();
    if (last.kind == Kind::keep && last.to == from && last.slot + (from - last.from) == slot) {
      ++last.to;
      return true;
    }
  }
  ready_.push_back({Kind::keep, Content::state, from, from + 1, slot});
  return true;
}

// Fills ready_ with the commands up to the next load, at least one.
void Reversal::prepare() {
  const Kept& top = kept_.back();
  const Step l = end_ - top.at;
  const Slot c = stack_.height() - height();
  if (l == 1 && !(segment_.turns && end_ == segment_.end)) {
    emit(Kind::unwind, top.at, top.at + 1, stack_.slot(height()));
    end_ = top.at;
    kept_.pop_back();
    return;
  }
  emit(Kind::load, top.at, 0, stack_.slot(height()));
  if (l - 1 <= c) {
    dense(top.at, height(), true);
    kept_.pop_back();
  } else {
    descend();
  }
}

void Reversal::keep(const Kept& checkpoint) {
  kept_.push_back(checkpoint);
  emit(Kind::save, checkpoint.at, 0, stack_.slot(height()));
}

// The state at the top of the stack is live: advance, keeping states, to the last step and reverse
// it.
void Reversal::descend() {
  // In pieces: a first pass through many slots would be a list as long as they are many.
  constexpr std::size_t piece = 64;
  descending_ = true;
  while (ready_.size() < piece) {
    Kept& top = kept_.back();
    const Step l = end_ - top.at;
    const Slot c = stack_.height() - height();
    const Step at = top.at;
    Kept right{};
    const Step k = c == 1 ? l - 1 : split(top, l, c, right);
    emit(Kind::advance, at, at + k);
    right.at = at + k;
    if (l - k == 1) {
      descending_ = false;
      reverse(at + k);
      return;
    }
    if (l - k - 1 <= c - 1) {
      descending_ = false;
      dense(at + k, height() + 1, false);
      return;
    }
    keep(right);
  }
}

// The distance to the next checkpoint (binomial_split), and r and below of both parts.
Step Reversal::split(Kept& top, Step l, Slot c, Kept& right) noexcept {
  const Step r = top.r;
  const Step first = top.below;                                  // beta(c, r-1)
  const Step left = multiply_divide(first, r - 1, c + r - 1);    // beta(c, r-2)
  const Step second = first - left;                              // beta(c-1, r-1)
  const Step third = multiply_divide(second, c - 1, c + r - 2);  // beta(c-2, r-1)
  Step k = 0;
  if (l <= first + third) {
    k = left;
  } else if (l >= first + second + third) {
    k = first;
  } else {
    k = l - second - third;
  }
  if (l - k > second) {
    right.r = r;
    right.below = second;
  } else {
    right.r = r - 1;
    right.below = second - third;
  }
  if (k > left) {
    top.r = r - 1;
    top.below = left;
  } else {
    top.r = r - 2;
    top.below = multiply_divide(left, r - 2, c + r - 2);
  }
  return k;
}

void Reversal::reverse(Step k) {
  emit(Kind::record, k);
  if (segment_.turns && end_ == segment_.end) emit(Kind::turn, end_);
  emit(Kind::reverse, k);
  end_ = k;
}

// All states from b, which is live, to the end fit from `height` upwards. `kept`: b lies there.
void Reversal::dense(Step b, Slot height, bool kept) {
  const Step last = end_ - 1;
  Step from = b;
  if (kept && b < last) {
    emit(Kind::advance, b, b + 1);
    ++from;
  }
  while (from < last) {
    const Slot at = height + (from - b);
    const Step to = std::min(last, from + (stack_.contiguous_end(at) - at));
    emit(Kind::keep, from, to, stack_.slot(at));
    from = to;
  }
  reverse(last);
  if (b < last) {
    unwind(b, last, height);
  } else if (kept) {
    emit(Kind::drop, 0, 0, stack_.slot(height));
  }
  end_ = b;
}

void Reversal::unwind(Step from, Step to, Slot height) {
  const Step middle = std::min(to, from + (stack_.contiguous_end(height) - height));
  if (middle < to) unwind(middle, to, height + (middle - from));
  emit(Kind::unwind, from, middle, stack_.slot(height));
}

}  // namespace costate
