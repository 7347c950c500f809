#include "costate/schedule/online_tiered.hpp"

#include "costate/core/error.hpp"
#include "costate/schedule/binomial.hpp"
#include "costate/schedule/hierarchical.hpp"
#include "costate/schedule/interpreter.hpp"
#include "support/catch.hpp"

using namespace costate;

namespace {

Costs memory_and_disk(Slot memory, Slot disk, double cost) {
  Costs costs;
  costs.tiers = {{.name = "memory", .slots = memory},
                 {.name = "disk", .slots = disk, .write = cost, .read = cost}};
  return costs;
}

}  // namespace

TEST_CASE("Online with memory and disk is as near to the offline optimum as stated", "[property]") {
  struct Case {
    Slot memory;
    Slot disk;
    double cost;
    double worst;  // as docs/online.md says
  };
  for (const Case c :
       {Case{2, 4, 0.3, 1.20}, Case{2, 16, 5, 1.16}, Case{2, 16, 10, 1.17}, Case{4, 4, 5, 1.09},
        Case{4, 16, 1, 1.18}, Case{4, 16, 10, 1.08}, Case{4, unbounded, 5, 1.12},
        Case{8, 4, 1, 1.08}, Case{8, 16, 5, 1.06}, Case{8, 64, 10, 1.05},
        Case{8, unbounded, 5, 1.04}, Case{8, unbounded, 0.3, 1.28}}) {
    const Costs costs = memory_and_disk(c.memory, c.disk, c.cost);
    for (Step n = 2; n <= 3000; n += n < 60 ? 3 : 97) {
      CAPTURE(c.memory, c.disk, c.cost, n);
      const double spent = interpret_cost(online_tiered(costs), costs, {.steps = n});
      CHECK(spent <= c.worst * hierarchical(costs, n).cost);
    }
  }
}

TEST_CASE("Online with memory and disk is valid at both doors, for any costs", "[property]") {
  for (const Slot memory : {2, 3, 7}) {
    for (const Slot disk : {Slot{2}, Slot{3}, Slot{9}, unbounded}) {
      for (const double cost : {0.0, 0.4, 3.0, 50.0}) {
        for (Step n = 0; n <= 600; n += n < 40 ? 1 : n / 3) {
          CAPTURE(memory, disk, cost, n);
          const Costs costs = memory_and_disk(memory, disk, cost);
          for (const bool knows : {true, false}) {
            const InterpretOptions commands{.steps = n, .knows_last_step = knows};
            InterpretOptions actions = commands;
            actions.single_actions = true;
            const Counts one = interpret(online_tiered(costs), commands);
            const Counts other = interpret(online_tiered(costs), actions);
            CHECK(one.advances == other.advances);
            CHECK(one.tiers[0].peak <= memory);
            CHECK(one.tiers[1].writes == other.tiers[1].writes);
            CHECK((n >= memory || one.tiers[1].writes == 0));
          }
        }
      }
    }
  }
}

TEST_CASE("Bad input of online_tiered is refused with a reason", "[unit]") {
  CHECK_THROWS_WITH(online_tiered(memory_and_disk(1, 4, 1)),
                    "online_tiered() needs two slots in each tier; there are 1 and 4");
  CHECK_THROWS_AS(online_tiered(memory_and_disk(4, 1, 1)), InvalidArgument);
  CHECK_THROWS_AS(online_tiered(memory_and_disk(4, 4, -1)), InvalidArgument);
  Costs one = memory_and_disk(4, 4, 1);
  one.tiers.pop_back();
  CHECK_THROWS_WITH(online_tiered(one), "online_tiered() is for two tiers, not 1");
}
