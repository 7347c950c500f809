#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <mpi.h>

#include "costate/core/error.hpp"
#include "costate/core/step.hpp"
#include "costate/core/team.hpp"

/// @file
/// The ranks of a communicator as a team: they agree on numbers, and the failure of one stops all.

namespace costate::mpi {

/// Another rank has failed; the message is that rank's. Or, if `rank` is -1, the ranks were about
/// to do different things, which is said on all of them.
class RankError : public Error {
 public:
  RankError(const std::string& message, int failed_rank) : Error(message), rank(failed_rank) {}
  int rank;
};

struct RanksOptions {
  /// Seconds that a rank that has failed waits for the others to hear of it. If they do not come,
  /// because they wait for it in a collective operation or a message of the simulation's own, it
  /// prints its message and calls MPI_Abort. Must be longer than what a rank may compute by itself.
  double patience = 60;
};

/// The ranks of a communicator. They *meet* in one small all-reduce, which carries numbers to agree
/// on, what each rank is about to do, and whether one has failed; so no rank waits at a meeting for
/// one that has thrown an exception or gone another way.
///
/// Meetings use a communicator of their own, and all MPI calls come from the calling thread.
class Ranks final : public Team {
 public:
  /// Collective. MPI must be initialised, and not finalised before the object is gone.
  explicit Ranks(MPI_Comm comm, const RanksOptions& options = {});
  ~Ranks() override;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] MPI_Comm communicator() const noexcept { return comm_; }

  /// A meeting.
  /// @throws RankError
  std::int64_t most(std::int64_t value) override;

  /// A meeting of ranks that are all about to do the same: `what` with the steps `from` to `to`.
  /// @throws RankError  also if they are not
  void meet(const char* what, Step from = 0, Step to = 0);

  /// Each of the numbers becomes the sum over all ranks, added in the order of the ranks: the same
  /// bits on every rank and in every call. A meeting; meant for few numbers.
  /// @throws RankError
  void sum(std::span<double> numbers);
  [[nodiscard]] double sum(double number) {
    sum(std::span(&number, 1));
    return number;
  }

  /// Does the work, and returns when all ranks have done theirs. If one throws, all throw: that one
  /// its exception, the others a `RankError`. The work may contain meetings.
  template <class Work>
  auto together(const Work& work) -> decltype(work()) {
    try {
      if constexpr (std::is_void_v<decltype(work())>) {
        work();
        meet("end");
      } else {
        auto result = work();
        meet("end");
        return result;
      }
    } catch (...) {
      tell_others();
      throw;
    }
  }

 private:
  struct Errand {
    const char* what;
    Step from;
    Step to;
  };
  std::int64_t exchange(const Errand& errand, std::int64_t value);
  void tell_others();
  [[noreturn]] void pass_on(int failed);
  [[noreturn]] void say_difference(const Errand& errand);
  [[noreturn]] void stop_with(const std::string& message, int rank);
  std::string text_of(const std::string& mine, int rank) const;

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  RanksOptions options_;
  std::exception_ptr told_;  // the exception that all ranks know of
};

}  // namespace costate::mpi
