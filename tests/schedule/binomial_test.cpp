#include "costate/schedule/binomial.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "costate/core/error.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

// The recurrence itself, over where the next checkpoint lies: least advances, then least writes,
// the start being kept already.
using Cost = std::pair<Step, Step>;
Cost cheapest(Step l, Slot s) {
  static std::map<std::pair<Step, Slot>, Cost> known;
  if (l == 1) return {0, 0};
  if (s == 1) return {l * (l - 1) / 2, 0};
  if (const auto it = known.find({l, s}); it != known.end()) return it->second;
  Cost best{l * l, 0};
  for (Step k = 1; k < l; ++k) {
    const auto [left_advances, left_writes] = cheapest(k, s);
    const auto [right_advances, right_writes] = cheapest(l - k, s - 1);
    best = std::min(best, Cost{k + left_advances + right_advances,
                               (l - k > 1 ? 1 : 0) + left_writes + right_writes});
  }
  return known[{l, s}] = best;
}

}  // namespace

TEST_CASE("beta is the binomial coefficient, exact or saturated", "[schedule][unit]") {
  CHECK(beta(3, 2) == 10);
  CHECK(beta(0, 7) == 1);
  CHECK(beta(5, 0) == 1);
  CHECK(beta(5, -1) == 0);
  CHECK(beta(-1, 5) == 0);
  CHECK(beta(1, saturated - 1) == saturated);
  CHECK(beta(1, 1'000'000'000'000) == 1'000'000'000'001);
  CHECK(beta(saturated, saturated) == saturated);
  // The largest central coefficient below 2^63, and its neighbour beyond (case C53).
  CHECK(beta(33, 33) == 7219428434016265740);
  CHECK(beta(33, 34) == saturated);
  CHECK(beta(30, 40) == saturated);

  for (Slot s = 1; s <= 33; ++s) {
    for (Step r = 1; r <= 33; ++r) {
      CAPTURE(s, r);
      CHECK(beta(s, r) == beta(s - 1, r) + beta(s, r - 1));
    }
  }
}

TEST_CASE("Advances are those of the reference", "[schedule][golden]") {
  // Table 2.1: revolve, advances by number of steps and slots.
  const std::vector<Slot> slots = {1, 2, 3, 4, 5, 7, 8, 10, 16, 20, 30, 50, 100};
  const std::map<Step, std::vector<Step>> table = {
      {1, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {2, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
      {3, {3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
      {4, {6, 4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3}},
      {5, {10, 6, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}},
      {8, {28, 14, 11, 10, 9, 7, 7, 7, 7, 7, 7, 7, 7}},
      {10, {45, 20, 15, 14, 13, 11, 10, 9, 9, 9, 9, 9, 9}},
      {16, {120, 45, 33, 27, 25, 23, 22, 20, 15, 15, 15, 15, 15}},
      {20, {190, 65, 45, 39, 33, 31, 30, 28, 22, 19, 19, 19, 19}},
      {30, {435, 126, 85, 69, 62, 51, 50, 48, 42, 38, 29, 29, 29}},
      {50, {1225, 285, 180, 144, 122, 105, 95, 88, 82, 78, 68, 49, 49}},
      {100, {4950, 845, 490, 374, 316, 255, 245, 222, 182, 178, 168, 148, 99}},
      {128, {8128, 1240, 694, 516, 430, 347, 329, 306, 238, 234, 224, 204, 154}},
      {200, {19900, 2470, 1305, 948, 790, 635, 580, 522, 429, 378, 368, 348, 298}},
      {256, {32640, 3608, 1845, 1330, 1074, 859, 804, 690, 597, 515, 480, 460, 410}},
      {500, {124750, 10044, 4680, 3213, 2576, 2005, 1785, 1636, 1329, 1247, 972, 948, 898}},
      {1000, {499500, 28820, 12155, 7998, 6284, 4713, 4285, 3636, 2860, 2747, 2472, 1948, 1898}},
      {1024, {523776, 29876, 12563, 8261, 6476, 4857, 4405, 3755, 2956, 2819, 2544, 1996, 1946}},
      {2000,
       {1999000, 82336, 31374, 19812, 14997, 10997, 9998, 8635, 6860, 5976, 5472, 4622, 3898}},
      {10000,
       {49995000, 932820, 278730, 157496, 112868, 77130, 68560, 57624, 44015, 37976, 34016, 28622,
        24747}},
      {100000,
       {4999950000, 29714304, 6176445, 2950602, 1924980, 1196510, 1032040, 832040, 599053, 534220,
        447640, 375196, 294747}},
      {1000000,
       {499999500000, 941809245, 134787105, 54008456, 31940948, 17891895, 14957025, 11647922,
        7918425, 6815960, 5623008, 4658945, 3817896}}};
  for (const auto& [n, row] : table) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      CAPTURE(n, slots[i]);
      CHECK(binomial_advances(n, slots[i]) == row[i]);
    }
  }
  CHECK(binomial_advances(100'000'000, 10) == 2113902240);
  CHECK(binomial_advances(200'000'000, 6) == 11815170150);
  CHECK(binomial_advances(2'000'000'000, 40) == 17549021934);
  CHECK(binomial_advances(10'000'000, 20) == 85707855);
}

TEST_CASE("C49: the least number of advances", "[schedule][golden]") {
  struct Row {
    Step n;
    Slot s;
    Step t;
  };
  for (const Row& row : std::vector<Row>{
           {1, 1, 0},       {2, 1, 1},        {4, 4, 3},        {10, 1, 45},   {10, 2, 20},
           {10, 3, 15},     {10, 5, 13},      {11, 3, 18},      {20, 3, 45},   {20, 4, 39},
           {56, 5, 140},    {57, 5, 144},     {100, 3, 490},    {100, 5, 316}, {100, 10, 222},
           {1000, 5, 6284}, {1000, 10, 3636}, {1000, 20, 2747}, {11, 2, 24},   {56, 3, 210}}) {
    CAPTURE(row.n, row.s);
    CHECK(binomial_advances(row.n, row.s) == row.t);
  }
}

TEST_CASE("Ten thousand steps, advances by slots", "[schedule][golden]") {
  CHECK(binomial_advances(10000, 1) == 49995000);
  CHECK(binomial_advances(10000, 2) == 932820);
  CHECK(binomial_advances(10000, 3) == 278730);
  CHECK(binomial_advances(10000, 10) == 57624);
  CHECK(binomial_advances(10000, 15) == 45155);
  CHECK(binomial_advances(10000, 40) == 29097);
  CHECK(binomial_advances(10000, 200) == 19798);
  // With 15 slots every optimal schedule keeps its second state between steps 816 and 3876.
  CHECK(binomial_splits(10000, 15) == SplitRange{816, 3876});
}

TEST_CASE("C53: counts of very long runs are exact or saturated", "[schedule][golden]") {
  CHECK(binomial_advances(1'000'000, 20) == 6815960);
  CHECK(repetitions(1'000'000, 20) == 8);
  CHECK(binomial_advances(1'000'000, 1) == 499999500000);
  CHECK(repetitions(1'000'000, 1) == 999999);
  CHECK(binomial_advances(2147483653, 3) == 3772659197769);
  CHECK(repetitions(2147483653, 3) == 2343);
  CHECK(binomial_advances(1'000'000'000, 50) == 7699325912);
  CHECK(repetitions(1'000'000'000, 50) == 8);
  CHECK(binomial_advances(1'000'000'000'000, 2) == 942808041582163645);
  CHECK(repetitions(1'000'000'000'000, 2) == 1414213);
  CHECK(binomial_advances(10'000'000'000'000, 2) == saturated);
  CHECK(binomial_advances(saturated, 1) == saturated);
  CHECK(binomial_writes(10'000'000'000'000, 1) == 1);
  // A sum of less than 2^63 whose product r l is larger.
  CHECK(binomial_advances(4'000'000'000, 1) == 7999999998000000000);
}

TEST_CASE("Advances and writes are the least, for every split allowed", "[schedule][oracle]") {
  const Slot s = GENERATE(Catch::range(1, 9));
  for (Step l = 2; l <= 72; ++l) {
    CAPTURE(l, s);
    const Cost least = cheapest(l, s);
    CHECK(binomial_advances(l, s) == least.first);
    CHECK(binomial_writes(l, s) == least.second + 1);

    const SplitRange range = binomial_splits(l, s);
    for (Step k = 1; k < l; ++k) {
      const bool optimal =
          k + cheapest(k, s).first + (s > 1 || l - k == 1 ? cheapest(l - k, s - 1).first : l * l) ==
          least.first;
      CHECK(optimal == (k >= range.shortest && k <= range.longest));
    }
    const Step k = binomial_split(l, s);
    CHECK(k >= range.shortest);
    CHECK(k <= range.longest);
  }
}

TEST_CASE("The traffic by height adds up", "[schedule][property]") {
  const Slot s = GENERATE(1, 2, 3, 5, 8, 13, 1000);
  for (const Step l : {Step{2}, Step{3}, Step{5}, Step{17}, Step{100}, Step{999}, Step{12345},
                       Step{1'000'000'007}, Step{1'000'000'000'000}}) {
    CAPTURE(l, s);
    Step writes = 0;
    Step reads = 0;
    for (const Traffic& height : binomial_traffic(l, s)) {
      writes += height.writes;
      reads += height.reads;
    }
    CHECK(writes == binomial_writes(l, s));
    CHECK(reads == l - 1);
  }
}

TEST_CASE("Bad arguments are refused with the value in the message", "[schedule][unit]") {
  CHECK_THROWS_WITH(binomial_advances(-3, 2), "the number of steps must be at least 0, not -3");
  CHECK_THROWS_WITH(binomial_advances(3, 0), "the number of slots must be at least 1, not 0");
  CHECK(binomial_advances(1, 0) == 0);
  CHECK(binomial_advances(0, 0) == 0);
  CHECK_THROWS_AS(binomial_split(1, 1), InvalidArgument);
  CHECK_THROWS_AS(repetitions(0, 1), InvalidArgument);
}

TEST_CASE("How many steps are run how often is settled by the least advances", "[oracle][golden]") {
  CHECK(binomial_runs(56, 3) ==
        std::vector<RunCount>{{0, 1}, {1, 3}, {2, 6}, {3, 10}, {4, 15}, {5, 21}});
  CHECK(binomial_runs(0, 3).empty());
  CHECK(binomial_runs(1, 0) == std::vector<RunCount>{{0, 1}});
  CHECK(binomial_runs(10'001, 1).empty());  // too many to be listed
  for (const Slot s : {1, 2, 3, 7, 40}) {
    for (Step l = 1; l < 10'000; l += 1 + l / 7) {
      Step steps = 0;
      Step advances = 0;
      for (const RunCount& each : binomial_runs(l, s)) {
        CHECK(each.steps > 0);
        steps += each.steps;
        advances += each.runs * each.steps;
      }
      CAPTURE(l, s);
      CHECK(steps == l);
      CHECK(advances == binomial_advances(l, s));
    }
  }
  // Of any length.
  const std::vector<RunCount> long_run = binomial_runs(100'000'000'000'000'000, 100);
  CHECK(long_run.back().runs == repetitions(100'000'000'000'000'000, 100));
  CHECK(long_run[5] == RunCount{5, beta(99, 5)});
}
