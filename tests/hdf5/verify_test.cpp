// `verify` proves the disk of the run's budget too.

#include "costate/ode/verify.hpp"

#include <algorithm>
#include <string>

#include "costate/costate.hpp"
#include "costate/hdf5/disk.hpp"
#include "support/catch.hpp"
#include "support/faulty_files.hpp"
#include "support/ode_bits.hpp"
#include "support/temp_folder.hpp"

using namespace costate;
using costate::test::FaultyFiles;

namespace {

using S = Eigen::Vector2d;
using P = Eigen::Vector4d;

// Everything fits into memory, so the disk is used by the check of the disk alone.
Verification verified(const DiskSpec& disk) {
  const RunOf<problems::LotkaVolterra> run{.t0 = 0,
                                           .t1 = 2,
                                           .y0 = {1.2, 0.7},
                                           .p = {1.5, 1.1, 2.7, 0.9},
                                           .budget = {.memory = 1_MiB, .disk = disk}};
  return verify(problems::LotkaVolterra{}, Dopri5{.rtol = 1e-6, .atol = 1e-8},
                ode_bits::objective<S, P>(run.t0, run.t1), run);
}

bool of_disk(const Check& check) {
  return check.name.find("disk") != std::string::npos;
}

}  // namespace

TEST_CASE("verify compares the bits over a disk", "[ode][property]") {
  const test::TempFolder folder;
  const Verification v = verified(hdf5({.directory = folder.path(), .capacity = 1_MiB}));
  CAPTURE(to_string(v));
  CHECK(v.ok);
  CHECK(std::count_if(v.checks.begin(), v.checks.end(), of_disk) == 1);
}

TEST_CASE("verify tells a disk that returns something else from all the rest", "[ode][fault]") {
  int found = 0;
  for (int at = 0; at < 60; at += 3) {
    CAPTURE(at);
    const test::TempFolder folder;
    FaultyFiles files;
    files.fault = FaultyFiles::Fault::flip_on_read;
    files.at = at;
    const Verification v = verified(
        hdf5({.directory = folder.path(), .capacity = 1_MiB, .io_threads = 0, .files = &files}));
    CAPTURE(to_string(v));
    for (const Check& check : v.checks) {
      if (check.ok) continue;
      CHECK(of_disk(check));
      CHECK(check.detail.find(folder.path()) != std::string::npos);
      ++found;
    }
  }
  CHECK(found > 0);
}

TEST_CASE("verify names a disk that cannot be made", "[ode][fault]") {
  const Verification v = verified(hdf5({.directory = "/proc/no such folder", .capacity = 1_MiB}));
  CAPTURE(to_string(v));
  CHECK_FALSE(v.ok);
  CHECK(std::all_of(v.checks.begin(), v.checks.end(),
                    [](const Check& check) { return check.ok || of_disk(check); }));
}
