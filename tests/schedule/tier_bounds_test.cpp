// White box: the rule for long runs, with tables so short that complete tables can judge it.
#include "../../src/schedule/tier_bounds.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "../../src/schedule/envelope.hpp"
#include "costate/schedule/interpreter.hpp"
#include "support/catch.hpp"

using namespace costate;

TEST_CASE("An envelope is the largest convex function below its values", "[schedule][oracle]") {
  std::mt19937 random(5);
  std::vector<double> values;
  Envelope envelope;
  for (int i = 1; i <= 60; ++i) {
    const int noise = std::uniform_int_distribution<int>(0, 200)(random);
    values.push_back((i - 20) * (i - 20) / 4.0 + noise);
    envelope.push(values.back());
    // By definition: the least over all chords that span x.
    for (int x = 1; x <= i; ++x) {
      double least = values[static_cast<std::size_t>(x - 1)];
      for (int a = 1; a < x; ++a) {
        for (int b = x + 1; b <= i; ++b) {
          const double left = values[static_cast<std::size_t>(a - 1)];
          const double right = values[static_cast<std::size_t>(b - 1)];
          least = std::min(least, left + (right - left) * (x - a) / (b - a));
        }
      }
      CAPTURE(i, x);
      // Both interpolate between the same whole numbers with three roundings.
      CHECK(envelope.at(x) == Catch::Approx(least).epsilon(1e-14).margin(1e-12));
    }
  }
}

TEST_CASE("The least sum of two envelopes is found from their corners", "[schedule][oracle]") {
  std::mt19937 random(6);
  for (int trial = 0; trial < 300; ++trial) {
    Envelope left;
    Envelope right;
    const Step l = 2 + static_cast<Step>(random() % 40);
    for (Step x = 1; x <= l; ++x) {
      left.push(static_cast<double>(x * x) * static_cast<double>(1 + random() % 3) / 8);
      right.push(static_cast<double>(x * x) * static_cast<double>(1 + random() % 3) / 4);
    }
    const double step = static_cast<double>(random() % 9) / 4;
    Step best = 1;
    const auto sum = [&](Step j) {
      return left.at(j) + static_cast<double>(j) * step + right.at(l - j);
    };
    for (Step j = 2; j < l; ++j) {
      if (sum(j) < sum(best)) best = j;
    }
    CAPTURE(trial, l, step);
    const Step found = Envelope::least_sum(left, right, step, l);
    CHECK(found >= 1);
    CHECK(found < l);
    // Three roundings each, of numbers below 10⁴.
    CHECK(sum(found) == Catch::Approx(sum(best)).epsilon(1e-14).margin(1e-11));
    CHECK(Envelope::least_sum(left, right, step, l + 1) == 0);  // not known
  }
}

TEST_CASE("The bound is below the optimum, the plan above, for any ordered costs",
          "[schedule][oracle]") {
  std::mt19937 random(17);
  const auto whole = [&random](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
#ifdef COSTATE_SOAK
  const int trials = 300;
#else
  const int trials = 100;
#endif
  for (int trial = 0; trial < trials; ++trial) {
    Costs costs;
    costs.step = whole(1, 16) / 4.0;
    std::vector<TierLevel> levels;
    std::vector<TierSlots> tiers;
    double write = whole(0, 1) * whole(0, 8) / 4.0;
    double read = whole(0, 8) / 4.0;
    const int count = whole(1, 3);
    for (int k = 0; k < count; ++k) {
      const bool open = k + 1 == count && count > 1 && whole(0, 2) == 0;
      levels.push_back({static_cast<std::size_t>(k), open ? unbounded : whole(1, 6), write, read});
      tiers.push_back({"", levels.back().slots});
      costs.tiers.push_back({.write = write, .read = read});
      write += whole(0, 40) / 4.0;
      read += whole(0, 40) / 4.0;
    }
    const Step n = whole(100, 1000);
    CAPTURE(trial, n, count, costs.step);
    const TierTables complete(levels, costs.step, n);
    const TierBounds bounds(TierTables(levels, costs.step, 64), n);

    const Counts best = tiered_counts(complete, n, tiers);
    const Counts near = tiered_counts(bounds, n, tiers);
    const double optimum = cost_of(best, costs);
    const double reached = cost_of(near, costs);
    // The rules let a write cost 2^-30 steps more, and the hulls round: some units in the last
    // place for each of the n values a value is built from.
    Step writes = 0;
    for (const TierCounts& tier : best.tiers) writes += tier.writes;
    for (const TierCounts& tier : near.tiers) writes += tier.writes;
    const double tie = costs.step * 0x1p-30 * static_cast<double>(writes) +
                       optimum * 0x1p-50 * static_cast<double>(n);
    CHECK(bounds.lower_bound(n) <= optimum + tie);
    double worst = 0;  // of all that the bound is made of
    for (std::size_t k = levels.front().write > 0 ? 0 : 1; k < levels.size(); ++k) {
      for (Slot s = bounds.all_slots(k) > 0 ? 1 : 0; s <= bounds.all_slots(k); ++s) {
        for (Step l = 2; l <= n; ++l) {
          worst = std::max(worst, bounds.kept_bound(k, l, s) - complete.kept(k, l, s));
        }
      }
    }
    CHECK(worst <= tie);
    CHECK(optimum <= reached + tie);
    CHECK(reached <= 1.02 * bounds.lower_bound(n));
  }
}
