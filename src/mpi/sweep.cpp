#include "costate/mpi/sweep.hpp"

#include <bit>
#include <cstdint>

#include "mpi/meeting_stepper.hpp"

namespace costate::mpi {
namespace {

// Numbers that are not negative are in the order of their bits.
double most_of(Ranks& ranks, double number) {
  return std::bit_cast<double>(ranks.most(std::bit_cast<std::int64_t>(number)));
}

TransferCosts most_of(Ranks& ranks, const TransferCosts& costs) {
  return {.write = most_of(ranks, costs.write), .read = most_of(ranks, costs.read)};
}

ReplayGuard most_of(Ranks& ranks, ReplayGuard guard) {
  return static_cast<ReplayGuard>(ranks.most(static_cast<std::int64_t>(guard)));
}

}  // namespace

Report sweep(Stepper& stepper, const SweepOptions& options, Ranks& ranks) {
  return ranks.together([&] {
    ranks.meet("sweep");
    SweepOptions agreed = options;
    agreed.team = &ranks;
    agreed.guard = most_of(ranks, options.guard);
    agreed.expected_steps = ranks.most(options.expected_steps);
    agreed.progress_interval = most_of(ranks, options.progress_interval);
    agreed.budget.disk_costs = most_of(ranks, options.budget.disk_costs);
    auto& lower = agreed.budget.lower_costs;
    lower.resize(static_cast<std::size_t>(ranks.most(static_cast<std::int64_t>(lower.size()))),
                 agreed.budget.disk_costs);
    for (TransferCosts& costs : lower) costs = most_of(ranks, costs);
    MeetingStepper meeting(stepper, ranks);
    return costate::sweep(meeting, agreed);
  });
}

RunResult run_or_resume(Stepper& stepper, const RunOptions& options, Ranks& ranks) {
  return ranks.together([&] {
    ranks.meet("run or resume");
    RunOptions agreed = options;
    agreed.team = &ranks;
    agreed.identity +=
        ", rank " + std::to_string(ranks.rank()) + " of " + std::to_string(ranks.size());
    agreed.guard = most_of(ranks, options.guard);
    agreed.expected_steps = ranks.most(options.expected_steps);
    agreed.progress_interval = most_of(ranks, options.progress_interval);
    agreed.disk_costs = most_of(ranks, options.disk_costs);
    MeetingStepper meeting(stepper, ranks);
    return costate::run_or_resume(meeting, agreed);
  });
}

std::string own_directory(const std::string& base, const Ranks& ranks) {
  return base + "/rank-" + std::to_string(ranks.rank());
}

}  // namespace costate::mpi
