#include "costate/schedule/binomial.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "costate/core/error.hpp"

namespace costate {
namespace {

void require(bool holds, const char* what, Step value) {
  if (!holds) throw InvalidArgument(std::string(what) + ", not " + std::to_string(value));
}

void require_chain(Step l, Slot s, Step least) {
  require(l >= least,
          least == 0   ? "the number of steps must be at least 0"
          : least == 1 ? "the number of steps must be at least 1"
                       : "the number of steps must be at least 2",
          l);
  require(s >= (l > 1 || least > 0 ? 1 : 0), "the number of slots must be at least 1", s);
}

// Collects regular parts of a reversal, to count what they do all at once.
//
// A part of beta(c, r) steps splits into (c, r-1) to the left and (c-1, r) to the right, so it has
// binom(r+j-1, j) parts that start j checkpoints higher: the coefficients of 1/(1-x)^r. Each of
// these is read once a split, which it has as many of as there are parts one higher. A part of
// beta(c, r) + beta(c-1, r) steps splits into its own kind and into as many parts, each with one
// split more.
class RegularParts {
 public:
  explicit RegularParts(Slot heights) : heights_(static_cast<std::size_t>(heights)) {}

  void add(std::size_t height, Step r, bool sum) {
    if (height < heights_ && (r > 0 || (sum && r == 0))) starts_.push_back({r, height, sum});
  }

  // What the parts write and read at each height, their own starts included.
  [[nodiscard]] std::vector<Traffic> traffic() {
    std::vector<Step> parts(heights_ + 1, 0);  // one height more: its parts are the splits below
    std::vector<Step> sums(heights_ + 1, 0);   // those of the second kind alone
    std::vector<Step> starts(heights_ + 1, 0);
    std::sort(starts_.begin(), starts_.end(),
              [](const Start& a, const Start& b) { return a.r > b.r; });
    // Horner's rule: division by 1-x is summation.
    Step r = starts_.empty() ? 0 : starts_.front().r;
    for (auto next = starts_.begin();; --r) {
      for (; next != starts_.end() && next->r == r; ++next) {
        parts[next->height] += 1;
        starts[next->height] += 1;
        if (next->sum) sums[next->height] += 1;
      }
      if (r == 0) break;
      for (std::size_t j = 1; j <= heights_; ++j) {
        parts[j] = saturating_add(parts[j], parts[j - 1]);
        sums[j] = saturating_add(sums[j], sums[j - 1]);
      }
    }
    std::vector<Traffic> all(heights_);
    for (std::size_t j = 0; j < heights_; ++j) {
      const Step above = parts[j + 1];
      const Step splits = above == saturated ? above : above - starts[j + 1];
      all[j] = {parts[j], saturating_add(splits, sums[j])};
    }
    return all;
  }

 private:
  struct Start {
    Step r;
    std::size_t height;
    bool sum;
  };
  std::size_t heights_;
  std::vector<Start> starts_;
};

}  // namespace

Step beta(Slot s, Step r) noexcept {
  if (s < 0 || r < 0) return 0;
  const Step few = std::min<Step>(s, r);
  const Step many = std::max<Step>(s, r);
  Step value = 1;  // binom(many + i, i): grows with i, so that it fits if the last one does
  for (Step i = 1; i <= few; ++i) {
    if (many > saturated - i) return saturated;
    if (value <= saturated / (many + i)) {
      value = value * (many + i) / i;
      continue;
    }
    const Step divisor = i / std::gcd(value, i);
    const Step factor = (many + i) / divisor;
    value = saturating_multiply(value / (i / divisor), factor);
    if (value == saturated) return saturated;
  }
  return value;
}

Step repetitions(Step l, Slot s) {
  require_chain(l, s, 1);
  if (s == 1) return l - 1;
  Step above = 1;  // beta(s, above) >= l in the end
  while (beta(s, above) < l) above *= 2;
  Step below = above / 2;  // beta(s, below) < l, or above is 1
  if (l == 1) return 0;
  while (above - below > 1) {
    const Step middle = below + (above - below) / 2;
    (beta(s, middle) < l ? below : above) = middle;
  }
  return above;
}

Step binomial_advances(Step l, Slot s) {
  require_chain(l, s, 0);
  if (l <= 1) return 0;
  if (s >= l - 1) return l - 1;  // all states fit; and s + 1 cannot overflow below
  // t grows by r with each step beyond beta(s, r-1), and t(beta(s, r-1), s) = s beta(s+1, r-2):
  // neither term is larger than the result.
  const Step r = repetitions(l, s);
  return saturating_add(saturating_multiply(s, beta(s + 1, r - 2)),
                        saturating_multiply(r, l - beta(s, r - 1)));
}

Step binomial_writes(Step l, Slot s) {
  require_chain(l, s, 0);
  if (l <= 1) return 0;
  const Step r = repetitions(l, s);
  return std::max(beta(s - 1, r - 1), l - beta(s, r - 1));
}

std::vector<RunCount> binomial_runs(Step l, Slot s) {
  require_chain(l, s, 0);
  if (l == 0) return {};
  if (l == 1) return {{0, 1}};
  const Step r = repetitions(l, s);
  if (r >= most_run_counts) return {};
  std::vector<RunCount> runs;
  for (Step k = 0; k < r; ++k) runs.push_back({k, beta(s - 1, k)});
  runs.push_back({r, l - beta(s, r - 1)});
  return runs;
}

Step binomial_split(Step l, Slot s) {
  require_chain(l, s, 2);
  if (s == 1) return l - 1;
  // Page 34, with beta(s, r) - beta(s-3, r) taken apart so that nothing exceeds what is compared.
  const Step r = repetitions(l, s);
  const Step top = beta(s, r - 1);
  const Step second = beta(s - 1, r - 1);
  const Step third = beta(s - 2, r - 1);
  if (l <= saturating_add(top, third)) return std::max<Step>(1, beta(s, r - 2));
  if (l >= saturating_add(saturating_add(top, second), third)) return top;
  return l - second - third;
}

SplitRange binomial_splits(Step l, Slot s) {
  require_chain(l, s, 2);
  if (s == 1) return {l - 1, l - 1};
  const Step r = repetitions(l, s);
  return {std::max({Step{1}, beta(s, r - 2), l - beta(s - 1, r)}),
          std::min({l - 1, beta(s, r - 1), l - beta(s - 1, r - 1)})};
}

std::vector<Traffic> binomial_traffic(Step l, Slot s) {
  require_chain(l, s, 0);
  if (l <= 1) return {};
  Slot c = std::min<Slot>(s, l - 1);
  if (c == l - 1) return std::vector<Traffic>(static_cast<std::size_t>(c), Traffic{1, 1});
  // Every split leaves at most one part that is not regular: follow it, counting its own start and
  // splits here. The left parts begin at a checkpoint that is written already.
  Step r = repetitions(l, c);
  if (c > 1 && r > most_traffic_runs) {
    throw InvalidArgument("the traffic of " + std::to_string(c) + " slots is counted if no step " +
                          "is run more than " + std::to_string(most_traffic_runs) + " times, not " +
                          std::to_string(r));
  }
  RegularParts regular(c);
  std::vector<Traffic> traffic(static_cast<std::size_t>(c));
  std::size_t height = 0;
  traffic[0].writes = 1;
  while (l > 1) {
    Traffic& here = traffic[height];
    if (c == 1) {
      here.reads = saturating_add(here.reads, l - 1);
      break;
    }
    here.reads += 1;
    while (beta(c, r - 1) >= l) --r;
    const Step top = beta(c, r - 1);
    const Step second = beta(c - 1, r - 1);
    const Step third = beta(c - 2, r - 1);
    if (l <= saturating_add(top, third)) {
      const Step left = beta(c, r - 2);
      if (left > 1) regular.add(height, r - 2, false);
      if (left > 1) here.writes -= 1;
      l -= std::max<Step>(1, left);
    } else if (l >= saturating_add(saturating_add(top, second), third)) {
      if (top > 1) regular.add(height, r - 1, false);
      if (top > 1) here.writes -= 1;
      l -= top;
    } else {
      regular.add(height + 1, r - 1, true);
      l -= second + third;
      continue;
    }
    ++height;
    --c;
    if (l > 1) traffic[height].writes += 1;
  }
  const std::vector<Traffic> rest = regular.traffic();
  for (std::size_t j = 0; j < traffic.size(); ++j) {
    traffic[j].writes = saturating_add(traffic[j].writes, rest[j].writes);
    traffic[j].reads = saturating_add(traffic[j].reads, rest[j].reads);
  }
  return traffic;
}

}  // namespace costate
