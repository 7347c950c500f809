#include "costate/mpi/ranks.hpp"

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "costate/core/hash.hpp"

namespace costate::mpi {
namespace {

// What a meeting carries; of each the largest over the ranks arrives.
struct Note {
  enum : std::size_t { failed, errand, minus_errand, value, entries };
  std::array<std::int64_t, entries> numbers{};
};

std::string described(const char* what, Step from, Step to) {
  std::string text = what;
  if (from != 0 || to != 0) text += " " + std::to_string(from) + " " + std::to_string(to);
  return text;
}

// Of what a rank is about to do; never negative.
std::int64_t key_of(const char* what, Step from, Step to) {
  const std::string text = described(what, from, to);
  return static_cast<std::int64_t>(hash_bytes(std::as_bytes(std::span(text))) >> 1U);
}

std::string message_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

constexpr const char* number = "agree on a number";

}  // namespace

Ranks::Ranks(MPI_Comm comm, const RanksOptions& options) : options_(options) {
  if (!(options.patience >= 0)) throw InvalidArgument("Ranks: the patience is negative");
  MPI_Comm_dup(comm, &comm_);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

Ranks::~Ranks() {
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (finalised == 0) MPI_Comm_free(&comm_);
}

std::int64_t Ranks::most(std::int64_t value) {
  return exchange({number, 0, 0}, value);
}

void Ranks::meet(const char* what, Step from, Step to) {
  exchange({what, from, to}, 0);
}

std::int64_t Ranks::exchange(const Errand& errand, std::int64_t value) {
  const std::int64_t key = key_of(errand.what, errand.from, errand.to);
  const Note mine{{0, key, -key, value}};
  Note all;
  // Not the blocking kind, because `tell_others` must be able to give up, and the two do not mix.
  MPI_Request request{};
  MPI_Iallreduce(mine.numbers.data(), all.numbers.data(), Note::entries, MPI_INT64_T, MPI_MAX,
                 comm_, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (const std::int64_t failed = all.numbers[Note::failed]; failed > 0) {
    pass_on(size_ - static_cast<int>(failed));
  }
  if (all.numbers[Note::errand] != -all.numbers[Note::minus_errand]) say_difference(errand);
  return all.numbers[Note::value];
}

// Called where an exception is on its way out.
void Ranks::tell_others() {
  const std::exception_ptr mine = std::current_exception();
  if (mine == told_) return;
  told_ = mine;
  const std::string message = message_of(mine);
  const Note note{{size_ - rank_, 0, 0, 0}};
  Note all;
  MPI_Request request{};
  MPI_Iallreduce(note.numbers.data(), all.numbers.data(), Note::entries, MPI_INT64_T, MPI_MAX,
                 comm_, &request);
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  int arrived = 0;
  while (true) {
    MPI_Test(&request, &arrived, MPI_STATUS_IGNORE);
    if (arrived != 0) break;
    if (std::chrono::duration<double>(Clock::now() - start).count() > options_.patience) {
      // The last words of a program that cannot be ended in another way.
      std::fprintf(stderr, "rank %d: %s (the other ranks do not come to hear of it)\n", rank_,
                   message.c_str());
      MPI_Abort(comm_, 1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  (void)text_of(message, size_ - static_cast<int>(all.numbers[Note::failed]));
}

// The text that this rank has, on all ranks.
std::string Ranks::text_of(const std::string& mine, int rank) const {
  auto length = static_cast<int>(mine.size());
  MPI_Bcast(&length, 1, MPI_INT, rank, comm_);
  std::string text = rank == rank_ ? mine : std::string(static_cast<std::size_t>(length), ' ');
  MPI_Bcast(text.data(), length, MPI_CHAR, rank, comm_);
  return text;
}

void Ranks::stop_with(const std::string& message, int rank) {
  told_ = std::make_exception_ptr(RankError(message, rank));
  std::rethrow_exception(told_);
}

void Ranks::pass_on(int failed) {
  stop_with("rank " + std::to_string(failed) + ": " + text_of("", failed), failed);
}

void Ranks::say_difference(const Errand& errand) {
  const std::string mine = described(errand.what, errand.from, errand.to);
  const std::string first = text_of(mine, 0);
  const int candidate = mine == first ? size_ : rank_;
  int other = 0;
  MPI_Allreduce(&candidate, &other, 1, MPI_INT, MPI_MIN, comm_);
  stop_with("the ranks went different ways: rank 0 is at '" + first + "', rank " +
                std::to_string(other) + " at '" + text_of(mine, other) +
                "'. What a step decides (its size, the end of the run) must be the same on all",
            -1);
}

void Ranks::sum(std::span<double> numbers) {
  const auto count = static_cast<int>(numbers.size());
  meet("sum", 0, count);
  std::vector<double> all(numbers.size() * static_cast<std::size_t>(size_));
  MPI_Allgather(numbers.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, comm_);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    double total = 0;
    for (std::size_t r = 0; r < static_cast<std::size_t>(size_); ++r) {
      total += all[r * numbers.size() + i];
    }
    numbers[i] = total;
  }
}

}  // namespace costate::mpi
