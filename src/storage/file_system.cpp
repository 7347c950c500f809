#include "costate/storage/file_system.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "costate/core/error.hpp"

namespace costate {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path, int error) {
  throw StorageError(
      "cannot " + what + " '" + path + "': " + std::generic_category().message(error), path);
}

// Calls again what a signal has interrupted.
template <typename Call>
int uninterrupted(const Call& call) {
  int result = 0;
  do {
    result = call();
  } while (result == -1 && errno == EINTR);
  return result;
}

class Descriptor final : public File {
 public:
  Descriptor(std::string path, int fd) : File(std::move(path)), fd_(fd) {}
  ~Descriptor() override { ::close(fd_); }

  void read(std::span<std::byte> out, Bytes offset) override {
    while (!out.empty()) {
      const ssize_t got = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
      if (got < 0) {
        if (errno == EINTR) continue;
        fail("read", path(), errno);
      }
      if (got == 0) {
        throw StorageError("cannot read '" + path() + "': it ends before byte " +
                               std::to_string(offset + out.size()),
                           path());
      }
      out = out.subspan(static_cast<std::size_t>(got));
      offset += static_cast<Bytes>(got);
    }
  }

  void write(std::span<const std::byte> in, Bytes offset) override {
    while (!in.empty()) {
      const ssize_t got = ::pwrite(fd_, in.data(), in.size(), static_cast<off_t>(offset));
      if (got < 0) {
        if (errno == EINTR) continue;
        fail("write", path(), errno);
      }
      in = in.subspan(static_cast<std::size_t>(got));
      offset += static_cast<Bytes>(got);
    }
  }

  void sync() override {
    if (uninterrupted([&] { return ::fdatasync(fd_); }) != 0) fail("sync", path(), errno);
  }

  void reserve(Bytes bytes) override {
    int error = 0;
    do {
      error = ::posix_fallocate(fd_, 0, static_cast<off_t>(bytes));
    } while (error == EINTR);
    if (error != 0) fail("reserve " + format_bytes(bytes) + " for", path(), error);
  }

  bool release(Bytes offset, Bytes bytes) override {
    return uninterrupted([&] {
             return ::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(offset), static_cast<off_t>(bytes));
           }) == 0;
  }

  Bytes size() override {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail("look at", path(), errno);
    return static_cast<Bytes>(status.st_size);
  }

  bool has_name() override {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail("look at", path(), errno);
    return status.st_nlink > 0;
  }

 private:
  int fd_;
};

class Real final : public FileSystem {
 public:
  std::unique_ptr<File> open(const std::string& path, Mode mode) override {
    // Not blocking: the opening of a pipe would wait for a partner.
    int flags = O_CLOEXEC | O_NONBLOCK | (mode == Mode::read ? O_RDONLY : O_RDWR);
    if (mode == Mode::create) flags |= O_CREAT | O_EXCL;
    const int fd = uninterrupted([&] { return ::open(path.c_str(), flags, 0666); });
    if (fd < 0) fail(mode == Mode::create ? "create" : "open", path, errno);
    auto file = std::make_unique<Descriptor>(path, fd);
    struct stat status {};
    if (::fstat(fd, &status) != 0) fail("look at", path, errno);
    if (!S_ISREG(status.st_mode)) {
      throw StorageError("cannot open '" + path + "': it is not a file", path);
    }
    return file;
  }
  void rename(const std::string& from, const std::string& to) override {
    if (std::rename(from.c_str(), to.c_str()) != 0) fail("rename to '" + to + "'", from, errno);
  }
  void remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail("remove", path, errno);
  }
  void sync_directory(const std::string& path) override {
    const int fd =
        uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
    if (fd < 0) fail("open", path, errno);
    const bool synced = uninterrupted([&] { return ::fsync(fd); }) == 0;
    const int error = errno;
    ::close(fd);
    if (!synced) fail("sync", path, error);
  }
};

}  // namespace

FileSystem& FileSystem::real() {
  static Real real;
  return real;
}

}  // namespace costate
