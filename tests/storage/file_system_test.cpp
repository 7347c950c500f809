// What the system does at its own discretion: move less than it was asked to, or stop for a signal.
// The calls below are found before those of the C library.

#include "costate/storage/file_system.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "costate/core/error.hpp"
#include "support/catch.hpp"
#include "support/temp_folder.hpp"

using namespace costate;
using costate::test::TempFolder;

namespace {

bool moody = false;
std::mt19937 moods(7);
int interruptions = 0;
int shortened = 0;

// Every third call is interrupted.
bool interrupted() {
  if (!moody || moods() % 3 != 0) return false;
  ++interruptions;
  errno = EINTR;
  return true;
}

// One to all bytes.
std::size_t share(std::size_t bytes) {
  if (!moody || bytes < 2) return bytes;
  ++shortened;
  return 1 + moods() % (bytes - 1);
}

}  // namespace

extern "C" {
ssize_t pread(int fd, void* out, std::size_t bytes, off_t offset) {
  return interrupted() ? -1 : ::syscall(SYS_pread64, fd, out, share(bytes), offset);
}
ssize_t pwrite(int fd, const void* in, std::size_t bytes, off_t offset) {
  return interrupted() ? -1 : ::syscall(SYS_pwrite64, fd, in, share(bytes), offset);
}
int fdatasync(int fd) {
  return interrupted() ? -1 : static_cast<int>(::syscall(SYS_fdatasync, fd));
}
int fsync(int fd) {
  return interrupted() ? -1 : static_cast<int>(::syscall(SYS_fsync, fd));
}
int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  return interrupted() ? -1 : static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, bytes));
}
int posix_fallocate(int fd, off_t offset, off_t bytes) {
  if (interrupted()) return EINTR;
  return ::syscall(SYS_fallocate, fd, 0, offset, bytes) == 0 ? 0 : errno;
}
}

TEST_CASE("Interrupted calls and those that move a part are gone on with", "[storage][fault]") {
  const TempFolder folder;
  const std::string path = folder.path() + "/file";
  std::vector<std::byte> bytes(10'000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(moods());

  moody = true;
  {
    FileSystem& files = FileSystem::real();
    const auto file = files.open(path, FileSystem::Mode::create);
    for (int round = 0; round < 20; ++round) {
      file->reserve(40'000);
      file->write(bytes, 5000);
      file->sync();
      files.sync_directory(folder.path());
      std::vector<std::byte> back(bytes.size());
      file->read(back, 5000);
      CHECK(back == bytes);
      CHECK(file->release(20'480, 4096));
    }
    CHECK(file->size() == 40'000);
    std::vector<std::byte> beyond(100);
    CHECK_THROWS_AS(file->read(beyond, 39'950), StorageError);
  }
  moody = false;
  CHECK(interruptions > 100);
  CHECK(shortened > 100);
}
