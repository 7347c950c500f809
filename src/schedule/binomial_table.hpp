#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstddef>
#include <vector>

#include "costate/core/step.hpp"
#include "costate/schedule/binomial.hpp"

namespace costate {

/// What a reversal costs: advances first, then writes.
struct Price {
  Step advances = saturated;
  Step writes = saturated;
  friend auto operator<=>(const Price&, const Price&) = default;
  friend Price operator+(Price a, Price b) noexcept {
    return {saturating_add(a.advances, b.advances), saturating_add(a.writes, b.writes)};
  }
};

/// t(l, s) and the least writes of binomial.hpp for many l and s in turn, in a few operations each:
/// keeps the binomials beta(s, r) for all s up to a largest one and every r that was needed so far.
class BinomialTable {
 public:
  explicit BinomialTable(Slot most_slots) : width_(static_cast<std::size_t>(most_slots) + 1) {}

  /// t(l, s), l >= 0, 0 <= s <= most_slots; `saturated` if it does not fit or cannot be done.
  [[nodiscard]] Step advances(Step l, Slot s) {
    if (l <= 1) return 0;
    if (s <= 0) return saturated;
    if (l - 1 <= s) return l - 1;
    if (s == 1) return triangle(l - 1);
    if (s == 2) {
      const Step r = root(l);
      return saturating_add(saturating_multiply(2, beta(3, r - 2)),
                            saturating_multiply(r, l - triangle(r)));
    }
    return advances(l, s, row(l, s));
  }

  /// The same with the checkpoints written, the one of the start not counted.
  [[nodiscard]] Price price(Step l, Slot s) {
    if (l <= 1) return {0, 0};
    if (s <= 0) return {};
    if (l - 1 <= s) return {l - 1, l - 2};
    if (s == 1) return {triangle(l - 1), 0};
    // Writes: max(beta(s-1, r-1), l - beta(s, r-1)) with that of the start.
    if (s == 2) {
      const Step r = root(l);
      return {advances(l, s), std::max(r, l - triangle(r)) - 1};
    }
    const std::size_t r = row(l, s);
    return {advances(l, s, r), std::max(reach(r - 1, s - 1), l - reach(r - 1, s)) - 1};
  }

  /// The r with beta(s, r-1) < l <= beta(s, r), l >= 2 and 1 <= s <= most_slots.
  [[nodiscard]] Step repetitions(Step l, Slot s) {
    if (l - 1 <= s) return 1;
    if (s == 1) return l - 1;
    return s == 2 ? root(l) : static_cast<Step>(row(l, s));
  }

  /// beta(s, r) for r >= 0 and 0 <= s <= most_slots.
  [[nodiscard]] Step reach_of(Slot s, Step r) {
    if (s <= 2 || r <= 1) return beta(s, r);
    while (rows_ <= static_cast<std::size_t>(r)) grow();
    return reach(static_cast<std::size_t>(r), s);
  }

 private:
  // As in binomial_advances: s beta(s+1, r-2) + r (l - beta(s, r-1)).
  [[nodiscard]] Step advances(Step l, Slot s, std::size_t r) const {
    return saturating_add(base_[r * width_ + static_cast<std::size_t>(s)],
                          saturating_multiply(static_cast<Step>(r), l - reach(r - 1, s)));
  }
  [[nodiscard]] static Step triangle(Step r) {  // r (r+1) / 2
    return r % 2 == 0 ? saturating_multiply(r / 2, r + 1) : saturating_multiply(r, (r + 1) / 2);
  }
  // The r with beta(2, r-1) < l <= beta(2, r), beta(2, r) = (r+1)(r+2)/2.
  [[nodiscard]] static Step root(Step l) {
    auto r = static_cast<Step>(std::sqrt(2.0 * static_cast<double>(l)));
    while (triangle(r + 1) < l) ++r;
    while (triangle(r) >= l) --r;
    return r;
  }

  // The r with beta(s, r-1) < l <= beta(s, r), for l > 1 and s > 2.
  [[nodiscard]] std::size_t row(Step l, Slot s) {
    while (rows_ < 2 || reach(rows_ - 1, s) < l) grow();
    std::size_t r = hint_ < rows_ ? hint_ : rows_ - 1;
    while (reach(r, s) < l) ++r;
    while (reach(r - 1, s) >= l) --r;  // ends at r = 1, because reach(0, s) = 1 < l
    hint_ = r;
    return r;
  }
  [[nodiscard]] Step reach(std::size_t r, Slot s) const {
    return reach_[r * width_ + static_cast<std::size_t>(s)];
  }
  void grow() {
    const std::size_t r = rows_++;
    reach_.resize(rows_ * width_, 1);
    base_.resize(rows_ * width_, 0);
    if (r == 0) return;  // beta(s, 0) = 1
    for (std::size_t s = 1; s < width_; ++s) {
      const std::size_t i = r * width_ + s;
      reach_[i] = saturating_add(reach_[i - 1], reach_[i - width_]);
      if (r >= 2) {
        // t grows by r - 1 with each step from beta(s, r-2) to beta(s, r-1).
        base_[i] = saturating_add(base_[i - width_],
                                  saturating_multiply(static_cast<Step>(r) - 1,
                                                      reach_[i - width_] - reach_[i - 2 * width_]));
      }
    }
  }

  std::size_t width_;
  std::size_t rows_ = 0;
  std::size_t hint_ = 1;
  std::vector<Step> reach_;  // [r][s]: beta(s, r)
  std::vector<Step> base_;   // [r][s]: t(beta(s, r-1), s)
};

}  // namespace costate
