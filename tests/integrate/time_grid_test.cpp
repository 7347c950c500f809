#include "costate/integrate/time_grid.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "costate/core/error.hpp"
#include "support/catch.hpp"

using namespace costate;

TEST_CASE("Equal steps end at t1 exactly, whatever the magnitudes and the direction",
          "[integrate][property]") {
  for (const double t0 : {0.0, 1.0, -3.0, 1e9}) {
    for (const double length : {1.0, -1.0, 1e3, 123456.789, 1e-3}) {
      for (const Step n : {1, 3, 7, 10, 1000}) {
        CAPTURE(t0, length, n);
        const TimeGrid grid = TimeGrid::with_steps(t0, t0 + length, n);
        REQUIRE(grid.steps() == n);
        CHECK(grid[0] == t0);
        CHECK(grid[n] == t0 + length);
        CHECK(grid.interval(n - 1).t_next == t0 + length);
        CHECK(grid.interval(0).h == (t0 + length - t0) / static_cast<double>(n));
      }
    }
  }
}

TEST_CASE("A step size that does not divide the interval shortens the last step (C08)",
          "[integrate][unit]") {
  const TimeGrid grid = TimeGrid::with_step_size(0, 2, 0.3);
  REQUIRE(grid.steps() == 7);
  for (Step k = 0; k < 6; ++k) {
    CHECK(grid.interval(k).h == 0.3);
    CHECK(grid[k] == static_cast<double>(k) * 0.3);
  }
  CHECK(grid.interval(6).t_next == 2);
  CHECK(grid.interval(6).h == 2 - 6 * 0.3);

  const TimeGrid back = TimeGrid::with_step_size(2, 0, 0.3);
  REQUIRE(back.steps() == 7);
  CHECK(back.interval(0).h == -0.3);
  CHECK(back.interval(6).t_next == 0);
}

TEST_CASE("A step size that divides the interval up to rounding gives equal steps",
          "[integrate][unit]") {
  CHECK(TimeGrid::with_step_size(0, 1, 0.1).steps() == 10);
  CHECK(TimeGrid::with_step_size(0, 5, 1. / 20).steps() == 100);
  CHECK(TimeGrid::with_step_size(0, 1, 1. / 3).steps() == 3);
  CHECK(TimeGrid::with_step_size(0, 1, 0.1 * (1 + 1e-11)).steps() == 10);
  CHECK(TimeGrid::with_step_size(0, 1, 0.1 * (1 + 1e-8)).steps() == 10);
  CHECK(TimeGrid::with_step_size(0, 1, 0.1 * (1 - 1e-8)).steps() == 11);
  CHECK(TimeGrid::with_step_size(0, 1, 5).steps() == 1);
  CHECK(TimeGrid::with_step_size(0, 1, 5).interval(0).h == 1);
}

TEST_CASE("An interval of length zero has no steps (C13)", "[integrate][unit]") {
  CHECK(TimeGrid::with_step_size(2, 2, 0.1).steps() == 0);
  CHECK(TimeGrid::with_steps(2, 2, 0).steps() == 0);
  CHECK(TimeGrid::with_steps(2, 2, 0, std::vector<double>{2, 2}).steps() == 0);
  CHECK(TimeGrid::with_steps(2, 2, 0).index_of(2) == 0);
  CHECK(TimeGrid::with_steps(2, 2, 0)[0] == 2);
}

TEST_CASE("Stops are points of the grid, inserted only where there is none", "[integrate][unit]") {
  const std::vector<double> stops{0.75, 0.3, 0.3, 1, 0, 0.1 + 0.2, 0.31};
  const TimeGrid grid = TimeGrid::with_steps(0, 1, 10, stops);
  const std::vector<double> expected{0,       0.1,     0.2,  3 * 0.1, 0.31, 0.4, 0.5,
                                     6 * 0.1, 7 * 0.1, 0.75, 0.8,     0.9,  1};
  CHECK(grid.times() == expected);
  CHECK(grid.index_of(0.31) == 4);
  CHECK(grid.index_of(0.75) == 9);
  CHECK(grid.index_of(0.3) == 3);
  CHECK(grid.index_of(1) == 12);
  CHECK(grid.index_of(0.77) == unknown);

  const TimeGrid back = TimeGrid::with_steps(1, 0, 10, std::vector<double>{0.25, 0.95});
  REQUIRE(back.steps() == 12);
  CHECK(back[1] == 0.95);
  CHECK(back.index_of(0.25) == 9);
}

TEST_CASE("Intervals join without gap and the same in blocks or one by one",
          "[integrate][property]") {
  const std::vector<TimeGrid> grids{
      TimeGrid::with_step_size(0.1, 7.7, 0.03),
      TimeGrid::with_steps(5, -2, 91, std::vector<double>{1.2345, -1.999}),
      TimeGrid::listed({0, 0.1, 0.5, 0.75, 3, 3.5})};
  for (const TimeGrid& grid : grids) {
    const Step n = grid.steps();
    std::vector<Interval> all(static_cast<std::size_t>(n));
    grid.fill(0, n, all.data());
    for (Step k = 0; k < n; ++k) {
      CAPTURE(k);
      const Interval one = grid.interval(k);
      const Interval& here = all[static_cast<std::size_t>(k)];
      CHECK(one.t == here.t);
      CHECK(one.h == here.h);
      CHECK(one.t_next == here.t_next);
      CHECK(here.t == grid[k]);
      CHECK(here.t_next == grid[k + 1]);
      CHECK(grid.index_of(grid[k]) == k);
    }
  }
}

TEST_CASE("A recorded grid grows and is the grid it recorded", "[integrate][unit]") {
  TimeGrid grid(1.5);
  CHECK(grid.steps() == 0);
  grid.push_back(1.75);
  grid.push_back(2.5);
  CHECK(grid.steps() == 2);
  CHECK(grid.times() == std::vector<double>{1.5, 1.75, 2.5});
  CHECK(TimeGrid::listed(grid.times()).interval(1).h == grid.interval(1).h);
}

TEST_CASE("Grids that make no sense are refused", "[integrate][unit]") {
  CHECK_THROWS_AS(TimeGrid::with_steps(0, 1, 0), InvalidArgument);
  CHECK_THROWS_AS(TimeGrid::with_steps(0, std::numeric_limits<double>::quiet_NaN(), 3),
                  InvalidArgument);
  CHECK_THROWS_AS(TimeGrid::with_steps(1, 1 + 1e-15, 1000), InvalidArgument);
  CHECK_THROWS_AS(TimeGrid::with_step_size(0, 1, 0), InvalidArgument);
  CHECK_THROWS_AS(TimeGrid::with_step_size(0, 1, -0.1), InvalidArgument);
  CHECK_THROWS_AS(TimeGrid::with_step_size(0, 1, 1e-30), InvalidArgument);
  CHECK_THROWS_AS(TimeGrid::listed({}), InvalidArgument);
  CHECK_THROWS_AS(TimeGrid::listed({0, 1, 1}), InvalidArgument);
  CHECK_THROWS_AS(TimeGrid::listed({0, 1, 0.5, 2}), InvalidArgument);
}

TEST_CASE("Each interval knows its step", "[integrate][unit]") {
  const auto check = [](const TimeGrid& grid) {
    std::vector<Interval> s(static_cast<std::size_t>(grid.steps()));
    grid.fill(0, grid.steps(), s.data());
    for (Step k = 0; k < grid.steps(); ++k) CHECK(s[static_cast<std::size_t>(k)].k == k);
  };
  check(TimeGrid::with_steps(0, 1, 7));
  check(TimeGrid::with_step_size(0, 1, 0.3));
  const std::vector<double> stops{0.33};
  check(TimeGrid::with_steps(0, 1, 7, stops));
  check(TimeGrid::listed({0, 0.1, 0.4}));
}
