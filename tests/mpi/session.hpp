#pragma once

// MPI for the time of a test program.

#include <mpi.h>

namespace costate::test {

struct Session {
  Session() { MPI_Init(nullptr, nullptr); }
  ~Session() { MPI_Finalize(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
};
inline const Session session;

}  // namespace costate::test
