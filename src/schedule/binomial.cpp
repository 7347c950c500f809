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

// Adds to `traffic` what one reversal of beta(c, r) steps does, or of beta(c, r) + beta(c-1, r)
// steps if `sum`: both split into two of their kind, (c, r-1) to the left and (c-1, r) to the
// right, so height j is written binom(r+j-1, j) times. A checkpoint is read once a split, r or r+1
// times: the reads follow from summing over the r' that the right parts of the height below have.
void add_regular(std::vector<Traffic>& traffic, std::size_t height, Slot c, Step r, bool sum,
                 bool start_is_kept) {
  if (c < 1 || (r < 1 && !sum)) return;
  for (Slot j = 0; j < c && height < traffic.size(); ++j, ++height) {
    // binom(r+j-1, j) parts start at height j; with r' splits each, sum r' = binom(r+j, j+1).
    const Step parts = j == 0 ? 1 : beta(j, r - 1);
    const Step splits = saturating_add(beta(j + 1, r - 1), sum ? parts : 0);
    Traffic& here = traffic[height];
    here.writes = saturating_add(here.writes, j == 0 && start_is_kept ? 0 : parts);
    here.reads = saturating_add(here.reads, splits);
  }
}

}  // namespace

Step beta(Slot s, Step r) noexcept {
  if (s < 0 || r < 0) return 0;
  const Step few = std::min<Step>(s, r);
  const Step many = std::max<Step>(s, r);
  Step value = 1;  // binom(many + i, i): grows with i, so that it fits if the last one does
  for (Step i = 1; i <= few; ++i) {
    if (many > saturated - i) return saturated;
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
  std::vector<Traffic> traffic(static_cast<std::size_t>(c));
  // Every split leaves at most one part that is not regular: follow it.
  std::size_t height = 0;
  bool start_is_kept = false;
  while (l > 1) {
    Traffic& here = traffic[height];
    if (!start_is_kept) here.writes = saturating_add(here.writes, 1);
    start_is_kept = true;
    if (c == 1) {
      here.reads = saturating_add(here.reads, l - 1);
      break;
    }
    here.reads = saturating_add(here.reads, 1);
    const Step r = repetitions(l, c);
    const Step top = beta(c, r - 1);
    const Step second = beta(c - 1, r - 1);
    const Step third = beta(c - 2, r - 1);
    if (l <= saturating_add(top, third)) {  // left beta(c, r-2) steps, regular
      add_regular(traffic, height, c, r - 2, false, true);
      l -= std::max<Step>(1, beta(c, r - 2));
    } else if (l >= saturating_add(saturating_add(top, second), third)) {  // left beta(c, r-1)
      add_regular(traffic, height, c, r - 1, false, true);
      l -= top;
    } else {  // right beta(c-1, r-1) + beta(c-2, r-1) steps, regular
      add_regular(traffic, height + 1, c - 1, r - 1, true, false);
      l -= second + third;
      continue;
    }
    ++height;
    --c;
    start_is_kept = false;
  }
  return traffic;
}

}  // namespace costate
