#pragma once

#include <cmath>
#include <cstdint>

namespace costate {

/// Several processes that make one sweep together, each with its part of the state: the ranks of a
/// communicator (mpi/ranks.hpp). All of them must take the same decisions, so that none waits for
/// one that does something else; every number of one process that decides is agreed on here first.
class Team {
 public:
  virtual ~Team() = default;

  /// The largest of the values of all members. All of them call it, in the same order.
  /// @throws if another member has failed, or is about to do something else
  virtual std::int64_t most(std::int64_t value) = 0;

 protected:
  Team() = default;
  Team(const Team&) = default;
  Team& operator=(const Team&) = default;
};

/// Of a team of one, which needs no team, the value itself.
inline std::int64_t most(Team* team, std::int64_t value) {
  return team != nullptr ? team->most(value) : value;
}
inline std::int64_t least(Team* team, std::int64_t value) {
  return team != nullptr ? -team->most(-value) : value;
}
/// The longest of the times, to the nanosecond.
inline double most_seconds(Team* team, double seconds) {
  return team != nullptr ? static_cast<double>(team->most(std::llround(seconds * 1e9))) * 1e-9
                         : seconds;
}

}  // namespace costate
