// A run that is killed at a moment drawn from a seed: one rank dies in a step, in front of an
// operation on its files or in the middle of a write; mpirun kills the others wherever they are.
//
//   killed_run FOLDER RESULT SEED     SEED 0: nobody dies. Writes the bits of all ranks to RESULT
//
// and a run that cannot be stopped otherwise than by MPI_Abort:
//
//   killed_run abort

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include "mpi/burgers.hpp"
#include "mpi/own_runs.hpp"
#include "mpi/session.hpp"
#include "support/faulty_files.hpp"

using namespace costate;
using test::FaultyFiles;

namespace {

class Mortal final : public test::Burgers {
 public:
  using Burgers::Burgers;
  long dies_at = -1;
  long fails_at = -1;
  void at(Step k) override {
    if (calls_++ == dies_at) ::kill(::getpid(), SIGKILL);
    if (k == fails_at) throw std::runtime_error("step " + std::to_string(k) + " failed");
  }

 private:
  long calls_ = 0;
};

void run(const std::string& folder, const std::string& result, unsigned seed) {
  mpi::Ranks ranks(MPI_COMM_WORLD);
  Mortal flow(ranks, {.cells = 53, .known = false, .end_energy = 7.5, .padding = 4096});
  FaultyFiles files;
  std::minstd_rand random(seed);
  random.discard(10);
  const auto dying = static_cast<int>(random() % static_cast<unsigned>(ranks.size()));
  const auto how = random() % 3;
  const auto moment = static_cast<long>(random() % 150);
  if (seed > 0 && ranks.rank() == dying) {
    if (how == 0) flow.dies_at = moment;
    files.fault = how == 1 ? FaultyFiles::Fault::kill_before : FaultyFiles::Fault::torn_write_kill;
    if (how > 0) files.at = moment;
  }
  mpi::run_or_resume(flow, test::own_run(ranks, folder, flow, 3, 5, &files), ranks);

  for (int turn = 0; turn < ranks.size(); ++turn) {
    if (turn == ranks.rank()) {
      std::ofstream out(result, turn == 0 ? std::ios::trunc : std::ios::app);
      for (const std::uint64_t bits : flow.bits()) out << std::hex << bits << '\n';
    }
    ranks.meet("next", turn, turn);
  }
}

// Rank 1 fails in front of a message that its neighbours wait for.
void run_into_the_wall() {
  mpi::Ranks ranks(MPI_COMM_WORLD, {.patience = 0.5});
  Mortal flow(ranks, {});
  if (ranks.rank() == 1) flow.fails_at = 17;
  mpi::sweep(flow, {}, ranks);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 1 && words[0] == "abort") {
      run_into_the_wall();
    } else if (words.size() == 3) {
      run(words[0], words[1], static_cast<unsigned>(std::stoul(words[2])));
    } else {
      return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "killed_run: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
